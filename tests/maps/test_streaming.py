"""Summaries made block by block, against the whole matrix in float64."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import fields, replace
from functools import reduce
from itertools import pairwise
from typing import Any
from unittest.mock import patch

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from attnlab.maps import streaming
from attnlab.maps.data import Given, Products, Source, Summary
from attnlab.maps.streaming import coarser, join, side_for, summarise

B, H, G, Q, K, D = 2, 6, 3, 19, 23, 12
# What weights are held to, relative to the largest of their row, and entropies in nats. The weights of a cell are of
# many rows: their mean is held to twice as much, relative to itself.
CLOSE = 2e-6


def drawn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def products(**rest: Any) -> Products:
    """Random q and k of sizes that are all different."""
    return Products(drawn(B, H, Q, D, seed=1), drawn(B, G, K, D, seed=2), D**-0.5, **rest)


def exact(source: Source) -> Tensor:
    """All weights in float64."""
    if isinstance(source, Given):
        return source.given.double()
    mask = source.mask
    mask = mask if mask is None or mask.dtype == torch.bool else mask.double()
    return replace(source, q=source.q.double(), k=source.k.double(), mask=mask).weights()


def cells_of(weights: Tensor, side: int, first: int, pool: Callable[[Tensor], Tensor]) -> Tensor:
    """Each cell cut out of the whole, where the first row has the number `first`."""
    edges = sorted({0, weights.shape[-2], *range(side - first % side, weights.shape[-2], side)})
    rows = [weights[..., start:stop, :] for start, stop in pairwise(edges)]
    return torch.stack([torch.stack([pool(cell.flatten(-2)) for cell in row.split(side, -1)], -1) for row in rows], -2)


def assert_close(ours: Tensor, theirs: Tensor, name: str, most: Tensor | float) -> None:
    """Not farther apart than `CLOSE` times `most`, or, where that is more, times themselves; nan where they are nan."""
    assert ours.dtype == torch.float32, name
    assert ours.shape == theirs.shape, name
    assert torch.equal(ours.isnan(), theirs.isnan()), name
    apart = (
        (ours - theirs).abs() / (CLOSE * torch.as_tensor(most).expand_as(theirs).maximum(theirs) + 1e-45)
    ).nan_to_num()
    assert apart.amax() <= 1, f"{name}: {apart.amax():.3g} times as far apart as they may be"


def assert_exact(found: Summary, weights: Tensor, position: int = 0, begin: int = 0) -> None:
    """A summary of rows is what the float64 weights of these rows, the source's from `begin` on, say."""
    *_, rows, keys = weights.shape
    assert found.shape == weights.shape
    most = weights.amax(-1)
    mean = cells_of(weights, found.side, found.first, lambda cell: cell.mean(-1))
    assert_close(found.mean, mean, "mean", 2 * mean)
    largest = cells_of(most[..., None], found.side, found.first, lambda cell: cell.amax(-1))
    assert_close(found.max, cells_of(weights, found.side, found.first, lambda cell: cell.amax(-1)), "max", largest)
    assert_close(found.start, weights[..., 0], "start", most)
    place, key = torch.arange(begin, begin + rows)[:, None] + position, torch.arange(keys)
    band = (key <= place) & (key > place - found.near)
    assert_close(found.recent, (weights * band).sum(-1), "recent", most)
    entropy = -torch.xlogy(weights, weights).sum(-1)
    assert_close(found.entropy, entropy.where(most > 0, torch.nan), "entropy", 1.0)
    assert_top(found, weights, most[..., None])


def assert_top(found: Summary, weights: Tensor, most: Tensor) -> None:
    keys = found.top_keys.long()
    assert found.top_keys.dtype == torch.int32
    none = keys < 0
    at = weights.gather(-1, keys.clamp(min=0)).masked_fill(none, 0.0)
    best = F.pad(weights, (0, keys.shape[-1])).topk(keys.shape[-1]).values
    assert_close(found.top_weights, at, "weights of the top keys", most)
    assert_close(found.top_weights, best, "largest weights", most)
    assert torch.equal(none, found.top_weights == 0)
    # Each key once; the larger weight first, and of equal ones the smaller key.
    ones = torch.zeros_like(weights).scatter_add(-1, keys.clamp(min=0), (~none).double())
    assert ones.max() <= 1
    before, after = found.top_weights[..., :-1], found.top_weights[..., 1:]
    in_order = (before > after) | ((before == after) & (keys[..., :-1] < keys[..., 1:])) | none[..., 1:]
    assert bool(in_order.all())


