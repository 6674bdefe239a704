"""ATT058: a mask is applied to the weights, after the softmax, and they are not made to sum to one again.

Decided by adding up the weights that meet v: rows that the mask cut down sum to less than one. A mask of whole heads
or of whole rows, one that hides what had no weight anyway, and dropout are left alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from torch import Tensor

from attnlab.attention import Mask
from attnlab.attention.graph import CASTS, VIEWS
from attnlab.checks.case import Case
from attnlab.checks.editing import code
from attnlab.checks.found import Found, Rule, Said
from attnlab.checks.masking import met_weights, random
from attnlab.checks.reference import NEAR

_PASSES = VIEWS | CASTS | frozenset(["clamp", "clamp_min", "add", "maximum", "where", "masked_fill", "nan_to_num"])


def _look(case: Case) -> Iterator[Found]:
    attention = case.attention
    if not case.written or attention.blocks > 1 or (attention.normalised, attention.summed) != ("key", "key"):
        return
    for mask in attention.masks:
        if not mask.late or (mask.value is not None and random(mask.value, case.graph)):
            continue
        sums = _cut_rows(case, mask)
        if sums is None or _is_divided(case, mask):
            continue
        step = case.step(mask.step)
        yield Found(
            step,
            Said("check.mask-after-softmax.message", {"code": code(step)}),
            Said(
                "check.mask-after-softmax.evidence",
                {"low": float(sums.min()), "high": float(sums.max()), "rows": sums.numel()},
            ),
            Said("check.mask-after-softmax.mend"),
        )
        return


def _cut_rows(case: Case, mask: Mask) -> Tensor | None:
    """What the rows sum to that a mask took some weight from, and not all; None where there are none."""
    step = case.step(mask.step)
    before = [number for number in step.refs if number != mask.value]
    met = met_weights(case)
    old = met_weights(case, before[0]) if before else None
    new = met_weights(case, step.results[0]) if step.results else None
    if met is None or old is None or new is None or old.shape != new.shape or met.shape != new.shape:
        return None
    changed = old != new
    # A row that is all zero was taken away whole, on purpose.
    rows = changed.any(-1) & (new != 0).any(-1) & old.isfinite().all(-1) & ((old.sum(-1) - 1).abs() < NEAR)
    sums = met[rows].sum(-1)
    short = (sums - 1).abs() > NEAR
    return sums[short] if bool(short.any()) else None


def _is_divided(case: Case, mask: Mask) -> bool:
    """Whether the masked weights are summed and something is divided by that: the output, after the product with v."""
    graph = case.graph
    sums = [
        step
        for number in case.step(mask.step).results
        for step in graph.consumers(number)
        if step.op in ("sum", "nansum", "norm")
    ]
    waiting = [number for step in sums for number in step.results]
    for number in waiting:  # grows while it is walked
        for step in graph.consumers(number):
            if step.op in ("div", "reciprocal", "mul"):
                return True
            if step.op in _PASSES:
                waiting += [result for result in step.results if result not in waiting]
    return False


RULE = Rule("ATT058", "mask-after-softmax", attention=_look, unless=frozenset({"ATT003"}))
