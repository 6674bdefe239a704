"""What comes near an attention and is none: scores that meet v without a softmax, weights that meet v in passing."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple
from weakref import WeakKeyDictionary

from torch import Tensor

from attnlab.attention.graph import CASTS, DROPOUT, NORMS, VIEWS, Graph
from attnlab.attention.inputs import number_of, unscaled
from attnlab.attention.origins import Origins
from attnlab.attention.products import Letters
from attnlab.attention.trails import Found, Trails
from attnlab.checks.reference import NEAR, far_below
from attnlab.checks.whole import Whole
from attnlab.run import Step

_KNOWN: WeakKeyDictionary[Whole, Sequence[Loose]] = WeakKeyDictionary()
# What may stand between scores and v where only the softmax was forgotten.
_PLAIN = VIEWS | CASTS | DROPOUT | frozenset(["add", "sub", "masked_fill", "where", "tril", "triu", "setitem"])


class Loose(NamedTuple):
    """A product of q and k whose scores meet v as they are.

    `scaled`  whether they were divided by the root of d_k; `masked`: whether a mask put something far below into them
    `plain`   whether nothing else was done to them
    """

    found: Found
    scaled: bool
    masked: bool
    plain: bool
    d_k: int

    @property
    def state(self) -> str:
        """As of a trail: scores, logs, powers, weights."""
        return self.found.trail.state


def loose(whole: Whole) -> Sequence[Loose]:
    """All of a run, one for each line."""
    if whole not in _KNOWN:
        _KNOWN[whole] = _loose(whole)
    return _KNOWN[whole]


def _loose(whole: Whole) -> list[Loose]:
    graph = whole.graph
    origins = Origins(graph)
    told: dict[object, Loose] = {}
    attended = {attention.scores.step for attention in whole.attentions}
    for found in Trails(graph, origins).loose:
        step = graph.steps[found.trail.product.step]
        if step.index in attended or found.trail.product.additive or step.via is not None:
            continue
        if origins.projects(step) is not None:
            continue
        told.setdefault((step.source, graph.steps[found.output.step].source), _described(found, whole, origins))
    return list(told.values())


def _described(found: Found, whole: Whole, origins: Origins) -> Loose:
    graph, product = whole.graph, found.trail.product
    factor = 1.0 if product.factor is None else product.factor
    plain = True
    for number in (product.left, product.right):
        for index in unscaled(number, True, graph, origins).scale:
            factor *= _number(graph.steps[index], graph)
    masked = False
    for index in found.trail.path:
        step = graph.steps[index]
        if step.op in ("mul", "div"):
            number = _number(step, graph)
            factor, plain = (factor * number, plain) if number == number else (factor, False)
        elif step.op not in _PLAIN | {"exp", "log_softmax", "softmax", "normalize", "exp2"}:
            plain = False
        made = whole.replay.value(step.results[0]) if step.results else None
        before = whole.replay.value(step.refs[0]) if step.refs else None
        if made is not None and made.is_floating_point() and far_below(made):
            masked = masked or before is None or not far_below(before) or step.op in ("add", "sub")
    sizes = dict(zip(product.left_letters, graph.shape(product.left), strict=True))
    d_k = 1
    for letter in product.gone(product.left_letters):
        d_k *= sizes[letter]
    scaled = d_k > 1 and abs(factor * sqrt(d_k) - 1) < NEAR
    return Loose(found, scaled, masked, plain, d_k)


def _number(step: Step, graph: Graph) -> float:
    for tensor in step.refs:
        number = number_of(step, tensor, graph)
        if number is not None:
            return number
    return float("nan")


def met(item: Loose) -> tuple[int, Letters]:
    """The value that meets v, and its letters in that product."""
    output = item.found.output
    left = output.right == item.found.v
    return (output.left, output.left_letters) if left else (output.right, output.right_letters)


def sums(item: Loose, whole: Whole) -> Tensor | None:
    """What each row of it sums to over the axis that the product with v sums over."""
    number, letters = met(item)
    tensor = whole.replay.double(number)
    gone = item.found.output.gone(letters)
    if tensor is None or not gone or tensor.dim() != len(letters):
        return None
    return tensor.sum([letters.index(letter) for letter in gone])


def followed(number: int, graph: Graph, far: int = 12) -> list[Step]:
    """The steps that go on with a value, through layout, casts, norms and dropout, nearest first."""
    found: list[Step] = []
    waiting = [number]
    for near in waiting:  # grows while it is walked
        for step in graph.consumers(near):
            if step in found or len(found) >= far:
                continue
            found.append(step)
            if step.op in VIEWS | CASTS | DROPOUT | NORMS:
                waiting += step.results
    return found
