"""Where attnlab's words go: a file, or the stdout that it was started with, whatever the program does to its own."""

from __future__ import annotations

import contextlib
import gc
import io
import os
import sys
from typing import IO

from attnlab.descriptors import out_of_the_way

WIDEST = 120


def open_output(name: str) -> IO[str]:
    """A file to write to, under a number that the program's own files do not get."""
    return open(name, "w", encoding="utf-8", opener=_opened)


def own_stdout() -> IO[str] | None:
    """The stdout of this moment; None where the process was started with it closed."""
    return _own(1, sys.stdout)


def own_stderr() -> IO[str] | None:
    """The same of stderr."""
    return _own(2, sys.stderr)


def _own(number: int, stream: object) -> IO[str] | None:
    try:
        encoding = getattr(stream, "encoding", None) or "utf-8"
        return open(out_of_the_way(os.dup(number)), "w", encoding=encoding, errors="replace")
    except OSError:
        return None


def write_whole(name: str, content: str | bytes) -> int:
    """Write a file so that it is there whole or not at all; a pipe or a device as it comes. The bytes written."""
    data = content if isinstance(content, bytes) else content.encode("utf-8", "backslashreplace")
    if os.path.exists(name) and not os.path.isfile(name):
        with open(name, "wb") as file:
            return file.write(data)
    path = os.path.realpath(name)
    part = f"{path}.{os.getpid()}.part"
    try:
        with open(part, "xb") as file:
            file.write(data)
        os.replace(part, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.remove(part)
        raise
    return len(data)


def _opened(name: str, flags: int) -> int:
    return out_of_the_way(os.open(name, flags, 0o666))


def say(stdout: IO[str], text: str) -> None:
    """Write what there is to say, after everything that the program has printed."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):  # the program closed or replaced it
            pass
    try:
        with stdout:
            stdout.write(text)
    except BrokenPipeError:  # `attnlab explain FILE | head`
        pass


def flush_files() -> None:
    """Write out what every open file still holds back, as Python does at its end."""
    for item in gc.get_objects():
        if type(item) in (io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom):
            with contextlib.suppress(Exception):
                item.flush()


def width() -> int:
    """Columns to write in: the terminal's, at most `WIDEST`."""
    import shutil  # which loads more than a command needs that only becomes the program

    return min(shutil.get_terminal_size().columns, WIDEST)


def colour(stdout: IO[str]) -> bool:
    """Whether to write in colour: to a terminal, unless NO_COLOR says otherwise."""
    return stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
