"""Model families of transformers, from small random configurations: nothing is downloaded."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from foreign.case import PAD, WORDS, Call, Case, call, padded, targets, tokens

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"

D, H, N = 24, 3, 2
DEEP = {"num_hidden_layers": N, "num_attention_heads": H, "hidden_size": D, "intermediate_size": 40}
TEXT = {
    **DEEP,
    "vocab_size": WORDS,
    "max_position_embeddings": 40,
    "pad_token_id": PAD,
    "bos_token_id": 2,
    "eos_token_id": 3,
}
GROUPED = {**TEXT, "hidden_size": 32, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8}
SMALL_GPT = {
    "n_embd": D,
    "n_layer": N,
    "n_head": H,
    "vocab_size": WORDS,
    "n_positions": 40,
    "bos_token_id": 2,
    "eos_token_id": 3,
}
PAIR = {
    "d_model": D,
    "encoder_layers": N,
    "decoder_layers": N,
    "encoder_attention_heads": H,
    "decoder_attention_heads": H,
    "encoder_ffn_dim": 40,
    "decoder_ffn_dim": 40,
    "vocab_size": WORDS,
    "max_position_embeddings": 40,
    "pad_token_id": PAD,
    "bos_token_id": 2,
    "eos_token_id": 3,
    "decoder_start_token_id": 2,
    "forced_eos_token_id": 3,
}
T5 = {
    "d_model": D,
    "d_kv": 8,
    "d_ff": 40,
    "num_layers": N,
    "num_decoder_layers": N,
    "num_heads": H,
    "vocab_size": WORDS,
    "pad_token_id": PAD,
    "eos_token_id": 3,
    "decoder_start_token_id": 2,
}
IMAGE = {**DEEP, "image_size": 12, "patch_size": 4}
SOUND = {**DEEP, "vocab_size": WORDS, "conv_dim": (16, 16), "conv_kernel": (5, 3), "conv_stride": (4, 2),
         "num_conv_pos_embeddings": 4, "num_conv_pos_embedding_groups": 2, "layerdrop": 0.0}  # fmt: skip
SPARSE = {"num_local_experts": 4, "num_experts_per_tok": 2}

# Each family: what of transformers' automatic classes builds it, and the configuration.
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    # One stack that predicts the next token.
    "gpt2": ("CausalLM", SMALL_GPT),
    "gpt_neo": (
        "CausalLM",
        {**TEXT, "num_layers": N, "num_heads": H, "attention_types": [[["global", "local"], 1]], "window_size": 3},
    ),
    "gpt_neox": ("CausalLM", TEXT),
    "gptj": ("CausalLM", {**SMALL_GPT, "rotary_dim": 4}),
    "gpt_bigcode": ("CausalLM", SMALL_GPT),
    "gpt_oss": (
        "CausalLM",
        {**GROUPED, **SPARSE, "sliding_window": 4, "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}},
    ),
    "openai-gpt": ("CausalLM", SMALL_GPT),
    "ctrl": ("CausalLM", {**SMALL_GPT, "dff": 40}),
    "codegen": ("CausalLM", {**SMALL_GPT, "n_embd": 32, "n_head": 4, "rotary_dim": 4}),
    "opt": ("CausalLM", {**TEXT, "ffn_dim": 40, "word_embed_proj_dim": D}),
    "bloom": ("CausalLM", {"hidden_size": D, "n_layer": N, "n_head": H, "vocab_size": WORDS}),
    "falcon": ("CausalLM", {**TEXT, "num_kv_heads": H}),
    "falcon alibi": ("CausalLM", {**TEXT, "alibi": True, "multi_query": False, "parallel_attn": False}),
    "mpt": ("CausalLM", {"d_model": D, "n_heads": H, "n_layers": N, "vocab_size": WORDS, "max_seq_len": 40}),
    "llama": ("CausalLM", {**GROUPED}),
    "llama one head of keys": ("CausalLM", {**TEXT, "num_key_value_heads": 1, "head_dim": 8}),
    "mistral": ("CausalLM", {**GROUPED, "sliding_window": 4}),
    "mixtral": ("CausalLM", {**GROUPED, **SPARSE}),
    "qwen2": ("CausalLM", GROUPED),
    "qwen3": ("CausalLM", GROUPED),
    "gemma": ("CausalLM", GROUPED),
    "gemma2": ("CausalLM", {**GROUPED, "query_pre_attn_scalar": 8, "sliding_window": 4}),
    "gemma3_text": (
        "CausalLM",
        {
            **GROUPED,
            "query_pre_attn_scalar": 8,
            "sliding_window": 4,
            "num_hidden_layers": 3,
            "layer_types": ["sliding_attention", "sliding_attention", "full_attention"],
        },
    ),
    "phi": ("CausalLM", {**TEXT, "hidden_size": 32, "num_attention_heads": 4}),
    "phi3": ("CausalLM", GROUPED),
    "stablelm": (
        "CausalLM",
        {**GROUPED, "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5}},
    ),
    "starcoder2": ("CausalLM", {**GROUPED, "sliding_window": 4}),
    "olmo": ("CausalLM", TEXT),
    "olmo2": ("CausalLM", TEXT),
    "cohere": ("CausalLM", {**TEXT, "use_qk_norm": True}),
    "granite": ("CausalLM", {**GROUPED, "attention_multiplier": 0.2}),
    "glm": ("CausalLM", GROUPED),
    "nemotron": ("CausalLM", GROUPED),
    "persimmon": ("CausalLM", {**TEXT, "hidden_size": 32, "num_attention_heads": 4}),
    "deepseek_v3": (
        "CausalLM",
        {
            **TEXT,
            "num_key_value_heads": H,
            "kv_lora_rank": 10,
            "q_lora_rank": 14,
            "qk_rope_head_dim": 4,
            "qk_nope_head_dim": 6,
            "v_head_dim": 5,
            "first_k_dense_replace": N,
        },
    ),
    "diffllama": ("CausalLM", {**GROUPED}),
    "biogpt": ("CausalLM", TEXT),
    "xglm": (
        "CausalLM",
        {
            "d_model": D,
            "ffn_dim": 40,
            "num_layers": N,
            "attention_heads": H,
            "vocab_size": WORDS,
            "max_position_embeddings": 40,
        },
    ),
    "xlnet": ("CausalLM", {"d_model": D, "n_layer": N, "n_head": H, "d_inner": 40, "d_head": 8, "vocab_size": WORDS}),
    "bert as a decoder": ("CausalLM", {**TEXT, "is_decoder": True}),
    # One stack that sees both sides.
    "bert": ("MaskedLM", TEXT),
    "roberta": ("MaskedLM", TEXT),
    "albert": ("MaskedLM", {**TEXT, "embedding_size": 16}),
    "electra": ("MaskedLM", {**TEXT, "embedding_size": 16}),
    "distilbert": (
        "MaskedLM",
        {
            "dim": D,
            "n_layers": N,
            "n_heads": H,
            "hidden_dim": 40,
            "vocab_size": WORDS,
            "max_position_embeddings": 40,
            "pad_token_id": PAD,
        },
    ),
    "deberta": (
        "MaskedLM",
        {**TEXT, "relative_attention": True, "pos_att_type": ["c2p", "p2c"], "position_biased_input": False},
    ),
    "deberta-v2": (
        "MaskedLM",
        {
            **TEXT,
            "relative_attention": True,
            "pos_att_type": ["c2p", "p2c"],
            "position_buckets": 4,
            "share_att_key": True,
            "norm_rel_ebd": "layer_norm",
        },
    ),
    "longformer": ("MaskedLM", {**TEXT, "attention_window": 4}),
    "big_bird": ("MaskedLM", {**TEXT, "attention_type": "original_full"}),
    "mobilebert": ("MaskedLM", {**TEXT, "embedding_size": 16, "intra_bottleneck_size": 12, "true_hidden_size": 12}),
    "squeezebert": ("MaskedLM", {**TEXT, "embedding_size": D}),
    "convbert": ("MaskedLM", {**TEXT, "embedding_size": D, "num_attention_heads": 4, "conv_kernel_size": 3}),
    "roformer": ("MaskedLM", {**TEXT, "embedding_size": D}),
    "mpnet": ("MaskedLM", TEXT),
    "funnel": (
        "MaskedLM",
        {
            "block_sizes": [1, 1],
            "num_decoder_layers": 1,
            "d_model": D,
            "n_head": H,
            "d_head": 8,
            "d_inner": 40,
            "vocab_size": WORDS,
        },
    ),
    "modernbert": ("MaskedLM", {**TEXT, "cls_token_id": 2, "sep_token_id": 3, "local_attention": 4}),
    "nystromformer": ("MaskedLM", {**TEXT, "num_landmarks": 7, "segment_means_seq_len": 7, "conv_kernel_size": 3}),
    "esm": ("MaskedLM", {**TEXT, "mask_token_id": 4, "position_embedding_type": "rotary"}),
    "layoutlm": ("MaskedLM", TEXT),
    "xlm": (
        "MaskedLM",
        {"emb_dim": D, "n_layers": N, "n_heads": H, "vocab_size": WORDS, "max_position_embeddings": 40},
    ),
    # An encoder and a decoder.
    "t5": ("Seq2SeqLM", T5),
    "mt5": ("Seq2SeqLM", {**T5, "feed_forward_proj": "gated-gelu"}),
    "bart": ("Seq2SeqLM", PAIR),
    "mbart": ("Seq2SeqLM", PAIR),
    "pegasus": ("Seq2SeqLM", PAIR),
    "marian": ("Seq2SeqLM", {**PAIR, "decoder_vocab_size": WORDS}),
    "m2m_100": ("Seq2SeqLM", {**PAIR, "encoder_layerdrop": 0.0, "decoder_layerdrop": 0.0}),
    "blenderbot": ("Seq2SeqLM", PAIR),
    "led": (
        "Seq2SeqLM",
        {**PAIR, "attention_window": 4, "max_encoder_position_embeddings": 40, "max_decoder_position_embeddings": 40},
    ),
    "prophetnet": (
        "Seq2SeqLM",
        {
            "hidden_size": D,
            "encoder_ffn_dim": 40,
            "decoder_ffn_dim": 40,
            "num_encoder_layers": N,
            "num_decoder_layers": N,
            "num_encoder_attention_heads": H,
            "num_decoder_attention_heads": H,
            "vocab_size": WORDS,
            "max_position_embeddings": 40,
            "pad_token_id": PAD,
        },
    ),
    # Images and sound.
    "vit": ("image", IMAGE),
    "deit": ("image", IMAGE),
    "beit": ("image", {**IMAGE, "use_relative_position_bias": True}),
    "dinov2": ("image", IMAGE),
    "vit_mae": ("image", {**IMAGE, "mask_ratio": 0.0}),
    "swin": (
        "image",
        {"image_size": 16, "patch_size": 2, "embed_dim": 12, "depths": [2, 2], "num_heads": [2, 3], "window_size": 2},
    ),
    "swinv2": (
        "image",
        {"image_size": 16, "patch_size": 2, "embed_dim": 12, "depths": [2, 2], "num_heads": [2, 3], "window_size": 2},
    ),
    "segformer": (
        "image",
        {
            "num_encoder_blocks": 2,
            "depths": [1, 1],
            "sr_ratios": [2, 1],
            "hidden_sizes": [12, 24],
            "num_attention_heads": [1, 3],
            "patch_sizes": [3, 3],
            "strides": [2, 2],
            "mlp_ratios": [2, 2],
        },
    ),
    "wav2vec2": ("sound", SOUND),
    "hubert": ("sound", SOUND),
    "wavlm": ("sound", {**SOUND, "num_buckets": 8, "max_bucket_distance": 12}),
    # What takes inputs of its own.
    "whisper": (
        "whisper",
        {
            **PAIR,
            "num_mel_bins": 6,
            "max_source_positions": 8,
            "max_target_positions": 20,
            "begin_suppress_tokens": None,
        },
    ),
    "clip": ("both", {"text_config": TEXT, "vision_config": IMAGE, "projection_dim": 10}),
    "siglip": ("both", {"text_config": TEXT, "vision_config": IMAGE}),
    "perceiver": (
        "perceiver",
        {
            "num_latents": 6,
            "d_latents": D,
            "d_model": 20,
            "num_self_attends_per_block": N,
            "num_self_attention_heads": H,
            "num_cross_attention_heads": 2,
            "qk_channels": 12,
            "v_channels": D,
            "use_query_residual": True,
        },
    ),
}

# Those that transformers does not have with scaled_dot_product_attention.
WRITTEN = frozenset(
    [
        "gpt_neo",
        "gpt_oss",
        "openai-gpt",
        "bloom",
        "mpt",
        "gemma2",
        "xglm",
        "xlnet",
        "deberta",
        "deberta-v2",
        "longformer",
        "big_bird",
        "squeezebert",
        "convbert",
        "roformer",
        "mpnet",
        "funnel",
        "nystromformer",
        "xlm",
        "led",
        "prophetnet",
        "swinv2",
        "wavlm",
        "perceiver",
    ]
)

# Ways in which a family that predicts the next token is called besides.
DECODERS = ("gpt2", "llama", "mistral", "bloom", "gemma2", "gpt_neox", "falcon", "opt", "qwen3", "gptj", "phi", "mpt")


def cases() -> Iterator[Case]:
    for name, (kind, config) in FAMILIES.items():
        for way in ways(name):
            yield Case(f"{name}, {way}", partial(plain, name, kind, config, way))
    for name in DECODERS:
        config = FAMILIES[name][1]
        yield Case(f"{name}, one after another with a cache", partial(cached, name, config))
        yield Case(f"{name}, padded on the left", partial(left, name, config))
        yield Case(f"{name}, bfloat16", partial(half, name, config))
        yield Case(f"{name}, train", partial(plain, name, "CausalLM", config, "eager", True))
    for name in ("bert", "t5", "bart", "deberta", "whisper", "roberta"):
        kind, config = FAMILIES[name]
        yield Case(f"{name}, train", partial(plain, name, kind, config, "eager", True))
        yield Case(f"{name}, without mask", partial(bare, name, kind, config))


def ways(name: str) -> tuple[str, ...]:
    """What computes the attention; the quickest that there is comes last."""
    return ("eager",) if name in WRITTEN else ("eager", "sdpa")


def built(name: str, kind: str, config: dict[str, Any], way: str, train: bool = False) -> nn.Module:
    import transformers

    auto = getattr(transformers, "AutoModelFor" + kind if kind.endswith("LM") else "AutoModel")
    if kind == "whisper":
        auto = transformers.AutoModelForSpeechSeq2Seq
    made = transformers.AutoConfig.for_model(name.split(maxsplit=1)[0], **config)
    return auto.from_config(made, attn_implementation=way).train(train)


def plain(name: str, kind: str, config: dict[str, Any], way: str, train: bool = False) -> Call:
    return call(built(name, kind, config, way, train), **inputs(kind, config))


def bare(name: str, kind: str, config: dict[str, Any]) -> Call:
    told = inputs(kind, config)
    told.pop("attention_mask", None)
    return call(built(name, kind, config, ways(name)[-1]), **told)


def left(name: str, config: dict[str, Any]) -> Call:
    ids, keep = padded(tokens(), "left")
    return call(
        built(name, "CausalLM", config, ways(name)[-1]), input_ids=ids, attention_mask=keep, labels=targets(ids, keep)
    )


def half(name: str, config: dict[str, Any]) -> Call:
    return call(built(name, "CausalLM", config, "eager").to(torch.bfloat16), **inputs("CausalLM", config))


class Decoding(nn.Module):
    """The first tokens at once, the others one after another, with what was kept of those before."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: Tensor) -> Tensor:
        out = self.model(ids[:, :4], use_cache=True)
        logits = [out.logits]
        for place in range(4, ids.shape[1]):
            out = self.model(ids[:, place : place + 1], past_key_values=out.past_key_values, use_cache=True)
            logits.append(out.logits)
        return torch.cat(logits, 1)


def cached(name: str, config: dict[str, Any]) -> Call:
    return call(Decoding(built(name, "CausalLM", config, ways(name)[-1])), tokens())


def inputs(kind: str, config: dict[str, Any]) -> dict[str, Any]:
    ids, keep = padded(tokens())
    match kind:
        case "CausalLM" | "MaskedLM":
            return {"input_ids": ids, "attention_mask": keep, "labels": targets(ids, keep)}
        case "Seq2SeqLM":
            source, seen = padded(tokens(length=9))
            return {"input_ids": source, "attention_mask": seen, "labels": targets(ids, keep)}
        case "image":
            size = config.get("image_size", 16)
            noise = {"noise": torch.rand(2, 9)} if "mask_ratio" in config else {}  # it is drawn anew in eval too
            return {"pixel_values": torch.randn(2, 3, size, size), **noise}
        case "sound":
            return {"input_values": torch.randn(2, 120)}
        case "whisper":
            return {"input_features": torch.randn(2, 6, 16), "labels": targets(ids, keep)}
        case "both":
            ids[:, -3] = 3
            return {"input_ids": ids, "attention_mask": keep, "pixel_values": torch.randn(3, 3, 12, 12)}
        case _:
            return {"inputs": torch.randn(2, 9, 20)}
