"""The process that runs people's code, seen from the server: started, asked, and started anew where it has died."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass

from attnlab.descriptors import out_of_the_way
from attnlab.experiments.request import Reply, Request
from attnlab.experiments.server import Server

_GRACE = 3.0  # seconds that the process has to end by itself


@dataclass(frozen=True)
class Ticket:
    """What was asked for: of which process, and under which number."""

    server: Server
    number: int


class Worker:
    """Start it with `start`; what is asked for before it has loaded PyTorch waits until then."""

    def __init__(self) -> None:
        self._changing = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._server: Server | None = None
        self._ask = -1
        self._closed = False

    def start(self) -> Server:
        """The process that is there, else a new one."""
        with self._changing:
            if self._closed:
                raise EOFError
            if self._server is None:
                asks, self._ask = map(out_of_the_way, os.pipe())
                answer, answers = map(out_of_the_way, os.pipe())
                self._process = subprocess.Popen(
                    # -P: no file of the folder that this was started in stands in the place of a module.
                    [sys.executable, "-P", "-m", "attnlab.web.process", str(asks), str(answers)],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    pass_fds=(asks, answers),
                    start_new_session=True,  # an interrupt from the terminal is for the server alone
                )
                os.close(asks)
                os.close(answers)
                self._server = Server.over(self._ask, answer)
            return self._server

    def submit(self, requests: Sequence[Request]) -> Ticket:
        """Begin to run them. Raises `EOFError` where that cannot be, now that the server is being shut down."""
        server = self.start()
        try:
            return Ticket(server, server.submit(requests))
        except OSError:  # it has died since it was last heard of
            self._lost(server)
            server = self.start()
            return Ticket(server, server.submit(requests))

    def wait(self, ticket: Ticket) -> list[Reply]:
        """The replies. Raises `EOFError` where the process died of what it ran; the next is then on its way."""
        try:
            return ticket.server.wait(ticket.number)
        except (EOFError, OSError):
            if not self._closed:
                self._lost(ticket.server)
                self.start()
            raise EOFError from None

    def drop(self, ticket: Ticket) -> None:
        """End what is left of these runs."""
        with contextlib.suppress(OSError):
            ticket.server.drop(ticket.number)

    def _lost(self, server: Server) -> None:
        """Leave a process that is dead or cannot be understood any longer."""
        with self._changing:
            if server is self._server:
                self._server = None
                self._end()
                server.close()

    def close(self) -> None:
        """End the process, and every run in it."""
        with self._changing:
            if self._server is not None and not self._closed:
                self._closed = True
                os.close(self._ask)  # it ends when nobody can ask; whoever waits reads of that at the other pipe
                self._end()
            self._closed = True

    def _end(self) -> None:
        if self._process is None:
            return
        try:
            self._process.wait(0 if not self._closed else _GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None
