"""What tests of a scene ask: scenes of scripts and of modules, and the numbers in their pictures."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import sys
import tomllib
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from attnlab import looking
from attnlab.recording.api import taped
from attnlab.recording.program import Conditions, run_program
from attnlab.recording.tape import Tape
from attnlab.run import Program, Run


def scene_of(module: Callable[..., Any], *inputs: Any) -> Any:
    """The scene of one call."""
    run, tape, error = taped(module, *inputs)
    assert error is None
    return json.loads(looking.examined(run, tape))


def recorded(script: Path) -> tuple[Run, Tape]:
    """A script's run and tape, with the arguments and the input that stand beside it."""
    beside = script.with_suffix(".toml")
    case = tomllib.loads(beside.read_text(encoding="utf-8")) if beside.exists() else {}
    tape = Tape()

    def keep(recorder: Any) -> None:
        recorder.tape = tape

    stdin, sys.stdin = sys.stdin, io.StringIO(case.get("stdin", ""))
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")  # the script's own
            program = Program("script", str(script), tuple(case.get("args", ())))
            run, _ = run_program(program, Conditions(on_start=keep))
    finally:
        sys.stdin = stdin
    return run, tape


def unpacked(blob: dict[str, str]) -> bytearray:
    return bytearray(zlib.decompress(base64.b64decode(blob["base64"]), -15))


def numbers(tensor: Any) -> Tensor:
    """[samples, heads, height, width]: what a picture holds, in float64."""
    picture = tensor["picture"]
    shape = (picture["samples"], picture["heads"], picture["height"], picture["width"])
    kind = {"f32": torch.float32, "u8": torch.uint8}[picture["kind"]]
    data = b"".join(unpacked(blob) for blob in picture["blobs"])
    cells = torch.frombuffer(bytearray(data), dtype=kind).reshape(shape).double()
    if picture["kind"] == "f32":
        return cells
    low, high = torch.tensor(picture["bounds"]).reshape(*shape[:2], 2, 1, 1).double().unbind(2)
    return low + cells * (high - low) / 255


def tensors(scene: Any, told: int = 0, layer: int = 0) -> Any:
    return scene["told"][told]["layers"][layer]["tensors"]
