"""What checking costs: the whole command beside `python self_attention_demo.py`, and a stack beside one forward pass.

python bench/check.py
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import torch
from measure import process, ratios, table
from models import stack, tiny

import attnlab

DEMO = str(Path(__file__).parents[1] / "self_attention_demo.py")


def main() -> None:
    command = [sys.executable, "-m", "attnlab", "check", DEMO]
    found = ratios(process([sys.executable, DEMO]), {"check": process(command)}, 7)
    table("whole process, times python self_attention_demo.py", [("check", f"{found['check']:.2f} x", "bar: 1.6")])

    rows: list[tuple[str, str, str]] = []
    for name, make, bar in (("GPT-2 small, 12 layers, L=128", stack, "bar: 20"), ("the smallest attention", tiny, "")):
        model, x, _ = make()
        assert attnlab.check(model, x) == [], "the code that is measured is right"
        works = {"check": lambda model=model, x=x: attnlab.check(model, x)}
        ratio = ratios(lambda model=model, x=x: model(x), works, 5, time.process_time)["check"]
        rows.append((name, f"{ratio:.1f} x", bar))
    table("attnlab.check, CPU time, times one forward pass", rows)


if __name__ == "__main__":
    torch.manual_seed(0)
    torch.set_num_threads(1)
    main()
