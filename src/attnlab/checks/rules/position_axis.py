"""ATT091: positions run along another axis than the tokens: along the batch, or along the heads.

Decided where a table meets the tokens: along which axis it has rows, and along which axis the attention then has its
queries and keys. It counts as a table of positions where it says so itself: sines and cosines that begin at position
0, or the first rows of a longer table that is indexed by 0, 1, 2 …; a table whose name alone says it is told as such.
A table that has rows along the tokens as well, or beside another one that has, is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import torch

from attnlab.attention.axes import Axis
from attnlab.checks.case import Case
from attnlab.checks.editing import code
from attnlab.checks.found import Found, Rule, Said
from attnlab.checks.positions import Meeting, Positions, positions, sides, sinusoid

_NAMED = re.compile(
    r"(?:^|[._])(?:pos|position|positions|positional|wpe|pe|pos_?emb\w*|pos_?enc\w*)(?:$|[._])", re.IGNORECASE
)


def _look(case: Case) -> Iterator[Found]:
    place = positions(case.whole)
    for name in sides(case):
        tokens = place.token_axis(case, name)
        met = place.meetings(case, name)
        if tokens is None or any(_runs_along(place, meeting, tokens) for meeting in met):
            continue
        for meeting in met:
            found = _judged(place, meeting, tokens)
            if found is not None:
                yield found
                return


def _runs_along(place: Positions, meeting: Meeting, tokens: Axis) -> bool:
    """Whether a table has rows along the tokens."""
    return bool(set(place.along(meeting)) & set(place.tokens_of(meeting.result, tokens)))


def _judged(place: Positions, meeting: Meeting, tokens: Axis) -> Found | None:
    along = place.along(meeting)
    own = place.tokens_of(meeting.stream, tokens)
    shape = place.graph.shape(meeting.result)
    if len(along) != 1 or len(own) != 1 or len(shape) != len(place.graph.shape(meeting.stream)):
        return None
    if not meeting.near and along[0] > own[0]:  # then it is the attention that runs over the batch
        return None
    kind = _kind(place, meeting, along[0])
    if kind is None:
        return None
    table = place.graph.shape(meeting.table)
    rows = place.graph.shape(meeting.table)[along[0] - len(shape) + len(table)]
    return Found(
        meeting.step,
        Said(
            "check.position-axis.message",
            {"code": code(meeting.step), "axis": along[0], "shape": str(list(shape)), "tokens": own[0]},
        ),
        Said(f"check.position-axis.{kind}", {"table": str(list(table)), "rows": rows, "size": shape[own[0]]}),
        Said("check.position-axis.mend", {"axis": own[0], "size": shape[own[0]]}),
    )


def _kind(place: Positions, meeting: Meeting, axis: int) -> str | None:
    """By what a table is known as one of positions; None where it may be something else."""
    table = place.graph.shape(meeting.table)
    axis -= len(place.graph.shape(meeting.result)) - len(table)
    rows = place.rows(meeting.table, axis)
    if rows is None:
        return None
    if _begins_with_waves(rows, meeting):
        return "waves"
    root = place.whole_table(meeting.table)
    value, step = place.graph.values[root], place.graph.maker(root)
    if step is not None and step.op == "embedding":
        ids, weight = place.whole.replay.value(step.refs[0]), place.graph.shape(step.refs[1])
        counted = ids is not None and ids.numel() > 1 and torch.equal(ids.reshape(-1), torch.arange(ids.numel()))
        return "counted" if counted and weight[0] > len(rows) else None
    if value.kind in ("parameter", "buffer"):
        if max(place.graph.shape(root)[:-1], default=0) > len(rows):
            return "counted"
        return "named" if _NAMED.search(value.name) else None
    return None


def _begins_with_waves(rows: torch.Tensor, meeting: Meeting) -> bool:
    """Whether rows are the sines and cosines of the positions 0, 1, 2 …; for a rotation, one kind of them."""
    if sinusoid(rows) is not None:
        return True
    if meeting.way != "mul" or len(rows) < 2 or float(rows.abs().max()) > 1 + 1e-6:
        return False
    one = float(torch.cos(torch.tensor(1.0)))
    return bool((rows[0] == 1).all()) and bool(
        torch.isclose(rows[1].min(), torch.tensor(one, dtype=rows.dtype), atol=1e-3)
    )


RULE = Rule("ATT091", "position-axis", attention=_look)
