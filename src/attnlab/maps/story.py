"""What there is to tell of heads: on which token their weight lands, and which follow a rule that words can say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import torch
from torch import Tensor

from attnlab.maps.data import Layer, Source, Summary

# "previous", "next", "itself": the key beside or at the query has the largest weight; "broad": all have much the same.
Kind: TypeAlias = Literal["previous", "itself", "next", "broad"]

# A token is a sink of a head where it takes so much of the weight, and so many times what an even spread would give it.
_SINK, _TIMES = 0.3, 3.0
# A head is of a kind where that holds for so many of its queries, with so much of their weight; broad where its entropy
# is so near to that of an even spread. Of fewer queries than `_FEW` nothing is said.
_CLEAR, _WORTH, _BROAD, _FEW = 0.75, 0.1, 0.9, 8


@dataclass(frozen=True, slots=True)
class Head:
    """One head, as means over samples and over the queries after the first; a query that sees no key is left out.

    `entropy`  in nats
    `start`    the weight of the first key
    `recent`   the weight of the last keys up to the query's own
    `sink`     the key that is a sink of this head, if one is, and `taken`, its weight
    `kind`     the rule that the head follows, if one can be told, and the evidence for it:
               `share`  of the queries for which it holds (the sink aside, where there is one); where it is "broad", the
                        entropy as a part of that of an even spread
               `weight` of the key in question; where it is "broad", of the largest
    """

    layer: int
    head: int
    entropy: float
    start: float
    recent: float
    sink: int | None
    taken: float
    kind: Kind | None
    share: float
    weight: float


@dataclass(frozen=True, slots=True)
class Sink:
    """A key that is a sink of some heads, and what it takes of their weight, in the mean.

    `exact`  else it takes at least that: what is counted are those rows in which it is among the largest weights
    """

    key: int
    heads: int
    taken: float
    exact: bool


@dataclass(frozen=True, slots=True)
class Row:
    """One attention, as means over its heads; `near`: how many keys `recent` counts. nan where no query sees a key."""

    index: int
    name: str
    heads: int
    entropy: float
    start: float
    recent: float
    near: int
    sinks: int


@dataclass(frozen=True, slots=True)
class Story:
    """What there is to tell. `sinks`: those of the most heads first; `heads` and `rows` as they stand in the model."""

    sinks: tuple[Sink, ...]
    rows: tuple[Row, ...]
    heads: tuple[Head, ...]


@dataclass(frozen=True, slots=True)
class Top:
    """The largest weights of one query, each with its key. `entropy` is nan where the query sees no key."""

    query: int
    keys: tuple[tuple[int, float], ...]
    entropy: float


@dataclass(frozen=True, slots=True)
class Detail:
    """The queries of one head, one by one, as far as they are wanted; the head has `queries` of them."""

    layer: int
    head: int
    queries: int
    tops: tuple[Top, ...]


@dataclass(frozen=True, slots=True)
class Window:
    """Exact weights of some queries on some keys of one head; a row for each query."""

    layer: int
    head: int
    rows: range
    keys: range
    weights: tuple[tuple[float, ...], ...]


def story(layers: Sequence[Layer]) -> Story:
    """What there is to tell of these attentions."""
    heads = [_heads(layer) for layer in layers]
    every = [head for row in heads for head in row]
    rows = [_row(layer, row) for layer, row in zip(layers, heads, strict=True)]
    return Story(_sinks(every), tuple(rows), tuple(every))


def detail(layer: Layer, head: int, most: int | None = None) -> Detail:
    """The largest weights of each query, of at most `most`, of the head with this number; of the first sample."""
    summary = layer.summary
    place = layer.heads.index(head)
    rows = summary.shape[2]
    shown = slice(most)
    found = zip(
        summary.top_keys[0, place, shown].tolist(),
        summary.top_weights[0, place, shown].tolist(),
        summary.entropy[0, place, shown].tolist(),
        strict=True,
    )
    tops = (
        Top(query, tuple((key, weight) for key, weight in zip(keys, weights, strict=True) if key >= 0), entropy)
        for query, (keys, weights, entropy) in enumerate(found, summary.first)
    )
    return Detail(layer.index, head, rows, tuple(tops))


def exact(source: Source, head: int, rows: slice, keys: slice) -> list[list[float]]:
    """The exact weights of some queries on some keys of one head, of the first sample; a list for each query."""
    return source.heads((head,)).weights(rows, keys)[0, 0].tolist()


@dataclass(frozen=True, slots=True)
class _Rows:
    """The queries that count, [N] of all B × rows; means over them.

    `samples`  B
    `place`  the key that stands where each query stands, None where queries and keys are of two sequences
    `seen`   how many keys each can see: all of them, or in a causal attention those up to its own
    """

    samples: int
    counted: Tensor
    place: Tensor | None
    seen: Tensor

    def mean(self, values: Tensor) -> Tensor:
        """Of [H, N], as [H]; nan where no query counts."""
        return values[:, self.counted].double().mean(-1)


def _heads(layer: Layer) -> list[Head]:
    summary = layer.summary
    rows = _rows(summary)
    entropy, start, recent = (_flat(x) for x in (summary.entropy, summary.start, summary.recent))
    keys, weights = _flat(summary.top_keys).long(), _flat(summary.top_weights)
    even = float((1 / rows.seen[rows.counted]).mean())
    sinks = [_sink(*pair, even) for pair in zip(rows.mean(start).tolist(), _taken(keys, weights, rows), strict=True)]
    found = zip(
        layer.heads,
        *(rows.mean(values).tolist() for values in (entropy, start, recent)),
        sinks,
        _kinds(entropy, keys, weights, rows, [key for key, _ in sinks]),
        strict=True,
    )
    return [Head(layer.index, *facts, *sink, *kind) for *facts, sink, kind in found]


def _flat(values: Tensor) -> Tensor:
    """Of [B, H, rows, …], as [H, B · rows, …]."""
    return values.transpose(0, 1).flatten(1, 2)


def _rows(summary: Summary) -> _Rows:
    batch, _, count, keys = summary.shape
    numbers = summary.first + torch.arange(count)
    place = numbers if summary.first + count == keys else None
    seen = torch.full((count,), keys, dtype=torch.double)
    counted = torch.ones(count, dtype=torch.bool)
    if place is not None:
        counted = place > 0
        if bool((summary.top_keys <= place[:, None]).all()):
            seen = (place + 1).double()
    sees = ~_flat(summary.entropy).isnan().any(0)
    return _Rows(
        batch, counted.repeat(batch) & sees, None if place is None else place.repeat(batch), seen.repeat(batch)
    )


def _taken(keys: Tensor, weights: Tensor, rows: _Rows) -> list[tuple[int, float]]:
    """Of each head the key behind the first that takes the most, and at least how much in the mean."""
    keys, weights = keys[:, rows.counted], weights[:, rows.counted].double()
    total = torch.zeros(len(keys), int(keys.max()) + 2 if keys.numel() else 2, dtype=torch.double)
    total.scatter_add_(1, keys.clamp_min(0).flatten(1), weights.flatten(1))
    total[:, 0] = 0
    most, key = (total / max(1, int(rows.counted.sum()))).max(-1)
    return list(zip(key.tolist(), most.tolist(), strict=True))


def _sink(start: float, other: tuple[int, float], even: float) -> tuple[int | None, float]:
    """The sink of a head, and what it takes; None and 0 where it has none."""
    key, taken = (0, start) if start >= other[1] else other
    return (key, taken) if taken >= max(_SINK, _TIMES * even) else (None, 0.0)


def _kinds(
    entropy: Tensor, keys: Tensor, weights: Tensor, rows: _Rows, sinks: Sequence[int | None]
) -> list[tuple[Kind | None, float, float]]:
    """The kind of each head, with `share` and `weight` as in `Head`."""
    # From the third query on: before, the one before it is the first of all.
    place = rows.place
    counted = rows.counted if place is None else rows.counted & (place > 1)
    if int(counted.sum()) < _FEW * rows.samples:
        return [(None, 0.0, 0.0)] * len(keys)
    spread = (entropy / rows.seen.log())[:, counted].double().mean(-1).tolist()
    found: list[tuple[Kind | None, float, float]] = []
    for head, sink in enumerate(sinks):
        key, weight = _largest(keys[head, counted], weights[head, counted], sink)
        kind = None if place is None else _beside(key - place[counted], weight)
        if kind is None and sink is None and spread[head] >= _BROAD:
            kind = "broad", spread[head], float(weight.double().mean())
        found.append(kind or (None, 0.0, 0.0))
    return found


def _beside(steps: Tensor, weight: Tensor) -> tuple[Kind, float, float] | None:
    """The kind of a head whose largest weights, [N], stand so many keys behind their queries; None if it has none."""
    every: tuple[tuple[int, Kind], ...] = ((-1, "previous"), (0, "itself"), (1, "next"))
    for step, kind in every:
        hit = steps == step
        share = float(hit.double().mean())
        if share >= _CLEAR and (taken := float(weight[hit].double().mean())) >= _WORTH:
            return kind, share, taken
    return None


def _largest(keys: Tensor, weights: Tensor, sink: int | None) -> tuple[Tensor, Tensor]:
    """The key of the largest weight of each query and that weight, both [N]; the sink aside."""
    if sink is not None and keys.shape[1] > 1:
        second = keys[:, 0] == sink
        return torch.where(second, keys[:, 1], keys[:, 0]), torch.where(second, weights[:, 1], weights[:, 0])
    return keys[:, 0], weights[:, 0]


def _sinks(heads: Sequence[Head]) -> tuple[Sink, ...]:
    taken: dict[int, list[float]] = {}
    for head in heads:
        if head.sink is not None:
            taken.setdefault(head.sink, []).append(head.taken)
    found = [Sink(key, len(shares), sum(shares) / len(shares), key == 0) for key, shares in taken.items()]
    return tuple(sorted(found, key=lambda sink: (-sink.heads, sink.key)))


def _row(layer: Layer, heads: Sequence[Head]) -> Row:
    def mean(name: str) -> float:
        return sum(getattr(head, name) for head in heads) / len(heads)

    sinks = sum(head.sink is not None for head in heads)
    numbers = (mean("entropy"), mean("start"), mean("recent"))
    return Row(layer.index, layer.name, len(heads), *numbers, layer.summary.near, sinks)
