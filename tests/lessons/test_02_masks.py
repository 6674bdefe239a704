"""Lesson 2, masks: against PyTorch's attention with the same mask, and without a mask against lesson 1."""

import torch
from hypothesis import given
from lesson_files import CLOSE, FEW, different, lesson, numbers
from torch.nn import functional as F

SIZES = different((1, 7), (1, 7), (2, 7), (1, 7))


@FEW
@given(SIZES)
def test_is_attention_with_the_same_mask(sizes: tuple[int, ...]) -> None:
    batch, heads, length, size = sizes
    Q, K, V = numbers(3, batch, heads, length, size).requires_grad_()
    lengths = torch.randint(1, length + 1, (batch,))
    padding, causal = lesson(2).padding_mask(lengths, length), lesson(2).causal_mask(length)
    some = torch.rand(batch, heads, length, length) < 0.4  # rows without a key among them
    for keep in (padding, causal, padding & causal, some):
        full = keep.expand(batch, heads, length, length)
        rows = full.any(-1, keepdim=True)
        output, weights = lesson(2).attention(Q, K, V, keep)
        # Rows without a key look at everything there, so that the answer does not hang on PyTorch's own convention.
        expected = F.scaled_dot_product_attention(Q, K, V, attn_mask=full | ~rows) * rows
        torch.testing.assert_close(output, expected, **CLOSE)
        assert (weights[~full] == 0).all()
        torch.testing.assert_close(weights.sum(-1, keepdim=True), rows.double(), **CLOSE)
        got, wanted = (torch.autograd.grad(out.sin().sum(), (Q, K, V)) for out in (output, expected))
        torch.testing.assert_close(got, wanted, **CLOSE)


def test_what_may_be_looked_at() -> None:
    assert lesson(2).causal_mask(3).tolist() == [[True, False, False], [True, True, False], [True, True, True]]
    padding = lesson(2).padding_mask(torch.tensor([3, 0, 2]), 3)
    assert padding.shape == (3, 1, 1, 3)
    assert padding.flatten(1).tolist() == [[True, True, True], [False, False, False], [True, True, False]]


@FEW
@given(SIZES)
def test_without_a_mask_is_lesson_1(sizes: tuple[int, ...]) -> None:
    batch, heads, length, size = sizes
    before = lesson(1).MultiHeadAttention(heads * size, heads).double()
    x = numbers(batch, length, heads * size)
    expected = before(x)
    Q, K, V = (before.split(W(x)) for W in (before.W_q, before.W_k, before.W_v))
    for keep in (None, torch.ones(length, length, dtype=torch.bool)):
        output, weights = lesson(2).attention(Q, K, V, keep)
        torch.testing.assert_close((before.W_o(before.merge(output)), weights), expected, **CLOSE)
