"""The data of maps: where weights come from, what is kept of them, and all of that of one model or program.

Letters: B samples, H heads, Q queries, K keys, d the size of a head, T top keys.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import torch
from torch import Tensor

# What flex attention calls `score_mod`: scores, sample, head, query and key to scores. The indices are tensors, which
# broadcast.
Change: TypeAlias = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]


@dataclass(frozen=True, slots=True, eq=False)
class Products:
    """Weights that are computed from q and k: softmax(scale · q kᵀ + mask).

    `q`        [B, H, Q, d]
    `k`        [B, G, K, d], where G divides H: head h reads the keys of head h // (H // G)
    `mask`     broadcasts to [B, H, Q, K]. Of bools, True lets pass; of numbers, it is added to the scores
    `causal`   query i sees the keys j ≤ i + causal; 0 is what `is_causal=True` means; None where all are seen
    `position` the key that stands where query 0 stands: K - Q where a cache holds the keys before, else 0
    `change`   applied to the scaled scores before the masks
    """

    q: Tensor
    k: Tensor
    scale: float
    mask: Tensor | None = None
    causal: int | None = None
    position: int = 0
    change: Change | None = None

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """B, H, Q, K."""
        batch, heads, queries, _ = self.q.shape
        return batch, heads, queries, self.k.shape[2]

    def heads(self, numbers: tuple[int, ...]) -> Products:
        """Some of the heads alone."""
        group = self.q.shape[1] // self.k.shape[1]
        mask = self.mask
        if mask is not None and mask.dim() >= 3 and mask.shape[-3] > 1:
            mask = mask[..., list(numbers), :, :]
        k = self.k[:, [number // group for number in numbers]]
        change = None if self.change is None else _of_heads(self.change, numbers)
        return replace(self, q=self.q[:, list(numbers)], k=k, mask=mask, change=change)

    def weights(self, rows: slice = slice(None), keys: slice = slice(None)) -> Tensor:
        """Exact weights [B, H, rows, keys] of some queries, computed in float32 or more. A row without a key is 0."""
        batch, heads, queries, every = self.shape
        wide = torch.promote_types(self.q.dtype, torch.float32)
        place = torch.arange(queries, device=self.q.device)[rows]
        group = heads // self.k.shape[1]
        q = self.q[:, :, rows].to(wide).unflatten(1, (self.k.shape[1], group))
        scores = (q @ self.k.to(wide).mT.unsqueeze(2)).flatten(1, 2) * self.scale
        query, key = place[:, None], torch.arange(every, device=self.q.device)
        if self.change is not None:
            samples = torch.arange(batch, device=self.q.device)[:, None, None, None]
            scores = self.change(scores, samples, torch.arange(heads, device=self.q.device)[:, None, None], query, key)
        if self.mask is not None:
            mask = self.mask if self.mask.dim() < 2 or self.mask.shape[-2] == 1 else self.mask[..., rows, :]
            scores = scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask
        if self.causal is not None:
            scores = scores.masked_fill(key > query + self.causal, -torch.inf)
        # A row without a key is nan: PyTorch's own fused operation makes zeros of it, too.
        return scores.softmax(-1).nan_to_num(0.0)[..., keys] if _hides(self) else scores.softmax(-1)[..., keys]


@dataclass(frozen=True, slots=True, eq=False)
class Given:
    """Weights that the program computed itself, [B, H, Q, K]. `position` as in `Products`."""

    given: Tensor
    position: int = 0

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """B, H, Q, K."""
        batch, heads, queries, keys = self.given.shape
        return batch, heads, queries, keys

    def heads(self, numbers: tuple[int, ...]) -> Given:
        """Some of the heads alone."""
        return replace(self, given=self.given[:, list(numbers)])

    def weights(self, rows: slice = slice(None), keys: slice = slice(None)) -> Tensor:
        """Exact weights [B, H, rows, keys] of some queries, in float32 or more."""
        return self.given[:, :, rows, keys].to(torch.promote_types(self.given.dtype, torch.float32))


Source: TypeAlias = Products | Given
# How an attention was computed; as `attnlab.attention.Style`.
Style: TypeAlias = Literal["written", "sdpa", "mha", "layer", "flex"]


@dataclass(frozen=True, slots=True, eq=False)
class Summary:
    """What is kept of [B, H, Q, K] weights, of which Q rows from `first` on are here. All of it is exact.

    `side`     a cell of the pooled maps holds side × side weights (fewer at the lower and right edge); a power of two
    `mean`, `max`  [B, H, ceil(rows / side), ceil(K / side)] float32; what a mask hides counts as 0
    `top_keys`, `top_weights`  [B, H, rows, T] int32 and float32, the largest first; -1 and 0 where a row sees fewer.
               Of equal weights the one with the smaller key stands first
    `entropy`  [B, H, rows] float32, in nats; nan in a row that sees no key
    `start`    [B, H, rows] float32, the weight of key 0
    `recent`   [B, H, rows] float32, the weight of the last `near` keys up to the query's own position, itself included
    `first`    the number of the first row: 0, but where rows are shared out or a cache holds the rows before.
               Cells of the pooled maps begin at row first // side · side
    """

    keys: int
    side: int
    mean: Tensor
    max: Tensor
    top_keys: Tensor
    top_weights: Tensor
    entropy: Tensor
    start: Tensor
    recent: Tensor
    near: int
    first: int = 0

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """B, H, rows, K."""
        batch, heads, rows = self.entropy.shape
        return batch, heads, rows, self.keys


@dataclass(frozen=True, slots=True)
class Span:
    """What a person reads as one: a word, a character or a sign, in the pieces `start` to `stop` (not included).

    `kind`  "text", "space" (it is white space alone), "special" (a token of the model's own, as [SEP])
    `gap`   whether white space stands before it in the text, and is no span of its own
    """

    start: int
    stop: int
    text: str
    kind: Literal["text", "space", "special"]
    gap: bool = False


@dataclass(frozen=True, slots=True)
class Text:
    """The text that a model was given: each piece as the tokenizer names it, one a position; and how they read."""

    pieces: tuple[str, ...]
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """One attention: its place among all, the path of its module, and the numbers of the heads in the summary."""

    index: int
    name: str
    style: Style
    heads: tuple[int, ...]
    summary: Summary


@dataclass(frozen=True, slots=True, eq=False)
class Atlas:
    """The maps of one run of a model or program.

    `name`     of the model's folder, or the program
    `text`     None where there is no tokenizer, as for a program
    `seconds`  that the run and the summaries took
    `missed`   attentions of which no weights were had, each by name, and why, as the id of a sentence
    """

    name: str
    text: Text | None
    layers: tuple[Layer, ...]
    seconds: float
    missed: tuple[tuple[str, str], ...] = ()


def _hides(products: Products) -> bool:
    return products.mask is not None or products.causal is not None or products.change is not None


def _of_heads(change: Change, numbers: tuple[int, ...]) -> Change:
    def chosen(scores: Tensor, batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        return change(scores, batch, torch.tensor(numbers, device=head.device)[head], query, key)

    return chosen
