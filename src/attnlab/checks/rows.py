"""Where each element of q, k, v and of the merged output came from: followed through every change of layout.

What a projection made is numbered through, and the steps after it are run again on the numbers. Where a rotation or
a norm stands between, numbers do not survive; then single places are nudged, and it is seen which rows move.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from math import prod
from typing import NamedTuple, TypeVar, cast
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from attnlab.attention.graph import CASTS, DROPOUT, NORMS, VIEWS, Graph, axes_of
from attnlab.attention.inputs import scaled
from attnlab.attention.origins import CONVOLUTIONS
from attnlab.attention.products import product
from attnlab.checks.case import PLACES, Case, Name
from attnlab.checks.reference import kinds
from attnlab.run import Step

# Operations that leave each row to itself, so that a row that moves was reached by layout alone.
_ROWWISE = (
    VIEWS
    | CASTS
    | DROPOUT
    | (NORMS - {"batch_norm", "instance_norm", "group_norm"})
    | frozenset(["add", "sub", "mul", "div", "neg", "rsqrt", "sqrt", "pow", "square", "cos", "sin", "where"])
)
_LAYOUT = VIEWS | CASTS | DROPOUT
_FAR = 80
_T = TypeVar("_T")
_KNOWN: WeakKeyDictionary[Case, dict[tuple[str, Name], object]] = WeakKeyDictionary()


def _once(ask: Callable[[Case, Name], _T]) -> Callable[[Case, Name], _T]:
    """Ask only once about each role of an attention: several rules want to know."""

    @wraps(ask)
    def asked(case: Case, name: Name) -> _T:
        known = _KNOWN.setdefault(case, {})
        key = (ask.__name__, name)
        if key not in known:
            known[key] = ask(case, name)
        return cast("_T", known[key])

    return asked


def listed(tensor: Tensor) -> list[int]:
    """The whole numbers of a tensor, flattened."""
    return cast("list[int]", tensor.reshape(-1).tolist())  # pyright: ignore[reportUnknownMemberType]


def distinct(tensor: Tensor) -> list[int]:
    """The different whole numbers of a tensor, from the smallest on."""
    flat = tensor.reshape(-1)
    if not flat.numel():
        return []
    low = int(flat.min())
    return [low + item for item in listed(torch.bincount(flat - low).nonzero())]


class Elements(NamedTuple):
    """Of each element: in which place of what the projection made it was, and which of its features.

    A place is an index into all axes but those of features, flattened. Both are integers, of any one shape.
    """

    place: Tensor
    feature: Tensor


class Made(NamedTuple):
    """What q, k or v was split from: its value, the axes of its features, and the steps after it, in order.

    `path` has the value that each step gave on the way; `projected` tells whether a projection made it all.
    """

    value: int
    features: tuple[int, ...]
    steps: tuple[Step, ...]
    path: tuple[int, ...]
    projected: bool


@_once
def made(case: Case, name: Name) -> Made | None:
    """What q, k or v was split from: the result of its projection; where there is none, what was given."""
    role = case.input(name)
    if case.attention.style not in ("written", "sdpa", "flex"):
        return None
    if role.project is not None and role.x is not None:
        step = case.step(role.project)
        features = feature_axes(step, role.x, case.graph) if step.results else None
        if features is None:
            return None
        _, steps, path = _back(case, role.entered, step.results[0])
        return Made(step.results[0], features, steps, path, True)
    value, steps, path = _back(case, role.entered, None)
    rank = len(case.graph.shape(value))
    return Made(value, (rank - 1,), steps, path, False) if rank > 1 else None


def feature_axes(step: Step, x: int, graph: Graph) -> tuple[int, ...] | None:
    """The axes of a projection's result that its weight made."""
    rank = len(graph.shape(step.results[0]))
    if step.op in CONVOLUTIONS:
        return (1,) if rank > 2 else None
    found = product(step, graph)
    if found is None or len(found.letters) != rank:
        return None
    own = found.left_letters if found.left == x else found.right_letters
    return tuple(axis for axis, letter in enumerate(found.letters) if letter not in own) or None


