"""A rerun, seen from the server whose child it is."""

from __future__ import annotations

import contextlib
import fcntl
import math
import os
import pickle
import shutil
import signal
import tempfile
import time
from collections.abc import Callable

from attnlab.experiments.messages import send
from attnlab.experiments.request import PRINTED, Ended, Reply, Request
from attnlab.experiments.rerun import rerun
from attnlab.experiments.start import Start


class Child:
    """One rerun, seen from the server. Until `begin` tells it what to run, it waits."""

    def __init__(self, start: Start, own: tuple[int, int], ahead: Callable[[], None] | None = None) -> None:
        self.place = 0
        self.told = False  # whether its end of `result` is closed
        self._until = math.inf
        self._output: int | None = None
        self._printed_bytes = 0
        self._folder = tempfile.mkdtemp(prefix="attnlab-")
        asked, self._ask = os.pipe()
        self.result, result = os.pipe()
        self._printed, printed = os.pipe()
        self._taken = {self.result: bytearray(), self._printed: bytearray()}
        self.process = os.fork()
        if self.process == 0:
            os.setsid()  # a group of its own: what it starts ends with it
            for end in (*self._taken, *own, self._ask):
                os.close(end)
            guarded(lambda: rerun(start, ahead, asked, result, printed, self._folder))
        os.close(asked)
        os.close(result)
        os.close(printed)
        for end in self._taken:
            os.set_blocking(end, False)
        if hasattr(fcntl, "F_SETPIPE_SZ"):  # a program that prints a lot need not wait for each look
            fcntl.fcntl(self._printed, fcntl.F_SETPIPE_SZ, PRINTED)

    def begin(self, place: int, request: Request) -> None:
        """Tell it what to run."""
        self.place = place
        self._until = time.monotonic() + request.seconds
        self._output = request.output
        with contextlib.suppress(BrokenPipeError):  # it has died while it waited, and is told as dead
            send(self._ask, request)
        os.close(self._ask)
        self._ask = -1

    def take(self) -> None:
        """Take what has come."""
        with contextlib.suppress(BlockingIOError):
            while part := os.read(self.result, 1 << 20):
                self._taken[self.result].extend(part)
            self.told = True
        printed = self._taken[self._printed]
        with contextlib.suppress(BlockingIOError):
            for _ in range(8):  # not until there is no more: it may print faster than this reads
                if not (part := os.read(self._printed, 1 << 20)):
                    break
                self._printed_bytes += len(part)
                if len(printed) < PRINTED:
                    printed.extend(part)

    def end(self) -> int:
        """End it, and all that it started; its status."""
        # Not yet waited for, so the number is still its own.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.process, signal.SIGKILL)  # where it has not come to have a group of its own yet
        _, status = os.waitpid(self.process, 0)
        self.take()
        for end in (*self._taken, *([self._ask] if self._ask >= 0 else [])):
            os.close(end)
        shutil.rmtree(self._folder, ignore_errors=True)
        return status

    def reply(self) -> Reply | None:
        """The reply when it has ended or is over a bound."""
        bound: Ended | None = None
        if self._output is not None and self._printed_bytes > self._output:
            bound = "output"
        elif time.monotonic() >= self._until:
            bound = "time"
        ended = os.waitid(os.P_PID, self.process, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        if not ended and bound is None:
            return None
        status = self.end()
        printed = bytes(self._taken[self._printed][:PRINTED]).decode(errors="replace")
        if bound == "output" or (bound == "time" and not ended):
            return Reply(bound, None, printed)
        data = bytes(self._taken[self.result])
        if not data:
            signalled = os.WIFSIGNALED(status)
            detail = signal.Signals(os.WTERMSIG(status)).name if signalled else str(os.waitstatus_to_exitcode(status))
            return Reply("died", None, printed, detail)
        how, detail, run, measures, files, examined = pickle.loads(data)
        return Reply(how, run, printed, detail, measures, files, examined)


def guarded(work: Callable[[], None]) -> None:
    """Run `work` in a forked process and end it, without ever going back into the program that was forked."""
    try:
        work()
    except BaseException:  # noqa: BLE001 - whatever it is, this process must not go on as the program
        os._exit(1)
    os._exit(0)
