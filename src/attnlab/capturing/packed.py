"""`nn.MultiheadAttention` and `nn.TransformerEncoderLayer`, which project q and k themselves: so it is done here too.

Each function has the parameters of the operation it stands for, as in `fused.py`.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from attnlab.capturing.fused import lowered
from attnlab.capturing.nested import padded
from attnlab.capturing.parts import as_numbers
from attnlab.maps.data import Products


def mha(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    *_: Any,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    is_causal: bool = False,
    **__: Any,
) -> Products:
    """`F.multi_head_attention_forward`: [Q, B, D], or [Q, D] without samples."""
    del value, bias_v
    if query.dim() == 2:
        query, key = query.unsqueeze(1), key.unsqueeze(1)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    samples, width = query.shape[1], embed_dim_to_check
    if not use_separate_proj_weight and in_proj_weight is not None:
        q_proj_weight, k_proj_weight = in_proj_weight[:width], in_proj_weight[width : 2 * width]
    q_bias, k_bias = (None, None) if in_proj_bias is None else (in_proj_bias[:width], in_proj_bias[width : 2 * width])
    q = _projected(query, q_proj_weight, q_bias, num_heads)
    if static_k is None:
        k = _projected(key, k_proj_weight, k_bias, num_heads)
    else:
        k = static_k.unflatten(0, (samples, num_heads))
    more: list[Tensor] = []
    if bias_k is not None:
        more.append(bias_k.unflatten(-1, (num_heads, -1)).permute(1, 2, 0, 3).expand(samples, -1, -1, -1).to(k.dtype))
    if add_zero_attn:
        more.append(k.new_zeros(samples, num_heads, 1, q.shape[-1]))
    k = torch.cat([k, *more], 2)
    # As PyTorch has it: the hint is what counts where nothing needs the mask itself.
    causal = 0 if is_causal and key_padding_mask is None and not need_weights else None
    mask = _passing(attn_mask if causal is None else None, key_padding_mask, (samples, num_heads))
    if mask is not None and more:
        mask = F.pad(mask, (0, len(more)), value=mask.dtype == torch.bool)
    return Products(q, k, _scale(q), mask, causal)


def native(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim: int,
    num_head: int,
    qkv_weight: Tensor,
    qkv_bias: Tensor,
    proj_weight: Tensor,
    proj_bias: Tensor,
    mask: Tensor | None = None,
    need_weights: bool = True,
    average_attn_weights: bool = True,
    mask_type: int | None = None,
) -> Products:
    """`torch._native_multi_head_attention`, the fast path of `nn.MultiheadAttention`: [B, L, D], or nested."""
    del value, proj_weight, proj_bias, need_weights, average_attn_weights
    (query, rows), (key, keys) = padded(query), padded(key)
    q, k = (
        _projected(item.transpose(0, 1), qkv_weight[at : at + embed_dim], qkv_bias[at : at + embed_dim], num_head)
        for item, at in ((query, 0), (key, embed_dim))
    )
    passing = None if mask is None else mask == 0  # it hides where a mask is not 0, whatever the number
    if passing is not None and mask_type == _PADDING:
        passing = passing[:, None, None]
    if rows is not None and keys is not None:
        real = rows[:, None, :, None] & keys[:, None, None, :]
        passing = real if passing is None else passing & real
    return Products(q, k, _scale(q), passing)


# The masks of the fast path: of type 0 they are [Q, K], of this type [B, K], and [B, H, Q, K] of type 2.
_PADDING = 1


def layer(
    src: Tensor,
    embed_dim: int,
    num_heads: int,
    qkv_weight: Tensor,
    qkv_bias: Tensor,
    proj_weight: Tensor,
    proj_bias: Tensor,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    norm_weight_1: Tensor,
    norm_bias_1: Tensor,
    norm_weight_2: Tensor,
    norm_bias_2: Tensor,
    ffn_weight_1: Tensor,
    ffn_bias_1: Tensor,
    ffn_weight_2: Tensor,
    ffn_bias_2: Tensor,
    mask: Tensor | None = None,
    mask_type: int | None = None,
) -> Products:
    """`torch._transformer_encoder_layer_fwd`, the fast path of `nn.TransformerEncoderLayer`: [B, L, D], or nested."""
    del use_gelu, norm_weight_2, norm_bias_2, ffn_weight_1, ffn_bias_1, ffn_weight_2, ffn_bias_2
    x = F.layer_norm(src, (embed_dim,), norm_weight_1, norm_bias_1, eps) if norm_first else src
    packed = qkv_weight, qkv_bias, proj_weight, proj_bias
    return native(x, x, x, embed_dim, num_heads, *packed, mask, mask_type=mask_type)


def _projected(item: Tensor, matrix: Tensor | None, bias: Tensor | None, heads: int) -> Tensor:
    """[L, B, D] projected and cut into heads, [B, H, L, d]."""
    assert matrix is not None
    made = F.linear(lowered(item), lowered(matrix), None if bias is None else lowered(bias))
    return made.unflatten(-1, (heads, -1)).permute(1, 2, 0, 3)


def _scale(q: Tensor) -> float:
    return 1 / sqrt(q.shape[-1])


def _passing(attention: Tensor | None, padding: Tensor | None, fold: tuple[int, int]) -> Tensor | None:
    """The masks of an `nn.MultiheadAttention`, where True hides, as one: True lets pass, and numbers are added."""
    if attention is not None and attention.dim() == 3:
        attention = attention.unflatten(0, fold)
    padding = None if padding is None else padding[:, None, None]
    masks = [lowered(mask) for mask in (attention, padding) if mask is not None]
    if not masks:
        return None
    if all(mask.dtype == torch.bool for mask in masks):
        return ~(masks[0] | masks[-1])
    added = [as_numbers(~mask) if mask.dtype == torch.bool else mask for mask in masks]
    return added[0] if len(added) == 1 else added[0] + added[1]
