"""What the rules of softmax, scale and product ask of an attention, each by an experiment on the recorded steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias
from weakref import WeakKeyDictionary

from torch import Tensor

from attnlab.attention.graph import CASTS, VIEWS, Graph
from attnlab.attention.inputs import exchanges_last_two
from attnlab.attention.products import Letters, Product, product
from attnlab.checks.case import Case, Name
from attnlab.checks.naming import exchanged, named_axes
from attnlab.run import Step

# How near to one a sum of weights must be, and to each other two numbers that are meant to be one.
NEAR = 2e-3
# What an axis holds: a place of x (its batch or its tokens), the features of a place, or a mixture of both.
Holds: TypeAlias = Literal["place", "features", "mixed", "unknown"]
_HOLDS: WeakKeyDictionary[Case, dict[Name, tuple[Holds, ...] | None]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Meeting:
    """Weights as they meet v: their value, their letters in the product, and those over which it sums."""

    weights: int
    letters: Letters
    summed: Letters
    product: Product


def turned_between(case: Case, first: int | None, last: int) -> Step | None:
    """The step that exchanges the last two axes on the way from one value to a later one, the nearest to the later."""
    number: int | None = last
    while number is not None and number != first:
        step = case.graph.maker(number)
        if step is None or not step.refs:
            return None
        if exchanges_last_two(step, case.graph):
            return step
        number = step.refs[0] if step.refs[0] < number else None
    return None


def meeting(case: Case) -> Meeting | None:
    """How the weights meet v; None for a fused attention."""
    found = case.output_product
    if found is None:
        return None
    on_right = found.left == case.attention.v.entered
    weights, letters, other = (
        (found.right, found.right_letters, found.left_letters)
        if on_right
        else (found.left, found.left_letters, found.right_letters)
    )
    summed = tuple(letter for letter in letters if letter not in found.letters and letter in other)
    return Meeting(weights, letters, summed, found)


def row_sums(case: Case) -> Tensor | None:
    """What the weights that meet v sum to, over the axis that the product sums over: 1 where they are a softmax's.

    Dropout is left out. None where it can't be told.
    """
    found = meeting(case)
    if found is None or not found.summed:
        return None
    tensor = as_met(case, found.weights)
    if tensor is None or tensor.dim() != len(found.letters):
        return None
    return tensor.sum([found.letters.index(letter) for letter in found.summed])


def as_met(case: Case, number: int) -> Tensor | None:
    """A value that was made from q, with dropout left out."""
    q = case.attention.q.entered
    tensor = case.replay.double(q)
    found = None if tensor is None else case.replay.again({q: tensor}, [number])
    return None if found is None else found[number]


def is_one(sums: Tensor | None) -> bool | None:
    """Whether all finite sums are one; None where there is none."""
    if sums is None:
        return None
    finite = sums[sums.isfinite()]
    return bool(((finite - 1).abs() < NEAR).all()) if finite.numel() else None


def spread(weights: Tensor) -> float:
    """The mean over queries of the largest weight: 1 where each looks at one key only."""
    rows = weights[weights.isfinite().all(-1)]
    return float(rows.amax(-1).mean()) if rows.numel() else float("nan")


def scaled_weights(case: Case, factor: float) -> Tensor | None:
    """The weights where q is this many times what it was."""
    q = case.replay.double(case.attention.q.entered)
    found = None if q is None else case.weights_where({case.attention.q.entered: q * factor})
    return _by_formula(case, factor) if found is None else found


def _by_formula(case: Case, factor: float) -> Tensor | None:
    """The same from q and k alone, where the steps give something else when run again: numbers of half width."""
    attention, q, k = case.attention, case.q, case.k
    if not case.written or attention.masks or attention.bias or attention.cap or attention.factor is None:
        return None
    if q is None or k is None or q.shape[0] != k.shape[0] or attention.q.scale or attention.k.scale:
        return None
    return (q @ k.transpose(-2, -1) * (attention.factor * factor)).softmax(-1)


def rms(tensor: Tensor | None) -> float | None:
    """The root of the mean of squares; None where there is none or it is zero."""
    if tensor is None or not tensor.numel():
        return None
    sizes = tensor.abs() if tensor.is_complex() else tensor
    found = float(sizes.double().pow(2).mean().sqrt())
    return found or None


def holds(case: Case, name: Name) -> tuple[Holds, ...] | None:
    """What each axis of q, k or v holds as it enters the product: what moves along it where one token of x is nudged.

    None where it was not projected from an x, or can't be experimented on.
    """
    found = source(case, name)
    shape = () if found is None else case.graph.shape(found[0])
    if found is None or len(shape) < 2:
        return None
    x, axis = found
    index = tuple(slice(None) if place == axis else shape[place] // 2 for place in range(len(shape)))
    moved = case.felt(x, index, case.input(name).entered)
    if moved is None or not bool(moved.any()):
        return None
    return tuple(_holds(moved, place) for place in range(moved.dim()))


def sides(case: Case, name: Name) -> tuple[Holds, tuple[Holds, ...], tuple[Holds, ...]] | None:
    """What the row of q or k holds, what is summed over, and all other axes."""
    found = holds(case, name)
    if found is None:
        return None
    if case.attention.style == "sdpa":
        return found[-2], found[-1:], found[:-2]
    product, letters = case.scores_product, letters_of(case, name)
    row = case.query_letter if name == "q" else case.key_letter
    if product is None or letters is None or row not in letters or len(letters) != len(found):
        return None
    held: dict[int, Holds] = dict(zip(letters, found, strict=True))
    inner: tuple[Holds, ...] = tuple(kind for letter, kind in held.items() if letter not in product.letters)
    rest: tuple[Holds, ...] = tuple(
        kind for letter, kind in held.items() if letter in product.letters and letter != row
    )
    return held[row], inner, rest


def source(case: Case, name: Name) -> tuple[int, int] | None:
    """What q, k or v was projected from, and its axis of features; None where that can't be told.

    It may be the sum of several projections of one x, one of them in two steps, as LoRA adds.
    """
    role, origins = case.input(name), case.whole.origins
    if role.x is not None and role.project is not None:
        axis = feature_axis(case.step(role.project), role.x, case.graph)
        return None if axis is None else (role.x, axis)
    left = origins.sources(role.value) - {role.value}
    while len(left) > 1:
        latest = max(left)
        before = origins.sources(latest) - {latest}
        if not before:
            return None
        left = left - {latest} | before
    readers = [step for x in left for step in case.graph.consumers(x) if origins.projects(step) == x]
    axes = {(x, feature_axis(step, x, case.graph)) for x in left for step in readers}
    found = [(x, axis) for x, axis in axes if axis is not None]
    return found[0] if len(axes) == len(found) == 1 else None


def _holds(moved: Tensor, axis: int) -> Holds:
    if moved.shape[axis] == 1:
        return "unknown"
    others = [place for place in range(moved.dim()) if place != axis]
    along = moved.any(dim=others) if others else moved
    count = int(along.sum())
    return "place" if count == 1 else "features" if count == moved.shape[axis] else "mixed"


def feature_axis(step: Step, x: int, graph: Graph) -> int | None:
    """Which axis of x a projection sums over; None where it is not just one."""
    found = product(step, graph)
    if found is None:
        return None
    letters = found.left_letters if found.left == x else found.right_letters if found.right == x else ()
    gone = [place for place, letter in enumerate(letters) if letter in found.gone(letters)]
    return gone[0] if len(gone) == 1 else None


def letters_of(case: Case, name: Name) -> Letters | None:
    """The letters of q or k in the product of the scores."""
    found, entered = case.scores_product, case.input(name).entered
    if found is None:
        return None
    if found.left == found.right:
        return found.left_letters if name == "q" else found.right_letters
    return found.left_letters if found.left == entered else found.right_letters


def kinds(case: Case, name: Name) -> Mapping[int, Holds] | None:
    """What the axis of each letter of q or k holds; of q and k that were drawn as they are, by the names of sizes."""
    letters, found = letters_of(case, name), _cached_holds(case, name)
    role = case.input(name)
    if found is None and role.project is None and case.graph.given(base(role.value, case.graph)):
        found = named_axes(case.whole, role.entered)
    if letters is None or found is None or len(letters) != len(found):
        return None
    return dict(zip(letters, found, strict=True))


def base(number: int, graph: Graph) -> int:
    """A value as it was before changes of layout and type."""
    step = graph.maker(number)
    while step is not None and step.op in VIEWS | CASTS and len(step.refs) == 1 and step.refs[0] < number:
        number = step.refs[0]
        step = graph.maker(number)
    return number


def _cached_holds(case: Case, name: Name) -> tuple[Holds, ...] | None:
    known = _HOLDS.setdefault(case, {})
    if name not in known:
        known[name] = holds(case, name)
    return known[name]


def turned_round(case: Case) -> bool:
    """Whether the operand that is taken for q, the left one where nothing else tells, serves as k.

    Told by the user's names; they are hints, and decide nothing but which of two faults a fault is.
    """
    return exchanged(case)


def even(tensor: Tensor) -> bool:
    """Whether all rows of a tensor [..., d] are of one length, as a norm leaves them."""
    lengths = tensor.double().pow(2).sum(-1).sqrt()
    return lengths.numel() > 1 and bool((lengths.amax() - lengths.amin()) < 1e-3 * lengths.amax())


def far_below(tensor: Tensor) -> bool:
    """Whether some numbers of a tensor are what a mask fills in."""
    return bool((tensor < -1e3).any())


def largest(tensor: Tensor) -> float:
    """The largest absolute value among the finite ones."""
    finite = tensor[tensor.isfinite()]
    return float(finite.abs().max()) if finite.numel() else 0.0
