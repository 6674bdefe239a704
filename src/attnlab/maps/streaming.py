"""What is told of attention weights, computed from q and k block by block: exactly, and without the whole matrix."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from itertools import islice, pairwise

import torch
from torch import Tensor

from attnlab.maps.blocks import Found, found
from attnlab.maps.cells import coarser, join, mean_of, side_for
from attnlab.maps.columns import Block, Room, Wanted
from attnlab.maps.data import Products, Source, Summary

__all__ = ["coarser", "join", "side_for", "summarise"]

# Of float32 a chunk is a megabyte: it is gone through several times, and should stay in the caches, but where it is
# smaller, calling the operations takes longer than they do. A block's scores are 16 MB: kept for the largest of them.
_CHUNK, _BLOCK = 2**18, 2**22
# So many columns make good use of a matrix product.
_COLUMNS = (16, 256)
# With so many bins the largest keys are found in the fewest steps: in few bins, which are small.
_BINS = 1024
# Below that, starting threads takes longer than the work.
_SMALL = 2**18


def summarise(
    source: Source,
    *,
    top: int = 8,
    near: int = 64,
    cells: int = 512,
    rows: tuple[int, int] | None = None,
    first: int = 0,
    threads: int | None = None,
    told: Callable[[float], None] | None = None,
) -> Summary:
    """What is kept of the weights of a source, or of its rows from `rows[0]` to before `rows[1]` alone.

    Args:
        source: q and k, or weights; of any device, of any floating dtype. Numbers are computed in float32, or float64
            where they come in it. No gradient is taken.
        top: how many keys are kept of each query, the largest first.
        near: over how many keys up to the query's own `recent` sums.
        cells: the pooled maps get at most so many cells along an axis.
        rows: of a long sequence, or where others do the rest: best to begin and end at multiples of `side_for(…)`.
        first: the number of the source's first row, where a cache holds the rows before.
        threads: how many blocks are worked on at once; as many as torch uses for an operation, if not said.
        told: is called with the share of the work that is done, 0 to 1.

    Memory grows with Q + K: beside the result, each thread takes 20 MB or so at 64k keys.
    """
    *_, queries, keys = source.shape
    begin, end = rows or (0, queries)
    threads = torch.get_num_threads() if threads is None else threads
    _check(source, begin, end, top=top, near=near, cells=cells, threads=threads)
    reach = min(near, max(keys, source.position + queries))  # no row has more keys up to its own
    side = side_for(queries, keys, cells)
    wanted = Wanted(top, reach, side, min(side, max(16, side_for(1, keys, _BINS))), first)
    with _exactly(_device(source)):
        if isinstance(source, Products):
            wide = torch.promote_types(torch.promote_types(source.q.dtype, source.k.dtype), torch.float32)
            source = replace(source, q=source.q.detach(), k=source.k.detach().to(wide))
        blocks = list(_blocks(source, begin, end, first, threads))
        kept = _Kept(source, begin, end, wanted)
        done, whole = 0, sum(_work(block) for block in blocks)
        with closing(_computed(source, blocks, wanted, threads)) as parts:
            for block, part in zip(blocks, parts, strict=True):
                kept.put(block, part)
                done += _work(block)
                if told is not None:
                    told(done / whole)
        return kept.summary(near)


def _check(source: Source, begin: int, end: int, **counts: int) -> None:
    *_, queries, keys = source.shape
    for name, count in counts.items():
        if count < 1:
            raise ValueError(f"{name} is to be at least 1, not {count}")
    if not 0 <= begin < end <= queries:
        raise ValueError(f"rows ({begin}, {end}) are none of the {queries} queries: 0 ≤ begin < end ≤ {queries}")
    if keys == 0:
        raise ValueError("attention over no key has no weights")


@contextmanager
def _exactly(device: torch.device) -> Generator[None]:
    """Without gradients, and in the precision that is asked for here: not in what the program has for its own."""
    with ExitStack() as stack:
        stack.enter_context(torch.inference_mode(False))
        stack.enter_context(torch.no_grad())
        if torch.amp.is_autocast_available(device.type):
            stack.enter_context(torch.autocast(device.type, enabled=False))
        yield


def _blocks(source: Source, begin: int, end: int, first: int, threads: int) -> Iterator[Block]:
    """The rows in blocks. Their borders are the same however rows are shared out, if that is done at such a border."""
    batch, heads, _, keys = source.shape
    grouped = source.k.shape[1] if isinstance(source, Products) else heads
    group = heads // grouped
    least, most = _COLUMNS
    height = _power(max(least, min(most, _BLOCK // keys)) // group)
    edges = [begin, *range(((first + begin) // height + 1) * height - first, end, height), end]
    # Heads are put together as far as each thread still gets a few blocks.
    each, whole = keys * group * min(height, end - begin), batch * heads * (end - begin) * keys
    together = max(1, (whole if whole <= _SMALL else min(_BLOCK, whole // (4 * threads))) // each)
    causal = source.causal if isinstance(source, Products) else None
    for sample in range(batch):
        for head in range(0, grouped, together):
            # The last rows may see the most keys: what takes longest, and the most memory, is done first.
            for start, stop in reversed(list(pairwise(edges))):
                seen = keys if causal is None else max(1, min(keys, stop + causal))
                yield Block(sample, slice(head, min(head + together, grouped)), slice(start, stop), seen)


def _device(source: Source) -> torch.device:
    return (source.q if isinstance(source, Products) else source.given).device


def _power(count: int) -> int:
    """The largest power of two that is not larger, or 1."""
    return 1 << max(0, count.bit_length() - 1)


def _work(block: Block) -> int:
    return (block.heads.stop - block.heads.start) * block.height * block.keys


def _computed(source: Source, blocks: Sequence[Block], wanted: Wanted, threads: int) -> Generator[Found]:
    """What is kept of each block, in their order."""
    if _device(source).type != "cpu" or sum(map(_work, blocks)) <= _SMALL:
        room = Room(_CHUNK)
        for block in blocks:
            yield found(source, block, wanted, room)
        return
    before = torch.get_num_threads()
    local = threading.local()

    def begin() -> None:
        torch.set_num_threads(1)
        torch.set_grad_enabled(False)
        local.room = Room(_CHUNK)

    def work(block: Block) -> Found:
        return found(source, block, wanted, local.room)

    pool = ThreadPoolExecutor(threads, "attnlab", begin)
    left = iter(blocks)
    try:
        # Shared out within an operation, work on pieces that are so small takes many times as long; and what is done
        # here with each part would have threads of its own, which go on waiting at full speed.
        torch.set_num_threads(1)
        # What is done and not yet taken lies in memory: only so much is begun ahead.
        waiting = deque(pool.submit(work, block) for block in islice(left, 8 * threads))
        while waiting:
            yield waiting.popleft().result()
            waiting.extend(pool.submit(work, block) for block in islice(left, 1))
    finally:
        pool.shutdown(cancel_futures=True)
        # Each thread has its own number, but the last that was set is what new threads begin with.
        torch.set_num_threads(before)


class _Kept:
    """A summary that is filled in block by block."""

    def __init__(self, source: Source, begin: int, end: int, wanted: Wanted) -> None:
        batch, heads, _, keys = source.shape
        self._begin, self._wanted, self._keys, self._rows = begin, wanted, keys, end - begin
        device = _device(source)
        above, side = wanted.first + begin, wanted.side
        high, wide = -(-(above + self._rows) // side) - above // side, -(-keys // side)

        def zeros(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
            return torch.zeros(batch, heads, *shape, dtype=dtype, device=device)

        self._cells = {"sums": zeros(high, wide), "max": zeros(high, wide)}
        self._by_row = {name: zeros(self._rows) for name in ("entropy", "start", "recent")}
        self._by_row["top_keys"] = zeros(self._rows, wanted.top, dtype=torch.int32)
        self._by_row["top_weights"] = zeros(self._rows, wanted.top)

    def put(self, block: Block, part: Found) -> None:
        """A block whose rows may share cells with those of others."""
        count = part.entropy.shape[0] // (block.heads.stop - block.heads.start)
        heads = slice(block.heads.start * count, block.heads.stop * count)
        rows = slice(block.rows.start - self._begin, block.rows.stop - self._begin)
        for name, kept in self._by_row.items():
            kept[block.sample, heads, rows] = getattr(part, name)
        side, first = self._wanted.side, self._wanted.first
        at = (first + block.rows.start) // side - (first + self._begin) // side
        sums, most = (
            kept[block.sample, heads, at : at + part.max.shape[1], : part.max.shape[2]] for kept in self._cells.values()
        )
        sums += part.sums
        torch.maximum(most, part.max.float(), out=most)

    def summary(self, near: int) -> Summary:
        """When all blocks were put."""
        first, side = self._wanted.first + self._begin, self._wanted.side
        mean = mean_of(self._cells["sums"], first, self._rows, self._keys, side)
        return Summary(self._keys, side, mean, self._cells["max"], near=near, first=first, **self._by_row)
