"""Axes, followed through every change of layout: each is a product of parts, and each part knows where it began.

`x.view(B, L, h, d)` cuts the last axis of `x` into two parts of one root; `reshape(B * h, L, d)` puts parts
of two roots side by side in one axis. So it can be told that an axis of size 6 is 2 samples times 3 heads.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import NamedTuple, TypeAlias


class Part(NamedTuple):
    """A part of an axis: of the elements of `root`, the digit of weight `stride` in base `size`."""

    root: int
    stride: int
    size: int


Axis: TypeAlias = "tuple[Part, ...]"
Axes: TypeAlias = "tuple[Axis, ...]"


def size_of(axis: Axis) -> int:
    """How many elements an axis has."""
    return prod(part.size for part in axis)


def roots_of(axis: Axis) -> set[int]:
    """The roots of an axis's parts."""
    return {part.root for part in axis}


class Roots:
    """Where axes began. A root may be cut out of others (`parents`), or be what a projection made of them (`fed`)."""

    def __init__(self) -> None:
        self._sizes: list[int] = []
        self._parents: list[frozenset[int]] = []
        self._fed: list[frozenset[int]] = []
        self._repeats: set[int] = set()

    def new(self, size: int, parents: Iterable[int] = (), fed: Iterable[int] = (), repeat: bool = False) -> Axis:
        """An axis that begins here. `repeat`: its elements are copies of each other."""
        root = len(self._sizes)
        self._sizes.append(size)
        self._parents.append(frozenset(parents))
        self._fed.append(frozenset(fed))
        if repeat:
            self._repeats.add(root)
        return (Part(root, 1, size),)

    def fresh(self, shape: tuple[int, ...]) -> Axes:
        """Axes of a value of which nothing is known but its shape."""
        return tuple(self.new(size) for size in shape)

    def partial(self, part: Part) -> bool:
        """Whether a part is one of several into which its root was cut."""
        return part.size < self._sizes[part.root]

    def repeats(self, part: Part) -> bool:
        """Whether a part's elements are copies of each other."""
        return part.root in self._repeats

    def is_projected(self, root: int) -> bool:
        """Whether a root is features that a projection made, or was cut out of such."""
        return any(self._fed[item] for item in self.ancestors([root]))

    def ancestors(self, roots: Iterable[int], through_projections: bool = False) -> set[int]:
        """The roots, and those that they were cut out of; with `through_projections` also those they were made of."""
        found: set[int] = set()
        waiting = list(roots)
        while waiting:
            root = waiting.pop()
            if root not in found:
                found.add(root)
                waiting += self._parents[root]
                if through_projections:
                    waiting += self._fed[root]
        return found

    def reshape(self, axes: Axes, shape: tuple[int, ...]) -> Axes:
        """The axes after a `view` to `shape`. Those that cut across each other share one new root."""
        if 0 in shape:
            return self.fresh(shape)
        waiting = [part for axis in axes for part in axis]
        found: list[Axis] = []
        for index, size in enumerate(shape):
            axis = _take(waiting, size)
            if axis is None:
                rest = self.new(prod(shape[index:]), parents={part.root for part in waiting})
                return (*found, *self.reshape((rest,), shape[index:]))
            found.append(axis)
        if waiting and found:  # parts of size 1 that found no axis of their own
            found[-1] += tuple(waiting)
        return tuple(_joined(axis) for axis in found)


def _take(waiting: list[Part], size: int) -> Axis | None:
    """Take parts from the front until they make up `size`; None, and nothing is taken, where they can't."""
    taken: list[Part] = []
    used = 0
    rest = size
    if size == 1:
        return (waiting.pop(0),) if waiting and waiting[0].size == 1 else ()
    while rest > 1:
        if used == len(waiting):
            return None
        part = waiting[used]
        used += 1
        if part.size <= rest and rest % part.size == 0:
            taken.append(part)
            rest //= part.size
        elif part.size % rest == 0:
            inner = part.size // rest
            taken.append(Part(part.root, part.stride * inner, rest))
            waiting[:used] = [Part(part.root, part.stride, inner)]
            return tuple(taken)
        else:
            return None
    del waiting[:used]
    return tuple(taken)


def _joined(axis: Axis) -> Axis:
    """The parts of one root that stand side by side as they did before they were cut are one part again."""
    found: list[Part] = []
    for part in axis:
        last = found[-1] if found else None
        if last and last.root == part.root and last.stride == part.stride * part.size:
            found[-1] = Part(part.root, part.stride, last.size * part.size)
        else:
            found.append(part)
    return tuple(found)
