"""Attention by columns: what some rows of some heads are worked on as.

Scores stand as [g, keys, columns]: g key heads, and a column for each row of each query head that reads them. Whatever
is pooled over keys then runs along an outer axis, which a processor does for many columns at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from attnlab.maps.data import Source


@dataclass(frozen=True, slots=True)
class Block:
    """Rows of those heads of one sample that read the key heads `heads`. They see no key beyond the first `keys`."""

    sample: int
    heads: slice
    rows: slice
    keys: int

    @property
    def height(self) -> int:
        """How many rows."""
        return self.rows.stop - self.rows.start


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be kept, as in `Summary`. `first` is the number of the source's first row.

    `bin`  so many keys are pooled at first, not more than `side`. The largest are sought in the largest bins alone
    """

    top: int
    near: int
    side: int
    bin: int
    first: int


class Room:
    """The memory of one thread, taken once: fresh memory costs more time than the work that is done in it.

    `chunk`  how many scores are worked on at once: so few that they stay in the cache that is a processor's own
    """

    def __init__(self, chunk: int) -> None:
        self.chunk = chunk
        self._kept: dict[str, Tensor] = {}
        self._shapes: dict[tuple[str, int, int], Tensor] = {}

    def take(self, name: str, shape: tuple[int, ...], like: Tensor) -> Tensor:
        """A tensor that holds anything. What was taken before by that name is written over."""
        count = math.prod(shape)
        if name not in self._kept or self._kept[name].numel() < count:
            self._kept.pop(name, None)
            self._kept[name] = torch.empty(count, dtype=like.dtype, device=like.device)
        return self._kept[name][:count].view(shape)

    def band(self, near: int, height: int, like: Tensor) -> Tensor:
        """[near - 1 + height, height]: 1 where a key is one of the last `near` of a row, else 0; from the first on."""
        name = ("band", near, height)
        if name not in self._shapes:
            self._shapes[name] = like.new_ones(near - 1 + height, height).tril_().triu_(1 - near)
        return self._shapes[name]

    def later(self, height: int, like: Tensor) -> Tensor:
        """[height, height]: -inf where a row does not see a key, else 0; from that key on that the first does not."""
        name = ("later", height, height)
        if name not in self._shapes:
            self._shapes[name] = like.new_full((height, height), -torch.inf).tril_()
        return self._shapes[name]


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Weights pooled over bins of keys [g, bins, columns], and what is known of each column [g, columns].

    `weights`  of some bins of each column, [g, columns, n], all the weights, [g, columns, n, keys of a bin]
    """

    sums: Tensor
    max: Tensor
    entropy: Tensor
    start: Tensor
    recent: Tensor
    weights: Callable[[Tensor], Tensor]


def recent_of(each: Tensor, begin: int, block: Block, source: Source, near: int, room: Room) -> Tensor | None:
    """By column, the sum over the last `near` keys up to the row's own, if any is here.

    `each` is [g, keys from `begin` on, columns].
    """
    first = block.rows.start + source.position - near + 1
    low, high = max(begin, first), min(begin + each.shape[1], first + near - 1 + block.height)
    if low >= high:
        return None
    band = room.band(near, block.height, each)[low - first : high - first, None]
    return (each[:, low - begin : high - begin].unflatten(2, (-1, block.height)) * band).sum(1).flatten(1)


def chosen(each: Tensor, numbers: Tensor) -> Tensor:
    """Of each column what has these numbers: [g, columns, all, …] and [g, columns, n] to [g, columns, n, …]."""
    heads, columns = (torch.arange(size, device=each.device) for size in each.shape[:2])
    return each[heads[:, None, None], columns[:, None], numbers]
