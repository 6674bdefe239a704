"""Lesson 0, the demo: the formula, against PyTorch's own."""

import torch
from hypothesis import given
from lesson_files import CLOSE, FEW, different, lesson, numbers
from torch.nn import functional as F


@FEW
@given(different((1, 6), (1, 9), (1, 9)))
def test_is_scaled_dot_product_attention(sizes: tuple[int, ...]) -> None:
    batch, length, width = sizes
    model = lesson(0).SelfAttention(width).double()
    x = numbers(batch, length, width)
    output, weights = model(x)
    torch.testing.assert_close(
        output, F.scaled_dot_product_attention(model.W_q(x), model.W_k(x), model.W_v(x)), **CLOSE
    )
    torch.testing.assert_close(weights.sum(-1), torch.ones(batch, length, dtype=torch.float64), **CLOSE)
