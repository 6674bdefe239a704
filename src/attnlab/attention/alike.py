"""Attentions of the same source lines and shapes: equal layers, and the rounds of a loop, are told once."""

from __future__ import annotations

from attnlab.attention.attention import Attention
from attnlab.run import Run, Span


def alike(attentions: tuple[Attention, ...], run: Run) -> tuple[tuple[Attention, ...], ...]:
    """The attentions in groups that differ in nothing a reader would be told, in the order of their first members."""
    groups: dict[object, list[Attention]] = {}
    for attention in attentions:
        groups.setdefault(_key(attention, run), []).append(attention)
    return tuple(map(tuple, groups.values()))


def _key(attention: Attention, run: Run) -> object:
    inputs = (attention.q, attention.k, attention.v)
    shapes = [run.values[number].shape for number in (*(item.value for item in inputs), attention.result)]
    own = (
        *(step for item in inputs for step in (item.project, *item.layout, item.turned)),
        *(attention.scores.step, *attention.scale, *attention.cap, *attention.bias),
        *(mask.step for mask in attention.masks),
        *(*attention.softmax, *attention.dropout, attention.output),
    )
    return (
        *(attention.style, attention.kind, attention.causal, attention.heads, attention.kv_heads, attention.blocks),
        *(attention.normalised, attention.summed),
        *shapes,
        tuple(None if step is None else _place(step, run) for step in own),
    )


def _place(step: int, run: Run) -> Span | None:
    source = run.steps[step].source
    return None if source is None else source.span
