"""Lesson 1, several heads: against nn.MultiheadAttention, and one head against the demo."""

import pytest
import torch
from hypothesis import given
from lesson_files import CLOSE, FEW, carry, different, lesson, numbers
from torch import nn

SIZES = different((1, 7), (1, 7), (1, 7), (1, 7))


@FEW
@given(SIZES)
def test_is_multihead_attention(sizes: tuple[int, ...]) -> None:
    batch, length, heads, size = sizes
    ours = lesson(1).MultiHeadAttention(heads * size, heads).double()
    theirs = nn.MultiheadAttention(heads * size, heads, bias=False, batch_first=True, dtype=torch.float64)
    carry(ours, theirs)
    x = numbers(batch, length, heads * size)
    for got, expected in zip(ours(x), theirs(x, x, x, average_attn_weights=False), strict=True):
        torch.testing.assert_close(got, expected, **CLOSE)


@FEW
@given(different((1, 7), (1, 7), (1, 7)))
def test_one_head_is_the_demo(sizes: tuple[int, ...]) -> None:
    batch, length, width = sizes
    demo, ours = lesson(0).SelfAttention(width).double(), lesson(1).MultiHeadAttention(width, 1).double()
    ours.load_state_dict({**demo.state_dict(), "W_o.weight": torch.eye(width)})
    x = numbers(batch, length, width)
    output, weights = ours(x)
    torch.testing.assert_close(output, demo(x)[0], **CLOSE)
    torch.testing.assert_close(weights[:, 0], demo(x)[1], **CLOSE)


@FEW
@given(SIZES)
def test_merging_undoes_splitting(sizes: tuple[int, ...]) -> None:
    batch, length, heads, size = sizes
    model = lesson(1).MultiHeadAttention(heads * size, heads)
    x = numbers(batch, length, heads * size)
    parts = model.split(x)
    assert parts.shape == (batch, heads, length, size)
    for head in range(heads):  # a head's features are one stretch of each token's
        assert parts[:, head].equal(x[..., head * size : (head + 1) * size])
    assert model.merge(parts).equal(x)


def test_heads_that_do_not_divide_are_told_in_a_sentence() -> None:
    with pytest.raises(ValueError, match=r"^d_model = 12 cannot be split over n_heads = 5: choose a divisor$"):
        lesson(1).MultiHeadAttention(12, 5)
