"""Mends as edits: where in the source a part of a step's expression stands, and what is put there."""

from __future__ import annotations

from attnlab.checks.found import Edit
from attnlab.diagnosis.expression import Expression, Part
from attnlab.run import Span, Step


def code(step: Step) -> str:
    """The user's expression on one line; the operation's name where there is no source."""
    text = step.op if step.source is None or not step.source.text else step.source.text
    return " ".join(text.split())


def own(step: Step) -> bool:
    """Whether the user's expression is the operation itself, not a call inside which a library performs it."""
    return step.via is None and step.source is not None and bool(step.source.text)


def argument(step: Step, index: int, *names: str) -> Part | None:
    """An argument of the call that a step is, by name or by place: `index` counts as for a function, tensor first."""
    if not own(step):
        return None
    assert step.source is not None
    method = step.function.startswith("torch.Tensor.")
    text = Expression(step.source.text)
    return text.operand(step, 0) if method and not index else text.argument(index - 1 if method else index, *names)


def replaced(step: Step, part: Part | None, new: str) -> tuple[Edit, ...]:
    """The edit that puts `new` in the place of a part of a step's expression; none where there is no such part."""
    if part is None or step.source is None:
        return ()
    return (Edit(_span(step, part.start, part.end), new),)


def whole(step: Step, new: str) -> tuple[Edit, ...]:
    """The edit that puts `new` in the place of a step's whole expression."""
    return (Edit(step.source.span, new),) if step.source is not None and own(step) else ()


def appended(step: Step, new: str) -> tuple[Edit, ...]:
    """The edit that puts `new` behind a step's expression."""
    if not own(step):
        return ()
    assert step.source is not None
    span = step.source.span
    return (Edit(Span(span.file, span.end_line, span.end_col, span.end_line, span.end_col), new),)


def dropped(step: Step, index: int, *names: str) -> tuple[Edit, ...]:
    """The edit that takes an argument of a call away, with the comma before it."""
    part = argument(step, index, *names)
    if part is None or step.source is None:
        return ()
    before = step.source.text.encode()[: part.start].decode()
    comma = before.rfind(",")
    if comma < 0 or before[comma + 1 :].replace("=", "").strip() not in ("", *names):
        return ()
    return (Edit(_span(step, len(before[:comma].encode()), part.end), ""),)


def _span(step: Step, start: int, end: int) -> Span:
    """The place of a stretch of an expression's text, given in bytes."""
    assert step.source is not None
    span, text = step.source.span, step.source.text.encode()
    return Span(span.file, *_place(span, text[:start].decode()), *_place(span, text[:end].decode()))


def _place(span: Span, before: str) -> tuple[int, int]:
    lines = before.split("\n")
    return span.line + len(lines) - 1, len(lines[-1]) + (span.col if len(lines) == 1 else 0)
