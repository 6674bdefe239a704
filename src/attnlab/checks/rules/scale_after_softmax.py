"""ATT015: the division by √d_k stands after the softmax: it shrinks the output and leaves the weights as they were.

Decided by where the scaling stands: none before the softmax, and 1/√d_k on the weights or on what they made of v.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isclose

from attnlab.attention.graph import CASTS, DROPOUT, VIEWS
from attnlab.attention.inputs import number_of, scaled
from attnlab.checks.case import Case
from attnlab.checks.editing import code, own
from attnlab.checks.found import Found, Rule, Said
from attnlab.checks.reference import scaled_weights, spread
from attnlab.checks.rules.scale_missing import divisor_of
from attnlab.checks.scaling import scaling
from attnlab.run import Step


def _look(case: Case) -> Iterator[Found]:
    found = scaling(case)
    if found is None or not case.written or found.d_k < 2 or abs(found.total - 1) > 1e-6:
        return
    late = [(part.step, part.number) for part in found.late]
    after = _after(case)
    late += [] if after is None else [after]
    heads = case.attention.heads or 1
    sizes = (found.d_k, found.d_k * heads, found.d_k**2)
    step = next(
        (step for step, number in late if any(isclose(number, size**-0.5, rel_tol=2e-3) for size in sizes)), None
    )
    now, then = case.weights, scaled_weights(case, found.wanted)
    if step is None or now is None or then is None:
        return
    divisor = divisor_of(case, case.step(case.attention.scores.step)) or f"{found.d_k} ** 0.5"
    yield Found(
        step,
        Said("check.scale-after-softmax.message", {"code": code(step)}),
        Said(
            "check.scale-after-softmax.evidence",
            {"sum": next(number for near, number in late if near is step), "now": spread(now), "then": spread(then)},
        ),
        Said("check.scale-after-softmax.mend", {"divisor": divisor}),
        note=not own(step),
    )


def _after(case: Case) -> tuple[Step, float] | None:
    """The step that scales the product with v by a number, before anything but its layout is changed."""
    number, graph = case.attention.result, case.graph
    for _ in range(12):
        users = graph.consumers(number)
        step = next((user for user in users if scaled(user, graph) == number), None)
        if step is not None:
            by = number_of(step, number, graph)
            return None if by is None else (step, by)
        step = next((user for user in users if user.op in VIEWS | CASTS | DROPOUT and user.results), None)
        if step is None:
            return None
        number = step.results[0]
    return None


RULE = Rule("ATT015", "scale-after-softmax", attention=_look, unless=frozenset({"ATT021", "ATT026"}))
