"""The numbers of heads as bytes: as they are where there are few, else pooled and rounded to what a page has room for.

What the bytes mean stands in `web/src/map/atlas.ts`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor

from attnlab.maps.cells import coarser
from attnlab.maps.data import Layer, Summary
from attnlab.scene.atlas_data import Held
from attnlab.scene.data import Blob
from attnlab.scene.pictures import Bag

# So many numbers are kept as they are, over all heads of a page.
EXACT = 600_000
# Bytes of a page, in base64, for the numbers of all heads.
ROOM = 19_300_000
# Cells along an axis of a map at most, and of the small pictures.
_CELLS = 512
SMALL = 32
# As many samples are kept as have so many heads together; one always.
_SEVERAL = 512
# So many heads are packed to see how large they get.
_TRIED = 6
# What stands for 1 in numbers of two bytes: of those about a query only the upper 12 bits are used.
WHOLE, ROUNDED, NONE = 65535, 65520, 65535


class Plan(NamedTuple):
    """What is kept of each head: maps of so many cells along an axis in so many shades, the largest keys of queries."""

    exact: bool
    cells: int
    shades: int = 256
    top: int = 1 << 30
    every: int = 1

    def side(self, summary: Summary) -> int:
        """The side of a cell: at least as large as it is."""
        return fitting(summary, self.cells)


_FINE = [Plan(False, 256, shades, top) for top in (8, 7, 6, 5, 4) for shades in (32, 24, 16)]
_COARSE = [Plan(False, cells, 32, top) for top in (4, 3, 2, 1) for cells in (128, 64)]
_LEAST = Plan(False, 16, 16, 1, 1 << 30)


def fitting(summary: Summary, cells: int) -> int:
    """The smallest side, a multiple of what it is by a power of two, with so many cells along an axis."""
    side = summary.side
    while max(rows(summary, side), -(-summary.keys // side)) > cells:
        side *= 2
    return side


def rows(summary: Summary, side: int) -> int:
    """Rows of cells of that side."""
    return -(-(summary.first % side + summary.shape[2]) // side)


def planned(layers: Sequence[Layer]) -> tuple[Plan, int]:
    """What is kept of each head, and of how many samples."""
    count = sum(len(layer.heads) for layer in layers)
    samples = max((layer.summary.shape[0] for layer in layers), default=1)
    if samples * sum(len(layer.heads) * _numbers(layer.summary) for layer in layers) <= EXACT:
        return Plan(True, _CELLS), samples
    samples = max(1, min(samples, _SEVERAL // count))
    size = _sizes(layers)
    return next((plan for plan in _plans() if samples * size(plan) <= ROOM), _LEAST), samples


def _plans() -> Iterator[Plan]:
    """From what holds most to what holds least: all queries are better than all of their keys."""
    yield from (Plan(False, cells, 256, 8) for cells in (_CELLS, 256))
    every = 1
    while every < 1 << 30:
        yield from (plan._replace(every=every) for plan in (*_FINE, *_COARSE))
        every *= 2


def _numbers(summary: Summary) -> int:
    """How many numbers one head has."""
    side = fitting(summary, _CELLS)
    cells = rows(summary, side) * -(-summary.keys // side)
    return cells * (1 if side == 1 else 2) + summary.shape[2] * (3 + 2 * summary.top_keys.shape[-1])


def _sizes(layers: Sequence[Layer]) -> Callable[[Plan], float]:
    """How large one sample of all heads gets, in base64: as some heads make out, each the middle one of its layer."""
    tried = layers[:: -(-len(layers) // _TRIED)]
    some = [(_one(layer.summary, len(layer.heads) // 2), len(layer.heads)) for layer in tried]
    times = sum(len(layer.heads) for layer in layers) / sum(count for _, count in some)

    def size(parts: Callable[[Summary], Sequence[Tensor]]) -> float:
        total = 0
        for one, count in some:
            bag = Bag()
            bag.put(*parts(one))
            total += bag.bytes * count
        return total * times

    @cache
    def maps(cells: int, shades: int) -> float:
        return size(lambda one: _maps(_at(coarser(one, fitting(one, cells)), 0, 0), shades)[0])

    @cache
    def rank(place: int) -> float:
        at = slice(place, place + 1)
        return size(lambda one: _ranks(one.top_keys[0, 0, :, at], one.top_weights[0, 0, :, at], one.keys))

    about = size(lambda one: _about(_at(one, 0, 0).about, one.keys))
    most = max(layer.summary.top_keys.shape[-1] for layer in layers)
    return lambda plan: (
        maps(plan.cells, plan.shades) + (about + sum(map(rank, range(min(plan.top, most))))) / plan.every
    )


def _one(summary: Summary, head: int) -> Summary:
    """One head of the first sample."""
    names = ("mean", "max", "top_keys", "top_weights", "entropy", "start", "recent")
    return replace(summary, **{name: getattr(summary, name)[:1, head : head + 1] for name in names})


class Head(NamedTuple):
    """What a summary holds of one head and sample, its maps at the page's side."""

    keys: int
    side: int
    mean: Tensor
    max: Tensor
    top_keys: Tensor
    top_weights: Tensor
    about: Tensor


