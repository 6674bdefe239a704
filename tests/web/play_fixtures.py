"""A playground that is served, and asked without a browser."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# A test that would hang fails; on a busy machine nothing is quick.
PATIENCE = 60


class Answer:
    """What the server answered."""

    def __init__(self, status: int, headers: Mapping[str, str], text: str) -> None:
        self.status = status
        self.headers = headers
        self.text = text

    @property
    def json(self) -> Any:
        return json.loads(self.text)


class Play:
    """A playground, asked without a browser."""

    def __init__(self, process: subprocess.Popen[str], address: str) -> None:
        self.process = process
        self.address = address
        self.base, _, self.token = address.partition("/#token=")
        self._edit = 0

    def ask(self, path: str, body: object | None = None, headers: Mapping[str, str | None] | None = None) -> Answer:
        """Ask as the page does; `headers` take the place of its own, and None takes one away."""
        own: dict[str, str | None] = {} if body is None else {"Origin": self.base, "X-Attnlab-Token": self.token}
        sent = {name: value for name, value in {**own, **(headers or {})}.items() if value is not None}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, sent)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return Answer(answer.status, answer.headers, answer.read().decode())
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code, error.headers, error.read().decode())

    def look(self, text: str, tab: str = "one", edit: int | None = None, **more: object) -> Any:
        """Run a text, as the newest of a tab."""
        self._edit += 1
        body = {"tab": tab, "edit": self._edit if edit is None else edit, "text": text, **more}
        answer = self.ask("/api/look", body)
        assert answer.status == 200, answer.text
        return answer.json

    @property
    def text(self) -> str:
        """The text to begin with."""
        return self.ask("/api/start", {}).json["text"]


@contextmanager
def playing(*arguments: str, folder: Path | None = None, browser: Path | None = None) -> Iterator[Play]:
    """A playground, served until the end of the `with`; in a session of its own, as a terminal would start it.

    `browser`: a program to be started as one.
    """
    command = [sys.executable, "-m", "attnlab", "play", "--port", "0", *arguments]
    command += [] if browser else ["--no-browser"]
    process = subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, "ATTNLAB_LANG": "en", "BROWSER": str(browser or "")},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with process:
        assert process.stdout is not None
        try:
            process.stdout.readline()
            yield Play(process, process.stdout.readline().strip())
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGINT)  # what Ctrl+C in a terminal does
            try:
                process.wait(PATIENCE)
            finally:
                process.kill()


def below(process: int) -> set[int]:
    """The processes that a process has started, and those that they have."""
    found: set[int] = set()
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        try:
            children = task.read_text().split()
        except OSError:
            continue
        for child in map(int, children):
            found |= {child} | below(child)
    return found