def _back(case: Case, number: int, wanted: int | None) -> tuple[int, tuple[Step, ...], tuple[int, ...]]:
    """Back over layout steps (to `wanted`: over any steps, by their first tensor) to where a value began."""
    steps: list[Step] = []
    path: list[int] = []
    while number != wanted and len(steps) < _FAR:
        step = case.graph.maker(number)
        if step is None or not step.refs or step.refs[0] >= number:
            break
        before = scaled(step, case.graph)
        if wanted is None and before is None and (step.op not in _LAYOUT or len(step.refs) > 1):
            break
        steps.append(step)
        path.append(number)
        number = _onward(case, step, wanted) if before is None else before
    return number, tuple(reversed(steps)), tuple(reversed(path))


def _onward(case: Case, step: Step, wanted: int | None) -> int:
    """The tensor by which the way back goes on: the first that comes from what is wanted."""
    if wanted is None or len(step.refs) == 1:
        return step.refs[0]
    return next((ref for ref in step.refs if ref < step.results[0] and _comes(case, ref, wanted)), step.refs[0])


def _comes(case: Case, number: int, wanted: int) -> bool:
    """Whether a value was made of another, directly or not."""
    waiting, seen = [number], {number}
    while waiting:
        item = waiting.pop()
        if item == wanted:
            return True
        step = case.graph.maker(item)
        for ref in step.refs if step is not None and item > wanted else ():
            if ref not in seen and ref < item:
                seen.add(ref)
                waiting.append(ref)
    return False


def table(shape: tuple[int, ...], features: tuple[int, ...]) -> Elements:
    """The place and the feature of each element of a tensor of a shape."""
    places = [axis for axis in range(len(shape)) if axis not in features]

    def count(axes: list[int]) -> Tensor:
        sizes = [shape[axis] for axis in axes]
        order = torch.arange(prod(sizes)).reshape(sizes)
        for axis in range(len(shape)):
            if axis not in axes:
                order = order.unsqueeze(axis)
        return order.expand(shape)

    return Elements(count(places), count(list(features)))


def numbered(case: Case, source: int, target: int) -> Tensor | None:
    """Of each element of `target`, the flat index of the element of `source` that it is; None where it is none.

    What only scales or shifts an element lets it be; what mixes elements does not.
    """
    shape = case.graph.shape(source)
    count = prod(shape)
    order = torch.arange(count, dtype=torch.float64).reshape(shape)
    played = [
        case.replay.again({source: tensor}, [target])
        for tensor in (torch.zeros_like(order), torch.ones_like(order), order)
    ]
    if any(item is None for item in played):
        return None
    zero, one, many = (item[target] for item in played if item is not None)
    factor = one - zero
    if not zero.is_floating_point() or not bool((factor.isfinite() & (factor != 0)).all()):
        return None
    index = (many - zero) / factor
    whole = index.round()
    inside = (whole >= 0) & (whole < count) & ((index - whole).abs() < 1e-3)
    return whole.long() if bool(inside.all()) else None


@_once
def elements(case: Case, name: Name) -> Elements | None:
    """[N, rows, d] each: where the elements of q, k or v (as they enter the product) came from."""
    source = made(case, name)
    if source is None:
        return None
    index = numbered(case, source.value, case.input(name).entered)
    arranged = None if index is None else case.arranged(name, index)
    return None if arranged is None else _looked_up(arranged, source, case.graph)


def _looked_up(index: Tensor, source: Made, graph: Graph) -> Elements:
    place, feature = table(graph.shape(source.value), source.features)
    return Elements(place.reshape(-1)[index.long()], feature.reshape(-1)[index.long()])


@_once
def reached(case: Case, name: Name) -> Elements | None:
    """All elements of what the projection made that come to q, k or v, in any order."""
    source = made(case, name)
    if source is None:
        return None
    number = source.value
    for step, after in zip(source.steps, source.path, strict=True):  # as far as layout goes
        if step.op not in _LAYOUT or len(step.refs) > 1:
            break
        number = after
    index = numbered(case, source.value, number)
    return None if index is None else _looked_up(index.reshape(-1), source, case.graph)


@_once
def rows_of_places(case: Case, name: Name) -> Tensor | None:
    """[N, rows]: the place that each row came from; −1 where it was not tried; None where it can't be told."""
    found = elements(case, name)
    if found is not None:
        one = found.place[..., :1]
        return torch.where((found.place == one).all(-1), one[..., 0], -1)
    felt = _felt(case, name)
    if felt is None:
        return None
    rows = torch.full(felt[0][1].shape, -1)
    for place, moved in felt:
        rows[moved] = place
    return rows


