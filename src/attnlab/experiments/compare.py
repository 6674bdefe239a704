"""Two runs side by side: which steps are the same ones, and what moved between them."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass

from attnlab.run import Error, Numbers, Run, Step, Value

# A difference in values below this share of their size is rounding, not a change.
ROUNDING = 1e-5
# What such a tensor holds is left over from before.
_LEFT_OVER = frozenset(("empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided"))


@dataclass(frozen=True, slots=True)
class Pair:
    """One step in both runs, by its index in each."""

    a: int
    b: int


@dataclass(frozen=True, slots=True)
class Moved:
    """One result of a step that is not the same in both runs.

    `values` are its ids. `difference` is the largest one among the elements and statistics that both
    runs kept, None where the shapes differ or nothing was kept; `share` sets it beside the spread of
    the first.
    """

    step: Pair
    values: tuple[int, int]
    shapes: tuple[tuple[int, ...], tuple[int, ...]]
    difference: float | None
    share: float | None

    @property
    def shape_moved(self) -> bool:
        """Whether the shapes differ."""
        return self.shapes[0] != self.shapes[1]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What moved from run `a` to run `b`.

    `only_a`, `only_b`: steps that the other run does not have. `moved`: results whose shape or values
    differ, in order. `printed`: lines that differ, (line of a or None, line of b or None). `errors`:
    the error that ended each run.
    """

    pairs: tuple[Pair, ...]
    only_a: tuple[int, ...]
    only_b: tuple[int, ...]
    moved: tuple[Moved, ...]
    printed: tuple[tuple[str | None, str | None], ...]
    errors: tuple[Error | None, Error | None]

    @property
    def same(self) -> bool:
        """Whether nothing moved."""
        return not (self.only_a or self.only_b or self.moved or self.printed or self.errors[0] or self.errors[1])


def compare(a: Run, b: Run, printed: tuple[str, str] = ("", "")) -> Comparison:
    """Compare two runs of one program; `printed` is what each of them printed."""
    pairs = align(a, b)
    moved: list[Moved] = []
    for pair in pairs:
        if a.steps[pair.a].op in _LEFT_OVER:
            continue
        for one, other in zip(a.steps[pair.a].results, b.steps[pair.b].results, strict=False):
            change = _moved(pair, a.values[one], b.values[other])
            if change is not None:
                moved.append(change)
    with_b = {pair.a for pair in pairs}, {pair.b for pair in pairs}
    return Comparison(
        pairs,
        tuple(step.index for step in a.steps if step.index not in with_b[0]),
        tuple(step.index for step in b.steps if step.index not in with_b[1]),
        tuple(moved),
        _lines(*printed),
        (a.error, b.error),
    )


def align(a: Run, b: Run) -> tuple[Pair, ...]:
    """The steps of both runs that are one and the same: the n-th time that one operation ran on one line.

    Lines and not columns, since a change on a line moves what stands to its right.
    """
    waiting: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for step in reversed(b.steps):
        waiting[_where(step)].append(step.index)
    found: list[Pair] = []
    for step in a.steps:
        others = waiting.get(_where(step))
        if others:
            found.append(Pair(step.index, others.pop()))
    return tuple(found)


def _where(step: Step) -> tuple[object, ...]:
    via = step.via and (step.via.span.file, step.via.span.line)
    source = step.source and (step.source.span.file, step.source.span.line, step.source.function)
    return step.op, source, via, step.module


def _moved(pair: Pair, a: Value, b: Value) -> Moved | None:
    if a.shape != b.shape:
        return Moved(pair, (a.id, b.id), (a.shape, b.shape), None, None)
    if a.numbers is None or b.numbers is None:
        return None
    difference = _difference(a.numbers, b.numbers)
    spread = a.numbers.std or abs(a.numbers.mean or 0.0) or 1.0
    if difference <= ROUNDING * spread:
        return None
    return Moved(pair, (a.id, b.id), (a.shape, b.shape), difference, difference / spread)


def _difference(a: Numbers, b: Numbers) -> float:
    """The largest difference among what was kept; infinite where only one of two is finite."""
    pairs = [
        *((x, y) for row, other in zip(a.corner, b.corner, strict=False) for x, y in zip(row, other, strict=False)),
        *(
            (x, y)
            for x, y in ((a.mean, b.mean), (a.std, b.std), (a.min, b.min), (a.max, b.max))
            if x is not None and y is not None
        ),
    ]
    if (a.nonfinite or 0) != (b.nonfinite or 0):
        return math.inf
    return max((abs(x - y) if math.isfinite(x) and math.isfinite(y) else _unlike(x, y) for x, y in pairs), default=0.0)


def _unlike(x: float, y: float) -> float:
    return 0.0 if x == y or (math.isnan(x) and math.isnan(y)) else math.inf


def _lines(a: str, b: str) -> tuple[tuple[str | None, str | None], ...]:
    import difflib

    one, other = a.splitlines(), b.splitlines()
    found: list[tuple[str | None, str | None]] = []
    for kind, i, i_end, j, j_end in difflib.SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        left: list[str | None] = [*one[i:i_end]]
        right: list[str | None] = [*other[j:j_end]]
        size = max(len(left), len(right))
        left += [None] * (size - len(left))
        right += [None] * (size - len(right))
        found.extend(zip(left, right, strict=True))
    return tuple(found)
