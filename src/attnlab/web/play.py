"""`attnlab play`: a server on this machine, and a browser that is shown to it."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import signal
import socket
import sys
import tempfile
import threading
import webbrowser
from collections.abc import Generator
from contextlib import contextmanager
from html import escape
from pathlib import Path

import uvicorn

from attnlab.commandline import Command, Misused
from attnlab.lessons import lessons, source
from attnlab.output import own_stdout, say
from attnlab.recording.program import NoProgram, check
from attnlab.run import Program
from attnlab.web.file import File
from attnlab.web.jupyter import PROXIED
from attnlab.web.runs import Runs
from attnlab.web.security import Door
from attnlab.web.server import ASSETS, Playground
from attnlab.web.worker import Worker
from attnlab.words import Words

PORT = 8642  # where it is taken and no other was asked for, any


def play(command: Command, words: Words) -> int:
    """Serve the playground until it is interrupted. Raises `Misused`."""
    file = _file(command, words)
    host = command.last("host") or "127.0.0.1"
    token = os.environ.pop(PROXIED, None)  # not for the programs that are run
    proxied = token is not None
    door = Door(token or secrets.token_urlsafe(32), host, proxied)
    if not (ASSETS / "play.js").exists():
        raise Misused("play.unbuilt")
    worker = Worker()
    runs = Runs(worker, file)
    with _listening(host, command.last("port")) as sockets:
        server = _Server(Playground(file, runs, words.language, proxied).app(door), worker)
        worker.start()
        signal.signal(signal.SIGTERM, _terminated)
        try:
            _say(words, sockets[0], host, door)
            with contextlib.suppress(KeyboardInterrupt), _shown(command, _address(sockets[0], host, door)):
                server.run(sockets)
        finally:
            worker.close()
            runs.close()
    return 0


def _terminated(number: int, _: object) -> None:
    """End as after an interrupt: leaving nothing behind."""
    raise SystemExit(128 + number)


class _Server(uvicorn.Server):
    """Ends what is running before it waits for the requests that wait for that."""

    def __init__(self, app: object, worker: Worker) -> None:
        super().__init__(
            uvicorn.Config(
                app,  # pyright: ignore[reportArgumentType] - its own types for what starlette's are too
                loop="asyncio",
                http="h11",
                ws="none",
                lifespan="off",
                log_level="error",
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=2,
            )
        )
        self._worker = worker

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop."""
        self._worker.close()
        await super().shutdown(sockets)


def _file(command: Command, words: Words) -> File:
    """The file to play with: the demo where none was named, which nobody writes to."""
    if command.argv:
        raise Misused("play.one")
    if not command.program:
        demo = lessons()[0]
        return File(str(demo), source(demo, words.language))
    if command.kind != "script" or os.path.isdir(command.program):
        raise Misused("play.script", name=command.program)
    file = File(command.program)
    try:
        check(Program("script", command.program, ()))
        file.read()
    except NoProgram as error:
        raise Misused(f"command.{error.reason}", name=error.name) from None
    except (OSError, ValueError) as error:
        raise Misused("play.unread", name=command.program, reason=error) from None
    return file


@contextmanager
def _listening(host: str, asked: str | None) -> Generator[list[socket.socket]]:
    """Sockets that listen: at the port that was asked for, else at the usual one or, where it is taken, another."""
    if asked is not None and not (asked.isascii() and asked.isdecimal() and int(asked) < 1 << 16):
        raise Misused("play.port", asked=asked)
    port = PORT if asked is None else int(asked)
    try:
        listening = _bound(host, port, 0 if asked is None else None)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise Misused("play.taken", port=port) from None
        raise Misused("play.host", host=host, reason=error.strerror or error) from None
    with listening:
        yield [listening]


def _bound(host: str, port: int, otherwise: int | None) -> socket.socket:
    family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    listening = socket.socket(family, kind)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(128)
    except OSError as error:
        listening.close()
        if error.errno == errno.EADDRINUSE and otherwise is not None:
            return _bound(host, otherwise, None)
        raise
    return listening


def _address(listening: socket.socket, host: str, door: Door) -> str:
    """What to open in a browser."""
    port = listening.getsockname()[1]
    name = {"0.0.0.0": socket.gethostname(), "::": socket.gethostname()}.get(host, host)
    return f"http://{f'[{name}]' if ':' in name else name}:{port}/#token={door.token}"


def _say(words: Words, listening: socket.socket, host: str, door: Door) -> None:
    """Where it is, and how to end it."""
    if door.proxied:
        return  # nobody reads it but Jupyter's log, where the token has no business
    stdout = own_stdout()
    if stdout is not None:
        say(stdout, words.say("play.open", address=_address(listening, host, door)) + "\n")
    if not _loopback(listening):
        print(words.say("play.network", host=host), file=sys.stderr, flush=True)


def _loopback(listening: socket.socket) -> bool:
    address = str(listening.getsockname()[0])
    return address == "::1" or address.startswith("127.")


def _graphical() -> bool:
    """Whether a browser would have a window: one that takes the terminal is of no use here."""
    return sys.platform != "linux" or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))


@contextmanager
def _shown(command: Command, address: str) -> Generator[None]:
    """A browser shown the address, unless that is not wanted.

    By way of a file that only this person can read: what a program is called with, everybody on the machine can read.
    """
    if "no-browser" in command.options or not _graphical():
        yield
        return
    folder = tempfile.mkdtemp(prefix="attnlab-")
    try:
        page = Path(folder, "play.html")
        page.write_text(f'<meta http-equiv="refresh" content="0; url={escape(address)}">\n', encoding="utf-8")
        # Some browsers come back only when they are closed.
        threading.Thread(target=webbrowser.open, args=(page.as_uri(),), daemon=True).start()
        yield
    finally:
        shutil.rmtree(folder, ignore_errors=True)
