"""The calls of one attention over a key/value cache, and how they become one."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from attnlab.capturing.holding import Held
from attnlab.capturing.joining import with_heads
from attnlab.maps.data import Given, Products, Source


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """One call. In the `k` of a call that goes on are its own keys alone.

    `source`   without its mask
    `mask`     where it has one
    `start`    how many rows there are before it
    `keys`     how many of the joined keys its rows may see
    """

    source: Source
    mask: Held | None
    start: int
    keys: int


def joined(parts: list[Part]) -> Source:
    """One source for the rows of all parts."""
    first = parts[0].source
    if isinstance(first, Given):
        return _given(parts, first)
    whole = [part.source for part in parts if isinstance(part.source, Products)]
    if len(parts) == 1:
        return replace(first, mask=None if parts[0].mask is None else parts[0].mask.tensor)
    q = torch.cat([item.q for item in whole], 2)
    # a cache of fixed length has places for keys that come later: those of the first call are its own alone
    k = torch.cat(with_heads([whole[0].k[:, :, : parts[0].keys], *(item.k for item in whole[1:])]), 2)
    causal = _one_diagonal(parts, whole)
    open_ = all(
        part.mask is None and item.causal is None and part.keys == k.shape[2]
        for part, item in zip(parts, whole, strict=True)
    )
    mask = None if causal is not None or open_ else _masks(parts, whole, k.shape[2])
    return replace(first, q=q, k=k, mask=mask, causal=causal)


def _given(parts: list[Part], first: Given) -> Given:
    weights = [part.source.given[..., : part.keys] for part in parts if isinstance(part.source, Given)]
    if len(parts) == 1:
        return first
    keys = max(item.shape[-1] for item in weights)
    return replace(first, given=torch.cat([F.pad(item, (0, keys - item.shape[-1])) for item in weights], 2))


def _one_diagonal(parts: list[Part], whole: list[Products]) -> int | None:
    """The `causal` of all rows, where what each sees ends at one diagonal."""
    found: set[int] = set()
    for part, item in zip(parts, whole, strict=True):
        if part.mask is not None:
            return None
        if item.causal is not None:
            found.add(item.causal - part.start)
        elif item.q.shape[2] == 1:
            found.add(part.keys - 1 - part.start)
        else:
            return None
    return found.pop() if len(found) == 1 else None


def _masks(parts: list[Part], whole: list[Products], keys: int) -> Tensor:
    """One mask for all rows: numbers where one of the parts adds numbers, else True where a query may look."""
    rows = [_mask(part, item) for part, item in zip(parts, whole, strict=True)]
    added = any(mask.dtype != torch.bool for mask in rows)
    if added:
        rows = [mask if mask.dtype != torch.bool else as_numbers(mask) for mask in rows]
    lead = torch.broadcast_shapes(*(mask.shape[:2] for mask in rows))
    hidden = -torch.inf if added else False
    padded = [F.pad(mask, (0, keys - mask.shape[-1]), value=hidden) for mask in rows]
    return torch.cat([mask.expand(*lead, *mask.shape[2:]) for mask in padded], 2)


def _mask(part: Part, item: Products) -> Tensor:
    """The mask of a part, [b, h, Q, keys]."""
    queries, device = item.q.shape[2], item.q.device
    seen = torch.ones(queries, part.keys, dtype=torch.bool, device=device)
    if item.causal is not None:
        seen = seen.tril(item.causal)
    if part.mask is None:
        return seen[None, None]
    mask = part.mask.tensor
    mask = mask[(None,) * (4 - mask.dim())][..., : part.keys]
    mask = mask.expand(*mask.shape[:2], queries, part.keys)
    if item.causal is None:
        return mask
    return mask & seen if mask.dtype == torch.bool else mask.masked_fill(~seen, -torch.inf)


def as_numbers(passing: Tensor) -> Tensor:
    """A mask of bools, True where a query may look, as numbers to add."""
    numbers = torch.zeros(passing.shape, dtype=torch.float32, device=passing.device)
    return numbers.masked_fill(~passing, -torch.inf)
