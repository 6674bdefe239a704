"""A step as the rules about axes see it, and the ways to say that axes are one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from attnlab.axes.axis import Axis, Link, Same
from attnlab.run import Ref, Run, Step

Shape: TypeAlias = "tuple[int, ...]"


class Here:
    """A step, with what the rules ask of it."""

    def __init__(self, run: Run, step: Step) -> None:
        self._run = run
        self.step = step
        self.tensors = step.refs
        self.results = step.results

    @property
    def out(self) -> int:
        """The first value that the step made."""
        return self.results[0]

    def shape(self, value: int) -> Shape:
        """The sizes of a value."""
        return self._run.values[value].shape

    def rank(self, value: int) -> int:
        """How many axes a value has."""
        return len(self.shape(value))

    def floating(self, value: int) -> bool:
        """Whether a value holds fractions."""
        return "float" in self._run.values[value].dtype

    def is_complex(self, value: int) -> bool:
        """Whether a value holds complex numbers."""
        return self._run.values[value].dtype.startswith("complex")

    def number(self, keyword: str, position: int) -> int | None:
        """An argument that is a whole number; None where it is none."""
        arg = self.step.arg(keyword, position)
        return arg if isinstance(arg, int) else None

    def axis(self, value: int, keyword: str, position: int, default: int | None = None) -> int:
        """An argument that names an axis of a value, counted from 0; raises where there is none."""
        number = self.number(keyword, position)
        number = default if number is None else number
        if number is None or not -self.rank(value) <= number < self.rank(value):
            raise ValueError
        return number % self.rank(value)

    def integers(self, keyword: str, position: int) -> tuple[int, ...]:
        """Integers given one by one from `position` on, or as one tuple."""
        arg = self.step.arg(keyword, position)
        if isinstance(arg, tuple):
            return tuple(item for item in arg if isinstance(item, int))
        named = self.step.arg(keyword)
        if isinstance(named, int):
            return (named,)
        rest = [operand.arg for operand in self.step.operands[position:] if not operand.keyword]
        return tuple(item for item in rest if isinstance(item, int))

    def value(self, keyword: str, position: int) -> int | None:
        """An argument that is a tensor; None where it is none."""
        arg = self.step.arg(keyword, position)
        return arg.id if isinstance(arg, Ref) else None


def each(one: int, other: int, shape: Shape, result: Shape) -> Iterator[Link]:
    """All axes of two values of one shape are the same."""
    if shape == result:
        yield from (Same(Axis(one, i), Axis(other, i)) for i in range(len(shape)))


def leading(one: int, other: int, count: int) -> Iterator[Link]:
    """The first `count` axes of two values are the same."""
    return (Same(Axis(one, i), Axis(other, i)) for i in range(count))


def permuted(value: int, out: int, order: Sequence[int]) -> Iterator[Link]:
    """Axis i of `out` is axis `order[i]` of `value`."""
    return (Same(Axis(value, axis), Axis(out, i)) for i, axis in enumerate(order))


def permuted_into(value: int, out: int, places: Sequence[int]) -> Iterator[Link]:
    """Axis i of `value` is axis `places[i]` of `out`."""
    return (Same(Axis(value, i), Axis(out, place)) for i, place in enumerate(places))


def stretched(here: Here, one: Axis, other: Axis) -> Iterator[Link]:
    """Two axes are the same, unless one of size 1 was stretched to the other."""
    if here.shape(one.value)[one.axis] == here.shape(other.value)[other.axis]:
        yield Same(one, other)
