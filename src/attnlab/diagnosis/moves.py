"""Where the axes go in operations that only rearrange elements: `transpose`, `view`, `expand`, `chunk`.

Each axis carries a mark that says what it holds; see `tracking.py`, which follows them through a program.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeAlias, cast

from attnlab.diagnosis.data import Shape
from attnlab.run import Arg, Opaque, Ref, Slice, Step

# ("axis", value, i)        an axis of a value that the program began with
# ("fresh", value, i)       an axis of a value that came out of a step which is not followed here
# ("named", name)           a size that the user gave by name when making the tensor
# ("features", n)           what a linear layer or an embedding put out
# ("part", mark, sizes, i)  the i-th of the axes into which an axis was cut
# ("join", marks)           several axes made one
# ("keys", mark)            the axis over which a softmax ran: the next product has to be over it
# ("unknown",)              nothing is known: it becomes an axis of the value that has it
# ("one",)                  an axis of size 1: it goes with anything
Mark: TypeAlias = "tuple[object, ...]"
Marks: TypeAlias = "tuple[Mark, ...]"
ONE: Mark = ("one",)
UNKNOWN: Mark = ("unknown",)


def nested(source: Shape, target: Shape) -> bool:
    """Whether a `view` from one shape to the other only cuts axes up and joins neighbours.

    True where each place at which an axis begins, in one shape or the other, divides the next, and no
    axis is joined of a piece of one and a piece of another.
    """
    begins = {math.prod(source[:i]) for i in range(len(source) + 1)}
    ends = [math.prod(target[:i]) for i in range(len(target) + 1)]
    if not all(one and other % one == 0 for one, other in pairwise(sorted({*begins, *ends}))):
        return False
    torn = (
        any(first < place < last for place in begins) and first not in begins and last not in begins
        for first, last in pairwise(ends)
    )
    return not any(torn)


def purity(source: Shape, marks: Marks, target: Shape) -> int:
    """-1 where a `view` surely mixes what was apart; else how many axes it joins that were one before.

    It mixes where it cuts rows elsewhere, and where it joins the width of a head to what is not its head.
    """
    if not nested(source, target):
        return -1
    points = 0
    for old, _ in regrouped(source, target) or ():
        for before, after in pairwise(i for i in old if source[i] != 1):
            if torn(marks, after):
                return -1
            points += follows(marks[before], marks[after])
    return points


def regrouped(source: Shape, target: Shape) -> list[tuple[range, range]] | None:
    """The smallest runs of axes that hold the same elements before and after a `view`, in order.

    A run of several axes that becomes several others has its elements dealt out anew. None where the
    numbers of elements differ.
    """
    groups: list[tuple[range, range]] = []
    i = j = 0
    while i < len(source) or j < len(target):
        began = i, j
        left = right = 1
        if i < len(source):
            left, i = source[i], i + 1
        if j < len(target):
            right, j = target[j], j + 1
        while left != right:
            if left < right and i < len(source):
                left, i = left * source[i], i + 1
            elif right < left and j < len(target):
                right, j = right * target[j], j + 1
            else:
                return None
        groups.append((range(began[0], i), range(began[1], j)))
    return groups


def ints(step: Step, start: int, *keywords: str) -> tuple[int, ...]:
    """The whole numbers passed from place `start` on, each for itself or as one tuple, or by keyword."""
    args: list[Arg] = [operand.arg for operand in step.operands[start:] if not operand.keyword]
    args += [operand.arg for operand in step.operands if operand.keyword in keywords]
    if len(args) == 1 and isinstance(args[0], tuple):
        args = list(args[0])
    return tuple(arg for arg in args if isinstance(arg, int) and not isinstance(arg, bool))


def _transpose(step: Step, marks: Marks, _before: Shape, _after: Shape) -> Marks | None:
    dims = ints(step, 1, "dim0", "dim1", "axis0", "axis1") or (-2, -1)
    order = list(range(len(marks)))
    one, other = (dim % max(len(order), 1) for dim in dims[:2])
    order[one], order[other] = order[other], order[one]
    return tuple(marks[i] for i in order)


def _permute(step: Step, marks: Marks, _before: Shape, _after: Shape) -> Marks | None:
    dims = ints(step, 1, "dims")
    return tuple(marks[dim] for dim in dims) if len(dims) == len(marks) else None


def _reversed(_step: Step, marks: Marks, _before: Shape, _after: Shape) -> Marks | None:
    return marks[::-1]


def _movedim(step: Step, marks: Marks, _before: Shape, _after: Shape) -> Marks | None:
    dims = ints(step, 1, "source", "destination")
    if len(dims) != 2:
        return None
    rest = list(marks)
    moved = rest.pop(dims[0])
    rest.insert(dims[1] % len(marks), moved)
    return tuple(rest)


def _unsqueeze(step: Step, marks: Marks, _before: Shape, after: Shape) -> Marks | None:
    (dim,) = ints(step, 1, "dim")
    dim %= len(after)
    return (*marks[:dim], ONE, *marks[dim:])


def _squeeze(_step: Step, marks: Marks, before: Shape, after: Shape) -> Marks | None:
    kept = tuple(mark for mark, size in zip(marks, before, strict=True) if size != 1)
    rest = iter(kept)
    found = tuple(ONE if size == 1 else next(rest, ONE) for size in after)
    return found if sum(size != 1 for size in after) == len(kept) else None


def _view(_step: Step, marks: Marks, before: Shape, after: Shape) -> Marks | None:
    found: list[Mark] = []
    for old, new in regrouped(before, after) or ():
        sources, targets = tuple(before[i] for i in old), tuple(after[i] for i in new)
        if nested(sources, targets):
            found += _recut(marks[old.start : old.stop], sources, targets)
        else:
            found += [UNKNOWN] * len(new)
    return tuple(found)


def _recut(marks: Marks, before: Shape, after: Shape) -> list[Mark]:
    """The marks of axes that are cut up and joined: each source is cut where a target begins, and joined anew."""
    places = sorted({math.prod(shape[:i]) for shape in (before, after) for i in range(len(shape) + 1)})
    pieces: list[Mark] = []
    for i, mark in enumerate(marks):
        first, last = math.prod(before[:i]), math.prod(before[: i + 1])
        inside = [place for place in places if first <= place <= last]
        sizes = tuple(other // one for one, other in pairwise(inside))
        pieces += [mark] if len(sizes) == 1 else [("part", mark, sizes, j) for j in range(len(sizes))]
    found: list[Mark] = []
    for i, size in enumerate(after):
        first, last = places.index(math.prod(after[:i])), places.index(math.prod(after[: i + 1]))
        found.append(_joined(pieces[first:last]) if size > 1 else ONE)
    return found


def _joined(marks: Sequence[Mark]) -> Mark:
    first = marks[0]
    if len(marks) == 1:
        return first
    if first[0] != "part" or not all(follows(*pair) for pair in pairwise(marks)):
        return ("join", *marks)
    _, whole, sizes, place = cast("tuple[str, Mark, tuple[int, ...], int]", first)
    if len(marks) == len(sizes):
        return whole
    if whole[0] == "features" and place + len(marks) == len(sizes):  # the q of a fused qkv, its heads together again
        return ("features", math.prod(sizes[place:]))
    return ("part", whole, sizes, (place, marks[-1][3]))


def follows(one: Mark, other: Mark) -> bool:
    """Whether an axis is the part of a whole that comes after another."""
    return one[0] == other[0] == "part" and one[1:3] == other[1:3] and other[3] == _after(one[3])


def _after(place: object) -> int:
    last = cast("tuple[int, ...]", place)[-1] if isinstance(place, tuple) else place
    return last + 1 if isinstance(last, int) else -1


def in_pieces(mark: Mark) -> bool:
    """Whether an axis holds a piece of something, or pieces joined to other things."""
    return mark[0] in ("part", "cut", "keys") or (
        mark[0] == "join" and any("part" in item for item in _marks(mark[1:]))
    )


def _marks(items: Sequence[object]) -> list[Mark]:
    return [cast("Mark", item) for item in items if isinstance(item, tuple)]


def torn(marks: Sequence[Mark], i: int) -> bool:
    """Whether axis `i` is a later part of a whole whose part before stands elsewhere than just before it."""
    before = [j for j, mark in enumerate(marks) if follows(mark, marks[i])]
    return bool(before) and i - 1 not in before


def _expand(_step: Step, marks: Marks, before: Shape, after: Shape) -> Marks | None:
    new = len(after) - len(before)
    return (*[UNKNOWN] * new, *marks)


def _cut(_step: Step, marks: Marks, before: Shape, after: Shape) -> Marks | None:
    if len(before) != len(after):
        return None
    return tuple(
        mark if old == new else ("features", new) if mark[0] == "features" else ("cut", mark, new)
        for mark, old, new in zip(marks, before, after, strict=True)
    )


def _unbind(step: Step, marks: Marks, _before: Shape, _after: Shape) -> Marks | None:
    dim = next(iter(ints(step, 1, "dim")), 0)
    rest = list(marks)
    del rest[dim]
    return tuple(rest)


def _getitem(step: Step, marks: Marks, before: Shape, after: Shape) -> Marks | None:
    index = step.operands[1].arg
    items = list(index) if isinstance(index, tuple) else [index]
    if any(isinstance(item, Ref) for item in items):
        return None
    taken = sum(isinstance(item, (int, Slice)) for item in items)
    found: list[Mark] = []
    axis = 0
    for item in items:
        if item is None:
            found.append(ONE)
        elif isinstance(item, Opaque):  # Ellipsis
            until = axis + len(marks) - taken
            found += marks[axis:until]
            axis = until
        elif isinstance(item, Slice):
            whole = len(found) < len(after) and after[len(found)] == before[axis]
            found.append(marks[axis] if whole else ("cut", marks[axis], len(found)))
            axis += 1
        elif isinstance(item, int) and not isinstance(item, bool):
            axis += 1
        else:
            return None
    return (*found, *marks[axis:])


REARRANGING: dict[str, Callable[[Step, Marks, Shape, Shape], Marks | None]] = {
    "transpose": _transpose,
    "mT": _transpose,
    "t": _reversed,
    "T": _reversed,
    "permute": _permute,
    "movedim": _movedim,
    "unsqueeze": _unsqueeze,
    "squeeze": _squeeze,
    "view": _view,
    "reshape": _view,
    "flatten": _view,
    "unflatten": _view,
    "view_as": _view,
    "reshape_as": _view,
    "expand": _expand,
    "expand_as": _expand,
    "chunk": _cut,
    "split": _cut,
    "narrow": _cut,
    "unbind": _unbind,
    "select": _unbind,
    "getitem": _getitem,
}