def assert_same(one: Summary, other: Summary, close: float = 0.0) -> None:
    for field in fields(Summary):
        ours, theirs = getattr(one, field.name), getattr(other, field.name)
        if isinstance(theirs, Tensor):
            torch.testing.assert_close(ours, theirs, rtol=close, atol=0, equal_nan=True, msg=f"{field.name} differs")
        else:
            assert ours == theirs, field.name


def distance(scores: Tensor, sample: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
    """A change as ALiBi's, which differs by sample, too; one key is hidden by it."""
    return (scores - (query - key).abs() * (head + 1) / 500 + sample / 7).masked_fill(key == 3, -torch.inf)


MASKS: dict[str, Tensor | None] = {
    "none": None,
    "bool": drawn(Q, K) < 0.5,
    "bool of each head": drawn(H, Q, K) < 0.5,
    "padding": (drawn(B, 1, 1, K) < 0.8),
    "of keys": drawn(K) < 0.8,
    "of queries": (drawn(Q, 1) < 0.8),
    "all that it can be": drawn(B, H, Q, K) < 0.5,
    "numbers": drawn(1, 1, Q, K),
    "numbers of each head": drawn(H, 1, K, seed=4),
    "numbers in float64": drawn(Q, K).double(),
    "numbers, some of them -inf": drawn(B, 1, Q, K).masked_fill(drawn(B, 1, Q, K, seed=5) < 0, -torch.inf),
    "one number": torch.tensor(0.5),
}


@pytest.mark.parametrize("causal", [None, 0, K - Q, -7, 40])
@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("change", [None, distance], ids=["", "changed"])
def test_every_mask(name: str, causal: int | None, change: Any) -> None:
    source = products(mask=MASKS[name], causal=causal, change=change, position=K - Q)
    assert_exact(summarise(source, top=5, near=4, cells=6), exact(source), K - Q)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_every_dtype(dtype: torch.dtype) -> None:
    plain = products(causal=3, mask=drawn(Q, K))
    assert plain.mask is not None
    source = replace(plain, q=plain.q.to(dtype), k=plain.k.to(dtype), mask=plain.mask.to(dtype))
    assert_exact(summarise(source, cells=6), exact(source))
    weights = Given(source.weights().to(dtype), 2)
    assert_exact(summarise(weights, near=3), exact(weights), 2)


@st.composite
def sources(draw: st.DrawFn) -> Source:
    """Attention of any kind, in any layout."""
    batch, grouped, group = draw(st.integers(1, 2)), draw(st.integers(1, 3)), draw(st.integers(1, 3))
    queries, keys, size = draw(st.integers(1, 40)), draw(st.integers(1, 70)), draw(st.sampled_from([1, 5, 12, 64]))
    dtype = draw(st.sampled_from([torch.float16, torch.bfloat16, torch.float32, torch.float32, torch.float64]))
    position, seed = draw(st.integers(0, 80)), draw(st.integers(0, 999))

    def tensor(heads: int, length: int) -> Tensor:
        if draw(st.booleans()):  # as most programs have it, and PyTorch does not
            return drawn(batch, length, heads, size, seed=seed + length).to(dtype).transpose(1, 2)
        return drawn(batch, heads, length, size, seed=seed + length).to(dtype)

    q, k = tensor(grouped * group, queries), tensor(grouped, keys)
    whole = (batch, grouped * group, queries, keys)
    kept = draw(st.integers(0, 4))
    shape = tuple(size if draw(st.booleans()) else 1 for size in whole)[kept:]
    numbers = drawn(*shape, seed=seed)
    mask = draw(st.sampled_from([None, numbers, numbers < 0.7, numbers.masked_fill(numbers > 1, -torch.inf)]))
    causal = draw(st.none() | st.integers(-5, keys))
    made = Products(q, k, size**-0.5, mask, causal, position, draw(st.sampled_from([None, distance])))
    if draw(st.integers(0, 3)):
        return made
    return Given(made.weights().to(dtype), position)


@settings(max_examples=120, deadline=None)
@given(st.data(), sources())
def test_any_attention(data: st.DataObject, source: Source) -> None:
    """Cut into blocks, chunks and threads of any size, from any row on."""
    *_, queries, keys = source.shape
    begin = data.draw(st.integers(0, queries - 1))
    end = data.draw(st.integers(begin + 1, queries))
    first = data.draw(st.integers(0, 20))
    sizes = {
        "_CHUNK": data.draw(st.sampled_from([1, 300, 2**17])),
        "_BLOCK": data.draw(st.sampled_from([1, 2000, 2**22])),
        "_COLUMNS": data.draw(st.sampled_from([(1, 8), (16, 256)])),
        "_SMALL": data.draw(st.sampled_from([0, 2**18])),
    }
    options = {
        "top": data.draw(st.integers(1, 9)),
        "near": data.draw(st.integers(1, 90)),
        "cells": data.draw(st.integers(1, 80)),
    }
    with patch.multiple(streaming, **sizes):
        found = summarise(source, **options, rows=(begin, end), first=first)
    assert found.side == side_for(queries, keys, options["cells"])
    assert (found.near, found.first, found.keys) == (options["near"], first + begin, keys)
    assert_exact(found, exact(source)[:, :, begin:end], source.position, begin)


@pytest.mark.parametrize("causal", [None, 0])
def test_long_enough_for_many_chunks_and_threads(causal: int | None) -> None:
    q, k = drawn(1, 2, 1300, 16, seed=1), drawn(1, 1, 1300, 16, seed=2)
    source = Products(q, k, 0.25, causal=causal)
    found = summarise(source, cells=100)
    assert_exact(found, exact(source))
    assert_same(found, summarise(source, cells=100, threads=1))


def test_scores_too_large_for_an_exponential() -> None:
    whole = products()
    source = replace(whole, q=whole.q.round(), k=whole.k.round(), scale=128.0)  # so that scores are exact
    found, weights = summarise(source, cells=6), exact(source)
    torch.testing.assert_close(
        found.max.double(), cells_of(weights, 4, 0, lambda cell: cell.amax(-1)), rtol=0, atol=1e-4
    )
    assert bool((found.entropy >= 0).all())


def test_of_equal_weights_the_smaller_key_is_first() -> None:
    keys = drawn(1, 1, 3, D).round().repeat(1, 1, 100, 1)
    found = summarise(Products(drawn(1, 2, 5, D).round(), keys, 1.0), top=7, cells=20)
    assert found.side == 16
    assert bool((found.top_weights == found.top_weights[..., :1]).all())
    best = found.top_keys[..., :1]
    assert bool((best < 3).all())
    assert torch.equal(found.top_keys, best + 3 * torch.arange(7, dtype=torch.int32))


def test_a_row_that_sees_no_key() -> None:
    mask = torch.ones(Q, K, dtype=torch.bool)
    mask[4] = False
    found = summarise(products(mask=mask, causal=-2), top=3)
    for row in (0, 1, 4):
        assert bool(found.entropy[:, :, row].isnan().all())
        assert bool((found.top_keys[:, :, row] == -1).all())
        for of_row in (found.mean, found.max, found.top_weights, found.start, found.recent):
            assert not bool(of_row[:, :, row].any())
    assert not bool(found.entropy[:, :, 5:].isnan().any())


def test_a_mask_of_the_least_number_hides_nothing_where_all_have_it() -> None:
    """As in many models: softmax then spreads the weight evenly, which PyTorch's own does as well."""
    mask = torch.zeros(Q, K)
    mask[4] = torch.finfo(torch.float32).min
    found = summarise(products(mask=mask))
    torch.testing.assert_close(found.top_weights[:, :, 4], torch.full((B, H, 8), 1 / K))
    assert torch.equal(found.top_keys[0, 0, 4], torch.arange(8, dtype=torch.int32))


def test_fewer_keys_than_are_asked_for() -> None:
    found = summarise(Products(drawn(1, 2, 3, D), drawn(1, 1, 5, D), 0.3, causal=0), top=7)
    assert found.top_keys.shape == (1, 2, 3, 7)
    assert found.top_keys[0, 0, 1, 2:].tolist() == [-1] * 5


@pytest.mark.parametrize("cells", [1, 4, 512])
def test_parts_joined_are_the_whole(cells: int) -> None:
    source = products(causal=2)
    whole = summarise(source, cells=cells)
    parts = [summarise(source, cells=cells, rows=rows) for rows in ((0, 4), (4, 5), (5, 18), (18, Q))]
    assert_same(reduce(join, parts), whole, CLOSE)
    late = [summarise(source, cells=cells, rows=rows, first=6) for rows in ((0, 3), (3, Q))]
    assert_same(join(*late), summarise(source, cells=cells, first=6), CLOSE)


@pytest.mark.parametrize("cells", [3, 8, 512])
def test_steps_with_a_cache_joined_are_the_whole(cells: int) -> None:
    """The first call has five rows, each further one, and one key more than the call before."""
    q, k = drawn(B, H, K, D, seed=1), drawn(B, G, K, D, seed=2)
    steps = [
        summarise(
            Products(q[:, :, start:stop], k[:, :, :stop], 0.3, causal=start, position=start),
            cells=cells,
            near=4,
            first=start,
        )
        for start, stop in ((0, 5), *pairwise(range(5, K + 1)))
    ]
    assert_same(reduce(join, steps), summarise(Products(q, k, 0.3, causal=0), cells=cells, near=4), CLOSE)


@pytest.mark.parametrize("first", [0, 6])
def test_coarser_is_what_would_have_been_pooled_so(first: int) -> None:
    source = products()
    fine = summarise(source, cells=512, first=first)
    assert fine.side == 1
    for cells in (12, 6, 3, 1):
        coarse = summarise(source, cells=cells, first=first)
        assert_same(coarser(fine, coarse.side), coarse, CLOSE)
    assert coarser(fine, 1) is fine


def test_only_what_continues_is_joined() -> None:
    source = products()
    first, last = summarise(source, rows=(0, 4)), summarise(source, rows=(5, 9))
    with pytest.raises(ValueError, match="begins with row 5 does not continue one that ends before row 4"):
        join(first, last)
    with pytest.raises(ValueError, match="top keys"):
        join(first, summarise(source, rows=(4, 9), top=3))


@pytest.mark.parametrize("large", [False, True])
def test_nothing_of_the_program_is_changed(large: bool) -> None:
    q, k = drawn(1, 2, 400, D).requires_grad_(), drawn(1, 1, 500 if large else 5, D).requires_grad_()
    source, threads, alive = Products(q, k, 0.3), torch.get_num_threads(), threading.active_count()
    torch.manual_seed(3)
    state = torch.get_rng_state()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = summarise(source)
        assert torch.is_autocast_enabled("cpu")
    assert_exact(found, exact(source).detach())
    assert torch.equal(state, torch.get_rng_state())
    assert torch.get_num_threads() == threads
    assert _threads_of_a_new_thread() == threads
    assert torch.is_grad_enabled()
    assert not found.mean.requires_grad
    assert threading.active_count() == alive
    with torch.inference_mode():
        assert_same(summarise(replace(source, q=q * 1, k=k * 1)), found)
    with torch.device("meta"):
        assert_same(summarise(source), found)


def _threads_of_a_new_thread() -> int:
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(torch.get_num_threads()))
    thread.start()
    thread.join()
    return found[0]


