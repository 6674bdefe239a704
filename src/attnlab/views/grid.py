"""The grid of weights: a row for each query, a column for each key, as many as fit."""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan

from attnlab.explanation.data import Weights
from attnlab.views.paint import Paint
from attnlab.views.text import cells, pad, pad_left
from attnlab.words import Words

_ROWS = 12
_WIDE, _TIGHT = 9, 7


def grid(weights: Weights, words: Words, width: int, paint: Paint) -> Iterator[str]:
    """The title, the rows with their sums, and what was left out. The largest of a row is painted."""
    yield paint("strong", words.say(weights.title.id, **dict(weights.title.params)))
    labels = [words.say("weights.query", index=index) for index in range(len(weights.rows))]
    label = max(map(cells, labels), default=0)
    total = words.say("weights.sum")
    room = width - label - (_WIDE if weights.sums else 0)
    count = len(weights.rows[0]) if weights.rows else 0
    column = _WIDE if count * _WIDE <= room else _TIGHT
    shown = min(count, room // column)
    heads = [pad_left(words.say("weights.key", index=index), column) for index in range(shown)]
    yield paint("faint", " " * label + "".join(heads) + (pad_left(total, _WIDE) if weights.sums else ""))
    for index, row in enumerate(weights.rows[:_ROWS]):
        cut = row[:shown]
        largest = max(row, default=0.0)
        line = "".join(paint("mark" if cell == largest else "plain", pad_left(_number(cell), column)) for cell in cut)
        end = paint("faint", f"{weights.sums[index]:>{_WIDE}.4f}") if weights.sums else ""
        yield paint("faint", pad(labels[index], label)) + line + end
    if weights.keys > shown:
        yield words.say("weights.keys_left", count=weights.keys - shown)
    rows = min(len(weights.rows), _ROWS)
    if weights.queries > rows:
        yield words.say("weights.queries_left", count=weights.queries - rows)


def _number(value: float) -> str:
    return "0" if value == 0 else "NaN" if isnan(value) else f"{value:.4f}"
