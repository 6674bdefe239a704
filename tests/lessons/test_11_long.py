"""Lesson 11, attention in blocks: against PyTorch's, forward and backward; how much memory it takes."""

import torch
from hypothesis import given
from hypothesis import strategies as st
from lesson_files import CLOSE, FEW, different, lesson, numbers
from torch.nn import functional as F


@FEW
@given(different((1, 3), (1, 4), (1, 40), (1, 40), (1, 9), (1, 9)), st.integers(1, 50))
def test_is_attention_forward_and_backward(sizes: tuple[int, ...], block: int) -> None:
    batch, heads, queries, keys, size, value_size = sizes
    Q = (numbers(batch, heads, queries, size) * 3).requires_grad_()
    K, V = numbers(batch, heads, keys, size).requires_grad_(), numbers(batch, heads, keys, value_size).requires_grad_()
    expected = F.scaled_dot_product_attention(Q, K, V)
    wanted = torch.autograd.grad(expected.sin().sum(), (Q, K, V))
    for way in (lambda *given: lesson(11).attention_in_blocks(*given, block), lesson(11).attention):
        output = way(Q, K, V)
        torch.testing.assert_close(output, expected, **CLOSE)
        torch.testing.assert_close(torch.autograd.grad(output.sin().sum(), (Q, K, V)), wanted, **CLOSE)


def test_scores_however_large_do_no_harm() -> None:
    Q, K, V = numbers(3, 1, 2, 9, 4)
    output = lesson(11).attention_in_blocks(Q * 1e4, K, V, 2)
    torch.testing.assert_close(output, F.scaled_dot_product_attention(Q * 1e4, K, V), **CLOSE)


@FEW
@given(different((1, 7), (1, 7), (2, 7), (1, 7)))
def test_in_one_block_is_lesson_2(sizes: tuple[int, ...]) -> None:
    Q, K, V = numbers(3, *sizes)
    torch.testing.assert_close(lesson(11).attention_in_blocks(Q, K, V), lesson(2).attention(Q, K, V)[0], **CLOSE)


def test_its_memory_grows_with_the_length_and_not_with_its_square() -> None:
    peak, blocks = lesson(11).peak_memory, lesson(11).attention_in_blocks
    inputs = {length: torch.randn(3, 1, 1, length, 16) for length in (512, 2048)}
    short, long = (peak(blocks, *inputs[length], 64) for length in inputs)
    assert long < 5 * short
    whole = peak(lesson(11).attention, *inputs[2048])
    assert whole >= 2 * 4 * 2048**2  # scores and weights, each [L, L] of four bytes
    assert long <= whole / 20
