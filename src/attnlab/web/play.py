"""`attnlab play`: a server on this machine, and a browser that is shown to it."""

from __future__ import annotations

import os
import secrets

from attnlab.commandline import Command, Misused
from attnlab.lessons import lessons, source
from attnlab.recording.program import NoProgram, check
from attnlab.run import Program
from attnlab.web.file import File
from attnlab.web.jupyter import PROXIED
from attnlab.web.runs import Runs
from attnlab.web.security import Door
from attnlab.web.server import Playground
from attnlab.web.serving import ASSETS, LOOPBACK, Server, listening, serve
from attnlab.web.worker import Worker
from attnlab.words import Words


def play(command: Command, words: Words) -> int:
    """Serve the playground until it is interrupted. Raises `Misused`."""
    file = _file(command, words)
    host = command.last("host") or LOOPBACK
    token = os.environ.pop(PROXIED, None)  # not for the programs that are run
    proxied = token is not None
    door = Door(token or secrets.token_urlsafe(32), host, proxied)
    if not (ASSETS / "play.js").exists():
        raise Misused("play.unbuilt")
    worker = Worker()
    runs = Runs(worker, file)
    with listening(host, command.last("port")) as sockets:
        server = Server(Playground(file, runs, words.language, proxied).app(door), worker.close)
        worker.start()
        try:
            serve(server, sockets, command, words, door, "play")
        finally:
            worker.close()
            runs.close()
    return 0


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
