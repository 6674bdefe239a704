"""By what an attention scales q, k, the scores and the weights, and whether that is all of it.

A scale may stand anywhere between the projections and the softmax, or in a weight. So the steps that scale are
gathered, and what is left between a projection and the product is held against the projection's own result: where
its size (root mean square) is another one, something else scales, and nothing is said.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan, prod, sqrt
from typing import Literal, TypeAlias
from weakref import WeakKeyDictionary

from attnlab.attention.graph import CASTS, DROPOUT, VIEWS, Graph, refs
from attnlab.attention.inputs import number_of, scaled
from attnlab.checks.case import Case, Name
from attnlab.checks.reference import NEAR, even, rms
from attnlab.run import Step

Place: TypeAlias = Literal["q", "k", "weight", "scores", "call", "weights"]


@dataclass(frozen=True, slots=True)
class Part:
    """A step that scales, the number by which it multiplies, and what it scales."""

    step: Step
    number: float
    place: Place


@dataclass(frozen=True, slots=True)
class Scaling:
    """All scaling of an attention.

    `early`  what scales before the softmax, in order; `late` what scales the weights after it
    `total`  the early ones as one number
    `d_k`    how many products a score is the sum of; `wanted`: 1/√d_k
    """

    early: tuple[Part, ...]
    late: tuple[Part, ...]
    total: float
    d_k: int

    @property
    def wanted(self) -> float:
        """What scaled dot-product attention multiplies by."""
        return 1 / sqrt(self.d_k)


_SIDES: tuple[Name, Name] = ("q", "k")
_WRITES = frozenset(["setitem", "index_copy"])
_KNOWN: WeakKeyDictionary[Case, list[Scaling | None]] = WeakKeyDictionary()


def scaling(case: Case) -> Scaling | None:
    """The scaling of an attention; None where it is not known whole, is learned, or q and k are normalised."""
    if case not in _KNOWN:
        _KNOWN[case] = [_scaling(case)]
    return _KNOWN[case][0]


def scaling_beside_norm(case: Case) -> Scaling | None:
    """The scaling where q or k, and not both, was brought to one length: what scaled it before then has no effect.

    None where that is not so. How much such scores are to be scaled is a choice, so it tells little of a single scale.
    """
    if sum(found is not None and even(found) for found in (case.q, case.k)) != 1:
        return None
    if any(_behind(case, name) is None and not _forgets(case, name) for name in _SIDES):
        return None
    return _scaling(case, beside_norm=True)


def _forgets(case: Case, name: Name) -> bool:
    """Whether q or k is what it is where its projection makes it thrice as large."""
    role = case.input(name)
    if role.project is None:
        return False
    made = case.step(role.project).results[0]
    value = case.replay.double(made)
    moved = None if value is None else case.moved({made: 3 * value}, role.entered)
    return moved is not None and not bool(moved.any())


def _scaling(case: Case, *, beside_norm: bool = False) -> Scaling | None:
    attention = case.attention
    if attention.additive or not attention.d_k or attention.style not in ("written", "sdpa") or _is_sum(case):
        return None
    behind = [_behind(case, name) for name in _SIDES]
    if None in behind and not beside_norm:
        return None
    parts = [*(part for found in behind if found for part in found), *_parts(case)]
    early = tuple(part for part in parts if part.place != "weights")
    if any(isnan(part.number) or _is_learned(part.step, case.graph) for part in early):
        return None
    if _are_normalised(case):
        return None
    late = tuple(part for part in parts if part.place == "weights" and not isnan(part.number))
    return Scaling(early, late, prod(part.number for part in early), attention.d_k)


def _parts(case: Case) -> list[Part]:
    attention, graph = case.attention, case.graph
    found: list[Part] = []
    for index in attention.scale:
        step = case.step(index)
        if _is_drawn_in(step, case) or _is_drawn_large(step, case):
            continue
        place: Place = "scores"
        if index in attention.q.scale:
            place = "q"
        elif index in attention.k.scale:
            place = "k"
        elif case.written and index > attention.weights.step:
            place = "weights"
        found.append(Part(step, _number(step, graph), place))
    for name in _SIDES:
        found += _in_weight(case, name)
    if not case.written:
        found.append(Part(case.softmax, float("nan") if attention.factor is None else attention.factor, "call"))
    elif case.scores_product is not None and case.scores_product.factor is not None:
        found.append(Part(case.step(attention.scores.step), case.scores_product.factor, "scores"))
    return found


def _is_drawn_in(step: Step, case: Case) -> bool:
    """Whether the weight of a projection is drawn in the same expression: `x @ torch.randn(d, d) / d ** 0.5`.

    The number then stands for the size of the weight.
    """
    for project in (case.input(name).project for name in _SIDES):
        if project is None or step.source is None or not set(case.step(project).results) & set(step.refs):
            continue
        for number in case.step(project).refs:
            maker = case.graph.maker(number)
            own = None if maker is None or maker.source is None or not case.graph.given(number) else maker.source.span
            span = step.source.span
            if own is None or own.file != span.file:
                continue
            if (span.line, span.col) <= (own.line, own.col) and (own.end_line, own.end_col) <= (
                span.end_line,
                span.end_col,
            ):
                return True
    return False


def _is_drawn_large(step: Step, case: Case) -> bool:
    """Whether q or k itself is drawn, and made larger: the size of what was drawn, since a scale makes smaller."""
    return case.graph.given(step.results[0]) and _number(step, case.graph) > 1


def _number(step: Step, graph: Graph) -> float:
    for tensor in dict.fromkeys(step.refs):
        number = number_of(step, tensor, graph)
        if number is not None:
            return number
    return float("nan")


def _in_weight(case: Case, name: Name) -> list[Part]:
    """A scale in the weight that makes q or k: `F.linear(x, W * d ** -0.5)`."""
    role, graph = case.input(name), case.graph
    if role.project is None:
        return []
    found: list[Part] = []
    for number in case.step(role.project).refs:
        step = graph.maker(number)
        while number != role.x and step is not None and graph.constant(number) and step.refs:
            tensor = scaled(step, graph)
            if tensor is not None:
                found.append(Part(step, _number(step, graph), "weight"))
            elif step.op not in VIEWS | CASTS:
                break
            step = graph.maker(step.refs[0] if tensor is None else tensor)
    return found


def _is_learned(step: Step, graph: Graph) -> bool:
    """Whether a parameter has a part in the number by which a step scales."""
    return any(prod(graph.shape(number)) == 1 and _of_parameter(number, graph) for number in step.refs)


def _of_parameter(number: int, graph: Graph) -> bool:
    seen = [number]
    for near in seen:  # grows while it is walked
        if graph.values[near].kind == "parameter":
            return True
        step = graph.maker(near)
        if step is not None and len(seen) < 16:
            seen += [read for read in step.refs if read not in seen]
    return False


def _behind(case: Case, name: Name) -> list[Part] | None:
    """What scales q or k before something that is no scaling (a rotation); None where it can't be told.

    What is no scaling and no change of layout must leave the size of what it gets, else it might scale as well.
    """
    role, graph = case.input(name), case.graph
    place: Place = "q" if name == "q" else "k"
    steps, number, at_start = _back(role.value, role.project, graph)
    if at_start:  # all of it, also what lies behind a cut and a joining
        return [Part(step, _number(step, graph), place) for step in steps if step.index not in case.attention.scale]
    if role.project is None:
        step = graph.maker(number)
        return [] if graph.given(role.value) or (step is not None and step.op not in ("mul", "div")) else None
    before = _before(number, role.project, graph)
    now, then = rms(case.replay.value(number)), None if before is None else rms(case.replay.value(before))
    if before is None or now is None or then is None or abs(now / then - 1) > NEAR:
        return None
    steps, _, at_start = _back(before, role.project, graph)
    return [Part(step, _number(step, graph), place) for step in steps] if at_start else None


def _back(number: int, project: int | None, graph: Graph) -> tuple[list[Step], int, bool]:
    """The steps that scale a value on its way from its projection, as far as nothing but layout is changed besides.

    With the value at which the way ends, and whether that is the projection's result.
    """
    scales: list[Step] = []
    while True:
        step = graph.maker(number)
        if step is None or step.index == project:
            return scales, number, True
        tensor = scaled(step, graph)
        ahead = [read for read in step.refs if read < number]
        if tensor is not None:
            scales.append(step)
            number = tensor
        elif step.op in _WRITES and ahead:  # a cache: what is written into it is what was projected now
            written = [read for read in refs(step.operands[-1].arg) if read in ahead]
            number = (written or ahead)[0]
        elif step.op in VIEWS | CASTS | DROPOUT and ahead:
            # of what was joined the last is what was projected now: a cache
            number = ahead[-1] if step.op in ("cat", "stack") else ahead[0]
        else:
            return scales, number, False


def _before(number: int, project: int, graph: Graph) -> int | None:
    """The nearest value behind a value that is its projection's in another layout, and as large."""
    size = prod(graph.shape(number))
    seen = [number]
    found: list[int] = []
    for near in seen:  # grows while it is walked
        step = graph.maker(near)
        if step is None or step.index <= project or len(seen) > 64:
            continue
        for read in step.refs:
            if read not in seen and not graph.constant(read):
                seen.append(read)
                if prod(graph.shape(read)) == size and _back(read, project, graph)[2]:
                    found.append(read)
    return max(found, default=None)


