"""What whole commands cost, beside `python self_attention_demo.py` in the same run.

python bench/explain.py
"""

from __future__ import annotations

import statistics
import subprocess
import sys
from pathlib import Path

from measure import process, ratios, seconds, table

DEMO = str(Path(__file__).parents[1] / "self_attention_demo.py")


def main() -> None:
    attnlab = [sys.executable, "-m", "attnlab"]
    commands = {"explain": [*attnlab, "explain", DEMO], "whatif": [*attnlab, "whatif", DEMO, "--set", "seq_len=6"]}
    found = ratios(process([sys.executable, DEMO]), {name: process(command) for name, command in commands.items()}, 7)
    bars = {"explain": "bar: 1.5, its experiments with sizes included", "whatif": ""}
    table("whole process, times python self_attention_demo.py", [(n, f"{r:.2f} x", bars[n]) for n, r in found.items()])

    rows: list[tuple[str, str, str]] = []
    for option in ("--help", "--version"):
        work = process([*attnlab, option])
        took = statistics.median(seconds(work) for _ in range(9))
        command = [sys.executable, "-X", "importtime", "-m", "attnlab", option]
        loaded = subprocess.run(command, capture_output=True, text=True, check=True).stderr
        torch = "torch is imported" if "| torch\n" in loaded.replace("|  ", "| ") else "torch is not imported"
        rows.append((f"attnlab {option}", f"{took:.2f} s", f"bar: 0.2 s; {torch}"))
    table("start", rows)


if __name__ == "__main__":
    main()
