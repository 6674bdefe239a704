"""The recording of one program, from the moment when it has imported torch to its end."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from attnlab.recording.imports import when_imported
from attnlab.run import Program, Run


class Session:
    """Records a program in this thread.

    `numbers`: note statistics and a corner of every value. `on_torch` is called when the program has
    imported torch, before anything is recorded; `on_start` with the recorder, before it records.
    """

    def __init__(
        self,
        program: Program,
        numbers: bool,
        on_torch: Callable[[], None] | None = None,
        on_start: Callable[[Any], None] | None = None,
    ) -> None:
        self._program = program
        self._numbers = numbers
        self._on_torch = on_torch
        self._on_start = on_start
        self._process = os.getpid()
        self._began = time.perf_counter()
        self._recorder: Any = None
        self._watching: Any = None
        self._finish: Any = None
        self._undo: Callable[[], None] | None = None

    def wait_for_torch(self) -> None:
        """Record from when torch is there."""
        self._undo = when_imported("torch", self._begin)

    def _begin(self) -> None:
        if os.getpid() != self._process:  # a child that the program forked: it is not the one watched
            return
        from attnlab.recording.finish import finish
        from attnlab.recording.mode import Recorder
        from attnlab.recording.outside import Watching

        self._finish = finish  # loaded now, for whoever is forked off here
        if self._on_torch is not None:
            self._on_torch()
        self._recorder = Recorder(self._numbers, _own(self._program))
        if self._on_start is not None:
            self._on_start(self._recorder)
        self._watching = Watching(self._recorder)
        self._watching.__enter__()
        self._began = time.perf_counter()

    def finish(self, error: BaseException | None, exit_code: int | None) -> Run:
        """Stop recording; the Run."""
        seconds = time.perf_counter() - self._began
        if self._undo is not None:
            self._undo()
        if self._recorder is None:
            told = None if error is None else (type(error).__name__, str(error))
            return Run.empty(self._program, told, exit_code, seconds)
        self._watching.__exit__()
        return self._finish(Run.unfinished(), self._recorder, self._program, error, exit_code, seconds)


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
