"""The server's own process: it runs what is asked for, as many at once as there are processors."""

from __future__ import annotations

import gc
import os
import select
import signal
from collections.abc import Callable, Set

from attnlab.experiments.child import Child
from attnlab.experiments.messages import receive, send
from attnlab.experiments.request import Reply, Request
from attnlab.experiments.start import Start

_POLL = 0.01  # seconds between looks at whether a rerun has ended


def serve(asks: int, answers: int, start: Start, ahead: Callable[[], None] | None = None) -> None:
    """Run what is asked for, until nobody can ask any longer.

    `ahead`: fork the next child before it is asked for, and have it do this while it waits.
    """
    if os.getsid(0) != os.getpid():
        os.setsid()  # an interrupt from the terminal is for the program
    null = os.open(os.devnull, os.O_RDWR)
    for end in (0, 1, 2):
        os.dup2(null, end)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _ = start.imported_since
    # What is loaded now is garbage in no rerun: a collection that walked through it there would copy all its memory.
    gc.collect()
    gc.freeze()
    nursery = _Nursery(start, (asks, answers), ahead)
    at_work: dict[int, _Asked] = {}
    while True:
        if not at_work:
            nursery.fill()
        results = [end for asked in at_work.values() for end in asked.results]
        ready = select.select([asks, *results], [], [], _POLL if at_work else None)[0]
        if asks in ready:
            try:
                number, requests = receive(asks)
            except EOFError:
                for asked in at_work.values():
                    asked.drop()
                nursery.clear()
                _end_strays(set())
                return
            if requests is not None:
                at_work[number] = _Asked(requests, nursery)
            elif number in at_work:
                at_work[number].drop()
        for number, asked in list(at_work.items()):
            if asked.over():
                del at_work[number]
                send(answers, (number, asked.replies))
                _end_strays({*nursery.processes, *(one for other in at_work.values() for one in other.processes)})


def _end_strays(known: Set[int]) -> None:
    """End what programs have left running, where such processes fall to this one (`PR_SET_CHILD_SUBREAPER`)."""
    while True:
        try:
            with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:
                strays = set(map(int, file.read().split())) - known
        except OSError:
            return  # not told here, and nothing falls to this process
        if not strays:
            return
        for stray in strays:
            os.kill(stray, signal.SIGKILL)
            os.waitpid(stray, 0)


class _Nursery:
    """Where children come from: one may be ready before there is something for it to do."""

    def __init__(self, start: Start, own: tuple[int, int], ahead: Callable[[], None] | None) -> None:
        """`own`: what the server is asked and answers by, which is none of theirs."""
        self._start = start
        self._own = own
        self._ahead = ahead
        self._ready: Child | None = None

    @property
    def processes(self) -> list[int]:
        """The one that is ready."""
        return [] if self._ready is None else [self._ready.process]

    def fill(self) -> None:
        """Have one ready, where that is wanted."""
        if self._ready is None and self._ahead is not None:
            self._ready = Child(self._start, self._own, self._ahead)

    def take(self) -> Child:
        """The one that is ready, else a new one."""
        child, self._ready = self._ready, None
        return child or Child(self._start, self._own)

    def clear(self) -> None:
        """End the one that is ready."""
        if self._ready is not None:
            self._ready.end()


class _Asked:
    """What was asked for at once, at work."""

    def __init__(self, requests: list[Request], nursery: _Nursery) -> None:
        self._nursery = nursery
        self._waiting = list(enumerate(requests))[::-1]
        self._running: list[Child] = []
        self._replies: dict[int, Reply] = {}
        self._slots = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)

    @property
    def results(self) -> list[int]:
        """Where there may be something to take."""
        return [child.result for child in self._running if not child.told]

    @property
    def processes(self) -> list[int]:
        """Those that are at work."""
        return [child.process for child in self._running]

    @property
    def replies(self) -> list[Reply]:
        """The replies, in order."""
        return [self._replies[place] for place in sorted(self._replies)]

    def over(self) -> bool:
        """Look at how far they are, and begin the next; whether all have ended."""
        for child in list(self._running):
            child.take()
            reply = child.reply()
            if reply is not None:
                self._running.remove(child)
                self._replies[child.place] = reply
        while self._waiting and len(self._running) < self._slots:
            child = self._nursery.take()
            child.begin(*self._waiting.pop())
            self._running.append(child)
        return not self._running

    def drop(self) -> None:
        """End what has not ended yet."""
        left = [place for place, _ in self._waiting]
        for child in self._running:
            child.end()
            left.append(child.place)
        self._waiting, self._running = [], []
        self._replies.update(dict.fromkeys(left, Reply("dropped", None, "")))
