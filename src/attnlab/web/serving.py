"""What every server of ours does: listen, say where, show a browser there, take what a page sends, and end."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
import webbrowser
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Any, cast

import uvicorn
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp

from attnlab.commandline import Command, Misused
from attnlab.output import own_stdout, say
from attnlab.web.security import Door
from attnlab.words import Words

PORT = 8642  # where it is taken and no other was asked for, any
LOOPBACK = "127.0.0.1"
ASSETS = Path(__file__).parent / "assets"


_SHELL = """<!doctype html>
<html lang="{lang}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="icon" href="data:,">
{styles}
</head>
<body>
<div id="{root}"></div>
<script type="application/json" id="{data}">{json}</script>
{scripts}
</body>
</html>
"""


class Server(uvicorn.Server):
    """Serves an application. `closing` ends what is running before it waits for the requests that wait for that."""

    def __init__(self, app: ASGIApp, closing: Callable[[], None]) -> None:
        super().__init__(
            uvicorn.Config(
                app,
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
        self._closing = closing

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop."""
        self._closing()
        await super().shutdown(sockets)


def shell(lang: str, title: str, root: str, data: tuple[str, object], assets: Sequence[str]) -> str:
    """A page with nothing of anybody's in it: `data`, by the id of its element, and the built files of these names."""
    name, content = data
    return _SHELL.format(
        lang=lang,
        title=escape(title),
        root=root,
        data=name,
        json=json.dumps(content, ensure_ascii=False).replace("<", "\\u003c"),
        styles="\n".join(f'<link rel="stylesheet" href="assets/{asset}.css">' for asset in assets),
        scripts="\n".join(f'<script src="assets/{asset}.js" defer></script>' for asset in assets),
    )


async def body(request: Request, most: int) -> dict[str, Any]:
    """The JSON that a page sends, of so many bytes at most. Raises `HTTPException`."""
    data = bytearray()
    async for part in request.stream():
        data += part
        if len(data) > most:
            raise HTTPException(413)
    try:
        found = json.loads(data)
    except ValueError:
        raise HTTPException(400) from None
    if not isinstance(found, dict):
        raise HTTPException(400)
    return cast("dict[str, Any]", found)


def serve(server: Server, sockets: list[socket.socket], command: Command, words: Words, door: Door, verb: str) -> None:
    """Serve until it is interrupted. `verb`: whose sentences say where it is."""
    signal.signal(signal.SIGTERM, _terminated)
    address = _address(sockets[0], door)
    _say(words, sockets[0], address, door, verb)
    with contextlib.suppress(KeyboardInterrupt), _shown(command, address):
        server.run(sockets)


def _terminated(number: int, _: object) -> None:
    """End as after an interrupt: leaving nothing behind."""
    raise SystemExit(128 + number)


@contextmanager
def listening(host: str, asked: str | None) -> Generator[list[socket.socket]]:
    """Sockets that listen: at the port that was asked for, else at the usual one or, where it is taken, another."""
    if asked is not None and not (asked.isascii() and asked.isdecimal() and int(asked) < 1 << 16):
        raise Misused("play.port", asked=asked)
    port = PORT if asked is None else int(asked)
    try:
        bound = _bound(host, port, 0 if asked is None else None)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise Misused("play.taken", port=port) from None
        raise Misused("play.host", host=host, reason=error.strerror or error) from None
    with bound:
        yield [bound]


def _bound(host: str, port: int, otherwise: int | None) -> socket.socket:
    family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    bound = socket.socket(family, kind)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.listen(128)
    except OSError as error:
        bound.close()
        if error.errno == errno.EADDRINUSE and otherwise is not None:
            return _bound(host, otherwise, None)
        raise
    return bound


def _address(bound: socket.socket, door: Door) -> str:
    """What to open in a browser."""
    port = bound.getsockname()[1]
    name = {"0.0.0.0": socket.gethostname(), "::": socket.gethostname()}.get(door.host, door.host)
    return f"http://{f'[{name}]' if ':' in name else name}:{port}/#token={door.token}"


def _say(words: Words, bound: socket.socket, address: str, door: Door, verb: str) -> None:
    """Where it is, and how to end it."""
    if door.proxied:
        return  # nobody reads it but Jupyter's log, where the token has no business
    stdout = own_stdout()
    if stdout is not None:
        say(stdout, words.say(f"{verb}.open", address=address) + "\n")
    if not _loopback(bound):
        print(words.say(f"{verb}.network", host=door.host), file=sys.stderr, flush=True)


def _loopback(bound: socket.socket) -> bool:
    address = str(bound.getsockname()[0])
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
        page = Path(folder, f"{command.verb}.html")
        page.write_text(f'<meta http-equiv="refresh" content="0; url={escape(address)}">\n', encoding="utf-8")
        # Some browsers come back only when they are closed.
        threading.Thread(target=webbrowser.open, args=(page.as_uri(),), daemon=True).start()
        yield
    finally:
        shutil.rmtree(folder, ignore_errors=True)