@_once
def split_wrongly(case: Case, name: Name) -> Spread | None:
    """A place whose features lie in several rows of one head, where that is no way to have heads.

    It is one where the rows of q are the query heads that share a key head, and where features attend to features.
    """
    found = spread(case, name)
    if found is None or over_features(case):
        return None
    return None if name == "q" and _rows_for_each(case, "q") != _rows_for_each(case, "k") else found


def slanted(case: Case, name: Name) -> Spread | None:
    """A place that stands in one row of some heads and in another row of others, each row being of one place alone."""
    found = elements(case, name)
    if found is None or over_features(case):
        return None
    first = found.place[..., 0]
    if bool((found.place != first.unsqueeze(-1)).any()):
        return None
    rows: dict[int, set[int]] = {}
    for head in first:
        for row, place in enumerate(listed(head)):
            rows.setdefault(place, set()).add(row)
    if any(len(distinct(head)) < len(head) for head in first):
        return None  # heads that hold a place several times are told otherwise, or hold it so on purpose
    return next((Spread(place, tuple(sorted(at))) for place, at in sorted(rows.items()) if len(at) > 1), None)


def over_features(case: Case) -> bool:
    """Whether what attends to each other is features, and not tokens."""
    known = [rows for rows in (elements(case, "q"), elements(case, "v")) if rows is not None]
    for rows in known[:1]:
        one = rows.feature == rows.feature[..., :1]  # a row is one feature at many places
        if rows.place.shape[-1] > 1 and bool(one.all()) and bool((rows.place != rows.place[..., :1]).any()):
            return True
    found, letter = kinds(case, "q"), case.query_letter
    return found is not None and letter is not None and found.get(letter) == "features"


def _rows_for_each(case: Case, name: Name) -> float:
    """How many rows there are for each place of what the projection made."""
    source, tensor = made(case, name), case.replay.value(case.input(name).entered)
    arranged = None if tensor is None else case.arranged(name, tensor)
    if source is None or arranged is None:
        return 0.0
    place, _ = table(case.graph.shape(source.value), source.features)
    return arranged.shape[0] * arranged.shape[1] / (int(place.max()) + 1)


class Spread(NamedTuple):
    """One place that came to several rows of one head: which place, and the rows."""

    place: int
    rows: tuple[int, ...]


@_once
def spread(case: Case, name: Name) -> Spread | None:
    """A place of what the projection made whose features lie in several rows of one head; None where there is none."""
    found = elements(case, name)
    if found is not None:
        return _spread(found.place)
    for place, moved in _felt(case, name) or ():
        for row in moved:
            if int(row.sum()) > 1:
                return Spread(place, tuple(listed(row.nonzero())))
    return None


def _spread(place: Tensor) -> Spread | None:
    """From the places of the elements of [N, rows, d]."""
    first = place[..., 0]
    whole = (place == first.unsqueeze(-1)).all(-1)
    for head in range(len(place)):
        if bool(whole[head].all()):
            order = first[head].sort()
            twice = (order.values.diff() == 0).nonzero()
            if len(twice):
                item = int(order.values[twice[0, 0]])
                return Spread(item, tuple(listed((first[head] == item).nonzero())))
            continue
        for item in distinct(place[head, 0]):
            rows = listed((place[head] == item).any(-1).nonzero())
            if len(rows) > 1:
                return Spread(item, tuple(rows))
    return None


