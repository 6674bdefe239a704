"""Rules for operations that lay the same elements out in another way, or take some of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from attnlab.axes.axis import Axis, Hidden, Link, Parts, Same
from attnlab.axes.here import Here, Shape, permuted, permuted_into
from attnlab.run import Arg, Opaque, Slice

Rule: TypeAlias = Callable[[Here], Iterator[Link]]


def _transpose(here: Here) -> Iterator[Link]:
    x = here.tensors[0]
    order = list(range(here.rank(x)))
    one, other = here.axis(x, "dim0", 1), here.axis(x, "dim1", 2)
    order[one], order[other] = other, one
    yield from permuted(x, here.out, order)


def _last_two(here: Here) -> Iterator[Link]:
    rank = here.rank(here.tensors[0])
    yield from permuted(here.tensors[0], here.out, [*range(rank - 2), *reversed(range(rank)[-2:])])


def _reversed(here: Here) -> Iterator[Link]:
    yield from permuted(here.tensors[0], here.out, list(reversed(range(here.rank(here.tensors[0])))))


def _permute(here: Here) -> Iterator[Link]:
    rank = here.rank(here.tensors[0])
    order = here.integers("dims", 1)
    if len(order) == rank:
        yield from permuted(here.tensors[0], here.out, [axis % rank for axis in order])


def _movedim(here: Here) -> Iterator[Link]:
    x = here.tensors[0]
    source, target = here.axis(x, "source", 1), here.axis(x, "destination", 2)
    order = [axis for axis in range(here.rank(x)) if axis != source]
    order.insert(target, source)
    yield from permuted(x, here.out, order)


def _reshape(here: Here) -> Iterator[Link]:
    value, out = here.tensors[0], here.out
    shape, result = here.shape(value), here.shape(out)
    if math.prod(shape) != math.prod(result) or not math.prod(shape):
        return
    hidden = itertools.count(1)
    for one, other in _groups(shape, result):
        if len(one) == len(other) == 1:
            yield Same(Axis(value, one[0]), Axis(out, other[0]))
            continue
        yield from _regrouped(
            [_Own(Axis(value, i), shape[i]) for i in one], [_Own(Axis(out, i), result[i]) for i in other], hidden
        )


class _Own(NamedTuple):
    axis: Axis
    size: int


def _regrouped(before: list[_Own], after: list[_Own], hidden: Iterator[int]) -> Iterator[Link]:
    """Axes that hold the same elements: each is made of the smallest pieces that both sides share.

    A piece that is a whole axis on one side is that axis; one that is none gets an axis of its own.
    """
    pieces = _common([own.size for own in before], [own.size for own in after])
    if pieces is None:
        return
    held = [(own.axis, span) for side in (before, after) for own, span in zip(side, _spans(side, pieces), strict=True)]
    names: dict[int, Axis] = {}
    for axis, span in held:
        if len(span) == 1:
            names.setdefault(span[0], axis)
    for piece, size in enumerate(pieces):
        if piece not in names:
            names[piece] = Axis(after[0].axis.value, -next(hidden))
            yield Hidden(names[piece], size)
    for axis, span in held:
        yield Parts(axis, tuple(names[piece] for piece in span)) if len(span) > 1 else Same(axis, names[span[0]])


def _common(one: list[int], other: list[int]) -> list[int] | None:
    """The sizes of the pieces, the slowest first, of which both sides' axes are made; None where they cut across."""
    cuts = sorted({math.prod(sizes[:i]) for sizes in (one, other) for i in range(len(sizes) + 1)})
    pieces = [after // before for before, after in itertools.pairwise(cuts)]
    return pieces if all(after % before == 0 for before, after in itertools.pairwise(cuts)) else None


def _spans(side: list[_Own], pieces: list[int]) -> Iterator[list[int]]:
    """The pieces in each of the axes."""
    at = 0
    for own in side:
        span: list[int] = []
        while math.prod(pieces[i] for i in span) < own.size:
            span.append(at)
            at += 1
        yield span


def _groups(shape: Shape, result: Shape) -> Iterator[tuple[list[int], list[int]]]:
    """Axes of the one and of the other that hold the same elements, in the smallest groups there are.

    Axes of size 1 hold nothing: they are the same where as many stand at the same place, else nothing is known of them.
    """
    i = j = 0
    while i < len(shape) or j < len(result):
        ones, others = _ones(shape, i), _ones(result, j)
        if ones == others:
            yield from (([i + step], [j + step]) for step in range(ones))
        i, j = i + ones, j + others
        one: list[int] = []
        other: list[int] = []
        while i < len(shape) or j < len(result):
            size, target = math.prod(shape[a] for a in one), math.prod(result[a] for a in other)
            if size == target and one:
                break
            if size <= target:
                one.append(i)
                i += 1
            else:
                other.append(j)
                j += 1
        if one:
            yield [a for a in one if shape[a] != 1], [a for a in other if result[a] != 1]


def _ones(shape: Shape, start: int) -> int:
    """How many axes of size 1 stand there."""
    return next((i for i, size in enumerate(shape[start:]) if size != 1), len(shape) - start)


def _unsqueeze(here: Here) -> Iterator[Link]:
    x, rank = here.tensors[0], here.rank(here.out)
    at = here.number("dim", 1)
    if at is not None:
        yield from permuted_into(x, here.out, [axis for axis in range(rank) if axis != at % rank])


def _squeeze(here: Here) -> Iterator[Link]:
    x = here.tensors[0]
    shape = here.shape(x)
    at = here.number("dim", 1)
    gone = {i for i, size in enumerate(shape) if size == 1 and at in (None, i, i - len(shape))}
    yield from permuted(x, here.out, [axis for axis in range(len(shape)) if axis not in gone])


def _pieces(here: Here) -> Iterator[Link]:
    """Of `chunk` and `split`: each piece has all axes but the one that was cut."""
    x = here.tensors[0]
    cut = here.axis(x, "dim", 2, 0)
    for out in here.results:
        yield from (Same(Axis(x, axis), Axis(out, axis)) for axis in range(here.rank(x)) if axis != cut)


def _unbind(here: Here) -> Iterator[Link]:
    x = here.tensors[0]
    gone = here.axis(x, "dim", 1, 0)
    for out in here.results:
        yield from permuted(x, out, [axis for axis in range(here.rank(x)) if axis != gone])


def _cat(here: Here) -> Iterator[Link]:
    cut = here.axis(here.out, "dim", 1, 0)
    for value in here.tensors:
        yield from (Same(Axis(value, axis), Axis(here.out, axis)) for axis in range(here.rank(here.out)) if axis != cut)


def _stack(here: Here) -> Iterator[Link]:
    new = here.axis(here.out, "dim", 1, 0)
    places = [axis for axis in range(here.rank(here.out)) if axis != new]
    for value in here.tensors:
        yield from permuted_into(value, here.out, places)


def _repeat_interleave(here: Here) -> Iterator[Link]:
    x = here.tensors[0]
    cut = here.axis(x, "dim", 2)
    yield from (Same(Axis(x, axis), Axis(here.out, axis)) for axis in range(here.rank(x)) if axis != cut)


def _getitem(here: Here) -> Iterator[Link]:
    x = here.tensors[0]
    shape = here.shape(x)
    index = here.step.operands[1].arg
    items: tuple[Arg, ...] = index if isinstance(index, tuple) else (index,)
    used = sum(item is not None and not _ellipsis(item) for item in items)
    at = place = 0
    for item in items:
        if item is None:
            place += 1
        elif _ellipsis(item):
            for _ in range(len(shape) - used):
                yield Same(Axis(x, at), Axis(here.out, place))
                at, place = at + 1, place + 1
        elif isinstance(item, Slice):
            if shape[at] == here.shape(here.out)[place] and item.step in (None, 1):
                yield Same(Axis(x, at), Axis(here.out, place))
            at, place = at + 1, place + 1
        elif isinstance(item, int) and not isinstance(item, bool):
            at += 1
        else:  # a tensor or a list: axes may move
            return
    while at < len(shape):
        yield Same(Axis(x, at), Axis(here.out, place))
        at, place = at + 1, place + 1


def _ellipsis(item: Arg) -> bool:
    return isinstance(item, Opaque) and item.text == "Ellipsis"


LAYOUTS: dict[str, Rule] = {
    **dict.fromkeys(["view", "reshape", "flatten", "unflatten"], _reshape),
    **dict.fromkeys(["transpose", "swapaxes", "swapdims"], _transpose),
    **dict.fromkeys(["chunk", "split", "tensor_split"], _pieces),
    **dict.fromkeys(["cat", "concat"], _cat),
    **dict.fromkeys(["T", "t"], _reversed),
    "getitem": _getitem,
    "mT": _last_two,
    "movedim": _movedim,
    "permute": _permute,
    "repeat_interleave": _repeat_interleave,
    "squeeze": _squeeze,
    "stack": _stack,
    "unbind": _unbind,
    "unsqueeze": _unsqueeze,
}
