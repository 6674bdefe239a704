"""Two runs side by side as a person sees them: which results are one and the same, and which of them moved."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from attnlab.answers.names import Line, touches
from attnlab.attention import Attention
from attnlab.axes import Axes
from attnlab.experiments.compare import Comparison
from attnlab.explanation.data import Code, Shape
from attnlab.explanation.sight import TRIVIAL, Sight, number
from attnlab.run import Numbers, Run, Step, Value

# What draws random numbers begins with one of these.
RANDOM = ("rand", "normal", "uniform", "bernoulli", "trunc_normal", "kaiming", "xavier", "orthogonal")


@dataclass(frozen=True, slots=True)
class Row:
    """One result that both runs have.

    `code` as it is now, `values` its ids in both runs, `attention` the index of the first run's attention that it
    belongs to (None: to none).
    """

    code: Code
    values: tuple[int, int]
    attention: int | None


class Sides:
    """Both runs, with what is known of each, and which of their steps are one and the same.

    `restless` are values of the first run that move even where nothing is changed: of them nothing is said but shapes.
    `lines` are those of the program that are not the same in both.
    """

    def __init__(
        self,
        runs: tuple[Run, Run],
        attentions: tuple[Sequence[Attention], Sequence[Attention]],
        comparison: Comparison,
        axes: Axes,
        restless: Collection[int],
        lines: Collection[Line],
    ) -> None:
        self.a, self.b = runs
        self.attentions = attentions
        self.comparison = comparison
        self.axes = axes
        self.restless = frozenset(restless)
        self.scores = {attention.scores.value for attention in attentions[0]} - {None}
        self._own = _own(self.a, attentions[0])
        self._paired = {(pair.a, pair.b) for pair in comparison.pairs}
        self.step_b = _became(runs, comparison, self._own, _own(self.b, attentions[1]), lines)
        self._sights = Sight(self.a, axes), Sight(self.b, axes)
        self._part = {step: attention.index for attention in reversed(attentions[0]) for step in attention.steps}
        self._inner = _inner(self.a)
        self._moved = {moved.values: moved.difference for moved in comparison.moved}

    def rows(self) -> list[Row]:
        """The results that both runs have, in the order of the program."""
        found: list[Row] = []
        for old, new in sorted(self.step_b.items()):
            code = self._sights[1].code(self.b.steps[new]) if old in self._own else None
            if code is not None:
                pairs = zip(self.a.steps[old].results, self.b.steps[new].results, strict=False)
                found += [Row(code, pair, self._part.get(old)) for pair in pairs if pair[0] not in self._inner]
        return found

    def apart(self) -> tuple[list[Step], list[Step]]:
        """The user's steps that only the first run has, and those that only the second has."""
        taken = set(self.step_b.values())
        a, b = ([step for step in run.steps if step.via is None and step.op not in TRIVIAL] for run in (self.a, self.b))
        return [step for step in a if step.index not in self.step_b], [step for step in b if step.index not in taken]

    def moved(self, row: Row) -> bool:
        """Whether shape or values of a row moved, because of the change."""
        one, other = self.values(row)
        if one.shape != other.shape:
            return True
        if one.id in self.restless:
            return False
        if row.values in self._moved:
            return True
        return (one.step, other.step) not in self._paired and not _alike(one.numbers, other.numbers)

    def difference(self, row: Row) -> str:
        """How far the values of a row moved at most; NaN where it now holds what is no number."""
        difference = self._moved.get(row.values)
        if _has(self.values(row)[1], math.isnan):
            return "NaN"
        if difference is None or (
            math.isinf(difference) and not any(_has(value, math.isinf) for value in self.values(row))
        ):
            return "—"
        return number(difference)

    def drawn(self, row: Row) -> bool:
        """Whether the values of a row are random numbers, or parameters, which are at first."""
        value = self.values(row)[0]
        op = "" if value.step is None else self.a.steps[value.step].op
        return value.kind == "parameter" or op.startswith(RANDOM)

    def no_number(self, row: Row) -> bool:
        """Whether values of a row are no numbers now, and were before."""
        one, other = (_has(value, math.isnan) for value in self.values(row))
        return other and not one

    def values(self, row: Row) -> tuple[Value, Value]:
        """The value in both runs."""
        return self.a.values[row.values[0]], self.b.values[row.values[1]]

    def shape(self, row: Row) -> Shape:
        """The shape of a row in the first run with the names of its axes."""
        return Sight(self.a, self.axes, row.attention).shape(row.values[0])

    def name(self, side: int, value: int) -> str | None:
        """The user's name for a value of the first (0) or the second run (1)."""
        return self._sights[side].name(value)


