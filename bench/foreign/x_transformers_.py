"""The options of x-transformers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from torch import nn

from foreign.case import WORDS, Call, Case, call, padded, tokens

SIZES = {"dim": 24, "depth": 2, "heads": 3, "attn_dim_head": 8}

OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "flash": {"attn_flash": True},
    "rotary": {"rotary_pos_emb": True, "attn_dim_head": 32},
    "rotary with xpos": {"rotary_xpos": True, "attn_dim_head": 32},
    "alibi": {"alibi_pos_bias": True, "alibi_num_heads": 2},
    "relative positions of T5": {"rel_pos_bias": True},
    "dynamic positions": {"dynamic_pos_bias": True, "dynamic_pos_bias_log_distance": False},
    "one head of keys": {"attn_one_kv_head": True},
    "grouped heads": {"heads": 4, "attn_kv_heads": 2},
    "talking heads": {"attn_pre_talking_heads": True, "attn_post_talking_heads": True},
    "cosine": {"attn_qk_norm": True, "attn_qk_norm_scale": 10},
    "cosine, a scale for each": {"attn_qk_norm": True, "attn_qk_norm_dim_scale": True},
    "memory slots": {"attn_num_mem_kv": 3},
    "value gate": {"attn_gate_values": True},
    "output gate": {"attn_on_attn": True},
    "sparse top k": {"attn_sparse_topk": 3},
    "softclamp": {"attn_softclamp_logits": True},
    "sandwich norm": {"sandwich_norm": True},
    "rms norm": {"use_rmsnorm": True},
    "post-norm": {"pre_norm": False},
    "residual attention": {"residual_attn": True},
    "sandwich": {"sandwich_coef": 1},
    "macaron": {"macaron": True},
    "dropout": {"attn_dropout": 0.1, "ff_dropout": 0.1},
    "shifted tokens": {"shift_tokens": 1},
    "a zero key": {"attn_add_zero_kv": True},
    "value residual": {"add_value_residual": True, "learned_value_residual_mix": True},
    "gated feed-forward": {"ff_glu": True, "ff_swish": True},
    "forgetful": {"attn_data_dependent_alibi": True},
    "a sink": {"attn_head_learned_sink": True},
}


def cases() -> Iterator[Case]:
    from loguru import logger

    logger.disable("x_transformers")  # it warns of sizes as small as these
    for name, options in OPTIONS.items():
        for kind in ("decoder", "encoder"):
            if kind == "encoder" and name == "rotary with xpos":
                continue
            yield Case(f"{kind}, {name}", partial(stack, kind, options))
    for name in ("plain", "rotary", "dropout"):
        yield Case(f"decoder, {name}, train", partial(stack, "decoder", OPTIONS[name], True))
    yield Case("cross attention", partial(crossed, {}))
    yield Case("cross attention, flash", partial(crossed, {"attn_flash": True}))
    yield Case("encoder and decoder", pair)
    yield Case("vision", image)
    yield Case("trained on the next token", autoregressive)
    yield Case("attention alone", alone)


def layers(kind: str, options: dict[str, Any]) -> nn.Module:
    import x_transformers

    return getattr(x_transformers, kind.capitalize())(**{**SIZES, **options})


def stack(kind: str, options: dict[str, Any], train: bool = False) -> Call:
    import x_transformers

    model = x_transformers.TransformerWrapper(num_tokens=WORDS, max_seq_len=16, attn_layers=layers(kind, options))
    ids, keep = padded(tokens())
    return call(model.train(train), ids, mask=keep.bool())


def crossed(options: dict[str, Any]) -> Call:
    model = layers("decoder", {**options, "cross_attend": True}).eval()
    x, memory = torch.randn(2, 5, 24), torch.randn(2, 8, 24)
    seen = torch.ones(2, 8, dtype=torch.bool)
    seen[-1, -3:] = False
    return call(model, x, context=memory, context_mask=seen)


def pair() -> Call:
    import x_transformers

    sides = {f"{side}_{name}": value for side in ("enc", "dec") for name, value in
             {"num_tokens": WORDS, "depth": 2, "heads": 3, "max_seq_len": 16, "attn_dim_head": 8}.items()}  # fmt: skip
    model = x_transformers.XTransformer(dim=24, **sides).eval()
    source, keep = padded(tokens(length=9))
    return call(model, source, tokens(), mask=keep.bool())


def image() -> Call:
    import x_transformers

    model = x_transformers.ViTransformerWrapper(
        image_size=12, patch_size=4, num_classes=5, attn_layers=layers("encoder", {})
    )
    return call(model.eval(), torch.randn(2, 3, 12, 12))


def autoregressive() -> Call:
    import x_transformers

    net = x_transformers.TransformerWrapper(num_tokens=WORDS, max_seq_len=16, attn_layers=layers("decoder", {}))
    return call(x_transformers.AutoregressiveWrapper(net).eval(), tokens())


def alone() -> Call:
    import x_transformers

    return call(x_transformers.Attention(dim=24, heads=3, dim_head=8, causal=True).eval(), torch.randn(2, 5, 24))
