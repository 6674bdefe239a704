"""Models of Hugging Face, random and tiny, saved into a folder with a tokenizer that was made on the spot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

# Layers, heads, key/value heads, size of a head, the most tokens.
LAYERS, HEADS, GROUPS, SIZE, CONTEXT = 2, 6, 3, 4, 60
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")


def library() -> Any:
    """The library, or the test is passed over."""
    return pytest.importorskip("transformers", reason="transformers is not installed: it is in the group models")


def llama(folder: Path) -> Path:
    """A decoder whose byte-level pieces are single bytes."""
    transformers = library()
    import tokenizers
    import torch
    from tokenizers import decoders, models, pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {piece: number for number, piece in enumerate(("<s>", *alphabet))}
    found = tokenizers.Tokenizer(models.BPE(vocabulary, []))
    found.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    found.decoder = decoders.ByteLevel()
    transformers.PreTrainedTokenizerFast(tokenizer_object=found, bos_token="<s>").save_pretrained(folder)
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=len(vocabulary),
        hidden_size=HEADS * SIZE,
        intermediate_size=10,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=GROUPS,
        max_position_embeddings=CONTEXT,
        pad_token_id=None,
        bos_token_id=0,
        eos_token_id=None,
    )
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    return folder


def bert(folder: Path) -> Path:
    """An encoder whose pieces are words and parts of words."""
    transformers = library()
    import tokenizers
    import torch
    from tokenizers import models, normalizers, pre_tokenizers, processors

    pieces = (*SPECIAL, "the", "un", "##happi", "##ly", "cat", ".", "注")
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    found = tokenizers.Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    found.normalizer = normalizers.BertNormalizer(lowercase=True)
    found.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    found.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])]
    )
    names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token"), SPECIAL, strict=True))
    transformers.PreTrainedTokenizerFast(tokenizer_object=found, **names).save_pretrained(folder)
    torch.manual_seed(1)
    config = transformers.BertConfig(
        vocab_size=len(pieces),
        hidden_size=HEADS * SIZE,
        intermediate_size=10,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        max_position_embeddings=CONTEXT,
    )
    transformers.BertModel(config, add_pooling_layer=False).save_pretrained(folder)
    return folder


def t5(folder: Path) -> Path:
    """An encoder with a decoder; the tokenizer is that of `bert`."""
    transformers = library()
    import torch

    bert(folder)
    torch.manual_seed(2)
    config = transformers.T5Config(
        vocab_size=11,
        d_model=HEADS * SIZE,
        d_kv=SIZE,
        d_ff=10,
        num_layers=LAYERS,
        num_heads=HEADS,
        decoder_start_token_id=0,
    )
    (folder / "model.safetensors").unlink()
    transformers.T5Model(config).save_pretrained(folder)
    return folder
