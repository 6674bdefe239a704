"""What makes two calls in evaluation mode differ: numbers drawn anew, and state that a call leaves behind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from attnlab.attention.graph import CASTS, VIEWS
from attnlab.checks.modes import drawn
from attnlab.checks.whole import Whole
from attnlab.run import Span, Step

# So many values are followed on from one.
FAR = 4000
# A result that moves by less than this share of its largest number has not moved.
MOVED = 1e-6


class Unsteady(NamedTuple):
    """A place that makes two calls differ. `kind`: "drawn" or "state"; `share`: how far the result moves."""

    span: Span
    step: int
    kind: str
    share: float


def unsteady(whole: Whole) -> list[Unsteady]:
    """All places of a run that do so in evaluation mode."""
    found: dict[Span, Unsteady] = {}
    for item in drawn(whole.run, whole.tape, whole.graph):
        span = item.step.source.span if item.step.source else None
        if item.training or item.dropping or span is None or span in found or _chooses(item.step, whole):
            continue
        share = _other_draw(item.step, whole)
        if share > MOVED:
            found[span] = Unsteady(span, item.step.index, "drawn", share)
    for steps in _writes(whole, False):
        span = steps[0].source.span if steps[0].source else None
        share = _other_state(steps, whole)
        if span is not None and share > MOVED:
            found.setdefault(span, Unsteady(span, steps[0].index, "state", share))
    return list(found.values())


def hidden(whole: Whole) -> bool:
    """Whether a rerun with every module in evaluation mode may bring something new."""
    training = any(item.training and not item.dropping for item in drawn(whole.run, whole.tape, whole.graph))
    return training or any(_writes(whole, True))


def _chooses(step: Step, whole: Whole) -> bool:
    """Whether what was drawn only puts something in order, as where a part of the tokens is sampled."""
    users = [user for number in step.results for user in whole.graph.consumers(number)]
    return any(user.op in ("argsort", "sort", "topk") for user in users)


def _other_draw(step: Step, whole: Whole) -> float:
    """How far the result moves where other numbers are drawn."""
    number = step.results[0]
    value = whole.replay.double(number)
    want = _result(number, whole)
    if value is None or want is None or not value.is_floating_point():
        return 0.0
    noise = torch.Generator().manual_seed(11)
    shuffled = value.flatten()[torch.randperm(value.numel(), generator=noise)].reshape(value.shape)
    other = shuffled if value.numel() > 1 else value + 0.5
    return _moved({number: value}, {number: other}, want, whole)


def _writes(whole: Whole, training: bool) -> Iterator[list[Step]]:
    """Steps of the user's in a module that write into its buffers or parameters, those of one place together."""
    places: dict[Span, list[Step]] = {}
    for step in whole.run.steps:
        kept = whole.tape.steps.get(step.index)
        if kept is None or kept.training is not training or not step.inplace or step.via is not None:
            continue
        if step.source is not None and _is_state(step.inplace[0], whole):
            places.setdefault(step.source.span, []).append(step)
    yield from places.values()


def _is_state(number: int, whole: Whole) -> bool:
    """Whether a value is, or is a view of, a buffer or a parameter of a module."""
    for _ in range(32):
        value = whole.run.values[number]
        if value.kind in ("buffer", "parameter") or value.name:
            return True
        step = whole.graph.maker(number)
        if step is None:
            return False
        if number in step.results and step.op in VIEWS and step.refs:
            number = step.refs[0]
        elif number in step.results and step.inplace:
            number = step.inplace[0]
        else:
            earlier = whole.graph.earlier(number)
            if earlier is None:
                return False
            number = earlier
    return False


def _other_state(steps: Sequence[Step], whole: Whole) -> float:
    """How far the result of a call moves where it finds the state that it, or a later call, left behind."""
    first = steps[0]
    target = first.inplace[0]
    before, want = whole.replay.double(target), _result(first.results[0], whole)
    if before is None or want is None or _is_memory(first, whole):
        return 0.0
    others = [whole.replay.double(step.inplace[0]) for step in steps[1:3]]
    others.append(whole.replay.double(first.results[0]))
    shares = [
        _moved({target: before}, {target: other}, want, whole)
        for other in others
        if other is not None and other.shape == before.shape and not torch.equal(other, before)
    ]
    return max(shares, default=0.0)


def _is_memory(step: Step, whole: Whole) -> bool:
    """Whether what is written goes on as keys or values alone: a memory, or a cache, which is there to be kept."""
    seen = set(step.results)
    waiting = list(step.results)
    for number in waiting:  # grows while it is walked
        for user in whole.graph.consumers(number):
            if user.op in VIEWS | CASTS | frozenset(["setitem", "linear", "index_copy", "copy", "matmul"]):
                fresh = [result for result in user.results if result not in seen]
                seen.update(fresh)
                waiting += fresh
        if len(seen) > FAR:
            break
    for attention in whole.attentions:
        of_q = {attention.q.x, attention.q.value, attention.q.entered}
        of_k = {attention.k.x, attention.k.value, attention.k.entered, attention.v.x, attention.v.value}
        if seen & of_k and not seen & of_q:
            return True
    return False


def _result(number: int, whole: Whole) -> int | None:
    """A result that depends on a value: the first attention's, else the last value made in a module."""
    seen = {number}
    waiting = [number]
    last: int | None = None
    for near in waiting:  # grows while it is walked
        for step in whole.graph.consumers(near):
            kept = whole.tape.steps.get(step.index)
            for result in step.results:
                if result in seen or len(seen) > FAR:
                    continue
                seen.add(result)
                waiting.append(result)
                if kept is not None and kept.training is not None:
                    last = result if last is None else max(last, result)
    for attention in whole.attentions:
        if attention.result in seen:
            return attention.result
    return last


def _moved(before: dict[int, Tensor], after: dict[int, Tensor], want: int, whole: Whole) -> float:
    one, other = whole.replay.again(before, [want]), whole.replay.again(after, [want])
    if one is None or other is None or not one[want].is_floating_point():
        return 0.0
    a, b = one[want], other[want]
    scale = float(a[a.isfinite()].abs().max()) if a.isfinite().any() else 0.0
    gap = (a - b).abs()
    gap = gap[gap.isfinite()]
    return float(gap.max()) / scale if scale > 0 and gap.numel() else 0.0
