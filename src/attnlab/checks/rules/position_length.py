"""ATT093: a table of positions is not cut to the number of tokens.

Decided where the table meets the tokens: PyTorch refused the sum, the table being longer; or the tokens were one, and
the sum has as many rows as the table; or the table is cut to another size than the number of tokens, which is equal to
it in this run alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from attnlab.attention.graph import CASTS
from attnlab.checks.case import Case
from attnlab.checks.editing import code, whole
from attnlab.checks.found import Edit, Found, Rule, Said
from attnlab.checks.positions import Meeting, Positions, positions, sides, sinusoid
from attnlab.checks.whole import Whole
from attnlab.run import Size, Span, Step


def _refused(whole_run: Whole) -> Iterator[Found]:
    """A sum or product with a table that PyTorch refused."""
    failed = None if whole_run.run.error is None else whole_run.run.error.failed
    if failed is None or failed.op not in ("add", "sub", "mul") or len(failed.refs) != 2 or len(failed.operands) < 2:
        return
    place = positions(whole_run)
    for table, stream in (failed.refs, failed.refs[::-1]):
        axis = _longer(place, table, stream)
        if axis is None or not place.free(table) or place.free(stream) or not _is_table(place, table):
            continue
        own, other = place.graph.shape(stream), place.graph.shape(table)
        at = axis - (len(own) - len(other))
        texts = {
            number: operand.text
            for operand in failed.operands
            if (number := getattr(operand.arg, "id", None)) is not None
        }
        new = _cut(texts.get(table, ""), texts.get(stream, ""), at, axis)
        yield Found(
            failed,
            Said("check.position-length.refused", {"code": code(failed), "rows": other[at], "tokens": own[axis]}),
            Said(
                "check.position-length.refused-evidence",
                {"table": str(list(other)), "stream": str(list(own)), "axis": axis},
            ),
            Said("check.position-length.mend", {"code": new}) if new else Said("check.position-length.advice"),
            _edit(failed, texts.get(table, ""), new),
        )
        return


def _longer(place: Positions, table: int, stream: int) -> int | None:
    """The axis of the stream, not its last, at which the table is longer, where nothing else does not fit."""
    own, other = place.graph.shape(stream), place.graph.shape(table)
    if len(other) > len(own) or len(other) < 2 or other[-1] not in (own[-1], 2 * own[-1]):
        return None
    lead = len(own) - len(other)
    apart = [at for at, size in enumerate(other) if size not in (1, own[lead + at]) and own[lead + at] != 1]
    if len(apart) != 1 or apart[0] == len(other) - 1 or other[apart[0]] <= own[lead + apart[0]]:
        return None
    return lead + apart[0]


def _is_table(place: Positions, table: int) -> bool:
    """Whether a table is one of positions: learned, computed from sines, or counted."""
    for number in place.made_of(table):
        step = place.graph.maker(number)
        if place.graph.values[number].kind in ("parameter", "buffer"):
            return True
        if step is not None and step.op in ("sin", "cos", "polar", "arange", "embedding"):
            return True
    rows = place.rows(place.whole_table(table))
    return rows is not None and sinusoid(rows) is not None


def _cut(table: str, stream: str, at: int, axis: int) -> str:
    """The table cut to the tokens, in the user's names; empty where they are no plain names."""
    if not table.replace(".", "").isidentifier() or not stream.isidentifier():
        return ""
    return f"{table}[{':, ' * at}: {stream}.size({axis})]"


def _edit(step: Step, table: str, new: str) -> tuple[Edit, ...]:
    text = "" if step.source is None else step.source.text
    return whole(step, text.replace(table, new)) if new and text.count(table) == 1 else ()


def _look(case: Case) -> Iterator[Found]:
    place = positions(case.whole)
    for name in sides(case):
        tokens = place.token_axis(case, name)
        if tokens is None:
            continue
        for meeting in place.meetings(case, name):
            axes = place.tokens_of(meeting.result, tokens)
            if len(axes) == 1 and axes[0] in place.along(meeting):
                yield from _stretched(place, meeting, axes[0]) or _by_chance(place, meeting, axes[0])


def _stretched(place: Positions, meeting: Meeting, axis: int) -> list[Found]:
    """One token that became as many as the table has rows."""
    own, made = place.graph.shape(meeting.stream), place.graph.shape(meeting.result)
    if len(own) != len(made) or own[axis] != 1 or made[axis] < 2:
        return []
    stream, rows = place.whole.replay.value(meeting.stream), place.rows(meeting.table)
    if stream is None or not bool((stream != stream.reshape(-1)[0]).any()) or rows is None or sinusoid(rows) is None:
        return []
    said = {"code": code(meeting.step), "rows": made[axis]}
    evidence = {"old": str(list(own)), "new": str(list(made))}
    return [
        Found(
            meeting.step,
            Said("check.position-length.stretched", said),
            Said("check.position-length.stretched-evidence", evidence),
            Said("check.position-length.stretched-mend"),
        )
    ]


def _by_chance(place: Positions, meeting: Meeting, axis: int) -> list[Found]:
    """A table that is cut to the size of another axis of the tokens, which is the same in this run."""
    step = _slicing(place, meeting.table)
    if step is None or step.source is None:
        return []
    shape = place.graph.shape(meeting.stream)
    asked = [size for size in place.whole.run.sizes if size.axis is not None and _inside(size, step.source.span)]
    if len(asked) != 1 or place.graph.shape(asked[0].value) != shape or asked[0].axis is None:
        return []
    other = asked[0].axis % len(shape)
    if (
        other == axis
        or shape[other] != shape[axis]
        or place.graph.shape(step.results[0])[axis - len(shape)] != shape[axis]
    ):
        return []
    return [
        Found(
            meeting.step,
            Said("check.position-length.chance", {"code": code(step), "asked": asked[0].source.text, "axis": axis}),
            Said(
                "check.position-length.chance-evidence",
                {"shape": str(list(shape)), "other": other, "axis": axis, "size": shape[axis]},
            ),
            Said("check.position-length.chance-mend", {"axis": axis}),
        )
    ]


def _slicing(place: Positions, table: int) -> Step | None:
    step = place.graph.maker(table)
    while step is not None and step.op in CASTS and step.refs:
        step = place.graph.maker(step.refs[0])
    return step if step is not None and step.op == "getitem" and len(step.refs) == 1 else None


def _inside(size: Size, span: Span) -> bool:
    inner = size.source.span
    return (
        inner.file == span.file
        and (span.line, span.col) <= (inner.line, inner.col)
        and (inner.end_line, inner.end_col) <= (span.end_line, span.end_col)
    )


RULE = Rule("ATT093", "position-length", attention=_look, whole=_refused, unless=frozenset({"ATT091", "ATT094"}))
