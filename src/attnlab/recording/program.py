"""Running a script or a module as `python FILE` and `python -m MODULE` do, and recording it.

The program gets a `__main__` of its own, its arguments, its folder first on the path; its exception is
shown by the excepthook that it may have set, and its exit code is handed back. torch is imported when
the program imports it, not before.
"""

from __future__ import annotations

import io
import os
import runpy
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib.machinery import SourceFileLoader
from importlib.util import find_spec
from types import ModuleType, TracebackType
from typing import Any

from attnlab.recording.imports import when_imported
from attnlab.run import Program, Run


class NoProgram(Exception):
    """There is no such file or module to run. `reason` is an id in the catalogs of words."""

    def __init__(self, reason: str, name: str) -> None:
        super().__init__(reason, name)
        self.reason = reason
        self.name = name


class Outcome:
    """How a program ended: the exit code, or the signal to die by, and whether this is still its process."""

    def __init__(self) -> None:
        self.code = 0
        self.error: BaseException | None = None
        self.interrupted = False


class Halt(BaseException):
    """Raised within the program to end it early; the Run up to there is whole, and no error."""


@dataclass(frozen=True)
class Conditions:
    """How to run a program.

    `numbers`   note statistics and a corner of every value
    `leaving`   the process ends after this, so its threads are waited for just as Python does then
    `texts`     texts to run in the place of files: what an experiment changed
    `on_torch`  called when the program has imported torch, before anything is recorded
    `on_start`  called with the recorder before it records
    """

    numbers: bool = True
    leaving: bool = False
    texts: Mapping[str, str] = field(default_factory=dict[str, str])
    on_torch: Callable[[], None] | None = None
    on_start: Callable[[Any], None] | None = None


def run_program(program: Program, conditions: Conditions) -> tuple[Run, Outcome]:
    """Run `program` (kind "script" or "module") in this process and record it.

    Raises `NoProgram` where there is nothing to run. Whatever the program raises is shown as Python
    would show it, and is in the outcome.
    """
    start = _prepare(program, conditions.texts)
    session = _Session(program, conditions)
    outcome = Outcome()
    process = os.getpid()
    undo = when_imported("torch", session.begin)
    try:
        start()
    except Halt:
        pass
    except BaseException as error:
        _ended(error, outcome)
    finally:
        undo()
        if program.kind == "script":
            for name in ("__file__", "__cached__"):  # Python takes them away again when the script has ended
                sys.modules["__main__"].__dict__.pop(name, None)
        if os.getpid() != process:  # a child that the program forked came back here: it is not the one watched
            raise SystemExit(outcome.code)
    if conditions.leaving:
        _shutdown()
    return session.finish(outcome), outcome


class _Session:
    """The recording of one program, from the moment when it has imported torch."""

    def __init__(self, program: Program, conditions: Conditions) -> None:
        self._program = program
        self._conditions = conditions
        self._recorder: Any = None
        self._watching: Any = None
        self._finish: Any = None
        self._began = time.perf_counter()

    def begin(self) -> None:
        from attnlab.recording.finish import finish
        from attnlab.recording.mode import Recorder
        from attnlab.recording.outside import Watching

        self._finish = finish  # loaded now, for whoever is forked off here
        if self._conditions.on_torch is not None:
            self._conditions.on_torch()
        self._recorder = Recorder(self._conditions.numbers, _own(self._program))
        if self._conditions.on_start is not None:
            self._conditions.on_start(self._recorder)
        self._watching = Watching(self._recorder)
        self._watching.__enter__()
        self._began = time.perf_counter()

    def finish(self, outcome: Outcome) -> Run:
        seconds = time.perf_counter() - self._began
        error = outcome.error
        if self._recorder is None:
            told = None if error is None else (type(error).__name__, str(error))
            return Run.empty(self._program, told, outcome.code, seconds)
        self._watching.__exit__()
        return self._finish(Run.unfinished(), self._recorder, self._program, error, outcome.code, seconds)


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


_shutdown: Any = getattr(threading, "_shutdown")  # noqa: B009 - no stub has it; what Python runs at its end
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


def _own(program: Program) -> tuple[str, ...]:
    """Folders that are the user's own code wherever they lie: the package that `-m` runs."""
    if program.kind != "module":
        return ()
    try:
        spec = find_spec(program.name.partition(".")[0])
    except (ImportError, ValueError):
        return ()
    if spec is None:
        return ()
    folders = spec.submodule_search_locations
    return tuple(f"{folder}/" for folder in folders) if folders else (spec.origin or "\0",)


def _ended(error: BaseException, outcome: Outcome) -> None:
    """Do what Python does when an exception leaves the program."""
    if isinstance(error, SystemExit):
        outcome.code = _exit_code(error.code)
        return
    outcome.error = error
    outcome.code = 1
    outcome.interrupted = isinstance(error, KeyboardInterrupt)
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
