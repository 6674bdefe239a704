"""ATT011: the scores are not divided by √d_k.

Decided by all that scales q, k and the scores: nothing does. Shown by the spread of the scores and by how much of a
query's weight goes to one key, as it is and with the scale. Where an attention is known without a scale it is not a
finding: tokens as they are, a decoder's state (Luong), learned relative positions (T5, a note), convolutions (non-local
blocks, a note), q and k of one length.
"""

from __future__ import annotations

from collections.abc import Iterator

from attnlab.attention.origins import CONVOLUTIONS
from attnlab.checks.case import Case, Name
from attnlab.checks.editing import appended, code, dropped, own
from attnlab.checks.found import Edit, Found, Rule, Said
from attnlab.checks.reference import letters_of, rms, scaled_weights, spread
from attnlab.checks.scaling import scaling
from attnlab.diagnosis.expression import Expression, bracketed
from attnlab.run import Step

# A change of the largest weight that is too small to be a finding.
LEAST = 5e-3


def _look(case: Case) -> Iterator[Found]:
    found = scaling(case)
    if found is None or abs(found.total - 1) > 1e-6 or found.d_k < 2 or found.late or _folded(case):
        return
    if any(abs(part.number - 1) > 1e-6 for part in found.early):
        return
    kind = usual(case)
    step = case.step(case.attention.scores.step)
    now, then = case.weights, scaled_weights(case, found.wanted)
    if kind == "none" or now is None or then is None:
        return
    divisor = divisor_of(case, step)
    yield Found(
        step,
        Said("check.scale-missing.message", {"code": code(step), "d_k": found.d_k, "root": found.d_k**0.5}),
        Said("check.scale-missing.evidence", {"now": spread(now), "then": spread(then), "root": found.d_k**0.5}),
        Said("check.scale-missing.mend", {"divisor": divisor or f"{found.d_k} ** 0.5"}),
        _edits(case, step, divisor),
        # Where the weights hardly move they may have been made small for it: GPT-Neo.
        note=kind == "note" or not own(step) or abs(spread(now) - spread(then)) < LEAST,
    )


def divisor_of(case: Case, step: Step) -> str | None:
    """√d_k in the words of the user's code, where q is written in the product: `q.size(-1) ** 0.5`."""
    product, letters = case.scores_product, letters_of(case, "q")
    if product is None or letters is None or not own(step) or step.source is None:
        return None
    for place, operand in enumerate(step.operands):
        if getattr(operand.arg, "id", None) != case.attention.q.entered or letters[-1] not in product.gone(letters):
            continue
        part = Expression(step.source.text).operand(step, place)
        if part is not None and part.text.replace(".", "").replace("_", "").isalnum():
            return f"{bracketed(part)}.size(-1) ** 0.5"
    return None


def _edits(case: Case, step: Step, divisor: str | None) -> tuple[Edit, ...]:
    if not case.written:
        return dropped(step, 99, "scale")
    return appended(step, f" / {divisor}") if divisor is not None else ()


def usual(case: Case) -> str:
    """Whether a missing scale is a finding, a note, or usual ("none")."""
    attention, graph = case.attention, case.graph
    roles = [case.input(name) for name in ("q", "k", "v")]
    if not case.written:
        return "finding"  # a fused call scales by itself, unless it is told not to
    if any(graph.constant(role.value) for role in roles):
        return "none"
    steps = [None if role.project is None else case.step(role.project) for role in roles]
    if any(step is not None and step.op in CONVOLUTIONS for step in steps):
        return "note"
    if any(_is_learned_bias(case, index) for index in attention.bias):
        return "note"
    if attention.kv_heads == 1 and (attention.heads or 1) > 1:
        return "note"  # the paper on multi-query attention has none
    if all(step is not None for step in steps):
        return "finding"
    drawn = len({role.value for role in roles}) == 3 and all(graph.given(role.value) for role in roles)
    return "finding" if drawn else "none"


def _is_learned_bias(case: Case, index: int) -> bool:
    return any(case.graph.constant(number) for number in case.step(index).refs)


def _folded(case: Case) -> bool:
    """Whether the weight of q (or k) is smaller than that of k (or q) by the scale: it was drawn or filled with it."""
    sizes = [_weight_size(case, name) for name in ("q", "k")]
    d_k = case.attention.d_k
    if d_k is None or None in sizes:
        return False
    q, k = (size or 1.0 for size in sizes)
    return abs(min(q / k, k / q) * d_k**0.5 - 1) < 0.2 and d_k > 2


def _weight_size(case: Case, name: Name) -> float | None:
    role = case.input(name)
    if role.project is None:
        return None
    weights = [number for number in case.step(role.project).refs if number != role.x]
    return rms(case.replay.value(weights[0])) if weights else None


RULE = Rule("ATT011", "scale-missing", attention=_look, unless=frozenset({"ATT015", "ATT021", "ATT025", "ATT026"}))
