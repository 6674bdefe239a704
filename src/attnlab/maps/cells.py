"""The cells of pooled maps: how large they are, pooling them further, and joining those of rows that follow each other.

Cells begin at row and key 0 of the whole attention. Where its rows begin later, the first cell has fewer of them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from attnlab.maps.data import Summary


def side_for(queries: int, keys: int, cells: int) -> int:
    """The smallest power of two with which no axis has more than `cells` cells."""
    side = 1
    while side * cells < max(queries, keys):
        side *= 2
    return side


def coarser(summary: Summary, side: int) -> Summary:
    """The same with cells of `side` × `side`: a power of two, not smaller than that of now."""
    before, first = summary.side, summary.first
    if side == before:
        return summary
    sums = pooled(pooled(_sums(summary), "sum", -2, first, before, side), "sum", -1, 0, before, side)
    most = pooled(pooled(summary.max, "max", -2, first, before, side), "max", -1, 0, before, side)
    *_, rows, keys = summary.shape
    return replace(summary, side=side, mean=mean_of(sums, first, rows, keys, side), max=most)


def join(a: Summary, b: Summary) -> Summary:
    """Both as one: `b` continues the rows of `a`. It may have more keys, which the rows of `a` then do not see.

    Raises `ValueError` where it does not continue them, or was made with another `top` or `near`.
    """
    *_, above, _ = a.shape
    *_, below, _ = b.shape
    if b.first != a.first + above:
        raise ValueError(
            f"a summary that begins with row {b.first} does not continue one that ends before row {a.first + above}"
        )
    if (a.near, a.top_keys.shape[-1]) != (b.near, b.top_keys.shape[-1]):
        raise ValueError("summaries with another number of top keys or of near keys cannot be joined")
    side, keys = max(a.side, b.side), max(a.keys, b.keys)
    a, b = coarser(a, side), coarser(b, side)
    # The cells of all rows and keys. A cell that both have rows in is in both.
    start, stop = a.first // side, -(-(b.first + below) // side)
    ahead, behind = b.first // side - start, stop - -(-b.first // side)
    wide = -(-keys // side)

    def placed(cells: Tensor, ahead: int, behind: int) -> Tensor:
        return F.pad(cells, (0, wide - cells.shape[-1], ahead, behind))

    sums = placed(_sums(a), 0, behind) + placed(_sums(b), ahead, 0)
    most = torch.maximum(placed(a.max, 0, behind), placed(b.max, ahead, 0))
    names = ("top_keys", "top_weights", "entropy", "start", "recent")
    rows = {name: torch.cat((getattr(a, name), getattr(b, name)), 2) for name in names}
    return replace(a, keys=keys, mean=mean_of(sums, a.first, above + below, keys, side), max=most, **rows)


def pooled(cells: Tensor, how: Literal["sum", "max"], axis: int, first: int, before: int, side: int) -> Tensor:
    """Cells of `before` along one axis as cells of `side`. In the first of them stands the row or key `first`."""
    times = side // before
    if times == 1:
        return cells
    ahead = first // before % times
    behind = -(ahead + cells.shape[axis]) % times
    if ahead or behind:
        padding = (ahead, behind) if axis == -1 else (0, 0, ahead, behind)
        cells = F.pad(cells, padding, value=0.0 if how == "sum" else -torch.inf)
    cells = cells.unflatten(axis, (-1, times))
    return cells.sum(axis) if how == "sum" else cells.amax(axis)


def mean_of(sums: Tensor, first: int, rows: int, keys: int, side: int) -> Tensor:
    """The means of cells, from the sums of the weights in them; float32."""
    return (sums / _counts(first, rows, keys, side, sums.device)).float()


def _sums(summary: Summary) -> Tensor:
    *_, rows, keys = summary.shape
    return summary.mean * _counts(summary.first, rows, keys, summary.side, summary.mean.device)


def _counts(first: int, rows: int, keys: int, side: int, device: torch.device) -> Tensor:
    """How many weights are in each cell."""
    return _along(first, rows, side, device)[:, None] * _along(0, keys, side, device)


def _along(first: int, count: int, side: int, device: torch.device) -> Tensor:
    edges = torch.arange(first // side, -(-(first + count) // side) + 1, device=device) * side
    return edges.clamp(first, first + count).diff()
