"""The file in the editor: read, and written only when that is asked for."""

from __future__ import annotations

import hashlib
import io
import os
import tokenize
from dataclasses import dataclass

from attnlab.replacing import replace_file


class Elsewhere(Exception):
    """The file is no longer what the editor had: it was changed by somebody else."""


@dataclass(frozen=True)
class Text:
    """What is in the file: its lines end in a newline alone here; `mark` is another for every other text."""

    text: str
    mark: str
    encoding: str = "utf-8"
    newline: str = "\n"


class File:
    """The program's file. `text`: shown in the place of what is in it, which is then not the person's own to write."""

    def __init__(self, path: str, text: str | None = None) -> None:
        self.path = os.path.abspath(path)
        self.shown = path
        self.savable = text is None
        self._text = text

    def read(self) -> Text:
        """What is in it now. Raises `OSError`, and `ValueError` where it is no Python text."""
        if self._text is not None:
            return Text(self._text, "")
        with open(self.path, "rb") as file:
            data = file.read()
        try:
            encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
            text = data.decode(encoding)
        except SyntaxError as error:
            raise ValueError(str(error)) from None
        newline = "\r\n" if "\r\n" in text else "\n"
        return Text(text.replace("\r\n", "\n").replace("\r", "\n"), _mark(data), encoding, newline)

    def save(self, text: str, mark: str) -> str:
        """Put a text in the place of what has this mark; the mark of the new text. The file is never half written.

        Raises `Elsewhere` where the file has another mark by now, `OSError` where it cannot be written, and
        `ValueError` where its encoding has not all the characters.
        """
        now = self.read()
        if now.mark != mark:
            raise Elsewhere
        encoding = _encoding(text, now.encoding)
        data = text.replace("\n", now.newline).encode(encoding)
        replace_file(self.path, data)
        return _mark(data)


def _encoding(text: str, before: str) -> str:
    """The encoding that the new text names, else the one that the file had."""
    try:
        named, _ = tokenize.detect_encoding(io.BytesIO(text.encode()).readline)
    except SyntaxError as error:
        raise ValueError(str(error)) from None
    return before if named == "utf-8" and before == "utf-8-sig" else named


def _mark(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
