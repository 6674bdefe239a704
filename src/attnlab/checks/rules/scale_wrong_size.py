"""ATT012: the scores are divided by something else than √d_k.

Decided by the number that all scaling before the softmax comes to, held against 1/√d_k, where d_k is how many products
a score is the sum of; and by finding that number again: as the root of another size of the program, as d_k without
the root, or as a number written out. What is none of these may be meant so, and is a note. Shown by how much of a
query's weight goes to one key, as it is and with √d_k.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import isclose, prod

from attnlab.checks.case import Case
from attnlab.checks.editing import code, own, replaced
from attnlab.checks.found import Edit, Found, Rule, Said
from attnlab.checks.reference import scaled_weights, spread
from attnlab.checks.rules.scale_missing import divisor_of, usual
from attnlab.checks.scaling import Part, Scaling, scaling
from attnlab.diagnosis.expression import Expression


def _look(case: Case) -> Iterator[Found]:
    found = scaling(case)
    if found is None or found.d_k < 2 or _near(found.total, found.wanted) or not 0 < found.total < 1:
        return
    parts = [part for part in found.early if abs(part.number - 1) > 1e-6]
    others = [part for part in parts if not _near(part.number, found.wanted)]
    if len(parts) != 1 and not (parts and len({part.number for part in parts}) == 1 and len(others) == len(parts)):
        return  # √d_k and something besides: a temperature; or twice (ATT014)
    part = parts[-1]
    size = 1 / found.total**2
    what = _what(found, size, case)
    now, then = case.weights, scaled_weights(case, found.wanted / found.total)
    if now is None or then is None:
        return
    written = what is None and _is_number(part)
    if what is None and usual(case) != "finding":
        return
    yield Found(
        part.step,
        Said(
            "check.scale-wrong-size.message",
            {
                "code": code(part.step),
                "by": 1 / found.total,
                "what": _said(what, size),
                "d_k": found.d_k,
                "root": found.d_k**0.5,
            },
        ),
        Said(
            "check.scale-wrong-size.evidence",
            {"now": spread(now), "then": spread(then), "by": 1 / found.total, "root": found.d_k**0.5},
        ),
        Said("check.scale-wrong-size.mend", {"divisor": _divisor(case) or f"{found.d_k} ** 0.5"}),
        _edits(case, part),
        note=(what is None and not written) or not own(part.step),
    )


def _said(what: str | None, size: float) -> Said:
    params = {} if what in ("square", "quarter") else {"size": f"{size:.4g}"}
    return Said(f"check.scale-wrong-size.what.{what or 'number'}", params)


def _near(one: float, other: float) -> bool:
    return isclose(one, other, rel_tol=2e-3)


def _what(found: Scaling, size: float, case: Case) -> str | None:
    """Which size of the program a scale of 1/√size comes from."""
    attention, graph = case.attention, case.graph
    heads = attention.heads or 1
    x = attention.q.x
    widths = {heads * found.d_k, (attention.kv_heads or 1) * found.d_k}
    widths |= {graph.shape(number)[-1] for number in (x, attention.q.value) if number is not None}
    batch = prod(graph.shape(attention.q.entered)) // max(1, found.d_k * (attention.queries or 1) * heads)
    told = (
        ("width", widths - {found.d_k}),
        ("length", {attention.keys, attention.queries}),
        ("square", {found.d_k**2}),
        ("heads", {heads}),
        ("values", {attention.d_v}),
        ("quarter", {found.d_k**0.5}),
        ("batch", {batch}),
    )
    for name, sizes in told:
        if any(item is not None and item > 1 and _near(size, item) for item in sizes):
            return name
    return None


def _is_number(part: Part) -> bool:
    """Whether the scale is a number written out at its place: `/ 8.0`."""
    step = part.step
    if not own(step) or step.source is None or part.place == "call":
        return False
    expression = Expression(step.source.text)
    texts = [found.text for place in (0, 1) if (found := expression.operand(step, place)) is not None]
    return any(not re.search(r"[^\W\d]", re.sub(r"\b(?:math|torch|np|numpy)\.|\bsqrt\b", "", text)) for text in texts)


def _divisor(case: Case) -> str | None:
    return divisor_of(case, case.step(case.attention.scores.step))


def _edits(case: Case, part: Part) -> tuple[Edit, ...]:
    """Another divisor, where √d_k can be written with what is at hand at that place."""
    step = part.step
    divisor = _divisor(case)
    near = case.step(case.attention.scores.step)
    if divisor is None or part.place != "scores" or near.frame != step.frame or not own(step) or step.source is None:
        return ()
    divides = step.op == "div"
    expression = Expression(step.source.text)
    for place, operand in enumerate(step.operands[:2]):
        if isinstance(operand.arg, (int, float)):
            new = divisor if divides else divisor.replace("** 0.5", "** -0.5")
            return replaced(step, expression.operand(step, place), f"({new})")
    return ()


RULE = Rule(
    "ATT012",
    "scale-wrong-size",
    attention=_look,
    unless=frozenset({"ATT013", "ATT014", "ATT021", "ATT025", "ATT026"}),
)