def _felt(case: Case, name: Name) -> list[tuple[int, Tensor]] | None:
    """For some places of what the projection made, which rows [N, rows] feel them."""
    source = made(case, name)
    if source is None or not _is_rowwise(case, source.value, case.input(name).entered):
        return None
    place, _ = table(case.graph.shape(source.value), source.features)
    before = case.replay.double(source.value)
    if before is None:
        return None
    count = int(place.max()) + 1
    noise = torch.rand(before.shape, generator=torch.Generator().manual_seed(7), dtype=torch.float64) + 0.5
    found: list[tuple[int, Tensor]] = []
    for item in range(0, count, max(1, -(-count // PLACES))):
        moved = case.moved({source.value: torch.where(place == item, before + noise, before)}, case.input(name).entered)
        arranged = None if moved is None else case.arranged(name, moved)
        if arranged is None:
            return None
        found.append((item, arranged.any(-1)))
    return found


def _is_rowwise(case: Case, source: int, target: int) -> bool:
    """Whether every step between leaves rows to themselves."""
    between = _made_of(case, source, target)
    waiting, seen = [target], {target}
    while waiting:
        step = case.graph.maker(waiting.pop())
        if step is None or not between.intersection(step.refs):
            continue
        if step.op not in _ROWWISE and not (step.op == "mean" and _over_last(step, case.graph)):
            return False
        fresh = [number for number in step.refs if number in between and number != source and number not in seen]
        seen.update(fresh)
        waiting += fresh
    return True


def _made_of(case: Case, source: int, target: int) -> set[int]:
    """The values that were made of `source`, no later than `target`."""
    found, waiting = {source}, [source]
    while waiting:
        for step in case.graph.consumers(waiting.pop()):
            fresh = [number for number in step.results if number <= target and number not in found]
            found.update(fresh)
            waiting += fresh
    return found


def _over_last(step: Step, graph: Graph) -> bool:
    rank = len(graph.shape(step.refs[0])) if step.refs else 0
    return rank > 0 and axes_of(step, rank) == (rank - 1,)


@_once
def labels_of_heads(case: Case, name: Name) -> Tensor | None:
    """[heads] of one sample, in the order of N: the first feature of each head's row; None where it can't be told."""
    found = elements(case, name)
    if found is not None:
        place, feature = found.place[:, 0, 0], found.feature[:, 0, 0]
        return feature[place == place[0]]
    source = made(case, name)
    before = None if source is None else case.replay.double(source.value)
    if source is None or before is None or not _is_rowwise(case, source.value, case.input(name).entered):
        return None
    place, feature = table(case.graph.shape(source.value), source.features)
    count = int(feature.max()) + 1
    labels: Tensor | None = None
    for item in range(0, count, max(1, -(-count // PLACES))):
        at = (place == 0) & (feature == item)
        moved = case.moved({source.value: torch.where(at, before + 1.5, before)}, case.input(name).entered)
        arranged = None if moved is None else case.arranged(name, moved)
        if arranged is None:
            return None
        heads = arranged.flatten(1).any(-1)
        labels = torch.full((len(heads),), -1) if labels is None else labels
        labels[heads & (labels < 0)] = item
    return None if labels is None else labels[labels >= 0]


# -- the output ------------------------------------------------------------------------------------


class Merged(NamedTuple):
    """The output with its heads put together: its value, the axes of its features (None: not known), the last step."""

    value: int
    features: tuple[int, ...] | None
    step: Step


def merged(case: Case) -> Merged | None:
    """What the output projection reads, or what stands at the end of the layout steps after the product with v."""
    attention = case.attention
    number, last = attention.result, None
    for index in attention.merge:
        last = case.step(index)
        number = last.results[0]
    if last is None:
        return None
    if attention.project_out is None:
        return Merged(number, None, last)
    step = case.step(attention.project_out)
    x = next((ref for ref in step.refs if _is_same(case, ref, number)), None)
    if x is None:
        return None
    if step.op in CONVOLUTIONS:
        return Merged(x, (1,), last) if len(case.graph.shape(x)) > 2 else None
    found = product(step, case.graph)
    if found is None:
        return None
    own = found.left_letters if found.left == x else found.right_letters
    return Merged(x, tuple(axis for axis, letter in enumerate(own) if letter not in found.letters), last)


def _is_same(case: Case, number: int, wanted: int) -> bool:
    while number != wanted:
        step = case.graph.maker(number)
        if step is None or step.op not in CASTS | DROPOUT or step.refs[0] >= number:
            return False
        number = step.refs[0]
    return True


class Cells(NamedTuple):
    """Of each element of the merged output: its head and sample together (N), its row, and its place among features."""

    head: Tensor
    row: Tensor
    inner: Tensor


def cells(case: Case, target: int) -> Cells | None:
    """Where the elements of the merged output lay in what the product with v made, in the layout of a `Case`."""
    result = case.attention.result
    index = numbered(case, result, target)
    if index is None:
        return None
    shape = case.graph.shape(result)
    order = case.arranged_output(torch.arange(prod(shape)).reshape(shape))
    if order is None:
        return None
    at = torch.empty(order.numel(), dtype=torch.long)
    at[order.reshape(-1)] = torch.arange(order.numel())
    flat = at[index]
    rows, inner = order.shape[1:]
    return Cells(flat // (rows * inner), flat // inner % rows, flat % inner)
