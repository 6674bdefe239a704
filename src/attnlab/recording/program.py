"""Running a script or a module within this process, as `python FILE` and `python -m MODULE` do, and recording it.

For experiments: the program gets a `__main__` of its own, its arguments, its folder first on the path,
and texts in the place of files. A program that is only watched runs by itself: see `attnlab/hook/`.
"""

from __future__ import annotations

import io
import os
import runpy
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib.machinery import SourceFileLoader
from types import ModuleType, TracebackType
from typing import Any

from attnlab.recording.session import Session
from attnlab.run import Program, Run


class NoProgram(Exception):
    """There is no such file or module to run. `reason` is an id in the catalogs of words."""

    def __init__(self, reason: str, name: str) -> None:
        super().__init__(reason, name)
        self.reason = reason
        self.name = name


class Outcome:
    """How a program ended: its exit code, and the exception that left it."""

    def __init__(self) -> None:
        self.code = 0
        self.error: BaseException | None = None


class Halt(BaseException):
    """Raised within the program to end it early; the Run up to there is whole, and no error."""


@dataclass(frozen=True)
class Conditions:
    """How to run a program.

    `numbers`   note statistics and a corner of every value
    `texts`     texts to run in the place of files: what an experiment changed
    `on_start`  called with the recorder before it records
    """

    numbers: bool = True
    texts: Mapping[str, str] = field(default_factory=dict[str, str])
    on_start: Callable[[Any], None] | None = None


def run_program(program: Program, conditions: Conditions) -> tuple[Run, Outcome]:
    """Run `program` (kind "script" or "module") in this process and record it.

    Raises `NoProgram` where there is nothing to run. Whatever the program raises is shown as Python
    would show it, and is in the outcome.
    """
    start = _prepare(program, conditions.texts)
    session = Session(program, conditions.numbers, on_start=conditions.on_start)
    outcome = Outcome()
    process = os.getpid()
    session.wait_for_torch()
    try:
        start()
    except Halt:
        pass
    except BaseException as error:
        _ended(error, outcome)
    if os.getpid() != process:  # a child that the program forked came back here: it is not the one watched
        raise SystemExit(outcome.code)
    return session.finish(outcome.error, outcome.code), outcome


def check(program: Program) -> None:
    """Raise `NoProgram` where there is nothing to run."""
    if program.kind == "module":
        if program.name.startswith("."):
            raise NoProgram("bad.module", program.name)
    elif os.path.isdir(program.name):
        if not os.path.isfile(os.path.join(program.name, "__main__.py")):
            raise NoProgram("bad.folder", program.name)
    elif not os.access(program.name, os.R_OK):
        raise NoProgram("bad.file", program.name)


def _prepare(program: Program, texts: Mapping[str, str]) -> Callable[[], None]:
    """Set up the interpreter for the program; what then runs it."""
    check(program)
    if program.kind == "module":
        sys.path.insert(0, os.getcwd())
        sys.argv = ["-m", *program.argv]
        _main()
        return partial(_run_module, program.name, True)
    if os.path.isdir(program.name):
        sys.path.insert(0, program.name)
        sys.argv = [program.name, *program.argv]
        _main()
        return partial(_run_module, "__main__", False)
    text: bytes | str | None = texts.get(os.path.abspath(program.name))
    if text is None:
        with io.open_code(os.path.abspath(program.name)) as file:
            text = file.read()
    sys.path.insert(0, os.path.dirname(os.path.realpath(program.name)))
    sys.argv = [program.name, *program.argv]
    return lambda: _run_script(text, program.name)


_run_module: Any = getattr(runpy, "_run_module_as_main")  # noqa: B009 - no stub has it; what `python -m` runs


def _run_script(text: bytes | str, name: str) -> None:
    path = os.path.abspath(name)
    main = _main()
    main.__file__ = path
    main.__loader__ = SourceFileLoader("__main__", path)
    main.__dict__["__cached__"] = None
    code = compile(text, path, "exec", dont_inherit=True)
    exec(code, main.__dict__)


def _main() -> ModuleType:
    main = ModuleType("__main__")
    main.__dict__.update(__builtins__=sys.modules["builtins"], __annotations__={})
    sys.modules["__main__"] = main
    return main


def _ended(error: BaseException, outcome: Outcome) -> None:
    """Do what Python does when an exception leaves the program."""
    if isinstance(error, SystemExit):
        outcome.code = _exit_code(error.code)
        return
    outcome.error = error
    outcome.code = 1
    trace = program_part(error.__traceback__)
    error.__traceback__ = trace
    _flush()
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, trace
    try:
        sys.excepthook(type(error), error, trace)
    except SystemExit as leaving:  # an excepthook may leave with a code of its own
        outcome.code = _exit_code(leaving.code)


def _exit_code(code: Any) -> int:
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF if code >= 0 else code % 256
    _flush()
    print(code, file=sys.stderr)
    return 1


def program_part(trace: TracebackType | None) -> TracebackType | None:
    """A traceback without the frames above the program, which are ours."""
    here = os.path.dirname(__file__)
    while trace is not None and os.path.dirname(trace.tb_frame.f_code.co_filename) == here:
        trace = trace.tb_next
    return trace


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):
            pass
