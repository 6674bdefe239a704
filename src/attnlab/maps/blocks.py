"""Some rows of some heads, and what is kept of their weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from attnlab.maps.cells import pooled
from attnlab.maps.columns import Block, Columns, Room, Wanted, chosen, recent_of
from attnlab.maps.data import Given, Products, Source
from attnlab.maps.softmax import Softmax

# A float32 as float64 has zeros in so many of its lowest bits.
_SPARE = 2**29 - 1


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """What is kept of h heads and r rows: sums and maxima of cells [h, cells of rows, cells of keys], the rest by row.

    There are no cells beyond the keys of the block.
    """

    sums: Tensor
    max: Tensor
    top_keys: Tensor
    top_weights: Tensor
    entropy: Tensor
    start: Tensor
    recent: Tensor


def found(source: Source, block: Block, wanted: Wanted, room: Room) -> Found:
    """What is kept of a block. The keys of `Products` are to be float32 or float64 already."""
    if isinstance(source, Products):
        columns = Softmax(source, block, wanted, room).columns()
    else:
        columns = _of_given(source, block, wanted, room)

    def by_head(each: Tensor) -> Tensor:
        return each.unflatten(1, (-1, block.height)).flatten(0, 1)

    def cells(bins: Tensor, how: Literal["sum", "max"]) -> Tensor:
        # What is found must not lie in the room, where the next block is written over it.
        of_keys = pooled(bins, how, -2, 0, wanted.bin, wanted.side).mT.clone(memory_format=torch.contiguous_format)
        return pooled(by_head(of_keys), how, -2, wanted.first + block.rows.start, 1, wanted.side)

    top_keys, top_weights = _top(columns, wanted)
    return Found(
        cells(columns.sums, "sum"),
        cells(columns.max, "max"),
        by_head(top_keys),
        by_head(top_weights),
        by_head(columns.entropy),
        by_head(columns.start),
        by_head(columns.recent),
    )


def _of_given(source: Given, block: Block, wanted: Wanted, room: Room) -> Columns:
    given, size = source.given[block.sample, block.heads, block.rows, : block.keys].mT, wanted.bin
    heads, keys, columns = given.shape
    wide = given.new_empty(0, dtype=torch.promote_types(given.dtype, torch.float32))
    weights = room.take("scores", (heads, -(-keys // size), size, columns), wide)
    flat = weights.flatten(1, 2)
    flat[:, :keys] = given
    flat[:, keys:] = 0
    most = weights.amax(2)
    products = torch.xlogy(flat, flat, out=room.take("powers", tuple(flat.shape), wide)).sum(1)
    recent = recent_of(flat, 0, block, source, wanted.near, room)
    return Columns(
        weights.sum(2),
        most,
        products.neg_().masked_fill_(most.amax(1) == 0, torch.nan),
        flat[:, 0].clone(),
        torch.zeros_like(products) if recent is None else recent,
        lambda bins: chosen(weights.permute(0, 3, 1, 2), bins),
    )


def _top(columns: Columns, wanted: Wanted) -> tuple[Tensor, Tensor]:
    """The keys with the largest weights, and these weights: [g, columns, top], int32 and float32.

    They are in the bins with the largest weights.
    """
    numbers = torch.arange(columns.max.shape[1], device=columns.max.device)
    weights, numbers = _largest(columns.max.mT, numbers, wanted.top)
    if wanted.bin > 1:
        every = numbers[..., None] * wanted.bin + torch.arange(wanted.bin, device=numbers.device)
        weights, numbers = _largest(columns.weights(numbers).flatten(2), every.flatten(2), wanted.top)
    missing = wanted.top - numbers.shape[2]
    keys = numbers.masked_fill_(weights == 0, -1).int()
    return F.pad(keys, (0, missing), value=-1), F.pad(weights, (0, missing))


def _largest(weights: Tensor, numbers: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The largest along the last axis, in float32, of equal ones those with smaller numbers first; and their numbers.

    The bits of floats that are not negative are in the order of the floats. With the number beneath, where a float64
    that was a float32 has room for it, they make one integer.
    """
    ordered = torch.empty(weights.shape, dtype=torch.float64, device=weights.device).copy_(weights.float())
    ordered = ordered.view(torch.int64).bitwise_or_(_SPARE - numbers)
    best = ordered.topk(min(count, weights.shape[-1])).values
    return (best & ~_SPARE).view(torch.float64).float(), _SPARE - (best & _SPARE)
