"""What follows the product with v: the division that was put off, the merge of the heads, the projection."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from attnlab.attention.graph import CASTS, DROPOUT, VIEWS, Graph
from attnlab.attention.origins import Origins
from attnlab.run import Step


class After(NamedTuple):
    """The steps after the product with v. `divided`: by the sum of the powers, where that comes after it."""

    merge: tuple[int, ...]
    project_out: int | None
    divided: tuple[int, ...]


def after(result: int, undivided: bool, graph: Graph, origins: Origins) -> After:
    """Follow the result of the product with v as far as it is only arranged anew, to the projection behind it.

    `undivided`: the softmax is not complete yet; then sums of blocks and the division by the total come first.
    """
    merge: list[int] = []
    divided: list[int] = []
    seen = {result}
    while True:
        step = _next(result, undivided, seen, graph, origins)
        if step is None:
            return After(tuple(merge), None, tuple(divided))
        if origins.projects(step) == result:
            return After(tuple(merge), step.index, tuple(divided))
        if step.op in VIEWS or step.op == "contiguous":
            merge.append(step.index)
        if step.op == "div" and undivided:
            divided.append(step.index)
        result = step.results[0]
        seen.add(result)


def _next(result: int, undivided: bool, seen: set[int], graph: Graph, origins: Origins) -> Step | None:
    """The step that goes on with a value; None where nothing does, and where several projections read it."""
    users = graph.consumers(result)
    projections = [step for step in users if origins.projects(step) == result]
    if projections:
        return projections[0] if len(projections) == 1 else None
    for step in users:
        if len(step.results) != 1 or step.results[0] in seen:
            continue
        if step.op in CASTS | DROPOUT or (undivided and step.op in ("add", "mul", "div")):
            return step
        if step.op in VIEWS and _keeps(step, graph):
            return step
    return None


def _keeps(step: Step, graph: Graph) -> bool:
    """Whether a step arranges all that it reads. What it puts together must be of one kind: the same for each head."""
    if step.op in ("cat", "stack"):
        makers = [graph.maker(number) for number in step.refs]
        return len({None if maker is None else maker.source for maker in makers}) == 1
    return prod(graph.shape(step.results[0])) == prod(graph.shape(step.refs[0]))
