"""What a case is: something to call, and what to call it with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Call:
    """A module and one set of inputs."""

    module: Callable[..., Any]
    inputs: tuple[Any, ...]
    options: dict[str, Any]


def call(module: Callable[..., Any], *inputs: Any, **options: Any) -> Call:
    return Call(module, inputs, options)


class Written(nn.Module):
    """Calls another module on a line that is the user's: findings inside PyTorch itself name the user's line."""

    def __init__(self, inner: Callable[..., Any]) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, *inputs: Any, **options: Any) -> Any:
        return self.inner(*inputs, **options)


@dataclass(frozen=True)
class Case:
    """One call of one model. `make` builds it, with random weights."""

    name: str
    make: Callable[[], Call]


# Sizes are small and nearly all different, so that an axis taken for another shows.
BATCH, LENGTH, WORDS, PAD = 2, 7, 61, 1


def tokens(batch: int = BATCH, length: int = LENGTH, words: int = WORDS) -> Tensor:
    """Ids [batch, length], none of them an id with a meaning of its own."""
    return torch.randint(5, words, (batch, length))


def padded(ids: Tensor, at: str = "right", pad: int = PAD) -> tuple[Tensor, Tensor]:
    """The ids with the last sample two tokens shorter, and the mask [batch, length] that keeps the others."""
    keep = torch.ones_like(ids)
    where = slice(-2, None) if at == "right" else slice(None, 2)
    keep[-1, where] = 0
    return ids.masked_fill(keep == 0, pad), keep


def targets(ids: Tensor, keep: Tensor) -> Tensor:
    """The ids as labels: what is padding does not count."""
    return ids.masked_fill(keep == 0, -100)
