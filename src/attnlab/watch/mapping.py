"""`attnlab map FILE`, while the program runs and when it has ended."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterable
from typing import IO, Any

from attnlab.commandline import Command, Misused
from attnlab.output import flush_files
from attnlab.recording.imports import when_imported
from attnlab.run import Program, Run
from attnlab.watch.watching import Watch
from attnlab.words import Words


class _Capture:
    """In the place of a `Session`, where nothing is recorded: attentions are taken as they happen.

    `begin` is called when the program has imported torch, `end` when it has ended.
    """

    def __init__(self, program: Program, begin: Callable[[], None], end: Callable[[], None]) -> None:
        self._program = program
        self._begin = begin
        self._end = end
        self._process = os.getpid()

    def wait_for_torch(self) -> None:
        """Begin when torch is there."""
        self._undo = when_imported("torch", self._imported)

    def finish(self, error: BaseException | None, exit_code: int | None) -> Run:
        """Stop. The run has no steps."""
        self._undo()
        self._end()
        return Run.empty(self._program, None if error is None else (type(error).__name__, str(error)), exit_code, 0.0)

    def _imported(self) -> None:
        if os.getpid() == self._process:  # else a child that the program forked: it is not the one watched
            self._begin()


class Mapping(Watch):
    """`attnlab map FILE`."""

    def __init__(self, command: Command, words: Words, output: int | None) -> None:
        from attnlab.mapping.asking import asked

        self._asked = asked(command)
        self._code = 0
        self._mapped: Any = None
        super().__init__(command, words, output)

    @staticmethod
    def needed() -> Iterable[str]:
        """The modules that are needed to tell, as far as they need no torch."""
        return "attnlab.mapping.asking", "attnlab.mapping.progress", "attnlab.views.paint"

    def _watching(self, program: Program) -> _Capture:
        return _Capture(program, self._begin, self._end)

    def _begin(self) -> None:
        from attnlab.mapping.program import Mapped

        self._mapped = Mapped(self._asked, self._words)

    def _end(self) -> None:
        if self._mapped is not None:
            self._mapped.end()

    def _told(self, run: Run, stdout: IO[str]) -> str:
        try:
            if self._mapped is None:
                raise Misused("map.none", name=self._command.program)
            return self._mapped.told(stdout)
        except Misused as error:
            if error.id != "map.none":  # else nothing was asked that can't be had: the program's own code stays
                self._code = 2
            sentence = self._words.say(error.id, **error.params)
            with contextlib.suppress(OSError):
                os.write(2, (self._words.say("command.misused", sentence=sentence) + "\n").encode())
            return ""

    def _leave(self, error: BaseException | None) -> None:
        if self._code and error is None:
            flush_files()
            os._exit(self._code)  # as a use that is wrong before the program has run
        if self._asked.live and not self._code:
            flush_files()
            os.execv(sys.executable, [sys.executable, "-P", "-m", "attnlab", *self._asked.serving(self._command)])
