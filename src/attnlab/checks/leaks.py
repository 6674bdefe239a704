"""What feels what: a sample that feels another one, a token that feels another one before any attention."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

import torch
from torch import Tensor

from attnlab.attention.axes import Axis
from attnlab.attention.graph import CASTS, DROPOUT, NORMS, POINTWISE, VIEWS
from attnlab.attention.origins import CONVOLUTIONS
from attnlab.attention.products import product
from attnlab.checks.case import Case, Name
from attnlab.checks.positions import Positions
from attnlab.checks.reference import source
from attnlab.checks.rows import distinct, numbered
from attnlab.run import Step

RESHAPES = frozenset(["view", "reshape", "reshape_as", "view_as", "unsafe_view"])
# Operations that make one number of many.
REDUCTIONS = frozenset(
    [
        "mean",
        "sum",
        "std",
        "var",
        "max",
        "min",
        "amax",
        "amin",
        "norm",
        "vector_norm",
        "linalg_vector_norm",
        "median",
        "prod",
    ]
)
# So many steps are walked back over, and so many values are looked at between two.
_FAR = 200
_BETWEEN = 120
# Of so many rows it is looked how they were cut, in tensors of so many numbers.
_ROWS = 16
_LARGEST = 1 << 22


# -- an exchange of axes by view --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Exchange:
    """A view that takes two groups of axes for each other: `first`, `second` are the axes of its result."""

    step: Step
    first: tuple[int, ...]
    second: tuple[int, ...]


def exchanges(case: Case, name: Name, place: Positions) -> Iterator[Exchange]:
    """The views on the way to q, k or v that exchange two groups of axes without moving the elements."""
    for step in behind(case.input(name).entered, place):
        if step.op not in RESHAPES or not step.refs or not step.results:
            continue
        found = _exchanged(place, step)
        if found is not None:
            yield found


def _exchanged(place: Positions, step: Step) -> Exchange | None:
    old, new = place.graph.shape(step.refs[0]), place.graph.shape(step.results[0])
    lead = 0
    while lead < min(len(old), len(new)) and old[lead] == new[lead]:
        lead += 1
    tail = 0
    while tail < min(len(old), len(new)) - lead and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    inner, outer = old[lead : len(old) - tail], new[lead : len(new) - tail]
    axes = place.origins.axes(step.refs[0])
    for cut in range(1, len(inner)):
        one, two = prod(inner[:cut]), prod(inner[cut:])
        if one == two or 1 in (one, two):
            continue
        for at in range(1, len(outer)):
            if prod(outer[:at]) == two and prod(outer[at:]) == one:
                roots = [_roots(axes[lead : lead + cut]), _roots(axes[lead + cut : len(old) - tail])]
                if roots[0] & roots[1]:
                    return None
                return Exchange(step, tuple(range(lead, lead + at)), tuple(range(lead + at, lead + len(outer))))
    return None


def _roots(axes: Sequence[Axis]) -> set[int]:
    return {part.root for axis in axes for part in axis}


def behind(number: int, place: Positions) -> list[Step]:
    """The steps behind a value, past projections, as far as each keeps tokens what they are; nearest first."""
    graph = place.graph
    waiting, seen, found = [number], set[int](), list[Step]()
    while waiting and len(seen) < _FAR:
        near = waiting.pop(0)
        step = graph.maker(near)
        if step is None or near in seen or near not in step.results:
            continue
        seen.add(near)
        found.append(step)
        x = place.origins.projects(step)
        if x is not None:
            waiting.append(x)
        elif step.op in VIEWS | POINTWISE | NORMS and step.op not in ("softmax", "log_softmax"):
            read = step.refs[:1] if step.op in CASTS | DROPOUT | NORMS else step.refs
            waiting += [item for item in read if item < near and not place.free(item)]
    return sorted(found, key=lambda step: -step.index)


# -- rows that are cut in the middle of an axis -----------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ragged:
    """A change of shape after which a row holds some features of one token, and others of another one.

    `sizes`: how many different places along each axis, of the tensor that was cut, are in the first such row.
    """

    step: Step
    old: tuple[int, ...]
    size: int
    sizes: tuple[int, ...]


def ragged(case: Case, name: Name) -> Ragged | None:
    """Where what q, k or v is projected from was cut into rows across its axes; None where each row is a whole box.

    Patches, windows and channels of their own are boxes: some places along each axis, and all that is there at once.
    """
    found = source(case, name)
    if found is None or found[1] != len(case.graph.shape(found[0])) - 1:
        return None
    x, start = found[0], case.whole.origins.base(found[0])
    old = case.graph.shape(start)
    step = _last_reshape(case, x, start)
    index = None if step is None or len(old) < 3 or prod(old) > _LARGEST else numbered(case, start, x)
    if step is None or index is None:
        return None
    for row in index.reshape(-1, index.shape[-1])[:_ROWS]:
        inside = distinct(row)
        sizes = tuple(len(distinct(place)) for place in torch.unravel_index(torch.tensor(inside), old))
        if prod(sizes) != len(inside):
            return Ragged(step, old, index.shape[-1], sizes)
    return None


def _last_reshape(case: Case, number: int, start: int) -> Step | None:
    while number != start:
        step = case.graph.maker(number)
        if step is None or not step.refs or step.refs[0] >= number:
            return None
        if step.op in RESHAPES or step.op == "flatten":
            return step
        number = step.refs[0]
    return None


# -- axes of a projection's input -------------------------------------------------------------------


def feature_axes(case: Case, name: Name) -> tuple[int, ...] | None:
    """The axes of x that the projection of q, k or v sums over; the last one where there is no projection."""
    role = case.input(name)
    if role.x is None or role.project is None:
        return None
    step, rank = case.step(role.project), len(case.graph.shape(role.x))
    if step.op in CONVOLUTIONS:
        return (1,) if rank > 2 else None
    found = product(step, case.graph)
    if found is None:
        return None
    letters = found.left_letters if found.left == role.x else found.right_letters
    return tuple(place for place, letter in enumerate(letters) if letter not in found.letters)


def sample_axis(number: int, tokens: Axis, features: Sequence[int], place: Positions) -> int | None:
    """The axis of a value that runs over samples: the first that is neither tokens nor features."""
    shape = place.graph.shape(number)
    own = place.tokens_of(number, tokens)
    if len(own) != 1:
        return None
    rest = [axis for axis in range(len(shape)) if axis not in own and axis not in features]
    return rest[0] if rest and shape[rest[0]] > 1 else None


# -- the experiment ---------------------------------------------------------------------------------


def nudged(value: Tensor, axis: int, index: int) -> Tensor:
    """A value with all of one index along an axis moved, each element by another amount."""
    found = value.clone()
    part = found.narrow(axis, index, 1)
    part += 0.5 + torch.rand(part.shape, generator=torch.Generator().manual_seed(7 + index), dtype=value.dtype)
    return found


def between(source: Sequence[int], target: int, place: Positions) -> list[int] | None:
    """The values between, in the order in which they were made, the target last; None where there are too many."""
    graph, first = place.graph, min(source)
    made: dict[int, bool] = dict.fromkeys(source, True)
    waiting, order = [target], list[int]()
    while waiting:
        near = waiting[-1]
        step = graph.maker(near)
        read = [] if step is None or near in source else [item for item in step.refs if first <= item < near]
        unknown = [item for item in read if item not in made]
        if unknown:
            waiting += unknown
            continue
        waiting.pop()
        if near not in made:
            made[near] = any(made[item] for item in read)
            if made[near]:
                order.append(near)
    return sorted(order) if len(order) <= _BETWEEN else None


def felt_by_two(given: Sequence[dict[int, Tensor]], wanted: Sequence[int], case: Case) -> dict[int, Tensor] | None:
    """For each wanted value, which of its elements move in both of two experiments."""
    keys = tuple(given[0])
    recorded = {number: case.replay.double(number) for number in keys}
    still = {number: value for number, value in recorded.items() if value is not None}
    if len(still) < len(keys):
        return None
    before = case.replay.again(still, wanted)
    after = [case.replay.again(one, wanted) for one in given]
    if before is None or any(item is None for item in after):
        return None
    found: dict[int, Tensor] = {}
    for number in wanted:
        old = before[number]
        size = max(float(old[old.isfinite()].abs().max()) if bool(old.isfinite().any()) else 1.0, 1.0)
        moved = [
            ~torch.isclose(old, item[number], rtol=1e-9, atol=1e-11 * size, equal_nan=True)
            for item in after
            if item is not None
        ]
        found[number] = moved[0] & moved[1]
    return found


def cause(given: Sequence[dict[int, Tensor]], path: Sequence[int], case: Case) -> int | None:
    """The first value on a path that, held as it was recorded, keeps two experiments apart at the path's end."""
    target = path[-1]
    felt = felt_by_two(given, path, case)
    if felt is None or not bool(felt[target].any()):
        return None
    for number in path:
        if not bool(felt[number].any()) or number == target:
            continue
        value = case.replay.double(number)
        if value is None:
            continue
        held = felt_by_two([{**one, number: value} for one in given], [target], case)
        if held is not None and not bool(held[target].any()):
            return number
    return target
