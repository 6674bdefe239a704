"""ATT103: a step in float16 whose result float16 cannot hold.

Decided by running the step in float64 on the recorded operands: what is finite there and not here has overflowed.
Numbers that a mask carries to -inf, and results that the program itself clamps, are left alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from attnlab.checks.editing import code
from attnlab.checks.finite import births
from attnlab.checks.found import Found, Rule, Said
from attnlab.checks.whole import Whole


def _look(whole: Whole) -> Iterator[Found]:
    for birth in births(whole):
        if birth.overflow:
            product = birth.step.op in ("matmul", "bmm", "einsum", "baddbmm", "mm")
            yield Found(
                birth.step,
                Said("check.half-overflow.message", {"code": code(birth.step)}),
                Said("check.half-overflow.evidence", {"largest": birth.largest}),
                Said("check.half-overflow.scores" if product else "check.half-overflow.mend"),
            )


RULE = Rule("ATT103", "half-overflow", whole=_look, unless=frozenset({"ATT061"}))
