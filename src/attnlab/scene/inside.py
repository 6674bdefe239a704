"""What happens inside one call that is an attention: worked out again in float64 from what the call was given.

Nothing is taken on trust: what is made of the weights must be what the call returned, and where it can be asked for
its weights, it must give the same. Where it does not, nothing is told.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import gelu, layer_norm, linear, relu

from attnlab.attention.graph import refs
from attnlab.checks.case import Case
from attnlab.experiments.replay import FAITHFUL

_CLOSE = 1e-6
# What is added to a score to hide it: shifted windows add -100.
_BELOW = 20.0
_RECORDED = 1e-3  # to what was recorded, in the program's own precision


class Inside(NamedTuple):
    """q, k, v [N, L, d], scores [N, Lq, Lk] before and after scale and mask, weights, and the output of each head.

    `masked` and `hidden` (the keys that a query may not see) are None where nothing is hidden or added.
    """

    q: Tensor
    k: Tensor
    v: Tensor
    scores: Tensor
    scaled: Tensor
    masked: Tensor | None
    hidden: Tensor | None
    weights: Tensor
    output: Tensor


def inside(case: Case) -> Inside | None:
    """What a call made within; None where it can't be told."""
    attention = case.attention
    three = _given(case) if attention.style in ("sdpa", "flex") else _projected(case)
    if three is None or attention.factor is None:
        return None
    q, k, v = three
    if q.shape[0] != k.shape[0] or k.shape[0] != v.shape[0]:
        return None
    scores = q @ k.mT
    masked = scaled = scores * attention.factor
    added = None
    if attention.masks or attention.bias:
        added = _added(case, scores.shape)
        if added is None:
            return None
        masked = scaled + added
    weights = masked.softmax(-1)
    hidden = None if added is None or not attention.masks else ~(added > -_BELOW)
    found = Inside(q, k, v, scores, scaled, None if added is None else masked, hidden, weights, weights @ v)
    return found if _borne_out(case, found) else None


def _given(case: Case) -> tuple[Tensor, Tensor, Tensor] | None:
    q, k, v = case.q, case.k, case.v
    return None if q is None or k is None or v is None else (q, k, v)


