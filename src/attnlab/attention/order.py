"""The steps of an attention in the order in which it is read: x, then q, k and v, kᵀ, scores … output, projection."""

from __future__ import annotations

from dataclasses import replace

from attnlab.attention.attention import Attention, Input
from attnlab.attention.graph import Graph


def reading_order(attention: Attention, path: tuple[int, ...], graph: Graph) -> Attention:
    """The attention with all its steps, each once. `path`: those from q and k to the product with v."""
    inputs = (attention.q, attention.k, attention.v)
    found: list[int] = []
    for item in inputs:
        found += _maker(item.x, graph)
    for item in inputs:
        found += _made(item)
    found += [item.turned for item in inputs if item.turned is not None]
    found += sorted({attention.scores.step, *path, *attention.softmax, attention.output})
    found += attention.merge
    if attention.project_out is not None:
        found.append(attention.project_out)
    return replace(attention, steps=tuple(dict.fromkeys(found)))


def _made(item: Input) -> list[int]:
    steps = {*item.layout, *item.scale, *(() if item.project is None else (item.project,))}
    if item.step is not None:
        steps.add(item.step)
    return sorted(steps)


def _maker(value: int | None, graph: Graph) -> list[int]:
    step = None if value is None else graph.maker(value)
    return [] if step is None else [step.index]
