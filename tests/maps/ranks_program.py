"""Run by torchrun: the first rank writes the summary that all have made together. Arguments: where, Q, K."""

from __future__ import annotations

import sys
from pathlib import Path

import torch

from attnlab.maps.data import Layer, Products
from attnlab.maps.ranks import ranks, shared
from attnlab.maps.store import Writer


def source(queries: int, keys: int) -> Products:
    drawn = torch.Generator().manual_seed(0)
    q, k = torch.randn(2, 6, queries, 5, generator=drawn), torch.randn(2, 3, keys, 5, generator=drawn)
    return Products(q, k, 0.4, None, keys - queries, keys - queries)


def main(folder: str, queries: int, keys: int) -> None:
    with ranks() as rank:
        summary = shared(source(queries, keys), top=3, near=4, cells=32)
        assert (summary is None) == (rank > 0)
        if summary is not None:
            writer = Writer(Path(folder), "shared", None, {})
            writer.add(Layer(0, "", "sdpa", tuple(range(6)), summary))
            writer.close(0.0)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
