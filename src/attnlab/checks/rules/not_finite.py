"""ATT104: NaN or infinity that finite numbers turned into, and that reaches a result.

Decided by looking at what every step was given and what it made: named is the first step that made of finite numbers
what is not, and whose consequences reach an attention's result, a loss, or what a module gives back. -inf in a mask is
no finding, nor is a row that is masked whole (ATT060), nor what half precision cannot hold (ATT103).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from attnlab.checks.editing import code
from attnlab.checks.finite import Birth, births
from attnlab.checks.found import Found, Rule, Said
from attnlab.checks.whole import Whole

# The operations of which a person knows what to do: id of the mend.
_MENDS = {
    "exp": "exp",
    "log": "log",
    "log2": "log",
    "div": "div",
    "sqrt": "sqrt",
    "rsqrt": "div",
    "reciprocal": "div",
}


def _look(whole: Whole) -> Iterator[Found]:
    for birth in births(whole):
        if not birth.overflow:
            yield _found(birth, whole)


def _found(birth: Birth, whole: Whole) -> Found:
    step = birth.step
    value = whole.replay.value(step.results[0])
    bad = 0 if value is None else int((~value.isfinite()).sum())
    count = 0 if value is None else value.numel()
    kind = "nan" if birth.state.nan else "infinity"
    return Found(
        step,
        Said(f"check.not-finite.{kind}", {"code": code(step)}),
        Said("check.not-finite.evidence", {"bad": bad, "count": count}),
        _mend(birth),
    )


def _mend(birth: Birth) -> Said | None:
    step = birth.step
    if step.op == "mul" and any(
        isinstance(operand.arg, float) and math.isinf(operand.arg) for operand in step.operands
    ):
        return Said("check.not-finite.mask")
    name = _MENDS.get(step.op)
    return None if name is None else Said(f"check.not-finite.{name}")


# A mask that is wrong may hide every key of a row: told from nearer.
_NEARER = frozenset(
    ["ATT051", "ATT052", "ATT053", "ATT054", "ATT060", "ATT061", "ATT071", "ATT073", "ATT074", "ATT075"]
)
RULE = Rule("ATT104", "not-finite", whole=_look, unless=_NEARER)
