"""Flex attention: its own functions, called as it calls them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from attnlab import capture

B, H, G, Q, K, D = 2, 6, 3, 5, 7, 4
pytestmark = pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")


def drawn(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


SLOPES, TABLE, DOCUMENT = drawn(H), drawn(H, Q, K), drawn(B, K) > 0


def bent(score: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
    return torch.tanh(score) + SLOPES[h] * (j - i) + TABLE[h][i][j]


def allowed(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
    return DOCUMENT[b][j] | (i >= j)


def close(found: Any, v: Tensor) -> None:
    """The weights give the output that the program had."""
    (one,) = found
    assert one.style == "flex"
    assert found.missed == ()
    made = one.weights @ v.repeat_interleave(H // G, 1)
    assert (made - found.output).abs().max() < 1e-5


@pytest.mark.parametrize("scale", [None, 0.3])
def test_scores_and_masks_of_the_programs(scale: float | None) -> None:
    q, k, v = drawn(B, H, Q, D), drawn(B, G, K, D), drawn(B, G, K, 3)
    mask = create_block_mask(allowed, B, H, Q, K, device="cpu")
    found = capture(flex_attention, q, k, v, score_mod=bent, block_mask=mask, enable_gqa=True, scale=scale)
    close(found, v)
    one = found[0]
    assert torch.equal(one.window(slice(1, 4), slice(2, 6)), one.weights[:, :, 1:4, 2:6])
    assert one.source is not None
    assert torch.equal(one.source.heads((4, 1)).weights(), one.weights[:, [4, 1]])


def test_compiled_by_the_program() -> None:
    q, k, v = drawn(B, H, Q, D), drawn(B, G, K, D), drawn(B, G, K, 3)
    mask = create_block_mask(allowed, B, H, Q, K, device="cpu")
    compiled: Any = torch.compile(flex_attention, backend="eager", fullgraph=True)
    close(capture(compiled, q, k, v, bent, mask, enable_gqa=True), v)


def test_steps_over_a_cache_are_not_joined() -> None:
    k = drawn(B, G, K, D)
    with capture() as found:
        flex_attention(drawn(B, G, 4, D), k[:, :, :4], k[:, :, :4], score_mod=lambda score, b, h, i, j: score + i - j)
        flex_attention(drawn(B, G, 1, D), k[:, :, :5], k[:, :, :5], score_mod=lambda score, b, h, i, j: score + 4 - j)
    assert [(one.calls, one.shape) for one in found] == [(1, (B, G, 4, 4)), (1, (B, G, 1, 5))]