def _line(step: Step) -> Line | None:
    return None if step.source is None else (step.source.span.file, step.source.span.line)


def _became(
    runs: tuple[Run, Run], comparison: Comparison, own_a: set[int], own_b: set[int], lines: Collection[Line]
) -> dict[int, int]:
    """Which step of the second run each of the first became.

    Those that are alike; on a changed line the one whose result has the same name, or else the next that has no other.
    """
    a, b = runs
    steps = {pair.a: pair.b for pair in comparison.pairs}
    there = [a.steps[index] for index in sorted(own_a) if touches(a.steps[index], lines)]

    def renamed(old: Step, new: Step) -> bool:
        """Whether the name of an old result went over from the step that it was paired with to a new one."""
        name = _targets(new)
        return bool(name) and old.index in steps and _targets(old) == name != _targets(b.steps[steps[old.index]])

    for new in (b.steps[index] for index in comparison.only_b if index in own_b):
        here = [old for old in there if _line(old) == _line(new)]
        found = [old for old in here if renamed(old, new)] or [old for old in here if old.index not in steps]
        if found:
            steps[found[0].index] = new.index
    return steps


def _targets(step: Step) -> tuple[str, ...]:
    return step.source.targets if step.source else ()


def _alike(one: Numbers | None, other: Numbers | None) -> bool:
    """Whether what was kept of two values is the same but for rounding."""
    if one is None or other is None:
        return one is other
    cells = zip((x for row in one.corner for x in row), (y for row in other.corner for y in row), strict=False)
    pairs = [*cells, *((x or 0.0, y or 0.0) for x, y in ((one.mean, other.mean), (one.std, other.std)))]
    return all(
        x == y or math.isclose(x, y, rel_tol=1e-4, abs_tol=1e-6) or (math.isnan(x) and math.isnan(y)) for x, y in pairs
    )


def _idle(step: Step) -> bool:
    """Whether what a step makes says nothing: what an `empty` tensor holds is left over, an optimizer keeps its own."""
    optimizer = step.via is not None and os.path.join("torch", "optim") in step.via.span.file
    return optimizer or step.op.startswith(("empty", "new_empty"))


def _inner(run: Run) -> set[int]:
    """Values that a call of a library only passes on to a further step of its own."""
    found: set[int] = set()
    for step in run.steps:
        for value in step.refs if step.via is not None else ():
            maker = run.values[value].step
            if maker is not None and maker != step.index and run.steps[maker].call == step.call:
                found.add(value)
    return found


def _has(value: Value, what: Callable[[float], bool]) -> bool:
    return value.numbers is not None and any(what(cell) for row in value.numbers.corner for cell in row)


def _own(run: Run, attentions: Sequence[Attention]) -> set[int]:
    """The steps that are the user's: those of attentions, and of those inside a library the one that tells the most.

    That is the last of a call; of several parameters that are drawn, the first.
    """
    parts = {step for attention in attentions for step in attention.steps}
    told: dict[int, int] = {}
    steps = [step for step in run.steps if step.op not in TRIVIAL and not _idle(step)]
    for step in steps:
        drawn = all(run.values[value].kind == "parameter" for value in step.results)
        if step.call not in told or not drawn:
            told[step.call] = step.index
    return {step.index for step in steps if step.via is None or step.index in parts or told[step.call] == step.index}
