"""ATT013: the scores are multiplied by √d_k where they should be divided by it.

Decided by the number that all scaling before the softmax comes to: √d_k or d_k itself, with q and k that were not
brought to one length before. Shown by how much of a query's weight goes to one key, as it is and divided.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isclose

from attnlab.checks.case import Case
from attnlab.checks.editing import code, own, whole
from attnlab.checks.found import Edit, Found, Rule, Said
from attnlab.checks.reference import scaled_weights, spread
from attnlab.checks.scaling import Part, scaling
from attnlab.diagnosis.expression import Expression


def _look(case: Case) -> Iterator[Found]:
    found = scaling(case)
    if found is None or found.d_k < 2:
        return
    heads = case.attention.heads or 1
    sizes = (found.d_k**0.5, found.d_k, (found.d_k * heads) ** 0.5)
    parts = [part for part in found.early if part.number > 1]
    if not parts or not any(isclose(found.total, size, rel_tol=2e-3) for size in sizes):
        return
    part = parts[-1]
    now, then = case.weights, scaled_weights(case, found.wanted / found.total)
    if now is None or then is None:
        return
    yield Found(
        part.step,
        Said("check.scale-inverted.message", {"code": code(part.step), "by": found.total, "d_k": found.d_k}),
        Said("check.scale-inverted.evidence", {"now": spread(now), "then": spread(then), "root": found.d_k**0.5}),
        Said("check.scale-inverted.mend", {"root": found.d_k**0.5}),
        _edits(part),
        note=not own(part.step),
    )


def _edits(part: Part) -> tuple[Edit, ...]:
    """`/` in the place of `*`, or the other way about."""
    step = part.step
    if part.place == "call" or not own(step) or step.source is None:
        return ()
    expression = Expression(step.source.text)
    one, other = (expression.operand(step, place) for place in (0, 1))
    if one is None or other is None or step.function.rpartition(".")[2].strip("_") not in ("mul", "truediv", "div"):
        return ()
    between = step.source.text.encode()[one.end : other.start].decode().strip()
    if between not in ("*", "/"):
        return ()
    return whole(step, " ".join((one.text, "/" if between == "*" else "*", other.text)))


RULE = Rule("ATT013", "scale-inverted", attention=_look, unless=frozenset({"ATT021", "ATT026"}))
