"""Lesson 5, the block: against nn.TransformerEncoderLayer, and its attention against lesson 4."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from lesson_files import CLOSE, FEW, carry, different, lesson, numbers, scattered
from torch import nn

SIZES = different((1, 7), (2, 7), (1, 7), (2, 7), (8, 40))


@FEW
@given(SIZES, st.booleans())
def test_is_an_encoder_layer(sizes: tuple[int, ...], pre_norm: bool) -> None:
    batch, length, heads, size, inner = sizes
    ours = scattered(lesson(5).Block(heads * size, heads, inner, pre_norm)).eval()
    theirs = nn.TransformerEncoderLayer(
        heads * size, heads, inner, batch_first=True, norm_first=pre_norm, dtype=torch.float64
    ).eval()
    carry(ours.attention, theirs.self_attn)
    theirs.linear1.load_state_dict(ours.feed_forward[0].state_dict())
    theirs.linear2.load_state_dict(ours.feed_forward[2].state_dict())
    for norm, norm_of_theirs in ((ours.norm1, theirs.norm1), (ours.norm2, theirs.norm2)):
        norm_of_theirs.load_state_dict({"weight": norm.gain, "bias": norm.shift})
    x = numbers(batch, length, heads * size)
    keep = torch.ones(length, length, dtype=torch.bool).tril()
    torch.testing.assert_close(ours(x), theirs(x), **CLOSE)
    torch.testing.assert_close(ours(x, keep), theirs(x, src_mask=~keep), **CLOSE)


@FEW
@given(different((1, 7), (1, 7), (2, 20)))
def test_its_norm_is_pytorchs(sizes: tuple[int, ...]) -> None:
    batch, length, width = sizes
    norm = scattered(lesson(5).LayerNorm(width))
    x = numbers(batch, length, width) * 3 + 2
    torch.testing.assert_close(norm(x), nn.functional.layer_norm(x, (width,), norm.gain, norm.shift), **CLOSE)


@FEW
@given(SIZES)
def test_without_its_new_parts_is_lesson_4(sizes: tuple[int, ...]) -> None:
    batch, length, heads, size, inner = sizes
    block = scattered(lesson(5).Block(heads * size, heads, inner, norm=False))
    before = lesson(4).CrossAttention(heads * size, heads).double()
    with torch.no_grad():
        for name in ("W_q", "W_k", "W_v", "W_o"):
            getattr(block.attention, name).bias.zero_()
            getattr(before, name).weight.copy_(getattr(block.attention, name).weight)
        block.feed_forward[2].weight.zero_()
        block.feed_forward[2].bias.zero_()
    x = numbers(batch, length, heads * size)
    keep = torch.ones(length, length, dtype=torch.bool).tril()
    for mask in (None, keep):
        torch.testing.assert_close(block(x, mask) - x, before(x, x, mask)[0], **CLOSE)


def test_without_its_residuals_is_what_is_left_of_it() -> None:
    block = scattered(lesson(5).Block(12, 3, 20))
    x = numbers(2, 5, 12)
    middle = x + block.attention(block.norm1(x))
    torch.testing.assert_close(block(x), middle + block.feed_forward(block.norm2(middle)), **CLOSE)
    middle = block.attention(block.norm1(x))
    torch.testing.assert_close(lesson(5).without_residual(block, x), block.feed_forward(block.norm2(middle)), **CLOSE)


def test_heads_that_do_not_divide_are_told_in_a_sentence() -> None:
    with pytest.raises(ValueError, match=r"^d_model = 12 cannot be split over n_heads = 5: choose a divisor$"):
        lesson(5).Block(12, 5, 48)
