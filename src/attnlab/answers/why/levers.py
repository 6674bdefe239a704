"""The numbers in the source that move the size of an axis, and what to set them to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from attnlab.answers.why.bench import Bench
from attnlab.experiments.changes import Constant, SetConstant
from attnlab.experiments.lab import Lab


@dataclass(frozen=True, slots=True)
class Lever:
    """A number in the source, or several that only go together, that moves an axis from `size` to `other`.

    `name` is what it is set by. What it does was seen once: when it went from `value` to `new`. The axis
    follows it as a multiple, or at a distance.
    """

    name: str
    constants: tuple[Constant, ...]
    value: int
    new: int
    size: int
    other: int

    def number(self, size: int) -> int | None:
        """What to set it to for the axis to get this size; None where no whole number does."""
        if self.size * self.new == self.other * self.value:
            number, rest = divmod(size * self.value, self.size)
            return number if rest == 0 else None
        return size - self.size + self.value if self.other - self.size == self.new - self.value else None

    def set(self, number: int) -> tuple[SetConstant, ...]:
        """The changes that set it."""
        return tuple(SetConstant(constant, number) for constant in self.constants)

    def power(self) -> int | None:
        """1 where the axis is a multiple of it, -1 where it is a share by it; None for any other way to follow it."""
        if self.size * self.new == self.other * self.value:
            return 1
        return -1 if self.size * self.value == self.other * self.new else None


def name_of(lab: Lab, constants: Sequence[Constant]) -> str:
    """What numbers in the source are set by: `seq_len`; `randn[1]@27` where several have one name."""
    alike = Counter((constant.name, constant.kind) for constant in lab.constants)
    names = [f"{item.name}@{item.line}" if alike[item.name, item.kind] > 1 else item.name for item in constants]
    return " = ".join(dict.fromkeys(names))


def levers(bench: Bench, value: int, axis: int) -> list[Lever]:
    """Those that make an axis longer when they grow, those with a name first."""
    growing = [lever for lever in _moving(bench, value, axis) if lever.number(2 * lever.size) is not None]
    return sorted(growing, key=lambda lever: lever.constants[0].kind == "argument")


def _moving(bench: Bench, value: int, axis: int) -> list[Lever]:
    size = bench.shape(value)[axis]
    shapes = [(trial, trial.shapes[value]) for trial in bench.trials]
    return [
        Lever(
            name_of(bench.lab, trial.constants),
            trial.constants,
            int(trial.constants[0].value),
            trial.new,
            size,
            shape[axis],
        )
        for trial, shape in shapes
        if shape is not None and shape[axis] != size
    ]


def equal(bench: Bench, value: int, axes: Sequence[int], size: int) -> dict[Lever, int] | None:
    """Settings with which all these axes of a value have one size; None where none are known.

    Whether they do it, all at once, is for a run to show.
    """
    numbers: dict[tuple[Constant, ...], Fraction] = {}
    chosen: dict[Lever, int] = {}
    for axis in sorted(axes, key=lambda axis: len(_moving(bench, value, axis))):
        moving = _moving(bench, value, axis)
        factor = Fraction(size, bench.shape(value)[axis])
        for lever in moving:
            factor /= (numbers.get(lever.constants, Fraction(1))) ** (lever.power() or 1)
        free = [lever for lever in levers(bench, value, axis) if lever.constants not in numbers]
        if factor == 1:
            continue
        if not free:
            return None
        number = free[0].value * factor if free[0].power() == 1 else free[0].number(size)
        if number is None or number <= 0 or Fraction(number).denominator != 1:
            return None
        numbers[free[0].constants] = Fraction(number, free[0].value)
        chosen[free[0]] = int(number)
    return chosen