def _added(case: Case, shape: torch.Size) -> Tensor | None:
    """What masks and biases add to the scores, [N, Lq, Lk]: minus infinity where a key is hidden."""
    step, heads = case.softmax, case.attention.heads or 1
    if step.op == "scaled_dot_product_attention":
        lead = case.graph.shape(case.attention.q.entered)[:-2]
        mask = None if step.arg("attn_mask", 3) is None else _tensor(case, "attn_mask", 3)
        if step.arg("is_causal", 5, False) is True:
            mask = torch.ones(shape[-2:], dtype=torch.bool).tril()
        return None if mask is None else _spread(_lowered(mask), (*lead, *shape[1:]), shape)
    if step.op in ("native_multi_head_attention", "transformer_encoder_layer_fwd"):
        mask = _tensor(case, "mask", 9 if step.op.startswith("native") else 18)
        if mask is None or mask.dtype != torch.bool:
            return None
        mask = mask[:, None, None] if mask.dim() == 2 and mask.shape[0] * heads == shape[0] else mask
        return _spread(_lowered(~mask), (shape[0] // heads, heads, *shape[1:]), shape)
    allowed = None if case.attention.bias else case.allowed
    return None if allowed is None or allowed.shape != shape else _lowered(allowed)


def _lowered(mask: Tensor) -> Tensor:
    """A mask of what may be seen, or one that is added, as one that is added."""
    if mask.dtype != torch.bool:
        return mask
    return torch.zeros(mask.shape, dtype=torch.float64).masked_fill(~mask, -torch.inf)


def _spread(mask: Tensor, over: tuple[int, ...], shape: torch.Size) -> Tensor | None:
    try:
        return mask.expand(over).reshape(shape)
    except RuntimeError:
        return None


def _tensor(case: Case, name: str, place: int) -> Tensor | None:
    found = refs(case.softmax.arg(name, place))
    tensor = case.replay.double(found[0]) if len(found) == 1 else None
    return None if tensor is None or tensor.is_nested else tensor


def _borne_out(case: Case, found: Inside) -> bool:
    """Whether the call gives the same weights where it can be asked, and has returned the same output."""
    attention = case.attention
    recorded = case.output if attention.style == "sdpa" else case.replay.double(attention.result)
    made = found.output if attention.style == "sdpa" else None if attention.style == "flex" else _returned(case, found)
    if attention.dropout or attention.style != "sdpa":
        known = case.weights
        if known is None and (attention.dropout or attention.style == "flex"):
            return False
        if known is not None and not _agree(found.weights, known, _CLOSE):
            return False
    if attention.dropout or attention.style == "flex":
        return True
    value = case.replay.value(attention.result)
    share = _RECORDED if value is None else FAITHFUL.get(value.dtype, _RECORDED)
    return recorded is not None and made is not None and _agree(made, recorded, share)


def _agree(made: Tensor, known: Tensor, share: float) -> bool:
    """Whether two are the same to a share of the largest number; a query that sees no key (NaN, 0) tells nothing."""
    if made.shape != known.shape:
        return False
    told = made.isfinite() & known.isfinite()
    scale = max(float(known[told].abs().max()), 1e-6) if bool(told.any()) else 1.0
    return bool(((made - known).abs() <= share * scale)[told].all())


# -- nn.MultiheadAttention and the layers of PyTorch's own ---------------------------------------------

# By operation: the places of the weight and the bias that project q, k and v, and of those that project the output.
_PLACES = {
    "multi_head_attention_forward": (5, 6, 11, 12),
    "native_multi_head_attention": (5, 6, 7, 8),
    "transformer_encoder_layer_fwd": (3, 4, 5, 6),
}


def _projected(case: Case) -> tuple[Tensor, Tensor, Tensor] | None:
    """q, k and v of each head, as the call projects them."""
    step, heads = case.softmax, case.attention.heads
    inputs = [case.replay.double(item.entered) for item in (case.attention.q, case.attention.k, case.attention.v)]
    matrices, biases = _matrices(case)
    extras = [step.arg(name, place) for name, place in (("bias_k", 7), ("bias_v", 8), ("add_zero_attn", 9))]
    if (
        heads is None
        or not matrices
        or (step.op.startswith("multi") and any(item not in (None, False) for item in extras))
    ):
        return None
    found: list[Tensor] = []
    for tensor, matrix, bias in zip(inputs, matrices, biases, strict=True):
        if tensor is None or tensor.is_nested or matrix is None:
            return None
        made = linear(_normed(case, tensor), matrix, bias)
        made = made if step.op.startswith("multi") else made.transpose(0, 1)  # [L, B, D] or [L, D]
        found.append(made.reshape(made.shape[0], -1, made.shape[-1] // heads).transpose(0, 1))
    return found[0], found[1], found[2]


def _matrices(case: Case) -> tuple[list[Tensor | None], list[Tensor | None]]:
    step = case.softmax
    weight, bias, _, _ = _PLACES.get(step.op, (0, 0, 0, 0))
    if not weight:
        return [], []
    joined, beside = _tensor(case, "in_proj_weight", weight), _tensor(case, "in_proj_bias", bias)
    biases: list[Tensor | None] = [None] * 3 if beside is None else list(beside.chunk(3))
    if step.arg("use_separate_proj_weight", None, False) is True:
        return [_tensor(case, f"{letter}_proj_weight", 90) for letter in "qkv"], biases
    return ([] if joined is None else list(joined.chunk(3))), biases


def _returned(case: Case, found: Inside) -> Tensor | None:
    """What the call returns where its heads' outputs are these."""
    output = found.output
    step = case.softmax
    x = case.replay.double(case.attention.q.entered)
    _, _, weight, bias = _PLACES[step.op]
    matrix = _tensor(case, "out_proj_weight", weight)
    if x is None or matrix is None:
        return None
    tokens = output.shape[1]
    joined = output.transpose(0, 1).reshape(tokens, -1, matrix.shape[1])
    made = linear(joined, matrix, _tensor(case, "out_proj_bias", bias))
    if step.op.startswith("multi"):
        return made.reshape(x.shape)
    made = made.transpose(0, 1)
    return made if step.op.startswith("native") else _after(case, x, made)


def _norm(case: Case, x: Tensor, place: int) -> Tensor:
    eps = case.softmax.arg("eps", 9)
    size = x.shape[-1:]
    return layer_norm(
        x,
        size,
        _tensor(case, "_", place),
        _tensor(case, "_", place + 1),
        float(eps) if isinstance(eps, float) else 1e-5,
    )


def _normed(case: Case, x: Tensor) -> Tensor:
    """X as the projections meet it: a layer may norm it first."""
    first = case.softmax.op.startswith("transformer") and case.softmax.arg("norm_first", 8) is True
    return _norm(case, x, 10) if first else x


def _after(case: Case, x: Tensor, made: Tensor) -> Tensor | None:
    """The rest of an encoder layer."""
    step = case.softmax
    up, down = _tensor(case, "_", 14), _tensor(case, "_", 16)
    if up is None or down is None:
        return None

    def forward(item: Tensor) -> Tensor:
        bend = gelu if step.arg("use_gelu", 7) is True else relu
        return linear(bend(linear(item, up, _tensor(case, "_", 15))), down, _tensor(case, "_", 17))

    if step.arg("norm_first", 8) is True:
        x = x + made
        return x + forward(_norm(case, x, 12))
    x = _norm(case, x + made, 10)
    return _norm(case, x + forward(x), 12)
