"""ATT092: the sines and cosines of a positional encoding turn at other rates than they are meant to.

Decided by the rates at which the columns turn, read from the angles or from the table itself: sine and cosine of a
pair turn alike; the rates fall; and they fall from 1 to the inverse of the base that the program names, over the
width of the table.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from attnlab.checks.case import Case
from attnlab.checks.editing import code
from attnlab.checks.found import Found, Rule, Said
from attnlab.checks.frequencies import SHARE, Rates, bases, ratio, turned
from attnlab.checks.positions import Meeting, Positions, positions
from attnlab.run import Step

# In so many of equal layers it is looked for tables.
_LAYERS = 8


def _look(case: Case) -> Iterator[Found]:
    if case.attention.style == "layer":
        return
    place = positions(case.whole)
    # Of equal layers one may have a table and another none, where positions are chosen by an argument.
    alike = [case, *(Case(case.whole, other, case.group) for other in case.group[1:_LAYERS])]
    met = [meeting for one in alike for name in ("q", "k") for meeting in place.meetings(one, name)]
    seen: set[int] = set()
    for meeting in met:
        if meeting.table in seen:
            continue
        seen.add(meeting.table)
        found = turned(place, meeting.table)
        if found is not None:
            yield from _judged(place, meeting, *found, case.attention.d_k)


def _judged(place: Positions, meeting: Meeting, rates: Rates, step: Step, d_k: int | None) -> Iterator[Found]:
    said = _unpaired(rates) or _rising(rates) or _wide(place, meeting, rates, step, d_k)
    if said is not None:
        what, evidence, mend = said
        yield Found(step, Said(what.id, {**what.params, "code": code(step)}), evidence, mend)


def _row(row: tuple[float, ...]) -> str:
    return ", ".join(f"{rate:.4g}" for rate in row[:4]) + (" …" if len(row) > 4 else "")


def _unpaired(rates: Rates) -> tuple[Said, Said, Said] | None:
    """Sines and cosines that turn at different rates."""
    if ratio(rates.sines) is None and ratio(rates.cosines) is None:
        return None
    fewer, more = sorted((rates.sines, rates.cosines), key=len)
    shared = [rate for rate in fewer if any(math.isclose(rate, other, rel_tol=SHARE) for other in more)]
    # A rate of nearly 0 can't be read from a cosine.
    told = [rate for rate in fewer if rate > 0.02]
    if len(told) < 2 or 2 * len(shared) > len(fewer) or len(more) - len(fewer) > 1:
        return None
    return (
        Said("check.position-frequencies.unpaired"),
        Said(
            "check.position-frequencies.unpaired-evidence", {"sines": _row(rates.sines), "cosines": _row(rates.cosines)}
        ),
        Said("check.position-frequencies.unpaired-mend"),
    )


def _rising(rates: Rates) -> tuple[Said, Said, Said] | None:
    """Rates that grow past half a turn for a position, where neighbours can't be told apart any more."""
    factor = ratio(rates.sines)
    if factor is None or factor > 1 or not rates.whole or rates.sines[-1] <= math.pi:
        return None
    return (
        Said("check.position-frequencies.rising"),
        Said("check.position-frequencies.rising-evidence", {"rates": _row(rates.sines), "last": rates.sines[-1]}),
        Said("check.position-frequencies.rising-mend"),
    )


def _wide(
    place: Positions, meeting: Meeting, rates: Rates, step: Step, d_k: int | None
) -> tuple[Said, Said, Said] | None:
    """Rates that fall to something else than 1/base over the width."""
    factor = ratio(rates.sines)
    named = bases(place, meeting.table, step)
    if factor is None or factor < 1 or len(named) != 1:
        return None
    (base,) = named
    size = len(rates.sines)
    over = math.log(base) / math.log(factor)
    table = place.graph.shape(place.whole_table(meeting.table))[-1]
    right = {size, size - 1, table / 2, place.graph.shape(meeting.stream)[-1] / 2, (d_k or 0) / 2}
    if any(abs(over - length) <= max(SHARE * length, 0.02) for length in right):
        return None
    slow = 1 / factor ** (size - 1)
    return (
        Said("check.position-frequencies.base", {"base": base}),
        Said(
            "check.position-frequencies.base-evidence",
            {"size": size, "slow": slow, "wanted": base ** (-(size - 1) / size), "own": factor**size, "base": base},
        ),
        Said("check.position-frequencies.base-mend", {"base": base}),
    )


RULE = Rule("ATT092", "position-frequencies", attention=_look)
