"""Lesson 4, cross attention: against nn.MultiheadAttention, and with one sequence against lesson 1."""

import pytest
import torch
from hypothesis import given
from lesson_files import CLOSE, FEW, carry, different, lesson, numbers
from torch import nn


@FEW
@given(different((1, 7), (1, 7), (2, 9), (1, 7), (1, 7)))
def test_is_multihead_attention_over_a_memory(sizes: tuple[int, ...]) -> None:
    batch, queries, keys, heads, size = sizes
    ours = lesson(4).CrossAttention(heads * size, heads).double()
    theirs = nn.MultiheadAttention(heads * size, heads, bias=False, batch_first=True, dtype=torch.float64)
    carry(ours, theirs)
    x, memory = numbers(batch, queries, heads * size), numbers(batch, keys, heads * size)
    real = torch.arange(keys) < torch.randint(1, keys + 1, (batch, 1))
    for keep, padding in ((None, None), (real[:, None, None], ~real)):
        expected = theirs(x, memory, memory, key_padding_mask=padding, average_attn_weights=False)
        torch.testing.assert_close(ours(x, memory, keep), expected, **CLOSE)


@FEW
@given(different((1, 7), (1, 7), (1, 7), (1, 7)))
def test_with_itself_for_a_memory_is_lesson_1(sizes: tuple[int, ...]) -> None:
    batch, length, heads, size = sizes
    before = lesson(1).MultiHeadAttention(heads * size, heads).double()
    ours = lesson(4).CrossAttention(heads * size, heads).double()
    ours.load_state_dict(before.state_dict())
    x = numbers(batch, length, heads * size)
    torch.testing.assert_close(ours(x, x), before(x), **CLOSE)


def test_heads_that_do_not_divide_are_told_in_a_sentence() -> None:
    with pytest.raises(ValueError, match=r"^d_model = 12 cannot be split over n_heads = 5: choose a divisor$"):
        lesson(4).CrossAttention(12, 5)
