"""A diagnosis as lines of text."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Protocol

from attnlab.diagnosis import Diagnosis, Row, Suggestion
from attnlab.run import Run, Source
from attnlab.views.text import cells, fit, pad, pad_left, plain, wrap

INDENT = "    "
ARROW = "↑"
# A longer name of an operand is cut: its whole text stands in the failing expression.
NAME = 36


class Say(Protocol):
    """What fills a message of the catalogs: `Words.say`."""

    def __call__(self, id: str, /, **params: object) -> str:  # noqa: A002 - positional only, as in `Words.say`
        """The sentence."""
        ...


def lines(diagnosis: Diagnosis, run: Run, say: Say, width: int) -> list[str]:
    """The diagnosis in lines of `width` cells; code that one may want to copy is never cut."""
    found = wrap(_placed("diagnosis.header", diagnosis.source, run, say, text=diagnosis.text), width)
    found += _rows(diagnosis, run, say, width)
    for message in (diagnosis.reason, *diagnosis.notes):
        found += _sentence(_said(message.id, message.params, say), width)
    if diagnosis.tried and not diagnosis.suggestions:
        found += _sentence(say("diagnosis.verdict.none"), width)
    labels = [say(f"diagnosis.verdict.{item.verdict}") for item in diagnosis.suggestions]
    column = max(map(cells, labels), default=0) + 1
    for label, item in zip(labels, diagnosis.suggestions, strict=True):
        found += _suggestion(item, INDENT + pad(label, column), diagnosis, run, say, width)
    return found


def _sentence(text: str, width: int) -> list[str]:
    return [INDENT + line for line in wrap(text, width - len(INDENT))]


def _said(message: str, params: Mapping[str, str | int], say: Say) -> str:
    return say(message, **{name: plain(value) if isinstance(value, str) else value for name, value in params.items()})


def _placed(message: str, source: Source, run: Run, say: Say, **params: str) -> str:
    """A message that names a line, and the file too where it is not the program's own."""
    place: dict[str, str | int] = {**params, "line": source.span.line}
    if run.program.kind == "script" and os.path.abspath(run.program.name) == os.path.abspath(source.span.file):
        return _said(message, place, say)
    return _said(f"{message}_file", {**place, "file": os.path.basename(source.span.file)}, say)


def _rows(diagnosis: Diagnosis, run: Run, say: Say, width: int) -> list[str]:
    rows = diagnosis.rows
    widths = _widths(rows) if diagnosis.aligned else []
    named = max((cells(_names(row)) for row in rows), default=0)
    cellss = [_sizes(row, widths) for row in rows]
    shapes = [
        pad_left(_names(row), named if diagnosis.aligned else 0) + text
        for row, (text, _) in zip(rows, cellss, strict=True)
    ]
    shape_column = max(map(cells, shapes), default=0)
    if diagnosis.aligned:
        shapes = [pad_left(text, shape_column) for text in shapes]
    name_column = max((min(cells(plain(row.text)), NAME) for row in rows), default=0)
    details = max((len(row.detail) + 2 for row in rows if row.detail), default=0)
    found: list[str] = []
    marked: set[int] = set()
    for row, shape, (text, ends) in zip(rows, shapes, cellss, strict=True):
        name = pad(fit(plain(row.text), NAME), name_column)
        line = f"{INDENT}{name}  {pad(shape, shape_column)}  {pad(row.detail, details)}{_origin(row, run, say)}"
        found.append(fit(line.rstrip(), width))
        begins = len(INDENT) + name_column + 2 + cells(shape) - cells(text)
        marked |= {begins + ends[axis] for axis in row.marks if axis < len(ends)}
        if not diagnosis.aligned and marked:
            found.append(_arrows(marked))
            marked = set()
    return [*found, _arrows(marked)] if marked else found


def _widths(rows: Sequence[Row]) -> list[int]:
    """How wide each axis is written, counted from the right, where shapes stand one under the other."""
    rank = max((len(row.shape) for row in rows), default=0)
    return [max(len(str(row.shape[-back])) for row in rows if len(row.shape) >= back) for back in range(1, rank + 1)]


def _names(row: Row) -> str:
    return f"[{', '.join(map(plain, row.axes))}] = " if row.axes else ""


def _sizes(row: Row, widths: Sequence[int]) -> tuple[str, list[int]]:
    """The shape, and in which cell each of its numbers ends."""
    text, ends = "[", list[int]()
    for axis, size in enumerate(row.shape):
        back = len(row.shape) - axis
        text += (", " if axis else "") + str(size).rjust(widths[back - 1] if widths else 0)
        ends.append(len(text) - 1)
    return text + "]", ends


def _arrows(places: set[int]) -> str:
    return "".join(ARROW if place in places else " " for place in range(max(places) + 1))


def _origin(row: Row, run: Run, say: Say) -> str:
    if row.kind == "asked" or row.made == row.text:
        return ""
    if row.origin is None:
        return say(f"diagnosis.from.{row.kind}")
    made = "diagnosis.from.module" if row.kind in ("parameter", "buffer") else "diagnosis.from.result"
    return f"{_placed(made, row.origin, run, say)}  {plain(row.made)}"


def _suggestion(item: Suggestion, label: str, diagnosis: Diagnosis, run: Run, say: Say, width: int) -> list[str]:
    text = plain(item.shown)
    if item.source != diagnosis.source:
        text = f"{_placed('diagnosis.verdict.elsewhere', item.source, run, say)}  {text}"
    shapes = item.shapes if item.verdict == "fails" else item.results
    came = (" · " if item.verdict == "fails" else ", ").join(map(_shape, shapes))
    outcome = came if item.verdict == "fails" else f"→ {came}"
    hang = " " * cells(label)
    whole = f"{label}{text}   {outcome}"
    found = [whole] if cells(whole) <= width else [label + text, hang + outcome]
    if item.note is not None:
        found += [
            hang + line for line in wrap(_said(item.note.id, item.note.params, say), max(width - cells(hang), 20))
        ]
    return found


def _shape(shape: Sequence[int]) -> str:
    return f"[{', '.join(map(str, shape))}]"
