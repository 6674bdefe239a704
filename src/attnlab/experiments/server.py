"""A process that has torch loaded and has not used it yet; every rerun is a child of it.

Forking it is quick, and safe where forking the program's own process is not: its thread pools have not
started. What a rerun prints is held back. What would outlive it is not done again: where the program
would write a file, start another program or open a connection, the rerun ends, and says so.

Several may ask at once, and an ask whose answer nobody waits for any longer can be dropped.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import threading
from collections.abc import Sequence

from attnlab.descriptors import out_of_the_way
from attnlab.experiments.child import guarded
from attnlab.experiments.messages import receive, send
from attnlab.experiments.request import Reply, Request
from attnlab.experiments.serving import serve
from attnlab.experiments.start import Start


class Server:
    """The process, seen from the one that asks. Use as a context manager, or `close()` it."""

    def __init__(self, start: Start) -> None:
        """Fork it off. To be called when torch has just been imported."""
        asks, ask = map(out_of_the_way, os.pipe())
        answer, answers = map(out_of_the_way, os.pipe())
        self._connect(ask, answer)
        child = os.fork()
        if child == 0:
            # A grandchild that belongs to nobody: the program's own os.wait() does not meet it.
            if os.fork() == 0:
                os.close(ask)
                os.close(answer)
                guarded(lambda: serve(asks, answers, start))
            os._exit(0)
        os.waitpid(child, 0)
        os.close(asks)
        os.close(answers)

    @classmethod
    def over(cls, ask: int, answer: int) -> Server:
        """A process that `serve` runs in already, at the other ends of these two.

        A thread reads its replies as they come: where many ask, none of them can be relied on to read.
        """
        server = cls.__new__(cls)
        server._connect(ask, answer)
        server._reading = True
        threading.Thread(target=server._read_all, daemon=True).start()
        return server

    def _read_all(self) -> None:
        try:
            while True:
                came, replies = receive(self._answer)
                with self._told:
                    self._answered[came] = replies
                    self._told.notify_all()
        except (EOFError, OSError, pickle.UnpicklingError):
            with self._told:
                self._ended = True
                self._told.notify_all()

    def _connect(self, ask: int, answer: int) -> None:
        self._ask, self._answer = ask, answer
        self._sending = threading.Lock()  # another than that of those who read: what is sent may wait for them
        self._told = threading.Condition()
        self._reading = False
        self._ended = False
        self._count = 0
        self._answered: dict[int, list[Reply]] = {}

    def ask(self, requests: Sequence[Request]) -> list[Reply]:
        """Run all of them, as many at once as there are processors; their replies in order."""
        return self.wait(self.submit(requests))

    def submit(self, requests: Sequence[Request]) -> int:
        """Begin to run them; the number by which to `wait` for the replies, or to `drop` them."""
        with self._sending:
            self._count += 1
            number = self._count
            send(self._ask, (number, list(requests)))
        return number

    def drop(self, number: int) -> None:
        """End what is left of these runs. Whoever waits for them is told at once."""
        with self._sending:
            send(self._ask, (number, None))

    def wait(self, number: int) -> list[Reply]:
        """The replies, when all are there. Raises `EOFError` when the process has ended."""
        with self._told:
            while number not in self._answered:
                if self._ended:
                    raise EOFError
                if self._reading:
                    self._told.wait()
                    continue
                # One of those who wait reads for all of them.
                self._reading = True
                self._told.release()
                try:
                    came, replies = receive(self._answer)
                finally:
                    self._told.acquire()
                    self._reading = False
                    self._told.notify_all()
                self._answered[came] = replies
            return self._answered.pop(number)

    def close(self) -> None:
        """Let the process end."""
        for end in (self._ask, self._answer):
            with contextlib.suppress(OSError):
                os.close(end)

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
