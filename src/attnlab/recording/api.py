"""`attnlab.record`: recording a block or a call from within a program or a notebook."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, overload

import torch

from attnlab.recording.finish import finish
from attnlab.recording.mode import Recorder
from attnlab.recording.outside import Watching
from attnlab.recording.tape import Tape
from attnlab.run import Program, Run

__all__ = ["Recording", "record"]


class Recording:
    """A `with` block that records the tensor operations in it. Made by `attnlab.record()`.

    `tape`: to keep the tensors themselves on.
    """

    def __init__(self, numbers: bool, tape: Tape | None = None) -> None:
        self._recorder = Recorder(numbers)
        self._recorder.tape = tape
        self._watching = Watching(self._recorder)
        self._run = Run.unfinished()
        self._began = 0.0

    def __enter__(self) -> Run:
        self._began = time.perf_counter()
        self._watching.__enter__()
        return self._run

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        seconds = time.perf_counter() - self._began
        self._watching.__exit__()
        finish(self._run, self._recorder, Program("block", "", ()), error, None, seconds)


@overload
def record(*, numbers: bool = True) -> Recording: ...
@overload
def record(program: Callable[..., Any], /, *inputs: Any, numbers: bool = True, **options: Any) -> Run: ...
def record(
    program: Callable[..., Any] | None = None, /, *inputs: Any, numbers: bool = True, **options: Any
) -> Recording | Run:
    """Record tensor operations.

    `with attnlab.record() as run:` records a block; `run` can be read when the block has ended, also
    where it ended in an exception. `attnlab.record(module, *inputs, **options)` calls a module or a
    function once and returns its Run; whatever it raises is raised unchanged.

    `numbers`: keep statistics and a corner of every tensor (bounded, see `attnlab.run.Numbers`);
    without, the record keeps shapes only and is quicker to take. No tensor is kept alive either way.
    """
    if program is None:
        return Recording(numbers)
    if not callable(program):
        raise TypeError(f"record expects a module or a function and its inputs; got {type(program).__name__}")
    recorder = Recorder(numbers, _own(program))
    watching = Watching(recorder)
    began = time.perf_counter()
    with watching:
        program(*inputs, **options)
    return _called(program, recorder, None, time.perf_counter() - began)


def taped(program: Callable[..., Any], /, *inputs: Any, **options: Any) -> tuple[Run, Tape, Exception | None]:
    """Call a module or a function once; its Run, the tape to run its steps again, and what it raised."""
    recorder = Recorder(True, _own(program))
    tape = recorder.tape = Tape()
    began = time.perf_counter()
    error: Exception | None = None
    with Watching(recorder):
        try:
            program(*inputs, **options)
        except Exception as raised:
            error = raised
    return _called(program, recorder, error, time.perf_counter() - began), tape, error


def _called(program: Callable[..., Any], recorder: Recorder, error: Exception | None, seconds: float) -> Run:
    """The Run of one call."""
    name: str = getattr(program, "__qualname__", type(program).__qualname__)
    return finish(Run.unfinished(), recorder, Program("call", name, ()), error, None, seconds)


def _own(program: Any) -> tuple[str, ...]:
    """The folder of the package that a module or function comes from, which is what the user asked about."""
    kind: Any = type(program) if isinstance(program, torch.nn.Module) else program
    package = str(getattr(kind, "__module__", "")).partition(".")[0]
    file = getattr(sys.modules.get(package), "__file__", None)
    return () if file is None or package == "torch" else (file.removesuffix("__init__.py"),)
