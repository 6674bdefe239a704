"""PyTorch as it is when nobody has set anything: for what attnlab computes itself after a program has run."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import torch


@contextmanager
def ground() -> Generator[None]:
    """Within it tensors are made on the CPU, in float32, unless they say otherwise, whatever the program has set."""
    dtype = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    try:
        with torch.device("cpu"):
            yield
    finally:
        torch.set_default_dtype(dtype)
