"""A program watched; what is made of its run is the verb's."""

from __future__ import annotations

import atexit
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Sequence
from typing import IO, Any, Protocol

from attnlab.commandline import Command
from attnlab.experiments.request import Reply, Request
from attnlab.experiments.server import Server
from attnlab.experiments.start import Start
from attnlab.output import own_stdout, say
from attnlab.recording.session import Session
from attnlab.run import Program, Run
from attnlab.words import Words


class Watching(Protocol):
    """What watches a program, as a `Session` does."""

    def wait_for_torch(self) -> None:
        """Begin when the program has imported torch."""

    def finish(self, error: BaseException | None, exit_code: int | None) -> Run:
        """Stop; the Run. `error` and `exit_code`: how the program ended."""
        ...


class Watch:
    """A program watched; what is made of its run is the verb's."""

    def __init__(self, command: Command, words: Words, output: int | None) -> None:
        self._command = command
        self._words = words
        if output is None:
            # That of now, whatever the program does to its own.
            self._stdout = self._screen()
        else:
            os.set_inheritable(output, False)
            self._stdout = open(output, "w", encoding="utf-8", errors="backslashreplace")  # noqa: SIM115 - as long as it runs
        self._start = Start.now()
        self._server: Server | None = None
        self._process = os.getpid()
        self._session = self._watching(Program(command.kind, command.program, command.argv))
        self._session.wait_for_torch()
        atexit.register(self._finish)  # the first to be registered is the last to be called

    @staticmethod
    def needed() -> Iterable[str]:
        """The modules that are needed to tell, as far as they need no torch that the program has not imported."""
        raise NotImplementedError

    def _watching(self, program: Program) -> Watching:
        """What watches the program."""
        return Session(program, numbers=True, on_torch=self._serve, on_start=self._keep)

    def _screen(self) -> IO[str] | None:
        """Where it is said, unless another file was asked for."""
        return own_stdout()

    def _serve(self) -> None:
        self._server = Server(self._start)

    def _keep(self, recorder: Any) -> None:
        """Told of the recorder before it records."""

    def _told(self, run: Run, stdout: IO[str]) -> str:
        """What there is to say of the run."""
        raise NotImplementedError

    def _failed(self, sentence: str) -> str:
        """What is said in the place of that where attnlab itself failed."""
        return sentence + "\n"

    def _leave(self, error: BaseException | None) -> None:
        """Called when all is said; `error` is what ended the program."""

    @property
    def _ask(self) -> Callable[[Sequence[Request]], Sequence[Reply]] | None:
        return None if self._server is None else self._server.ask

    def _finish(self) -> None:
        if os.getpid() != self._process:
            return
        sys.path[:] = self._start.path  # the same for what is still to be imported
        error: BaseException | None = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
        run = self._session.finish(error, None if error is None else 1)
        if self._stdout is not None:
            try:
                text = self._told(run, self._stdout)
            except Exception as fault:  # noqa: BLE001 - the program has ended well, whatever becomes of its explanation
                place = traceback.extract_tb(fault.__traceback__)[-1]
                where = f"{os.path.basename(place.filename)}:{place.lineno}"
                text = self._failed(
                    self._words.say("command.fault", fault=f"{type(fault).__name__}: {fault}", where=where)
                )
            say(self._stdout, text)
        self._close()
        self._leave(error)

    def _close(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
