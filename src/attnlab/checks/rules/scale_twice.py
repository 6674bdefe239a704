"""ATT014: the scale is applied twice: by hand and inside `scaled_dot_product_attention`, on q and on the scores.

Decided by the steps that scale: two or more of them each by 1/√d_k. What is divided further and multiplied back
comes to one scale in all, and is right.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isclose, prod

from attnlab.checks.case import Case
from attnlab.checks.editing import code, own, whole
from attnlab.checks.found import Edit, Found, Rule, Said
from attnlab.checks.reference import scaled_weights, spread
from attnlab.checks.scaling import Part, scaling, scaling_beside_norm
from attnlab.diagnosis.expression import Expression


def _look(case: Case) -> Iterator[Found]:
    found = scaling(case) or scaling_beside_norm(case)
    if found is None or found.d_k < 2:
        return
    each = [part for part in found.early if isclose(part.number, found.wanted, rel_tol=2e-3)]
    if len(each) < 2 or not isclose(found.total, prod(part.number for part in each), rel_tol=2e-3):
        return
    by_hand = [part for part in each if part.place != "call"] or each
    part, other = by_hand[-1], next(part for part in each if part is not by_hand[-1])
    now, then = case.weights, scaled_weights(case, found.wanted / found.total)
    if now is None or then is None:
        return
    inside = other.place == "call" or part.place == "call"
    kind = "inside" if inside else "message"
    yield Found(
        part.step,
        Said(
            f"check.scale-twice.{kind}",
            {
                "code": code(part.step),
                "other": code(other.step),
                "line": 0 if other.step.source is None else other.step.source.span.line,
            },
        ),
        Said(
            "check.scale-twice.evidence",
            {"total": 1 / found.total, "root": found.d_k**0.5, "now": spread(now), "then": spread(then)},
        ),
        Said(f"check.scale-twice.{'inside-mend' if inside else 'mend'}", {"code": code(part.step)}),
        _edits(part),
        note=not own(part.step),
    )


def _edits(part: Part) -> tuple[Edit, ...]:
    """What is scaled, bare."""
    step = part.step
    if part.place == "call" or not own(step) or step.source is None:
        return ()
    expression = Expression(step.source.text)
    for place, operand in enumerate(step.operands[:2]):
        found = expression.operand(step, place)
        if found is not None and hasattr(operand.arg, "id"):
            return whole(step, found.text)
    return ()


RULE = Rule("ATT014", "scale-twice", attention=_look, unless=frozenset({"ATT021", "ATT026"}))
