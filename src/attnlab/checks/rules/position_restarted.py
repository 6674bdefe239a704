"""ATT097: with a cache of keys, the tokens of a later call get the positions of earlier ones again.

Decided by the rows of the position table that meet the tokens of each call: two tokens that stand in one cache have the
same row. Where keys are kept without positions and turned when they are read, positions are those of the window, and
there is nothing to say.
"""

from __future__ import annotations

from collections.abc import Iterator

from torch import Tensor

from attnlab.checks.case import Name
from attnlab.checks.decoding import Call, Chain, Decoding, decoding, same_rows
from attnlab.checks.editing import code
from attnlab.checks.found import Found, Rule, Said
from attnlab.checks.positions import Meeting, sinusoid
from attnlab.checks.whole import Whole
from attnlab.run import Span


def _look(whole: Whole) -> Iterator[Found]:
    if len(whole.attentions) < 2:
        return
    bench = decoding(whole)
    for chain in bench.chains:
        for name in ("q", "k"):
            found = _restarted(chain, name, bench)
            if found is not None:
                yield found
                break


def _restarted(chain: Chain, name: Name, bench: Decoding) -> Found | None:
    met: dict[Span, list[tuple[int, Tensor]]] = {}
    for call in chain.calls:
        first = chain.tokens(len(chain.calls)).index(call.own[0])
        role = call.case.input(name)
        project = call.project["k"] if name == "k" else None if role.project is None else call.case.step(role.project)
        for meeting in () if project is None else bench.positions.meetings_of(call.case, name, project):
            rows = _rows(meeting, call, name, bench)
            if rows is None or meeting.step.source is None:
                continue
            earlier = met.setdefault(meeting.step.source.span, [])
            again = next(
                (place for place, row in earlier for item in rows[:1] if place < first and same_rows(row, item)), None
            )
            if again is not None and _is_position(earlier, meeting, bench):
                return _found(meeting, first, again)
            earlier += [(first + place, row) for place, row in enumerate(rows)]
    return None


def _rows(meeting: Meeting, call: Call, name: Name, bench: Decoding) -> Tensor | None:
    """[own tokens, features] of a table that met just the tokens of one call, the first sample's."""
    case, count = call.case, len(call.own)
    shape = case.graph.shape(meeting.stream)
    tokens = bench.positions.token_axis(case, name)
    if tokens is None or len(shape) < 2:
        return None
    axes = bench.positions.tokens_of(meeting.stream, tokens)
    if len(axes) != 1 and not (count == 1 and len(shape) == 3 and shape[1] == 1):
        return None
    if len(axes) == 1 and shape[axes[0]] != count:
        return None
    table = case.replay.value(meeting.table)
    if table is None or table.dim() < 2 or table.shape[-1] < 2:
        return None
    long = [place for place, size in enumerate(table.shape[:-1]) if size > 1]
    along = [place for place in long if table.shape[place] == count]
    if count > 1 and len(along) != 1:
        return None
    for place in long:
        if place not in along:
            table = table.narrow(place, 0, 1)
    rows = table.reshape(-1, table.shape[-1])
    return rows if len(rows) == count else None


def _is_position(earlier: list[tuple[int, Tensor]], meeting: Meeting, bench: Decoding) -> bool:
    """Whether a table is one of positions: its rows differ from token to token, or it was counted or computed."""
    first = earlier[0][1]
    if any(not same_rows(first, row) for _, row in earlier[1:]):
        return True
    place = bench.positions
    rows = place.rows(place.whole_table(meeting.table))
    if rows is not None and sinusoid(rows) is not None:
        return True
    made = [place.graph.maker(number) for number in place.made_of(meeting.table)]
    return any(step is not None and step.op in ("arange", "sin", "cos", "polar") for step in made)


def _found(meeting: Meeting, first: int, again: int) -> Found:
    return Found(
        meeting.step,
        Said("check.position-restarted.message", {"code": code(meeting.step)}),
        Said("check.position-restarted.evidence", {"token": first, "other": again}),
        Said("check.position-restarted.mend", {"start": first}),
    )


RULE = Rule("ATT097", "position-restarted", whole=_look)
