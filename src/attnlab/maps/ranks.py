"""Sharing the rows of attention out over the processes that `torchrun` started: each row is computed by one of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import reduce

import torch
import torch.distributed as dist

from attnlab.maps.data import Source, Summary
from attnlab.maps.streaming import join, side_for, summarise


@contextmanager
def ranks() -> Generator[int]:
    """The number of this process among those that `torchrun` started, connected for as long as the block runs; else 0.

    A group that the program itself has made is used as it is.
    """
    count = int(os.environ.get("WORLD_SIZE", "1"))
    if not dist.is_available() or count < 2:
        yield 0
        return
    if dist.is_initialized():
        yield dist.get_rank()
        return
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    try:
        yield dist.get_rank()
    finally:
        dist.destroy_process_group()


def shared(
    source: Source,
    *,
    top: int = 8,
    near: int = 64,
    cells: int = 512,
    first: int = 0,
    told: Callable[[float], None] | None = None,
) -> Summary | None:
    """What `summarise` returns, computed by all ranks together; None on all but the first.

    Every rank is to call this for the same attentions in the same order.
    """
    count, rank = (dist.get_world_size(), dist.get_rank()) if dist.is_available() and dist.is_initialized() else (1, 0)
    if count == 1:
        return summarise(source, top=top, near=near, cells=cells, first=first, told=told)
    *_, queries, keys = source.shape
    mine = [
        summarise(source, top=top, near=near, cells=cells, first=first, rows=rows, told=told)
        for rows in parts(queries, side_for(queries, keys, cells), count, rank)
    ]
    every: list[list[Summary]] | None = [[] for _ in range(count)] if rank == 0 else None
    dist.gather_object(mine, every)
    if every is None:
        return None
    return reduce(join, sorted((part for found in every for part in found), key=lambda part: part.first))


def parts(queries: int, side: int, count: int, rank: int) -> list[tuple[int, int]]:
    """The rows of one rank of `count`: one part from the upper half and one from the lower, as far as there are any.

    Where later queries see more keys, each rank has as much to do as another. Parts begin at a multiple of `side`.
    """
    blocks = -(-queries // side)
    cuts = [min(queries, side * (blocks * cut // (2 * count))) for cut in range(2 * count + 1)]
    cuts[-1] = queries
    chosen = (rank, 2 * count - 1 - rank)
    return [(cuts[i], cuts[i + 1]) for i in chosen if cuts[i] < cuts[i + 1]]
