"""The letters of one attention: which axis is `B`, `H`, `L`, `D`, `d_k`, `d_v`, by its part in the products."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from attnlab.attention import Attention, Input
from attnlab.axes.flow import Axis, Flow
from attnlab.run import Run


def letters(run: Run, flow: Flow, attention: Attention) -> dict[Axis, str]:
    """The letter of each axis that has a part in an attention; an axis of which that can't be told has none.

    `B` samples, `H` heads (`H_kv` where keys have fewer), `L` tokens (`L_q` and `L_k` where queries and keys are
    not the same tokens), `d_k` and `d_v` features of queries and keys, and of values, `D` features of what they
    are projected from (`D_kv` where that is another tensor for keys and values).
    """
    if attention.style in ("mha", "layer"):
        return dict(_inside(flow, attention))
    grid = _grid(flow, attention)
    apart = {*grid.batch, grid.queries, grid.keys}
    q, k, v = (set(flow.axes(item.entered)) for item in (attention.q, attention.k, attention.v))
    summed = set[Axis]() if attention.additive else (q & k) - apart
    features = (v & set(flow.axes(attention.result))) - apart
    found = dict.fromkeys(features, "d_v") | dict.fromkeys(summed, "d_k")
    found |= _sources(run, flow, attention)
    found |= _batch(flow, attention, grid.batch, summed | features)
    return found | _tokens(grid.queries, grid.keys)


@dataclass(frozen=True, slots=True)
class _Grid:
    """The axes of queries and of keys, and those over which an attention is one of several: samples, heads."""

    queries: Axis | None
    keys: Axis | None
    batch: tuple[Axis, ...]


def _grid(flow: Flow, attention: Attention) -> _Grid:
    grid = attention.scores if attention.scores.value is not None else attention.weights
    if grid.value is None:  # fused: [..., L, d], by definition
        q, k = flow.axes(attention.q.entered), flow.axes(attention.k.entered)
        return _Grid(q[-2], k[-2], q[:-2])
    axes = flow.axes(grid.value)
    places = (grid.query, grid.key)
    queries, keys = (None if at is None else axes[at] for at in places)
    return _Grid(queries, keys, tuple(axis for at, axis in enumerate(axes) if at not in places))


def _tokens(queries: Axis | None, keys: Axis | None) -> dict[Axis, str]:
    if queries == keys:
        return {} if queries is None else {queries: "L"}
    return {axis: letter for axis, letter in ((queries, "L_q"), (keys, "L_k")) if axis is not None}


def _inside(flow: Flow, attention: Attention) -> Iterator[tuple[Axis, str]]:
    """Of an attention inside one call of PyTorch's: `[L, B, D]` or `[L, D]`, of a whole layer `[B, L, D]`."""
    q, k = flow.axes(attention.q.entered), flow.axes(attention.k.entered)
    tokens = 1 if attention.style == "layer" else 0
    if k[-1] != q[-1]:
        yield k[-1], "D_kv"
    yield q[-1], "D"
    if len(q) == 3:
        yield q[1 - tokens], "B"
    yield from _tokens(q[tokens], k[tokens]).items()
    value = attention.weights.value
    if value is not None and len(weights := flow.axes(value)) == 4:
        yield weights[1], "H"


def _sources(run: Run, flow: Flow, attention: Attention) -> dict[Axis, str]:
    """The features that the projections of q and of k sum over."""
    q, k = (_projected(run, flow, item) for item in (attention.q, attention.k))
    if q is None or k is None:
        return {axis: "D" for axis in (q, k) if axis is not None}
    return {k: "D_kv"} | {q: "D"}


def _projected(run: Run, flow: Flow, item: Input) -> Axis | None:
    if item.x is None or item.project is None:
        return None
    made = {root for value in run.steps[item.project].results for root in flow.axes(value)}
    gone = [root for root in flow.axes(item.x) if root not in made]
    return gone[0] if len(gone) == 1 else None


def _batch(flow: Flow, attention: Attention, batch: tuple[Axis, ...], features: set[Axis]) -> dict[Axis, str]:
    """Samples and heads. A head axis was cut out of the features; where none was seen to be, the size must tell."""
    beside = set(flow.beside(features))
    heads = attention.heads
    inner = [part for axis in batch for part in flow.parts(axis)]  # `(b h)` folded into one axis

    def sized(size: int | None, axes: Iterable[Axis]) -> list[Axis]:
        return [axis for axis in axes if size not in (None, 1) and flow.size(axis) == size]

    places: tuple[Iterable[Axis], ...] = (beside.intersection(batch), beside.intersection(inner), batch)
    head = next((found for axes in places if (found := sized(heads, axes))), list[Axis]())
    found = {head[0]: "H"} if len(head) == 1 else dict[Axis, str]()
    told = {*found, *(part for axis in found for part in flow.parts(axis))}
    rest = [axis for axis in (*batch, *inner) if axis not in told]
    rest = [axis for axis in rest if not flow.parts(axis)]
    if len(rest) == 1 and (found or heads == 1):
        found[rest[0]] = "B"
    if attention.kv_heads != heads:
        found |= dict.fromkeys(sized(attention.kv_heads, beside.difference(found)), "H_kv")
    return found
