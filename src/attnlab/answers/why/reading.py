"""Numbers of a tensor laid out as rows and columns, read from the record or, where it kept too little, in one more run.

A record keeps a corner of the last two axes. Where rows and columns are other axes, or there are more
columns, the expression is run again with views of its value taken beside it, and these are recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isnan
from typing import TypeAlias

from attnlab.answers.why.bench import Bench, Tried
from attnlab.answers.why.rewriting import Rewrite, key_of, operand, source_of, span_of, wrapped
from attnlab.run import CORNER, Numbers, Run, Step

Matrix: TypeAlias = "tuple[tuple[float, ...], ...]"
# Tensors as wide as this are not read: each CORNER columns take a step of their own.
WIDEST = 2048


def largest_difference(one: Matrix, other: Matrix) -> float | None:
    """The largest difference between two matrices; None where they are not of one shape."""
    if [len(row) for row in one] != [len(row) for row in other]:
        return None
    pairs = [pair for rows in zip(one, other, strict=True) for pair in zip(*rows, strict=True)]
    found = [abs(a - b) for a, b in pairs if a != b and not (isnan(a) and isnan(b))]
    return inf if any(map(isnan, found)) else max(found, default=0.0)


@dataclass(frozen=True, slots=True)
class Look:
    """A value, as a step reads or makes it: which of its axes are the rows (None: one row), and which the columns.

    All other axes are taken at 0; of the rows, the first CORNER; of the columns, the first `most`.
    """

    step: int
    value: int
    rows: int | None
    columns: int
    most: int = WIDEST


def read(bench: Bench, looks: Sequence[Look]) -> list[Matrix | None]:
    """The numbers of each, None where they can't be had."""
    found = [_kept(bench.run, look) for look in looks]
    missing = [look for look, matrix in zip(looks, found, strict=True) if matrix is None]
    if not missing:
        return found
    looking = Looking(bench, missing)
    read = iter(looking.seen(bench.again(*looking.rewrites)) if looking.rewrites else [None] * len(missing))
    return [next(read) if matrix is None else matrix for matrix in found]


class Looking:
    """Looks that are taken in a further run: `rewrites` is what has to be changed for it."""

    def __init__(self, bench: Bench, looks: Sequence[Look]) -> None:
        self._probes = [_laid_out(bench.run, look, number) for number, look in enumerate(looks)]
        # What a step makes stands around what it reads, and so its rewritings come first.
        order = sorted(range(len(looks)), key=lambda at: looks[at].value not in bench.step(looks[at].step).results)
        found = [probe for at in order if (probe := self._probes[at]) is not None]
        self.rewrites: tuple[Rewrite, ...] = tuple(rewrite for probe in found for rewrite in probe.rewrites)

    def seen(self, tried: Tried) -> list[Matrix | None]:
        """The numbers of each in that run."""
        return [
            None if probe is None or tried.run is None else _joined(probe.corners(tried.run)) for probe in self._probes
        ]


def _kept(run: Run, look: Look) -> Matrix | None:
    """The numbers from the corner that the record keeps, where these are the ones."""
    value = run.values[look.value]
    last = len(value.shape) - 1
    whole = look.columns == last and min(value.shape[last], look.most) <= CORNER
    rows = look.rows == last - 1 or (look.rows is None and last == 0)
    return value.numbers.corner if value.numbers is not None and whole and rows else None


@dataclass(frozen=True, slots=True)
class Probe:
    """Views of a value that are taken beside it where it is read or made.

    By which rewritings, their texts, and which evaluation of them is the one that is meant.
    """

    rewrites: tuple[Rewrite, ...]
    texts: tuple[str, ...]
    evaluation: int

    def numbers(self, run: Run) -> list[Numbers] | None:
        """What a run kept of each view; None where one is missing."""
        found: list[Numbers] = []
        for text in self.texts:
            made = [step.results[0] for step in run.steps if step.source and step.source.text == text and step.results]
            numbers = run.values[made[self.evaluation]].numbers if self.evaluation < len(made) else None
            if numbers is None:
                return None
            found.append(numbers)
        return found

    def corners(self, run: Run) -> list[Matrix] | None:
        """The corner that a run kept of each view; None where one is missing."""
        numbers = self.numbers(run)
        return None if numbers is None else [item.corner for item in numbers]


def probe(run: Run, step: Step, value: int, name: str, views: Sequence[str]) -> Probe | None:
    """Views of a value that a step reads or makes; in their texts the value is called `name`.

    None where the expression of the value can't be told.
    """
    source, key = source_of(step), key_of(step, value)
    part = None if key is None else operand(step, key)
    if source is None or not views:
        return None
    last = max(item.index for item in run.steps if item.call == step.call)
    if step.results == (value,) and step.index == last:
        span = source.span
    elif part is not None:
        span = span_of(source, part)
    else:
        return None
    around = (f"(lambda {name}: ({', '.join(views)}, {name})[-1])(", ")")
    return Probe(wrapped(span, *around), tuple(views), _evaluation(run, step))


def _evaluation(run: Run, step: Step) -> int:
    """How many times the expression of a step was evaluated before it was for this step."""
    span = step.source and step.source.span
    calls = dict.fromkeys(item.call for item in run.steps if item.source is not None and item.source.span == span)
    return list(calls).index(step.call)


def _laid_out(run: Run, look: Look, number: int) -> Probe | None:
    count = min(run.values[look.value].shape[look.columns], look.most)
    if count == WIDEST:
        return None
    name = f"attnlab_{number}"
    laid = f"{name}.movedim({look.columns}, -1).unsqueeze(-2)"
    if look.rows is not None:
        laid = f"{name}.movedim(({look.rows}, {look.columns}), (-2, -1))"
    views = [f"{laid}[..., {start}:{start + CORNER}]" for start in range(0, count, CORNER)]
    return probe(run, run.steps[look.step], look.value, name, views)


def _joined(pieces: Sequence[Matrix] | None) -> Matrix | None:
    if pieces is None:
        return None
    return tuple(tuple(cell for piece in row for cell in piece) for row in zip(*pieces, strict=True))
