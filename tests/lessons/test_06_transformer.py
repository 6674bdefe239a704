"""Lesson 6, the whole Transformer: against nn.Transformer, and its layer against lesson 5."""

import math

import pytest
import torch
from hypothesis import given
from lesson_files import CLOSE, FEW, carry, different, double, lesson, numbers, scattered
from torch import nn

SIZES = different((1, 7), (2, 9), (2, 9), (1, 7), (1, 4), (8, 40))


def transformer_of(core: nn.Module, width: int, heads: int, layers: int, inner: int) -> nn.Transformer:
    """PyTorch's Transformer with the weights of a lesson's."""
    theirs = nn.Transformer(
        width, heads, layers, layers, inner, dropout=0.0, batch_first=True, dtype=torch.float64
    ).eval()
    for ours, layer in zip(
        [*core.encoder, *core.decoder], [*theirs.encoder.layers, *theirs.decoder.layers], strict=True
    ):
        carry(ours.attention, layer.self_attn)
        if hasattr(ours, "cross"):
            carry(ours.cross, layer.multihead_attn)
            layer.norm3.load_state_dict(ours.norm3.state_dict())
        layer.linear1.load_state_dict(ours.feed_forward[0].state_dict())
        layer.linear2.load_state_dict(ours.feed_forward[2].state_dict())
        layer.norm1.load_state_dict(ours.norm1.state_dict())
        layer.norm2.load_state_dict(ours.norm2.state_dict())
    theirs.encoder.norm.load_state_dict(core.norm_encoder.state_dict())
    theirs.decoder.norm.load_state_dict(core.norm_decoder.state_dict())
    return theirs


@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")
@FEW
@given(SIZES)
def test_is_pytorchs_transformer(sizes: tuple[int, ...]) -> None:
    batch, source_length, target_length, heads, half, inner = sizes
    width, vocabulary, layers = 2 * half * heads, 11, 2
    with double():
        model = scattered(lesson(6).Transformer(vocabulary, width, heads, layers, inner)).eval()
        source = torch.randint(1, vocabulary, (batch, source_length))
        target = torch.randint(1, vocabulary, (batch, target_length))
        # Padding at the end; the first word is always real.
        source *= torch.arange(source_length) < torch.randint(1, source_length + 1, (batch, 1))
        target *= torch.arange(target_length) < torch.randint(1, target_length + 1, (batch, 1))
        logits = model(source, target)

        theirs = transformer_of(model.core, width, heads, layers, inner)
        embedded = []
        for ids in (source, target):
            place = torch.arange(ids.size(1))[:, None]
            angle = place / 10000 ** (torch.arange(0, width, 2) / width)
            table = torch.zeros(ids.size(1), width)
            table[:, 0::2], table[:, 1::2] = angle.sin(), angle.cos()
            embedded.append(model.embedding.weight[ids] * math.sqrt(width) + table)
        expected = theirs(
            *embedded,
            tgt_mask=torch.ones(target_length, target_length, dtype=torch.bool).triu(1),
            src_key_padding_mask=source == 0,
            tgt_key_padding_mask=target == 0,
            memory_key_padding_mask=source == 0,
        )
    torch.testing.assert_close(logits, expected @ model.embedding.weight.T, **CLOSE)


@FEW
@given(SIZES)
def test_a_layer_of_its_encoder_is_lesson_5(sizes: tuple[int, ...]) -> None:
    batch, length, _, heads, half, inner = sizes
    width = 2 * half * heads
    before = scattered(lesson(5).Block(width, heads, inner, pre_norm=False))
    ours = lesson(6).EncoderLayer(width, heads, inner).double()
    names = {"gain": "weight", "shift": "bias"}
    ours.load_state_dict(
        {
            ".".join(names.get(part, part) for part in name.split(".")): value
            for name, value in before.state_dict().items()
        }
    )
    x = numbers(batch, length, width)
    keep = torch.ones(length, length, dtype=torch.bool).tril()
    torch.testing.assert_close(ours(x, keep), before(x, keep), **CLOSE)


def test_neither_what_comes_later_nor_padding_is_felt() -> None:
    model = scattered(lesson(6).Transformer(20, 12, 3, 2, 48))
    source, target = torch.tensor([[5, 9, 3, 7, 2]]), torch.tensor([[1, 11, 12, 13]])
    logits = model(source, target)
    torch.testing.assert_close(model(source, torch.tensor([[1, 11, 12, 4]]))[:, :3], logits[:, :3], **CLOSE)
    padded = nn.functional.pad(source, (0, 3)), nn.functional.pad(target, (0, 2))
    torch.testing.assert_close(model(*padded)[:, :4], logits, **CLOSE)


@pytest.mark.parametrize(
    ("width", "heads", "sentence"), [(12, 5, "d_model = 12 cannot be split"), (9, 3, "d_model = 9 is odd")]
)
def test_what_cannot_be_is_told_in_a_sentence(width: int, heads: int, sentence: str) -> None:
    with pytest.raises(ValueError, match=f"^{sentence}"):
        lesson(6).Transformer(20, width, heads, 2, 48)(torch.tensor([[1, 2]]), torch.tensor([[1, 2]]))
