"""The axes of a rerun under the names that the first run gave them.

A rerun has names of its own, by the part that each axis plays in it. To tell that an axis now plays
another's part, its name has to come from where it came from: the tensors that both runs begin with.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from attnlab.attention import Attention
from attnlab.axes import Axes
from attnlab.axes.axis import Axis, Same
from attnlab.axes.links import links
from attnlab.experiments.compare import Pair
from attnlab.run import Run, Step

Line: TypeAlias = "tuple[str, int]"  # a file and a line in it


@dataclass(frozen=True, slots=True)
class Meeting:
    """A step that treats two axes of different names as one."""

    step: int
    names: tuple[str, str]


class Carried:
    """Names that spread over a run from its outermost tensors, by what each operation does to axes."""

    def __init__(self, run: Run, given: Mapping[Axis, str]) -> None:
        self._run = run
        self._above: dict[Axis, Axis] = {}
        self._named = dict(given)
        self.meetings: list[Meeting] = []
        for step in run.steps:
            for link in links(run, step):
                if isinstance(link, Same):
                    self._join(step.index, self._root(link.one), self._root(link.other))

    def names(self, value: int) -> tuple[str | None, ...]:
        """The name of each axis of a value, None where it is not known."""
        return tuple(self.name(Axis(value, axis)) for axis in range(len(self._run.values[value].shape)))

    def name(self, axis: Axis) -> str | None:
        """The name of an axis, None where it is not known."""
        return self._named.get(self._root(axis))

    def _root(self, axis: Axis) -> Axis:
        while (above := self._above.get(axis)) is not None:
            axis = above
        return axis

    def _size(self, axis: Axis) -> int | None:
        return self._run.values[axis.value].shape[axis.axis] if axis.axis >= 0 else None

    def _join(self, step: int, one: Axis, other: Axis) -> None:
        if one == other or self._size(one) != self._size(other):
            return
        names = self._named.get(one), self._named.get(other)
        if names[0] is not None and names[1] is not None and names[0] != names[1]:
            self.meetings.append(Meeting(step, (names[0], names[1])))
            return
        self._above[other] = one
        if names[0] is None and names[1] is not None:
            self._named[one] = names[1]


def carried(a: Run, b: Run, pairs: Sequence[Pair], axes: Axes, lines: Collection[Line]) -> tuple[Carried, Carried]:
    """Both runs under the names of the first. `lines` are those that are not the same in both."""
    begun = list(_begun(a, b, pairs, lines))
    given = {value: axes.names(value) for value, _ in begun}
    one = {Axis(value, i): name for value, _ in begun for i, name in enumerate(given[value]) if name}
    other = {Axis(new, i): name for value, new in begun for i, name in enumerate(given[value]) if name}
    return Carried(a, one), Carried(b, other)


def _begun(a: Run, b: Run, pairs: Sequence[Pair], lines: Collection[Line]) -> Iterator[tuple[int, int]]:
    """The values that are the same ones in both runs.

    That is all up to the first step of a changed line, and later those that are made of no other: what is created,
    parameters, what came from outside.
    """
    first = _first_changed(b, lines)
    for pair in pairs:
        one, other = a.steps[pair.a], b.steps[pair.b]
        same = pair.b < first or (not one.refs and not other.refs)
        made = zip(one.results, other.results, strict=False) if same else ()
        taken = [
            (v, n) for v, n in zip(one.refs, other.refs, strict=False) if a.values[v].step is b.values[n].step is None
        ]
        for value, new in (*made, *taken):
            if len(a.values[value].shape) == len(b.values[new].shape):
                yield value, new


def _first_changed(run: Run, lines: Collection[Line]) -> int:
    """The index of the first step of a changed line; 0 where no step tells when that line had its turn."""
    steps = list(run.steps)
    if run.error is not None and run.error.failed is not None:
        steps.append(run.error.failed)
    return next((at for at, step in enumerate(steps) if touches(step, lines)), 0)


def touches(step: Step, lines: Collection[Line]) -> bool:
    """Whether the expression of a step stands on one of the lines, with a part of it at least."""
    if step.source is None:
        return False
    span = step.source.span
    return any((span.file, at) in lines for at in range(span.line, span.end_line + 1))


def token_axes(run: Run, attention: Attention) -> tuple[Axis | None, Axis | None]:
    """The axes that an attention takes for its queries and for its keys."""
    grid = attention.scores if attention.scores.value is not None else attention.weights
    if grid.value is not None and attention.style not in ("mha", "layer"):
        return tuple(None if at is None else Axis(grid.value, at) for at in (grid.query, grid.key))  # pyright: ignore[reportReturnType]
    q, k = attention.q.entered, attention.k.entered
    place = {"mha": 0, "layer": 1}.get(attention.style)
    at = [len(run.values[value].shape) - 2 if place is None else place for value in (q, k)]
    return Axis(q, at[0]), Axis(k, at[1])
