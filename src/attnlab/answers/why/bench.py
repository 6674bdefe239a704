"""One attention on the bench: its run, and any number of further runs of it with something changed."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias
from weakref import WeakKeyDictionary

from attnlab.answers.why.rewriting import Rewrite, rewritten
from attnlab.attention import Attention, find
from attnlab.attention.graph import Graph
from attnlab.attention.products import Product, product
from attnlab.axes import Axes, by_flow
from attnlab.experiments import sizes
from attnlab.experiments.changes import Nudge, SetConstant
from attnlab.experiments.compare import align
from attnlab.experiments.lab import Lab
from attnlab.experiments.request import Reply, Request
from attnlab.experiments.sizes import Trial
from attnlab.run import Numbers, Run, Step, Value

# Seconds after which no further number in the source is tried.
BUDGET = 10.0

Change: TypeAlias = "Rewrite | SetConstant | Nudge"
Changes: TypeAlias = "tuple[Change, ...]"


@dataclass(frozen=True)
class Tried:
    """One further run. `first` is the run on the bench; `steps`: for each of its steps, the same one in this."""

    reply: Reply
    first: Run
    steps: Mapping[int, int]

    @property
    def run(self) -> Run | None:
        """The run; None where there is none to read."""
        return self.reply.run

    @property
    def failure(self) -> str:
        """What Python said where it failed; "" where it did not."""
        error = None if self.run is None else self.run.error
        return "" if error is None else f"{error.type}: {error.message}"

    def step(self, index: int) -> Step | None:
        """The step that is the same as one of the run on the bench; None where it did not come so far."""
        place = self.steps.get(index)
        return None if place is None or self.run is None else self.run.steps[place]

    def value(self, value: int) -> Value | None:
        """What is the same as a value of the run on the bench; None where it did not come so far."""
        made = self.first.values[value].step
        step = None if made is None else self.step(made)
        if made is None or step is None or self.run is None:
            return None
        place = self.first.steps[made].results.index(value)
        return self.run.values[step.results[place]] if place < len(step.results) else None

    def shape(self, value: int) -> tuple[int, ...] | None:
        """The shape of what is the same as a value."""
        found = self.value(value)
        return None if found is None else found.shape

    def numbers(self, value: int) -> Numbers | None:
        """The numbers that were kept of what is the same as a value."""
        found = self.value(value)
        return None if found is None else found.numbers

    def nudge(self, nudge: Nudge) -> Nudge | None:
        """The nudge of a step of the run on the bench, as it has to be asked for to meet the same step in this run.

        Rewriting an expression may have added steps before it, or taken some away.
        """
        place = self.steps.get(nudge.step)
        return None if place is None else dataclasses.replace(nudge, step=place)

    def measures(self, index: int) -> Mapping[str, float]:
        """The measures of the softmax that is the same as a step."""
        return self.reply.measures.get(self.steps.get(index, -1), {})


_TRIALS: WeakKeyDictionary[Lab, dict[frozenset[tuple[str, str]], tuple[Trial, ...]]] = WeakKeyDictionary()


def trials(lab: Lab, run: Run, texts: Mapping[str, str]) -> tuple[Trial, ...]:
    """What each number in the source does to the sizes of a run with these texts; found out once.

    Nothing for a program whose first run took longer than `sizes.LONGEST`.
    """
    known = _TRIALS.setdefault(lab, {})
    key = frozenset(texts.items())
    if key not in known:
        known[key] = sizes.trials(run, lambda requests: _ask(lab, texts, requests), budget=BUDGET)
    return known[key]


def _ask(lab: Lab, texts: Mapping[str, str], requests: Sequence[Request]) -> list[Reply]:
    return lab.ask([dataclasses.replace(request, texts={**texts, **request.texts}) for request in requests])


class Bench:
    """`run` and `attention`: what is looked at. `texts`: what was changed in the program to come there."""

    def __init__(self, lab: Lab, attention: Attention, run: Run, texts: Mapping[str, str]) -> None:
        self.lab = lab
        self.attention = attention
        self.run = run
        self.texts = texts

    @staticmethod
    def of(lab: Lab, attention: Attention) -> Bench:
        """An attention of the program as it stands."""
        return Bench(lab, attention, lab.run, {})

    @cached_property
    def axes(self) -> Axes:
        """The names of the axes."""
        return by_flow(self.run, find(self.run))

    @property
    def trials(self) -> tuple[Trial, ...]:
        """What each number in the source does to the sizes."""
        return trials(self.lab, self.run, self.texts)

    def step(self, index: int) -> Step:
        """A step of the run."""
        return self.run.steps[index]

    def shape(self, value: int) -> tuple[int, ...]:
        """The shape of a value."""
        return self.run.values[value].shape

    def product(self, index: int) -> Product | None:
        """The product that a step performs."""
        return product(self.run.steps[index], Graph(self.run))

    def again(self, *changes: Change) -> Tried:
        """Run it once more under the changes. Raises `NotAgain` for a long program."""
        return self.each([changes])[0]

    def each(self, several: Sequence[Sequence[Change]], seconds: float = 0, numbers: bool = True) -> list[Tried]:
        """Run it once more for each set of changes, side by side. `numbers`: keep those of tensors, measure softmax."""
        self.lab.each([])  # raises where the program is too long to be run again
        bound = seconds or max(10.0, 5 * self.run.seconds)
        replies = self._ask([self._request(changes, bound, numbers) for changes in several])
        return [Tried(reply, self.run, self._same_steps(reply)) for reply in replies]

    def opened(self, rewrite: Rewrite) -> Bench | None:
        """The bench after a rewriting, which is then what is looked at; None where it does not run so."""
        self.lab.each([])
        texts = {**self.texts, **rewritten(self.run, [rewrite])}
        (reply,) = self.lab.ask([Request(self.run.program, texts, measure=True)])
        before, after = find(self.run), () if reply.run is None else find(reply.run)
        if reply.run is None or len(after) != len(before):
            return None
        return Bench(self.lab, after[self.attention.index], reply.run, texts)

    def _request(self, changes: Sequence[Change], seconds: float, numbers: bool) -> Request:
        texts = rewritten(self.run, [change for change in changes if not isinstance(change, Nudge)])
        nudges = tuple(change for change in changes if isinstance(change, Nudge))
        return Request(self.run.program, texts, nudges, numbers=numbers, measure=numbers, seconds=seconds)

    def _ask(self, requests: Sequence[Request]) -> list[Reply]:
        return _ask(self.lab, self.texts, requests)

    def _same_steps(self, reply: Reply) -> dict[int, int]:
        return {} if reply.run is None else {pair.a: pair.b for pair in align(self.run, reply.run)}
