"""The experiment behind the names of axes: one size changed at a time, and the shapes that follow."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from attnlab.experiments import constants
from attnlab.experiments.changes import Constant, SetConstant
from attnlab.experiments.compare import align
from attnlab.experiments.request import Reply, Request
from attnlab.run import Run

# Programs that took longer the first time are not run again without being asked to.
LONGEST = 2.0
MOST_CONSTANTS = 12
AT_ONCE = 4
_PRIMES = (3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101)
# Whole numbers passed to these by place are no sizes.
_NO_SIZE = frozenset(
    {"manual_seed", "seed", "range", "print", "sleep", "set_num_threads", "transpose", "permute", "size"}
    | {"softmax", "unsqueeze", "squeeze", "sum", "mean", "unbind", "flatten", "round"}
)

Ask = Callable[[Sequence[Request]], Sequence[Reply]]


@dataclass(frozen=True, slots=True)
class Trial:
    """What one number instead of another did: for each value of the first run, its new shape (None: not found).

    `constants` are several where the program only runs when they change together: `randn(2, 5, 12)` and
    `MultiHead(12)`.
    """

    constants: tuple[Constant, ...]
    new: int
    shapes: tuple[tuple[int, ...] | None, ...]


def trials(run: Run, ask: Ask, budget: float = 5.0, rerun: bool = False) -> tuple[Trial, ...]:
    """Run the program again with each of its whole numbers changed, one at a time.

    A constant whose change ends in an error is tried again with multiples of what it was, which heads
    still divide, and then together with the others of its value; one that cannot be changed at all
    gives no trial. No further one is begun after `budget` seconds. `rerun`: also where
    the first run took longer than `LONGEST`.
    """
    until = time.monotonic() + budget
    if (run.seconds > LONGEST and not rerun) or run.program.kind not in ("script", "module"):
        return ()
    found: list[Trial] = []
    named, places = _candidates(run)
    # A number in the place of a size is worth a try of its own only where no name carries that size. Where
    # calls alike have it in one place, `randn(2, 5, 12)` for q and for k, they change together.
    carried = {constant.value for constant in named}
    bare: dict[tuple[str, float], list[Constant]] = {}
    for constant in places:
        if constant.value not in carried:
            bare.setdefault((constant.name, constant.value), []).append(constant)
    groups = [*((constant,) for constant in named), *map(tuple, bare.values())]
    left = _try(run, groups[:MOST_CONSTANTS], ask, found, until)
    values = sorted({group[0].value for group in left})
    together = [tuple(constant for constant in [*named, *places] if constant.value == value) for value in values]
    _try(run, [group for group in together if len(group) > 1 and group not in left], ask, found, until)
    return tuple(found)


def _try(
    run: Run, groups: Sequence[tuple[Constant, ...]], ask: Ask, found: list[Trial], until: float
) -> list[tuple[Constant, ...]]:
    """Try each group of constants; the groups that no number went well with."""
    waiting = {group: _numbers(group[0], run) for group in groups}
    failed: list[tuple[Constant, ...]] = []
    while waiting and time.monotonic() < until:
        # A few at a time, so that the end of the time is seen.
        asked = [(group, numbers.pop(0)) for group, numbers in list(waiting.items())[:AT_ONCE]]
        replies = ask([_request(run, group, number) for group, number in asked])
        for (group, number), reply in zip(asked, replies, strict=True):
            numbers = waiting.pop(group)
            # A program that failed the first time may fail again, at the same place.
            if reply.run is not None and (reply.run.error is None or run.error is not None):
                found.append(Trial(group, number, _shapes(run, reply.run)))
            elif numbers:
                waiting[group] = numbers
            else:
                failed.append(group)
    return failed


def _candidates(run: Run) -> tuple[list[Constant], list[Constant]]:
    """The constants that may be sizes: those with a name, and those in the place of an argument."""
    sizes = _sizes(run)
    found = [c for c in constants.find(run.sources) if isinstance(c.value, int) and c.value > 0]
    named = [c for c in found if c.kind != "argument" and c.name not in _NO_SIZE]
    places = [c for c in found if c.kind == "argument" and c.name.partition("[")[0] not in _NO_SIZE]
    return named, [constant for constant in places if constant.value in sizes]


def _sizes(run: Run) -> set[int]:
    return {size for value in run.values for size in value.shape if size > 1}


def _numbers(constant: Constant, run: Run) -> list[int]:
    old = int(constant.value)
    taken = _sizes(run)
    prime = next((p for p in _PRIMES if p > old and p not in taken), old + 1)
    return [prime, 2 * old, 3 * old]


def _request(run: Run, group: tuple[Constant, ...], number: int) -> Request:
    texts = constants.apply(run.sources, [SetConstant(constant, number) for constant in group], group[0].file)
    return Request(run.program, texts, numbers=False, seconds=max(1.0, 5 * run.seconds))


def _shapes(run: Run, other: Run) -> tuple[tuple[int, ...] | None, ...]:
    shapes: list[tuple[int, ...] | None] = [None] * len(run.values)
    for pair in align(run, other):
        one, two = run.steps[pair.a], other.steps[pair.b]
        for values in (zip(one.results, two.results, strict=False), zip(one.refs, two.refs, strict=False)):
            for value, new in values:
                if shapes[value] is None and len(run.values[value].shape) == len(other.values[new].shape):
                    shapes[value] = other.values[new].shape
    return tuple(shapes)
