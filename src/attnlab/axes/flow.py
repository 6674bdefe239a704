"""Which axes of a run's tensors are one and the same, told from what each operation does to axes.

`matmul` makes the two axes that meet one, `transpose` carries each to its new place, `view` may
split one into several. Two axes are one only where an operation says so, never because their sizes
agree; where a rule does not know, it says nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from attnlab.axes.axis import Axis, Hidden, Parts
from attnlab.axes.links import links
from attnlab.run import Run


class Flow:
    """The axes of a run, joined. `root` gives one axis for all those that are the same."""

    def __init__(self, run: Run) -> None:
        self._values = run.values
        self._above: dict[Axis, Axis] = {}
        self._hidden: dict[Axis, int] = {}
        self._parts: dict[Axis, tuple[Axis, ...]] = {}
        found: list[Parts] = []
        for step in run.steps:
            for link in links(run, step):
                if isinstance(link, Parts):
                    found.append(link)
                elif isinstance(link, Hidden):
                    self._hidden[link.axis] = link.size
                else:
                    self._join(link.one, link.other)
        while self._join_layouts(found):
            pass
        for whole, parts in found:
            self._parts.setdefault(self.root(whole), tuple(map(self.root, parts)))

    def root(self, axis: Axis) -> Axis:
        """The one axis that stands for all that are the same as this."""
        while (above := self._above.get(axis)) is not None:
            axis = above
        return axis

    def axes(self, value: int) -> tuple[Axis, ...]:
        """The root of each axis of a value."""
        return tuple(self.root(Axis(value, i)) for i in range(len(self._values[value].shape)))

    def size(self, axis: Axis) -> int:
        """The size of an axis."""
        return self._values[axis.value].shape[axis.axis] if axis.axis >= 0 else self._hidden[axis]

    def _sized(self, axis: Axis) -> int:
        """The size; 0 for a hidden axis that nobody made known, as of a tensor that came complex from outside."""
        return self.size(axis) if axis.axis >= 0 or axis in self._hidden else 0

    def parts(self, root: Axis) -> tuple[Axis, ...]:
        """The axes that this one holds, the slowest first; none where it was never split or merged."""
        return self._parts.get(root, ())

    def beside(self, others: Collection[Axis]) -> Iterator[Axis]:
        """The axes that were split off, or merged into, an axis that also holds one of the others."""
        for parts in self._parts.values():
            if not set(others).isdisjoint(parts):
                yield from (part for part in parts if part not in others)

    def _join(self, one: Axis, other: Axis) -> bool:
        first, second = self.root(one), self.root(other)
        if first == second or not self._sized(first) == self._sized(second) != 0:
            return False
        self._above[max(first, second)] = min(first, second)
        return True

    def _join_layouts(self, found: list[Parts]) -> bool:
        """What is laid out in the same parts is the same; parts of equal sizes of the same whole are the same."""
        wholes: dict[tuple[Axis, ...], Axis] = {}
        layouts: dict[tuple[Axis, tuple[int, ...]], tuple[Axis, ...]] = {}
        changed = False
        for whole, parts in found:
            changed |= self._join(whole, wholes.setdefault(tuple(map(self.root, parts)), whole))
            sizes = tuple(map(self.size, parts))
            for one, other in zip(parts, layouts.setdefault((self.root(whole), sizes), parts), strict=True):
                changed |= self._join(one, other)
        return changed