def heads(summary: Summary, sample: int) -> Iterator[Head]:
    """All heads of a sample."""
    for head in range(summary.shape[1]):
        yield _at(summary, sample, head)


def _at(summary: Summary, sample: int, head: int) -> Head:
    at = sample, head
    about = torch.stack([summary.entropy[at], summary.start[at], summary.recent[at]])
    maps = summary.mean[at], summary.max[at]
    return Head(summary.keys, summary.side, *maps, summary.top_keys[at], summary.top_weights[at], about)


def pack(head: Head, plan: Plan, bag: Bag) -> Held:
    """The bytes of one head, whose maps are at the side that was planned."""
    about = head.about[:, :: plan.every]
    keys, weights = (tensor[:: plan.every, : plan.top] for tensor in (head.top_keys, head.top_weights))
    if plan.exact:
        maps = [head.mean] if head.side == 1 else [head.mean, head.max]
        blob = bag.put(*(part.float() for part in (*maps, about, weights.mT)), (keys.mT + 1).int())
        return {"blob": blob, "mean": 1.0, "max": 1.0}
    maps, whole = _maps(head, plan.shades)
    blob = bag.put(*maps, *_about(about, head.keys), *_ranks(keys, weights, head.keys))
    return {"blob": blob, "mean": whole[0], "max": whole[-1]}


def small(summary: Summary, sample: int, bag: Bag) -> Blob:
    """Small pictures of all heads, each to its own scale."""
    coarse = coarser(summary, fitting(summary, SMALL))
    maps = [coarse.mean[sample]] if coarse.side == 1 else [coarse.mean[sample], coarse.max[sample]]
    pictures = torch.stack(maps, 1)
    return bag.put(_shades(pictures, pictures.amax((-2, -1), keepdim=True).clamp_min(1e-38), 64))


def _maps(head: Head, shades: int) -> tuple[list[Tensor], list[float]]:
    """The maps in shades, and what the darkest stands for."""
    maps = [head.mean] if head.side == 1 else [head.mean, head.max]
    whole = [float(f"{float(part.max()) or 1.0:.9g}") for part in maps]
    return [_shades(part, most, shades) for part, most in zip(maps, whole, strict=True)], whole


def _shades(cells: Tensor, most: float | Tensor, shades: int) -> Tensor:
    levels = ((cells / most).clamp(0, 1).sqrt() * (shades - 1)).round()
    return (levels * (255 / (shades - 1))).round().to(torch.uint8)


def _about(about: Tensor, keys: int) -> list[Tensor]:
    """Entropy, the weight of the first key and that of the last ones, [3, queries], in two planes."""
    entropy, start, recent = about
    spread = (entropy / math.log(max(keys, 2))).nan_to_num()
    shares = torch.stack([spread, start.clamp_min(0).sqrt(), recent.clamp_min(0).sqrt()]).clamp(0, 1)
    codes = (shares * (ROUNDED >> 4)).round().int() << 4
    codes[0] = torch.where(entropy.isnan(), NONE, codes[0])
    return _planes(codes, 2)


def _ranks(keys: Tensor, weights: Tensor, count: int) -> list[Tensor]:
    """The largest weights of each query, [queries, top], and their keys, in planes; each rank after the other."""
    codes = (weights.mT.clamp(0, 1).sqrt() * WHOLE).round().int()
    return [*_planes(codes, 2), *_planes(keys.mT + 1, key_bytes(count))]


def _planes(codes: Tensor, count: int) -> list[Tensor]:
    """Whole numbers as so many planes of bytes, the upper ones first."""
    return [((codes >> (8 * plane)) & 255).to(torch.uint8) for plane in reversed(range(count))]


def key_bytes(count: int) -> int:
    """How many bytes name one of so many keys, or none."""
    return -(-count.bit_length() // 8)
