"""A program is given as text, so that every line and column stands where the test says, whatever formats this file."""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
import torch
import torch._dynamo.eval_frame
import torch.overrides
from recorded import sound
from torch import nn
from torch.nn import functional as F

import attnlab
from attnlab import Run

Record = Callable[..., Run]

# What a recording replaces in PyTorch while it lasts.
PATCHED: list[tuple[Any, str]] = [
    (torch.overrides, "has_torch_function"),
    (torch._C.ScriptFunction, "__call__"),
    (torch._C.ScriptMethod, "__call__"),
    (torch._C, "_create_function_from_trace"),
    (torch._C, "_create_graph_by_tracing"),
    (torch._C.ScriptModule, "_create_method_from_trace"),
    (torch._dynamo.eval_frame, "_maybe_set_eval_frame"),
]


@pytest.fixture
def patched() -> Callable[[], list[Any]]:
    """Tells what now stands where a recording replaces something."""
    return lambda: [getattr(owner, name) for owner, name in PATCHED]


@pytest.fixture(autouse=True)
def _leaves_pytorch_as_it_was(patched: Callable[[], list[Any]]) -> Iterator[None]:
    before = patched()
    yield
    after = patched()
    for (owner, name), value in zip(PATCHED, before, strict=True):
        setattr(owner, name, value)
    assert after == before


@pytest.fixture
def recorded(tmp_path: Path) -> Record:
    """Records the program of a text: `recorded("y = x + 1", x=torch.ones(2))`. It has these names, and torch's."""
    numbers = count()

    def record(text: str, **names: Any) -> Run:
        file = tmp_path / f"program_{next(numbers)}.py"
        text = dedent(text).lstrip("\n")
        file.write_text(text, encoding="utf-8")
        names = {"torch": torch, "nn": nn, "F": F, "__name__": "program", **names}
        code = compile(text, str(file), "exec")
        with attnlab.record() as run:
            exec(code, names)
        sound(run)
        return run

    return record
