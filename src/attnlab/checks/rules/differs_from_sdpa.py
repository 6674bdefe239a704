"""ATT105: weights that are not the softmax of the scores, so that the result is not what SDPA makes of q, k and v.

Decided in float64 on what was recorded: a step between product and weights is left out, or the whole is computed anew
with the plain formula, and the two are compared. Soft caps, masks, biases and sinks are left alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from attnlab.attention.graph import CASTS, VIEWS
from attnlab.checks.case import Case, Name
from attnlab.checks.editing import code, own
from attnlab.checks.found import Edit, Found, Rule, Said
from attnlab.run import Step

# Bends of the scores that no attention has before its softmax.
_BENDS = frozenset(
    [
        *("relu", "relu6", "abs", "round", "floor", "ceil", "trunc", "sign", "int", "long", "square"),
        *("gelu", "silu", "sigmoid", "elu", "softplus", "softsign", "hardtanh", "clamp", "clamp_min", "clamp_max"),
    ]
)
_STATISTICS = frozenset(["max", "amax", "mean", "logsumexp", "min", "amin", "median", "sum"])
# Weights that differ by more than this are not the same, in float64 from what half precision gave as well.
APART = 2e-3
# In this share of 1/√d_k a scale is it.
NEAR = 2e-2


def _look(case: Case) -> Iterator[Found]:
    attention = case.attention
    if not case.written or attention.additive or attention.weights.value is None:
        return
    if attention.blocks > 1:
        yield from _online(case)
        return
    if (attention.normalised, attention.summed) != ("key", "key"):
        return
    for step in _trail(case):
        if step.op in _BENDS:
            yield from _bent(case, step)
        elif step.op == "sub":
            yield from _shifted(case, step)
        elif step.op == "exp2":
            yield from _powers(case, step)


def _trail(case: Case) -> list[Step]:
    """The steps from the scores to the weights, in order."""
    graph = case.graph
    found: list[Step] = []
    number = case.attention.weights.value
    first = case.attention.scores.step
    for _ in range(64):
        step = None if number is None else graph.maker(number)
        if step is None or number is None or step.index <= first:
            break
        found.append(step)
        shape = graph.shape(number)
        onward = [ref for ref in step.refs if _comes_from(ref, first, case) and graph.shape(ref) == shape]
        number = onward[0] if onward else None
    return found[::-1]


def _comes_from(number: int, first: int, case: Case) -> bool:
    waiting, seen = [number], {number}
    for near in waiting:  # grows while it is walked
        step = case.graph.maker(near)
        if step is None or step.index < first or len(seen) > 64:
            continue
        if step.index == first:
            return True
        fresh = [ref for ref in step.refs if ref not in seen]
        seen.update(fresh)
        waiting += fresh
    return False


def _bent(case: Case, step: Step) -> Iterator[Found]:
    """A bend of the scores before the softmax."""
    if step.index in case.attention.cap or step.index >= case.attention.softmax[0]:
        return
    apart = _without(case, step)
    if apart is not None and apart > APART:
        yield Found(
            step,
            Said("check.differs-from-sdpa.bent", {"code": code(step)}),
            Said("check.differs-from-sdpa.without", {"apart": apart}),
            Said("check.differs-from-sdpa.bent-mend"),
            _inner(step),
        )


def _inner(step: Step) -> tuple[Edit, ...]:
    """The edit that leaves a step out: its first operand in its place."""
    text = step.operands[0].text if step.operands else ""
    return (Edit(step.source.span, text),) if step.source is not None and own(step) and text else ()


def _without(case: Case, step: Step) -> float | None:
    """How far the weights move where a step is left out."""
    before = case.replay.double(step.refs[0])
    if before is None or before.shape != case.graph.shape(step.results[0]):
        return None
    one, other = case.weights, case.weights_where({step.results[0]: before})
    return None if one is None or other is None else _apart(one, other)


def _shifted(case: Case, step: Step) -> Iterator[Found]:
    """Something that depends on the scores is taken off them, and it is not the same for all keys of a query."""
    first, key = case.attention.scores.step, case.attention.weights.key
    if len(step.refs) != 2 or key is None or not _comes_from(step.refs[1], first, case):
        return
    if not _is_statistic(step.refs[1], first, case) or _is_statistic(step.refs[0], first, case):
        return
    taken = case.replay.double(step.refs[1])
    shape = case.graph.shape(step.results[0])
    if taken is None or key >= len(shape):
        return
    full = taken.expand(shape)
    spread = (full.amax(key) - full.amin(key)).abs()
    spread = spread[spread.isfinite()]
    apart = _without(case, step)
    if not spread.numel() or float(spread.max()) < 1e-6 or apart is None or apart <= APART:
        return
    yield Found(
        step,
        Said("check.differs-from-sdpa.shifted", {"code": code(step), "axis": key, "shape": str(list(shape))}),
        Said("check.differs-from-sdpa.without", {"apart": apart}),
        Said("check.differs-from-sdpa.shifted-mend"),
    )


def _is_statistic(number: int, first: int, case: Case) -> bool:
    """Whether a value made of the scores is one number for many of them, a maximum or a mean."""
    for _ in range(16):
        step = case.graph.maker(number)
        if step is None or step.index <= first or not step.refs:
            return False
        if step.op in _STATISTICS:
            return True
        number = step.refs[0]
    return False


def _powers(case: Case, step: Step) -> Iterator[Found]:
    """Powers of two in the place of powers of e, without log2(e) in the scale."""
    attention = case.attention
    if attention.factor is None or not attention.d_k:
        return
    if abs(attention.factor * math.sqrt(attention.d_k) - 1) > NEAR:
        return
    before, weights = case.grid(step.refs[0]), case.weights
    if before is None or weights is None:
        return
    apart = _apart(weights, torch.softmax(before, dim=-1))
    if apart > APART:
        text = step.source.text if step.source is not None and own(step) else ""
        edits = (
            (Edit(step.source.span, text.replace("exp2", "exp", 1)),)
            if step.source is not None and "exp2" in text
            else ()
        )
        yield Found(
            step,
            Said("check.differs-from-sdpa.powers", {"code": code(step)}),
            Said("check.differs-from-sdpa.plain", {"apart": apart}),
            Said("check.differs-from-sdpa.powers-mend"),
            edits,
        )


def _online(case: Case) -> Iterator[Found]:
    """Blocks of keys, one after another: what comes out in the end against the softmax over all keys at once."""
    attention = case.attention
    q, k, v = case.q, _whole(case, "k"), _whole(case, "v")
    if attention.masks or attention.bias[1:] or attention.factor is None or q is None or k is None or v is None:
        return
    if q.shape[0] != k.shape[0] or k.shape[:2] != v.shape[:2]:
        return
    want = torch.softmax((q @ k.transpose(-2, -1)) * _left(case), dim=-1) @ v
    output = case.step(attention.output)
    final = _final(case)
    got = None if final is None else case.arranged_output(case.replay.double(final))
    if got is None or got.shape != want.shape or not bool(got.isfinite().all()):
        return
    apart = _apart(got, want)
    if apart <= APART * max(1.0, float(want.abs().max())):
        return
    user = next((step for step in case.graph.consumers(attention.result) if step.op == "add"), output)
    yield Found(
        user,
        Said("check.differs-from-sdpa.online", {"code": code(user), "blocks": attention.blocks}),
        Said("check.differs-from-sdpa.whole", {"apart": apart}),
        Said("check.differs-from-sdpa.online-mend"),
    )


def _left(case: Case) -> float:
    """The part of the scale that is put on the scores: what is on q and k is in them already."""
    on_inputs = {*case.attention.q.scale, *case.attention.k.scale}
    return 1.0 if on_inputs else case.attention.factor or 1.0


def _whole(case: Case, name: Name) -> Tensor | None:
    """All of k or v, of which the blocks are slices."""
    entered = case.input(name).entered
    turned: Step | None = None
    number = entered
    for _ in range(6):
        step = case.graph.maker(number)
        if step is None or not step.refs:
            return None
        if step.op in ("getitem", "narrow", "split", "chunk", "tensor_split", "split_with_sizes"):
            whole = case.replay.double(step.refs[0])
            if whole is None or turned is None:
                return None if whole is None else case.arranged(name, whole)
            played = case.replay.play(turned, {turned.refs[0]: whole})
            return None if not played else case.arranged(name, played[0])
        if turned is not None or step.op not in VIEWS | CASTS:
            return None
        turned, number = step, step.refs[0]
    return None


def _final(case: Case) -> int | None:
    """The last value of the output's shape that was made in the same function of what the blocks gave."""
    graph, output = case.graph, case.step(case.attention.output)
    shape = graph.shape(case.attention.result)
    seen = {case.attention.result}
    waiting = [case.attention.result]
    last: int | None = None
    for near in waiting:  # grows while it is walked
        for step in graph.consumers(near):
            if step.frame != output.frame or len(seen) > 2000:
                continue
            for result in step.results:
                if result not in seen:
                    seen.add(result)
                    waiting.append(result)
                    if graph.shape(result) == shape and step.op == "div":
                        last = result if last is None else max(last, result)
    return last


def _apart(one: Tensor, other: Tensor) -> float:
    gap = (one - other).abs()
    gap = gap[gap.isfinite()]
    return float(gap.max()) if gap.numel() else 0.0


RULE = Rule(
    "ATT105",
    "differs-from-sdpa",
    attention=_look,
    unless=frozenset(
        ["ATT001", "ATT002", "ATT003", "ATT004", "ATT012", "ATT015", "ATT055", "ATT056", "ATT057", "ATT058"]
    ),
)
