"""Summaries and atlases for tests, made from exact weights in the plainest way."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from attnlab.maps.data import Atlas, Layer, Products, Span, Summary, Text

# The pieces of the text are as many as the queries.
B, H, G, Q, K, D = 2, 6, 3, 11, 13, 5
PIECES = ("[CLS]", "注", "æ", "Ħ", "ı", "力", "Ġis", "Ġ", "<b>", "&", "[SEP]")
SPANS = (
    Span(0, 1, "[CLS]", "special"),
    Span(1, 2, "注", "text"),
    Span(2, 5, "意", "text"),
    Span(5, 6, "力", "text"),
    Span(6, 7, "is", "text", gap=True),
    Span(7, 8, " ", "space"),
    Span(8, 9, "<b>", "text"),
    Span(9, 10, "&", "text"),
    Span(10, 11, "[SEP]", "special"),
)


def products(seed: int = 0, causal: int | None = K - Q, mask: Tensor | None = None) -> Products:
    """Random q and k of sizes that are all different; a cache holds the keys before."""
    drawn = torch.Generator().manual_seed(seed)
    q, k = torch.randn(B, H, Q, D, generator=drawn), torch.randn(B, G, K, D, generator=drawn)
    return Products(q, k, 0.4, mask, causal, K - Q)


def summary(source: Products, side: int = 4, top: int = 3, near: int = 2) -> Summary:
    """Everything from the whole matrix."""
    weights = source.weights()
    *_, queries, keys = weights.shape
    found = weights.topk(top)
    place, key = torch.arange(queries)[:, None] + source.position, torch.arange(keys)
    return Summary(
        keys,
        side,
        _cells(weights, side, lambda cell: cell.mean(-1)),
        _cells(weights, side, lambda cell: cell.amax(-1)),
        found.indices.int(),
        found.values,
        -torch.xlogy(weights, weights).sum(-1),
        weights[..., 0].clone(),
        (weights * ((key <= place) & (key > place - near))).sum(-1),
        near,
    )


def atlas() -> Atlas:
    """Two layers and a text, and a third of which no weights were had."""
    layers = tuple(
        Layer(index, f"layers.{index}.attn", "sdpa", tuple(range(H)), summary(products(index))) for index in range(2)
    )
    return Atlas("given", Text(PIECES, SPANS), layers, 1.5, (("layers.2.attn", "capture.blocks"),))


def _cells(weights: Tensor, side: int, pool: Callable[[Tensor], Tensor]) -> Tensor:
    rows = weights.split(side, -2)
    return torch.stack([torch.stack([pool(cell.flatten(-2)) for cell in row.split(side, -1)], -1) for row in rows], -2)
