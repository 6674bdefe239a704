"""Pieces of a tokenizer, joined into what a person reads as one: a word, a character, a sign."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import replace

from attnlab.maps.data import Span, Text

# Written without spaces between words: there a character is what is read as one. By the first word of Unicode's names.
_NO_SPACES = frozenset({"CJK", "HIRAGANA", "KATAKANA", "BOPOMOFO", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN"})
_JOINER = "\u200d"  # glues emoji to one
# How tokenizers write a space before a piece, and that a piece goes on with the word before it.
_MARKS = ("Ġ", "▁", "##")


def read(text: str, pieces: Sequence[str], places: Sequence[tuple[int, int]], special: Sequence[bool]) -> Text:
    """The pieces joined where they share a character, and where one goes on with the word of the one before.

    `places`   of each piece where it begins and ends in the text, in characters; equal where it stands for none
    `special`  whether the piece is a token of the model's own
    """
    spans: list[Span] = []
    ends = [0]  # in the text, of the spans; -1 where one stands for none of it
    begin = 0  # of the last one
    for index, (piece, (start, stop), own) in enumerate(zip(pieces, places, special, strict=True)):
        end = ends[-1]
        if own:
            spans.append(Span(index, index + 1, piece, "special"))
            ends.append(-1)
        elif (spans and end > start and stop > begin) or (end == start and _goes_on(text, start)):
            begin, ends[-1] = min(begin, start), max(end, stop)
            last = spans.pop()
            if begin == ends[-1]:  # neither of them stands for a character
                spans.append(replace(last, stop=index + 1))
            else:
                spans.append(_span(last.start, index + 1, text, begin, ends[-1], spans, ends[-2]))
        elif start < stop:
            begin = start
            spans.append(_span(index, index + 1, text, start, stop, spans, end))
            ends.append(stop)
        else:
            name = bare(piece)
            spans.append(Span(index, index + 1, name, "text" if name.strip() else "space"))
            begin = stop
            ends.append(stop)
    return Text(tuple(pieces), tuple(spans))


def bare(piece: str) -> str:
    """A piece without the mark of the space before it, or of the word that it goes on with."""
    for mark in _MARKS:
        if piece.startswith(mark) and len(piece) > len(mark):
            return piece.removeprefix(mark)
    return " " if piece in ("Ġ", "▁") else piece


def _span(start: int, stop: int, text: str, begin: int, end: int, spans: Sequence[Span], before: int) -> Span:
    """The pieces `start` to `stop`, at `begin` to `end` in the text; the last of `spans` before it ends at `before`."""
    whole = text[begin:end]
    read = whole.strip()
    if not read:
        return Span(start, stop, whole, "space")
    first = end - len(whole.lstrip())
    told = bool(spans) and spans[-1].kind == "space" and before == first
    return Span(start, stop, read, "text", first > 0 and text[first - 1].isspace() and not told)


def _goes_on(text: str, at: int) -> bool:
    """Whether the character there belongs to what is read as one with the character before it."""
    if not 0 < at < len(text):
        return False
    before, after = text[at - 1], text[at]
    if _JOINER in (before, after) or unicodedata.category(after)[0] == "M" or "\U0001f3fb" <= after <= "\U0001f3ff":
        return True
    return _in_word(before) and _in_word(after)


def _in_word(character: str) -> bool:
    if unicodedata.category(character)[0] == "M":
        return True
    return character.isalnum() and unicodedata.name(character, "").partition(" ")[0] not in _NO_SPACES
