"""PyTorch's own attention, in all its options."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from foreign.case import Call, Case, Written, call

B, L, S, D, H = 2, 5, 7, 12, 3


def cases() -> Iterator[Case]:
    for name, made, told in ATTENTION:
        for first in (True, False):
            for train in (False, True):
                order = "batch first" if first else "sequence first"
                title = f"MultiheadAttention {name}, {order}{', train' if train else ''}"
                yield Case(title, partial(attention, made, told, first, train))
    for name, made, told in LAYERS:
        for train in (False, True):
            for norm_first in (False, True):
                norm = "pre-norm" if norm_first else "post-norm"
                title = f"{name}, {norm}{', train' if train else ''}"
                yield Case(title, partial(layer, name.split()[0], {"norm_first": norm_first, **made}, told, train))
    for name, options in FUSED.items():
        yield Case(f"scaled_dot_product_attention {name}", partial(fused, options))


def ahead(length: int = L, to: int | None = None) -> Tensor:
    """True where a key comes later than the query."""
    return torch.ones(length, to or length, dtype=torch.bool).triu(1)


def padding(length: int = L) -> Tensor:
    """True where a key is padding: the last two of the last sample."""
    hidden = torch.zeros(B, length, dtype=torch.bool)
    hidden[-1, -2:] = True
    return hidden


def causal(length: int = L) -> Tensor:
    return nn.Transformer.generate_square_subsequent_mask(length)


# A title, what the module is made with, and what it is told when it is called.
ATTENTION: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("plain", {}, {}),
    ("without weights", {}, {"need_weights": False}),
    ("weights of each head", {}, {"average_attn_weights": False}),
    ("causal", {}, {"attn_mask": ahead}),
    ("causal by a number", {}, {"attn_mask": causal, "need_weights": False, "is_causal": True}),
    ("causal by a number, with weights", {}, {"attn_mask": causal}),
    ("padding", {}, {"key_padding_mask": padding}),
    ("causal and padding", {}, {"attn_mask": ahead, "key_padding_mask": padding}),
    (
        "causal and padding, without weights",
        {},
        {"attn_mask": ahead, "key_padding_mask": padding, "need_weights": False},
    ),
    ("mask of each head", {}, {"attn_mask": lambda: ahead().expand(B * H, L, L)}),
    ("dropout", {"dropout": 0.2}, {}),
    ("without bias", {"bias": False}, {}),
    ("bias to k and v", {"add_bias_kv": True}, {}),
    ("a zero key", {"add_zero_attn": True}, {"key_padding_mask": padding}),
    ("memory", {}, {"memory": D}),
    ("memory of other widths", {"kdim": 10, "vdim": 9}, {"memory": 10}),
    ("memory with padding", {}, {"memory": D, "key_padding_mask": lambda: padding(S)}),
    ("memory, without weights", {}, {"memory": D, "need_weights": False}),
]


def attention(made: dict[str, Any], told: dict[str, Any], first: bool, train: bool) -> Call:
    told = {name: value() if callable(value) else value for name, value in told.items()}
    module = nn.MultiheadAttention(D, H, batch_first=first, **made).train(train)

    def made_of(length: int, width: int) -> Tensor:
        return torch.randn(B, length, width) if first else torch.randn(length, B, width)

    key = value = x = made_of(L, D)
    if width := told.pop("memory", 0):
        key = value = made_of(S, width)
    if "vdim" in made:
        value = made_of(S, made["vdim"])
    return call(Written(module), x, key, value, **told)


LAYERS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("TransformerEncoderLayer", {"batch_first": True}, {}),
    ("TransformerEncoderLayer sequence first", {}, {}),
    ("TransformerEncoderLayer padding", {"batch_first": True}, {"src_key_padding_mask": padding}),
    ("TransformerEncoderLayer causal", {"batch_first": True}, {"src_mask": causal, "is_causal": True}),
    (
        "TransformerEncoderLayer causal and padding",
        {"batch_first": True},
        {"src_mask": ahead, "src_key_padding_mask": padding},
    ),
    ("TransformerEncoderLayer without bias, gelu", {"batch_first": True, "bias": False, "activation": F.gelu}, {}),
    ("TransformerEncoder", {"batch_first": True}, {}),
    ("TransformerEncoder padding", {"batch_first": True}, {"src_key_padding_mask": padding}),
    ("TransformerEncoder causal", {}, {"mask": causal}),
    ("TransformerDecoderLayer", {"batch_first": True}, {"tgt_mask": causal}),
    ("TransformerDecoderLayer sequence first", {}, {"tgt_mask": causal, "memory_key_padding_mask": lambda: padding(S)}),
    (
        "TransformerDecoder",
        {"batch_first": True},
        {"tgt_mask": ahead, "tgt_key_padding_mask": padding, "memory_key_padding_mask": lambda: padding(S)},
    ),
    ("Transformer", {"batch_first": True}, {"tgt_mask": causal}),
    (
        "Transformer sequence first",
        {},
        {
            "tgt_mask": causal,
            "src_key_padding_mask": lambda: padding(S),
            "memory_key_padding_mask": lambda: padding(S),
            "tgt_is_causal": True,
        },
    ),
]


def layer(kind: str, made: dict[str, Any], told: dict[str, Any], train: bool) -> Call:
    told = {name: value() if callable(value) else value for name, value in told.items()}
    sizes = {"nhead": H, "dim_feedforward": 20, **made}
    match kind:
        case "TransformerEncoder":
            inner = nn.TransformerEncoderLayer(D, **sizes)
            nested = "norm_first" in made and not made["norm_first"]
            module: nn.Module = nn.TransformerEncoder(
                inner, 2, enable_nested_tensor=nested and made.get("batch_first", False)
            )
        case "TransformerDecoder":
            module = nn.TransformerDecoder(nn.TransformerDecoderLayer(D, **sizes), 2, norm=nn.LayerNorm(D))
        case "Transformer":
            module = nn.Transformer(D, num_encoder_layers=2, num_decoder_layers=2, **sizes)
        case _:
            module = getattr(nn, kind)(D, **sizes)
    target, source = torch.randn(B, L, D), torch.randn(B, S, D)
    inputs = (target,) if "Encoder" in kind else (source, target) if kind == "Transformer" else (target, source)
    if not made.get("batch_first"):
        inputs = tuple(x.transpose(0, 1) for x in inputs)
    return call(Written(module.train(train)), *inputs, **told)


FUSED: dict[str, dict[str, Any]] = {
    "plain": {},
    "causal": {"is_causal": True},
    "mask that keeps": {"attn_mask": lambda: ~ahead()},
    "mask that is added": {"attn_mask": causal},
    "padding": {"attn_mask": lambda: ~padding()[:, None, None, :]},
    "own scale": {"scale": 0.3},
    "dropout": {"dropout_p": 0.2},
}


def fused(options: dict[str, Any]) -> Call:
    options = {name: value() if callable(value) else value for name, value in options.items()}
    q, k, v = (torch.randn(B, H, L, D // H) for _ in range(3))
    return call(Written(F.scaled_dot_product_attention), q, k, v, **options)
