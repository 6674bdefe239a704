"""Edits made in a text."""

from __future__ import annotations

import re
from collections.abc import Iterable

from attnlab.checks.finding import Edit

_NEWLINE = re.compile(r"\r\n|\r|\n")


def applied(text: str, edits: Iterable[Edit]) -> str:
    """The text with the edits made in it, in its own newlines. Of two that overlap the first is made."""
    lines = starts(text)
    first = _NEWLINE.search(text)
    newline = "\n" if first is None else first[0]
    places = {(lines[line - 1] + col, lines[end - 1] + end_col, new) for line, col, end, end_col, new in edits}
    done, at = "", 0
    for start, end, new in sorted(places):
        if start >= at:
            done += text[at:start] + new.replace("\n", newline)
            at = end
    return done + text[at:]


def starts(text: str) -> list[int]:
    """Where each line begins."""
    return [0, *(match.end() for match in _NEWLINE.finditer(text))]
