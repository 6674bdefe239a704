"""A program on the bench: its first run, and any number of further ones, each with something changed."""

from __future__ import annotations

import importlib
import os
import tokenize
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Protocol

from attnlab.attention import Attention, find
from attnlab.experiments import constants
from attnlab.experiments.changes import Change, Constant, Mode, Nudge, Replace, Seed, SetConstant
from attnlab.experiments.compare import Comparison, compare
from attnlab.experiments.request import Ended, Reply, Request
from attnlab.experiments.server import Server
from attnlab.experiments.start import Start
from attnlab.run import Program, Run

# A first run may take this long (seconds); a program that took longer than LONG is not run again unasked.
FIRST = 600.0
LONG = 20.0


class NotAgain(Exception):
    """The program is not run again: `id` is a sentence in the catalogs of words, `params` its placeholders."""

    def __init__(self, message: str, **params: object) -> None:
        super().__init__(message, params)
        self.id = message
        self.params = params


@dataclass(frozen=True)
class Trial:
    """One further run: what was changed, how it ended, its run (None where there is none to read), what moved."""

    changes: tuple[Change, ...]
    reply: Reply
    comparison: Comparison | None

    @property
    def run(self) -> Run | None:
        """The further run."""
        return self.reply.run

    @property
    def ended(self) -> Ended:
        """How it ended."""
        return self.reply.ended


class Asked(Protocol):
    """Whoever runs programs again: a `Server`, or what stands before one."""

    def ask(self, requests: Sequence[Request]) -> list[Reply]:
        """Run all of them; their replies in order."""
        ...


class Lab:
    """Made by `opened`. `run` is the first run, `attentions` what was found in it."""

    def __init__(self, server: Asked, first: Reply, run: Run, rerun: bool) -> None:
        self._server = server
        self._first = first
        self._rerun = rerun
        self.run = run
        self.attentions: tuple[Attention, ...] = find(run)
        self.measures = first.measures
        self.main = os.path.abspath(run.program.name)
        self.sources = {**_texts((self.main, *first.files)), **run.sources}
        self.constants: tuple[Constant, ...] = constants.find(self.sources)

    def again(self, *changes: Change, seconds: float | None = None) -> Trial:
        """Run the program once more under the changes. Raises `BadChange`, and `NotAgain` for a long program."""
        return self.each([changes], seconds)[0]

    def each(self, several: Sequence[Sequence[Change]], seconds: float | None = None) -> list[Trial]:
        """Run it once more for each set of changes, side by side; numbers and measures are taken in all."""
        if self.run.seconds > LONG and not self._rerun:
            raise NotAgain("again.long", seconds=f"{self.run.seconds:.0f}", bound=f"{LONG:.0f}")
        bound = seconds if seconds is not None else max(10.0, 5 * self.run.seconds)
        replies = self._server.ask([self._request(changes, bound) for changes in several])
        return [self._trial(tuple(changes), reply) for changes, reply in zip(several, replies, strict=True)]

    def ask(self, requests: Sequence[Request]) -> list[Reply]:
        """Hand requests on as they are."""
        return self._server.ask(requests)

    def _request(self, changes: Sequence[Change], seconds: float) -> Request:
        texts = constants.apply(self.sources, changes, self.main)
        live = tuple(change for change in changes if isinstance(change, (Nudge, Seed, Mode)))
        return Request(self.run.program, texts, live, measure=True, seconds=seconds)

    def _trial(self, changes: tuple[Change, ...], reply: Reply) -> Trial:
        if reply.run is None:
            return Trial(changes, reply, None)
        return Trial(changes, reply, compare(self.run, reply.run, (self._first.printed, reply.printed)))

    def constant(self, name: str) -> Constant:
        """The constant of a name. Raises `BadChange`."""
        return constants.choose(self.constants, name)

    def set(self, name: str, text: str) -> SetConstant:
        """The change `--set name=text`. Raises `BadChange`."""
        constant = self.constant(name)
        return SetConstant(constant, constants.value(constant, text))

    def replace(self, old: str, new: str, line: int | None = None) -> Replace:
        """The change `--replace old new`."""
        return Replace(old, new, line)


def _texts(files: Sequence[str]) -> dict[str, str]:
    """The texts of the program's own files, those without any tensor operation too: numbers may stand there."""
    found: dict[str, str] = {}
    for name in files:
        with suppress(OSError, SyntaxError, UnicodeDecodeError), tokenize.open(name) as file:
            found[name] = file.read()
    return found


@contextmanager
def opened(program: Program, rerun: bool = False) -> Generator[Lab]:
    """Run a program, its output held back and in a process of its own, and keep it ready to be run again.

    `rerun`: also where the first run took long. Raises `NoProgram` where there is nothing to run, and
    `NotAgain` where the first run did not come to an end.
    """
    from attnlab.recording.program import check

    check(program)
    start = Start.now()
    importlib.import_module("torch")  # every run is a child of a process that has it loaded
    with Server(start) as server:
        first = server.ask([Request(program, measure=True, seconds=FIRST)])[0]
        if first.ended == "memory":
            raise NotAgain("again.memory", bound=Request.memory >> 30)
        if first.ended == "time":
            raise NotAgain("again.time", bound=f"{FIRST:.0f}")
        if first.run is None:
            raise NotAgain("again.died", detail=first.detail)
        yield Lab(server, first, first.run, rerun)
