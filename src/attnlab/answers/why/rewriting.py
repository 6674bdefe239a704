"""Expressions rewritten where they stand: told by their exact place, never by searching for their text."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from attnlab.diagnosis.expression import Expression, Part, is_expression
from attnlab.experiments.changes import SetConstant
from attnlab.run import Ref, Run, Source, Span, Step

Edit: TypeAlias = "Rewrite | SetConstant"
# The place of an operand in a step; in a list of tensors, its place there too.
Key: TypeAlias = "int | tuple[int, int]"


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Another text in a place of the source."""

    span: Span
    new: str


def wrapped(span: Span, before: str, after: str) -> tuple[Rewrite, Rewrite]:
    """Text put around a place; what stands there may be rewritten besides."""
    start = Span(span.file, span.line, span.col, span.line, span.col)
    end = Span(span.file, span.end_line, span.end_col, span.end_line, span.end_col)
    return Rewrite(start, before), Rewrite(end, after)


def rewritten(run: Run, edits: Iterable[Edit]) -> dict[str, str]:
    """The files of a run that the edits alter, with their new texts.

    Where two edits overlap the first counts; of two insertions at one place the first stands first.
    """
    places: dict[str, list[tuple[int, int, int, str]]] = {}
    for order, edit in enumerate(edits):
        file, start, end, new = _place(run, edit)
        taken = places.setdefault(file, [])
        if all(end <= other or until <= start for other, until, _, _ in taken):
            taken.append((start, end, order, new))
    texts: dict[str, str] = {}
    for file, found in places.items():
        text = run.sources[file]
        for start, end, _, new in sorted(found, reverse=True):
            text = text[:start] + new + text[end:]
        texts[file] = text
    return texts


def _place(run: Run, edit: Edit) -> tuple[str, int, int, str]:
    if isinstance(edit, SetConstant):
        constant = edit.constant
        starts = _starts(run.sources[constant.file])
        start = starts[constant.line - 1]
        return constant.file, start + constant.col, start + constant.end_col, repr(edit.value)
    span = edit.span
    starts = _starts(run.sources[span.file])
    return span.file, starts[span.line - 1] + span.col, starts[span.end_line - 1] + span.end_col, edit.new


def _starts(text: str) -> list[int]:
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    return starts


def source_of(step: Step) -> Source | None:
    """The expression of a step, where it is one that can be rewritten."""
    source = step.source
    return source if source is not None and source.text and is_expression(source.text) else None


def operand(step: Step, key: Key) -> Part | None:
    """Where an operand of a step stands in its expression; None where what stands there is not what was passed."""
    return None if step.source is None else Expression(step.source.text).operand(step, key)


def key_of(step: Step, value: int) -> Key | None:
    """The place among a step's operands at which it was passed a value."""
    for place, item in enumerate(step.operands):
        if item.arg == Ref(value):
            return place
        if isinstance(item.arg, tuple) and Ref(value) in item.arg:
            return place, item.arg.index(Ref(value))
    return None


def callee(source: Source) -> Part | None:
    """What an expression calls: `self.W_q` in `self.W_q(x)`; None where it is no call."""
    node = Expression(source.text).node
    return _part(source, node.func) if isinstance(node, ast.Call) else None


def sides(source: Source) -> tuple[Part, Part] | None:
    """Both sides of an operator, without brackets around them; None where an expression is none."""
    node = Expression(source.text).node
    return (_part(source, node.left), _part(source, node.right)) if isinstance(node, ast.BinOp) else None


def _part(source: Source, node: ast.expr) -> Part:
    """Where a node stands in the text of its expression, which was parsed in brackets."""
    lines = [0]
    for line in source.text.encode().split(b"\n"):
        lines.append(lines[-1] + len(line) + 1)
    start, end = (
        lines[line - 1] + col - (line == 1)
        for line, col in ((node.lineno, node.col_offset), (node.end_lineno or 1, node.end_col_offset or 0))
    )
    primary = isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
    return Part(start, end, source.text.encode()[start:end].decode(), primary, isinstance(node, ast.Constant))


def span_of(source: Source, part: Part) -> Span:
    """The place in the file of a part of an expression."""
    text = source.text.encode()
    line, col = _at(source, text[: part.start].decode())
    end_line, end_col = _at(source, text[: part.end].decode())
    return Span(source.span.file, line, col, end_line, end_col)


def _at(source: Source, before: str) -> tuple[int, int]:
    row = before.count("\n")
    col = len(before) - before.rfind("\n") - 1
    return source.span.line + row, col + (source.span.col if row == 0 else 0)
