"""What was built or computed and is read by nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch

from attnlab.attention.graph import CASTS, DROPOUT, VIEWS, Graph
from attnlab.checks.text import assigned
from attnlab.checks.weights import initialised, owner
from attnlab.checks.whole import Whole
from attnlab.run import Step

LAYOUT = VIEWS | CASTS | DROPOUT


class Spare(NamedTuple):
    """A weight that no step reads, whose name in the program is `name` (without `self.`).

    `step` is the one that made or filled it: its expression is where it was built. `function` is the user's function.
    """

    name: str
    shape: tuple[int, ...]
    step: Step
    function: str


def used_memory(whole: Whole) -> set[int]:
    """The memory of every tensor that a step reads, but for those steps that give first numbers to it."""
    found: set[int] = set()
    for number, tensor in whole.tape.values.items():
        if any(not initialised(step) or step.op == "copy" for step in whole.graph.consumers(number)):
            found.add(owner(tensor))
    return found


def complete(whole: Whole) -> bool:
    """Whether the record has every step, so that "no step reads it" can be said."""
    return not whole.tape.full and not whole.run.lost and len(whole.run.steps) < 10_000


def spares(whole: Whole) -> tuple[Spare, ...]:
    """All weights (of two axes or more) that were built by the user's own expression and are read by no step."""
    return tuple(_spares(whole)) if complete(whole) else ()


def _spares(whole: Whole) -> Iterator[Spare]:
    used, known = used_memory(whole), parameters(whole)
    found: dict[int, Spare] = {}
    for number, tensor in whole.tape.values.items():
        step = whole.graph.maker(number) or _filled(whole, number)
        if tensor.dim() < 2 or step is None or step.source is None or step.op == "empty":
            continue
        memory = owner(tensor)
        is_weight = memory in known or whole.run.values[number].kind == "parameter"
        if memory in used or not (is_weight or (tensor.dim() == 2 and whole.graph.given(number))):
            continue
        names = step.source.targets or assigned(whole.run, step.source.span)
        if names:
            found[memory] = Spare(names[0].removeprefix("self."), tuple(tensor.shape), step, step.source.function)
    yield from found.values()


def _filled(whole: Whole, number: int) -> Step | None:
    """The step that gave a parameter its first numbers."""
    step = whole.run.values[number].step
    return None if step is None else whole.run.steps[step]


def left_over(graph: Graph, step: Step) -> Step | None:
    """The last layout step after a projection, where its result goes nowhere."""
    while len(step.results) == 1:
        users = graph.consumers(step.results[0])
        if not users:
            return step
        if len(users) > 1 or users[0].op not in LAYOUT:
            return None
        step = users[0]
    return None


def parameters(whole: Whole) -> dict[int, torch.nn.Parameter]:
    """All parameters of the modules that ran, by their memory."""
    return {owner(item): item for root in whole.roots for item in root.parameters()}
