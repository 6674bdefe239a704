"""Flex attention: its functions of one score each, as one function of many."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any

import torch
from torch import Tensor

from attnlab.maps.data import Change, Products


def flex(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: Callable[..., Tensor] | None = None,
    block_mask: Any = None,
    scale: float | None = None,
    *_: Any,
    **__: Any,
) -> Products:
    """`flex_attention`, and the operation that it calls, whose `block_mask` is a tuple: [B, H, Q, d], [B, G, K, d]."""
    del value
    mask_mod = block_mask[-1] if isinstance(block_mask, tuple) else getattr(block_mask, "mask_mod", None)
    samples = torch.broadcast_shapes(query.shape[:1], key.shape[:1])
    q, k = (item.expand(*samples, *item.shape[1:]) for item in (query, key))
    scale = 1 / sqrt(query.shape[-1]) if scale is None else float(scale)
    return Products(q, k, scale, change=_change(score_mod, mask_mod))


def _change(score_mod: Callable[..., Tensor] | None, mask_mod: Callable[..., Tensor] | None) -> Change | None:
    if score_mod is None and mask_mod is None:
        return None

    def one(score: Tensor, batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        if score_mod is not None:
            score = score_mod(score, batch, head, query, key)
        if mask_mod is not None:
            score = torch.where(mask_mod(batch, head, query, key), score, -torch.inf)
        return score

    def change(scores: Tensor, batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        # Only loaded where the program has loaded as much.
        from torch._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex

        # The program's functions may look things up by an index, which stands for a single number in them.
        with torch._C._EnableTorchFunction(), TransformGetItemToIndex():
            return _of_each(one, scores, batch, head, query, key).to(scores.dtype)

    return change


def _of_each(one: Callable[..., Tensor], scores: Tensor, *indices: Tensor) -> Tensor:
    """`one` applied to each score, with its own index along each axis. `indices` broadcast to `scores`."""
    rank = scores.dim()
    shapes = [(1,) * (rank - index.dim()) + tuple(index.shape) for index in indices]
    for axis in reversed(range(rank)):
        along = tuple(0 if shape[axis] > 1 else None for shape in shapes)
        one = torch.vmap(one, in_dims=(0, *along))
    return one(scores, *(index.reshape([size for size in index.shape if size > 1]) for index in indices))
