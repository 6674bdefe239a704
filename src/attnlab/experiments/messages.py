"""Whole messages through a pipe."""

from __future__ import annotations

import os
import pickle
import struct
from typing import Any

_SIZE = struct.Struct("!Q")


def send(end: int, message: Any) -> None:
    """Write a message, all of it."""
    data = pickle.dumps(message)
    data = _SIZE.pack(len(data)) + data
    while data:
        data = data[os.write(end, data) :]


def receive(end: int) -> Any:
    """The next message. Raises `EOFError` where nobody can write any longer."""
    (size,) = _SIZE.unpack(_read(end, _SIZE.size))
    return pickle.loads(_read(end, size))


def _read(end: int, size: int) -> bytes:
    parts: list[bytes] = []
    while size:
        part = os.read(end, min(size, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
