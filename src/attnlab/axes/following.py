"""Names borne out by experiment: one size was changed at a time, and an axis answers with the sizes it took.

Axes of one name answer alike; an axis that is a product or a sum answers as the product or sum does.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations_with_replacement

from attnlab.axes.evidence import Called
from attnlab.axes.flow import Axis
from attnlab.axes.names import Axes
from attnlab.experiments.sizes import Trial
from attnlab.run import Run, Source, Span

Answer = tuple[int | None, ...]


class Followed:
    """The same questions as `Axes` answers, with the experiments asked too.

    A letter that data flow gave stands only where the axis moved as all others of that letter did; an
    axis without one gets the letter, product or sum of letters that it moved like, where there is just one.
    """

    def __init__(self, axes: Axes, run: Run, trials: Sequence[Trial]) -> None:
        self._axes = axes
        self._run = run
        self._trials = trials
        self._known: dict[int | None, Mapping[str, Answer]] = {}

    def names(self, value: int, attention: int | None = None) -> tuple[str | None, ...]:
        """The name of each axis of a value, None where it is not known. See `Axes.names`."""
        letters = self._letters(attention)
        flowed = self._axes.names(value, attention)
        return tuple(self._name(Axis(value, axis), name, letters) for axis, name in enumerate(flowed))

    def called(self, value: int, axis: int) -> tuple[Called, ...]:
        """The user's own names for the size of an axis: those in the code, and the constants that it follows."""
        known = self._axes.called(value, axis)
        answer = self._answer(Axis(value, axis))
        moved = [trial for trial, size in zip(self._trials, answer[1:], strict=True) if size != answer[0]]
        if len(moved) != 1 or len(moved[0].constants) != 1:
            return known
        (constant,) = moved[0].constants
        index = self._trials.index(moved[0]) + 1
        follows = answer[0] == constant.value and answer[index] == moved[0].new and constant.kind != "argument"
        if not follows or constant.name in [name.text for name in known]:
            return known
        span = Span(constant.file, constant.line, constant.col, constant.line, constant.end_col)
        return (*known, Called(constant.name, Source(span, str(constant.value), (constant.name,), ""), None))

    def _answer(self, axis: Axis) -> Answer:
        shapes = [trial.shapes[axis.value] for trial in self._trials]
        first = self._run.values[axis.value].shape[axis.axis]
        return (first, *(None if shape is None else shape[axis.axis] for shape in shapes))

    def _letters(self, attention: int | None) -> Mapping[str, Answer]:
        """How each letter answers: as most of its axes do."""
        if attention not in self._known:
            counts: dict[str, Counter[Answer]] = {}
            for value in self._run.values:
                for axis, name in enumerate(self._axes.names(value.id, attention)):
                    answer = self._answer(Axis(value.id, axis))
                    if name is not None and "·" not in name and None not in answer:
                        counts.setdefault(name, Counter())[answer] += 1
            self._known[attention] = {name: found.most_common(1)[0][0] for name, found in counts.items()}
        return self._known[attention]

    def _name(self, axis: Axis, flowed: str | None, letters: Mapping[str, Answer]) -> str | None:
        answer = self._answer(axis)
        if flowed is None:
            return _letter(answer, letters)
        parts = [letters.get(part) for part in flowed.split("·")]
        expected = _product([part for part in parts if part is not None]) if all(parts) else None
        return flowed if expected is None or _alike(answer, expected) else None


def _alike(one: Answer, other: Answer) -> bool:
    return all(a == b for a, b in zip(one, other, strict=True) if a is not None and b is not None)


def _product(answers: Sequence[Answer]) -> Answer:
    sizes: list[int | None] = []
    for column in zip(*answers, strict=True):
        known = [size for size in column if size is not None]
        sizes.append(math.prod(known) if len(known) == len(column) else None)
    return tuple(sizes)


def _letter(answer: Answer, letters: Mapping[str, Answer]) -> str | None:
    """The name of an axis from its answer: one letter's, a product of two, or a letter and a number.

    None where nothing moved it, where an answer is missing, or where two names would do.
    """
    if None in answer or all(size == answer[0] for size in answer):
        return None
    same = [letter for letter, other in letters.items() if other == answer]
    if same:
        return same[0] if len(same) == 1 else "D" if "D" in same else None
    made = {*_products(answer, letters), *_sums(answer, letters)}
    return made.pop() if len(made) == 1 else None


def _known(letters: Mapping[str, Answer]) -> Iterable[tuple[str, tuple[int, ...]]]:
    for letter, answer in letters.items():
        sizes = tuple(size for size in answer if size is not None)
        if len(sizes) == len(answer):
            yield letter, sizes


def _products(answer: Answer, letters: Mapping[str, Answer]) -> Iterable[str]:
    known = list(_known(letters))
    for (one, a), (other, b) in combinations_with_replacement(known, 2):
        if all(x * y == size for x, y, size in zip(a, b, answer, strict=True)):
            yield f"{one}·{other}" if one != other else f"{one}²"


def _sums(answer: Answer, letters: Mapping[str, Answer]) -> Iterable[str]:
    for letter, sizes in _known(letters):
        differences = {size - x for x, size in zip(sizes, answer, strict=True) if size is not None}
        if len(differences) == 1:
            (extra,) = differences
            yield f"{letter}+{extra}" if extra > 0 else f"{letter}−{-extra}"
        factors = {size / x for x, size in zip(sizes, answer, strict=True) if size is not None and x}
        if len(factors) == 1 and (factor := factors.pop()).is_integer():
            yield f"{int(factor)}·{letter}"
