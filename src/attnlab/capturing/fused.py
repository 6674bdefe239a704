"""`F.scaled_dot_product_attention`: q, k, scale and mask, as they are where it is called.

Here and in `packed.py` and `flex.py` each function has the parameters of the operation it stands for, and returns the
`Products` that its weights are computed from. The tensors in them may share memory with the program's.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from math import prod, sqrt
from typing import Any

import torch
from torch import Tensor

from attnlab.capturing.nested import padded
from attnlab.maps.data import Products


def sdpa(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Products:
    """`F.scaled_dot_product_attention`: [..., H, Q, d] and [..., G, K, d]; without heads [B, Q, d] or [Q, d]."""
    del value, dropout_p, enable_gqa
    scale = 1 / sqrt(query.shape[-1] or 1) if scale is None else float(scale)
    causal = 0 if is_causal else None
    if query.is_nested:
        return _nested(query, key, scale, causal)
    # There where the program uses it: by itself it loads the compiler, which takes as long as all of torch.
    bias: Any = sys.modules.get("torch.nn.attention.bias")
    if bias is not None and isinstance(attn_mask, bias.CausalBias):
        variant: Any = getattr(attn_mask, "variant")  # noqa: B009 - its class is not loaded here
        upper = variant == bias.CausalVariant.UPPER_LEFT
        causal, attn_mask = 0 if upper else key.shape[-2] - query.shape[-2], None
    rank = max(query.dim(), key.dim())
    q, k = (_with_heads(item, rank) for item in (query, key))
    lead = torch.broadcast_shapes(q.shape[:-3], k.shape[:-3])
    q, k = (item.expand(*lead, *item.shape[-3:]).reshape(prod(lead), *item.shape[-3:]) for item in (q, k))
    if q.shape[1] < k.shape[1]:
        q = q.expand(-1, k.shape[1], -1, -1)
    mask = None if attn_mask is None else lowered(_folded(attn_mask, rank, lead))
    return Products(lowered(q), lowered(k), scale, mask, causal)


def _with_heads(item: Tensor, rank: int) -> Tensor:
    """Give q or k an axis of samples and one of heads. `rank`: how many axes q and k have when they meet."""
    item = item[(None,) * (rank - item.dim())]
    if rank == 2:
        item = item.unsqueeze(0)
    return item.unsqueeze(1) if rank < 4 else item


def _nested(query: Tensor, key: Tensor, scale: float, causal: int | None) -> Products:
    (q, rows), (k, keys) = padded(query), padded(key)
    q, k = (item if item.dim() == 4 else item.unsqueeze(1) for item in (q, k))
    if rows is None or keys is None:  # PyTorch takes both or none
        return Products(q, k, scale, None, causal)
    return Products(q, k, scale, rows[:, None, :, None] & keys[:, None, None, :], causal)


def _folded(mask: Tensor, rank: int, lead: torch.Size) -> Tensor:
    """A mask that meets scores of `rank` axes, so that it meets them as [B, H, Q, K]. `lead`: all before H."""
    if mask.dim() < 3:
        return mask
    if rank == 3:
        return mask.unsqueeze(-3)
    if len(lead) > 1 and mask.dim() > 3:
        return mask.expand(*lead, *mask.shape[-3:]).reshape(prod(lead), *mask.shape[-3:])
    return mask


def unpacked(source: Products, shape: tuple[int, ...] | None) -> Products:
    """Give heads their own axis again that were laid into that of queries, [B, H, 1, d] as [B, G, H / G, d].

    So one query is handed on where heads share keys, as `transformers` does. `shape`: of q before it was laid so.
    """
    batch, groups, rows, width = source.q.shape
    mask = source.mask
    alike = mask is None or mask.dim() < 2 or mask.shape[-2] == 1
    if shape is None or rows == 1 or shape != (batch, groups * rows, 1, width) or source.causal is not None:
        return source
    if alike and (mask is None or mask.dim() < 3 or mask.shape[-3] == 1):
        return replace(source, q=source.q.reshape(shape))
    return source


def lowered(item: Tensor) -> Tensor:
    """As autocast hands it to the operation."""
    device = item.device.type
    if not torch.is_autocast_enabled(device) or not item.is_floating_point() or item.dtype == torch.float64:
        return item
    return item.to(torch.get_autocast_dtype(device))