def test_what_a_change_or_the_progress_raises_ends_it() -> None:
    source = Products(drawn(1, 2, 900, D), drawn(1, 1, 500, D), 0.3)
    before, alive = torch.get_num_threads(), threading.active_count()

    def broken(*_: Tensor) -> Tensor:
        raise RuntimeError("no change")

    def stopped(_: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(RuntimeError, match="no change"):
        summarise(replace(source, change=broken))
    with pytest.raises(KeyboardInterrupt):
        summarise(source, told=stopped)
    assert threading.active_count() == alive
    assert torch.get_num_threads() == before


@pytest.mark.parametrize("queries", [2, 900])
def test_progress_is_told(queries: int) -> None:
    shares: list[float] = []
    summarise(Products(drawn(1, 2, queries, D), drawn(1, 1, 500, D), 0.3, causal=0), told=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"top": 0}, "top is to be at least 1, not 0"),
        ({"near": -1}, "near is to be at least 1, not -1"),
        ({"cells": 0}, "cells is to be at least 1, not 0"),
        ({"threads": 0}, "threads is to be at least 1, not 0"),
        ({"rows": (3, 3)}, r"rows \(3, 3\) are none of the 19 queries"),
        ({"rows": (3, 20)}, r"rows \(3, 20\) are none of the 19 queries"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        summarise(products(), **options)


@given(st.integers(1, 5000), st.integers(1, 5000), st.integers(1, 600))
def test_the_side_is_the_smallest_that_does(queries: int, keys: int, cells: int) -> None:
    side = side_for(queries, keys, cells)
    assert side & (side - 1) == 0
    assert -(-max(queries, keys) // side) <= cells
    assert side == 1 or -(-max(queries, keys) // (side // 2)) > cells
