"""Text in cells: a full-width character takes two, a combining mark none.

What a person wrote (source, names, errors) may hold anything. `plain` makes it safe to print: no
escape sequence reaches the terminal, and nothing turns the direction of the line round.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache

ELLIPSIS = "…"
# Not at the start of a line, and not at the end of one (the rules of Chinese typesetting).
_NO_START = frozenset("，。、；：？！）】》」』”’…％·,.;:?!)]}%")
_NO_END = frozenset("（【《「『“‘([{")
_CODE_BREAK = re.compile(r" |\.(?=[^\W\d])")
_JOINER = "\u200d"
_TOKEN = re.compile(r" +|[^ ]")


@cache
def _cells(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf") or "\u1160" <= character <= "\u11ff":
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def cells(text: str) -> int:
    """How many cells of a terminal the text takes. Ambiguous characters (→, ·, √) count one."""
    if text.isascii():
        return len(text)
    # A joiner glues the next character to the one before it, as in an emoji of several.
    return sum(_cells(c) for i, c in enumerate(text) if not (i and text[i - 1] == _JOINER))


def plain(text: str) -> str:
    """The text without anything that a terminal would obey: controls are written out, tabs become four spaces."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        "    "
        if c == "\t"
        else c
        if unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Zl", "Zp") or c == _JOINER
        else _escaped(c)
        for c in text
    )


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def pad(text: str, width: int) -> str:
    """The text with spaces behind it, up to `width` cells."""
    return text + " " * (width - cells(text))


def pad_left(text: str, width: int) -> str:
    """The text with spaces before it, up to `width` cells."""
    return " " * (width - cells(text)) + text


def fit(text: str, width: int) -> str:
    """The text, cut to `width` cells with an ellipsis where it is longer."""
    if cells(text) <= width:
        return text
    kept, used = "", 0
    for character in text:
        used += _cells(character)
        if used > width - 1:
            break
        kept += character
    return kept.rstrip() + ELLIPSIS


def wrap(text: str, width: int, hang: int = 0) -> list[str]:
    """The text in lines of at most `width` cells; lines after the first begin with `hang` spaces.

    Breaks at spaces and beside full-width characters, never before a closing mark or behind an
    opening one; a piece that is longer than a line is cut where the line ends.
    """
    lines: list[str] = []
    line = ""
    for piece in _pieces(text):
        room = width - (hang if lines else 0)
        if cells(line) + cells(piece.rstrip()) <= room:
            line += piece
            continue
        if line.strip():
            lines.append(line.rstrip())
            room = width - hang
        line = piece.lstrip()
        while cells(line.rstrip()) > room:
            head = _head(line, room)
            lines.append(head)
            line, room = line[len(head) :], width - hang
    if line.strip() or not lines:
        lines.append(line.rstrip())
    return [lines[0], *(" " * hang + rest for rest in lines[1:])]


def wrap_code(text: str, width: int, hang: int = 0) -> list[str]:
    """Code in lines of at most `width` cells: broken at a space, behind a bracket, before a dot, else at the end."""
    lines: list[str] = []
    rest, room = text, width
    while cells(rest) > room:
        head = _head(rest, room)
        places = [i for i in range(1, len(head)) if _CODE_BREAK.match(rest, i) or rest[i - 1] in "(["]
        cut = places[-1] if places and places[-1] > room // 3 else len(head)
        lines.append(rest[:cut].rstrip())
        rest, room = rest[cut:].lstrip(), width - hang
    lines.append(rest)
    return [lines[0], *(" " * hang + line for line in lines[1:])]


def _head(text: str, width: int) -> str:
    used = 0
    for index, character in enumerate(text):
        used += _cells(character)
        if used > width and index:
            return text[:index]
    return text


def _pieces(text: str) -> Iterator[str]:
    """The text cut wherever a line may be broken; spaces stay behind the piece before them."""
    piece = ""
    for token in _TOKEN.findall(text):
        if piece and not token.isspace() and _may_break(piece, token):
            yield piece
            piece = ""
        piece += token
    if piece:
        yield piece


def _may_break(before: str, after: str) -> bool:
    last = before[-1]
    if last == " ":
        return True
    if after in _NO_START or last in _NO_END or _cells(after) == 0:
        return False
    return _cells(last) == 2 or _cells(after) == 2
