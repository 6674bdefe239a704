"""Watching a program from its first line to its last: `attnlab explain`.

`launch` turns this process into `python FILE`, with the hook of `hook/` in it; there `attach`
begins to record, and when the program has ended says what happened.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import subprocess
import sys
import traceback
from typing import IO, NoReturn

import attnlab
from attnlab.commandline import Command, parse
from attnlab.experiments.server import Server, Start
from attnlab.output import colour, own_stdout, say, width
from attnlab.recording.session import Session
from attnlab.run import Program, Run
from attnlab.words import Words, language


def launch(argv: list[str], program: Program, output: IO[str] | None) -> NoReturn:
    """Become the program, watched. `argv`: attnlab's own arguments; `output`: where its words go (None: stdout)."""
    hook = os.path.join(os.path.dirname(attnlab.__file__), "hook")
    before = os.environ.get("PYTHONPATH")
    environ = {**os.environ, "PYTHONPATH": hook if not before else f"{hook}{os.pathsep}{before}"}
    if before is not None:
        environ["ATTNLAB_PYTHONPATH"] = before
    if output is not None:
        os.set_inheritable(output.fileno(), True)
    environ["ATTNLAB_WATCH"] = json.dumps([argv, None if output is None else output.fileno()])
    flags: list[str] = getattr(subprocess, "_args_from_interpreter_flags")()  # noqa: B009 - no stub has it
    name = ["-m", program.name] if program.kind == "module" else [program.name]
    os.execve(sys.executable, [sys.executable, *flags, *name, *program.argv], environ)


def attach(request: str) -> None:
    """Begin to watch the program that this process is about to run."""
    # Now, while no module of the program's can stand in the way of Python's own; and later, running any text as
    # code (as dataclasses do) would make Python forget that an interrupt ended the program.
    for name in ("attnlab.telling", "attnlab.diagnosis", "attnlab.views.diagnosis"):
        importlib.import_module(name)
    argv, output = json.loads(request)
    command = parse(argv)
    words = Words(language(command.last("lang"), os.environ))
    _Watch(command, words, output)


class _Watch:
    def __init__(self, command: Command, words: Words, output: int | None) -> None:
        self._command = command
        self._words = words
        if output is None:
            # The stdout of now, whatever the program does to its own.
            self._stdout = own_stdout()
        else:
            os.set_inheritable(output, False)
            self._stdout = open(output, "w", encoding="utf-8")  # noqa: SIM115 - for as long as the program runs
        self._start = Start.now()
        self._server: Server | None = None
        self._process = os.getpid()
        program = Program(command.kind, command.program, command.argv)
        self._session = Session(program, numbers=True, on_torch=self._serve)
        self._session.wait_for_torch()
        atexit.register(self._finish)  # the first to be registered is the last to be called

    def _serve(self) -> None:
        self._server = Server(self._start)

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
                text = self._words.say("command.fault", fault=f"{type(fault).__name__}: {fault}", where=where) + "\n"
            say(self._stdout, text)
        if self._server is not None:
            self._server.close()

    def _told(self, run: Run, stdout: IO[str]) -> str:
        from attnlab.telling import named, tell

        options = self._command.options
        told = named(run, None if self._server is None else self._server.ask, rerun="rerun" in options)
        if "json" in options:
            return told.run.to_json() + "\n"
        return tell(
            told, self._words, width(), colour(stdout), layer=self._command.last("layer"), everything="all" in options
        )