def _are_normalised(case: Case) -> bool:
    """Whether all q and all k are of one length, as after a norm: then no scale is due."""
    return all(found is not None and even(found) for found in (case.q, case.k))


def _is_sum(case: Case) -> bool:
    """Whether a score is a sum of several products: what is added as a bias was made from q or k as well."""
    made = {result for name in _SIDES for result in _made(case, name)}
    for index in case.attention.bias:
        step = case.step(index)
        if step.op in ("mul", "div"):
            return True
        seen = [number for number in step.refs if not _is_scores(case, number)]
        for near in seen:  # grows while it is walked
            maker = case.graph.maker(near)
            if near in made:
                return True
            if maker is not None and len(seen) < 64:
                seen += [read for read in maker.refs if read not in seen]
    return False


def _is_scores(case: Case, number: int) -> bool:
    """Whether a value was made from the scores."""
    seen = [number]
    for near in seen:  # grows while it is walked
        if near == case.attention.scores.value:
            return True
        maker = case.graph.maker(near)
        if maker is not None and len(seen) < 64 and maker.index > case.attention.scores.step:
            seen += [read for read in maker.refs if read not in seen]
    return False


def _made(case: Case, name: Name) -> tuple[int, ...]:
    role = case.input(name)
    return (role.value,) if role.project is None else case.step(role.project).results
