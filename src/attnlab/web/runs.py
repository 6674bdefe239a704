"""What the editor's text comes to: run in the worker, and told as what the page shows."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Lock
from typing import Any, Literal, TypeAlias, TypeVar, cast

from attnlab.experiments.request import Reply, Request
from attnlab.run import Program
from attnlab.web.file import File
from attnlab.web.whys import Both, answered
from attnlab.web.worker import Ticket, Worker
from attnlab.words import LANGUAGES, Words

SECONDS = 5.0
THOROUGH = 30.0  # seconds for all rules on one run, or for one of the experiments of a `why`
MEMORY = 2 << 30
OUTPUT = 8 << 20
FORKS = 6
_WAITING = 64  # how many may wait for an answer at once
_TABS = 1000  # of how many it is known which text is their newest

Look: TypeAlias = Literal["quick", "thorough"]
Told = dict[str, Any]
_T = TypeVar("_T")


def both(sentence: str, **params: object) -> Both:
    """A sentence in each language."""
    return {language: Words(language).say(sentence, **params) for language in LANGUAGES}


class Runs:
    """Runs of one file's text, for any number of tabs; in each of them the newer takes the place of the older."""

    def __init__(self, worker: Worker, file: File) -> None:
        self._worker = worker
        self._file = file
        self._tabs: dict[str, _Edit] = {}
        self._threads = ThreadPoolExecutor(_WAITING, "attnlab-wait")

    def close(self) -> None:
        """Begin nothing more."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def look(self, tab: str, edit: int, text: str, look: Look) -> tuple[Told, str | None]:
        """Run a text: how that ended, and the scene as JSON. `edit` counts the texts of a tab."""
        seconds = SECONDS if look == "quick" else THOROUGH
        request = self._request(text, f"attnlab.web.examining:{look}", seconds)
        replies = await self._asked(tab, edit, lambda ask: ask([request]))
        return _told(replies[0]) if replies else (_ended(None), None)

    async def why(self, tab: str, edit: int, text: str, topic: str) -> Told:
        """The answer to a topic of `why`: `{"text": …}` or how the run ended that was to give it."""
        request = self._request(text, "", SECONDS)
        found = await self._asked(tab, edit, lambda ask: answered(ask, request, self._file.path, topic))
        if found is None:
            return _ended(None)
        text_, first = found
        return _ended(first) if text_ is None else {"ended": "whole", "text": text_}

    def _request(self, text: str, examine: str, seconds: float) -> Request:
        return Request(
            Program("script", self._file.path, ()),
            {self._file.path: text},
            examine=examine,
            keep=not examine,
            seconds=seconds,
            memory=MEMORY,
            output=OUTPUT,
            forks=FORKS,
        )

    async def _asked(
        self, tab: str, edit: int, work: Callable[[Callable[[Sequence[Request]], list[Reply]]], _T]
    ) -> _T | None:
        """What `work` makes of the worker's replies; None where a newer text of the tab came before it was there."""
        newest = self._tabs.pop(tab, None) or _Edit(-1)
        if edit > newest.number:
            for ticket in newest.end():
                self._threads.submit(self._worker.drop, ticket)  # which waits while PyTorch is being loaded
            newest = _Edit(edit)
        self._tabs[tab] = newest  # the last that was heard of stands last
        if len(self._tabs) > _TABS:
            del self._tabs[next(iter(self._tabs))]
        if edit < newest.number:
            return None
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work, partial(self._ask, newest))
        except _Older:
            return None

    def _ask(self, edit: _Edit, requests: Sequence[Request]) -> list[Reply]:
        """The worker's replies. Raises `_Older` where a newer text came before they were there."""
        ticket = self._worker.submit(requests)
        if not edit.begin(ticket):
            self._worker.drop(ticket)
        try:
            replies = self._worker.wait(ticket)
        except EOFError:
            return [Reply("died", None, "") for _ in requests]
        finally:
            edit.done(ticket)
        if edit.over:
            raise _Older
        return replies


class _Edit:
    """One text of a tab, and what is at work for it."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.over = False
        self._changing = Lock()
        self._at_work: list[Ticket] = []

    def begin(self, ticket: Ticket) -> bool:
        """Note that it is at work; false where a newer text has come already."""
        with self._changing:
            self._at_work.append(ticket)
            return not self.over

    def done(self, ticket: Ticket) -> None:
        """Note that it is not at work any longer."""
        with self._changing:
            self._at_work.remove(ticket)

    def end(self) -> list[Ticket]:
        """A newer text has come: what there is to drop."""
        with self._changing:
            self.over = True
            return list(self._at_work)


class _Older(Exception):
    """A newer text has come."""


def _told(reply: Reply) -> tuple[Told, str | None]:
    """How a run ended, and its scene."""
    examined = cast("dict[str, Any]", reply.examined or {})
    told = _ended(reply)
    if examined.get("fault"):
        told["says"] = both("play.ended.fault", fault=examined["fault"])
    elif reply.ended == "whole" and examined.get("exit_code"):
        told["says"] = both("play.ended.code", code=examined["exit_code"])
    return told, examined.get("scene")


def _ended(reply: Reply | None) -> Told:
    """How a run ended: in a word, and in a sentence where there is something to say."""
    if reply is None:
        return {"ended": "dropped", "says": None, "printed": ""}
    return {"ended": reply.ended, "says": _says(reply), "printed": reply.printed}


def _says(reply: Reply) -> Both | None:
    match reply.ended:
        case "time":
            return both("play.ended.time", seconds=f"{SECONDS:.0f}")
        case "memory":
            return both("play.ended.memory", bound=MEMORY >> 30)
        case "output":
            return both("play.ended.output", bound=OUTPUT >> 20)
        case "effect":
            return both("play.ended.effect", what=reply.detail)
        case "died" if not reply.detail:
            return both("play.ended.lost")
        case "died":
            if reply.detail == "SIGXCPU":
                return both("play.ended.time", seconds=f"{SECONDS:.0f}")
            died = "signal" if reply.detail.startswith("SIG") else "exit"
            return both(f"play.ended.{died}", detail=reply.detail)
        case _:
            return None
