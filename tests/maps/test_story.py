"""What is told of heads, against the whole matrix in float64."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from attnlab.maps.data import Given, Layer, Products, Source
from attnlab.maps.story import Head, detail, story
from attnlab.maps.streaming import join, summarise

L, NEAR = 23, 4
ROWS = torch.arange(L)
BEFORE, ITSELF = ROWS[:, None] - 1 == ROWS, ROWS[:, None] == ROWS
SEEN = ROWS[:, None] >= ROWS


def layer(source: Source, index: int = 0, top: int = 5, first: int = 0) -> Layer:
    found = summarise(source, top=top, near=NEAR, first=first)
    return Layer(index, f"layers.{index}.attn", "sdpa", tuple(range(source.shape[1])), found)


def given(*heads: Tensor) -> Given:
    """One sample of heads, each row of which is made to sum to 1."""
    stacked = torch.stack(heads).double()
    return Given((stacked / stacked.sum(-1, keepdim=True)).unsqueeze(0))


def noise(seed: int = 0) -> Tensor:
    return torch.rand(L, L, generator=torch.Generator().manual_seed(seed), dtype=torch.double)


def heads_of(source: Source) -> tuple[Head, ...]:
    return story([layer(source)]).heads


@pytest.mark.parametrize("causal", [0, None])
def test_means_are_over_samples_and_the_queries_after_the_first(causal: int | None) -> None:
    drawn = torch.Generator().manual_seed(3)
    q, k = torch.randn(2, 6, L, 5, generator=drawn), torch.randn(2, 3, L, 5, generator=drawn)
    source = Products(q, k, 0.4, causal=causal)
    weights = Products(q.double(), k.double(), 0.4, causal=causal).weights()[:, :, 1:]
    recent = weights * ((ROWS[1:, None] >= ROWS) & (ROWS[1:, None] - NEAR < ROWS))
    told = story([layer(source)])
    assert [(head.layer, head.head) for head in told.heads] == [(0, head) for head in range(6)]
    for name, exact in (
        ("entropy", -torch.xlogy(weights, weights).sum(-1)),
        ("start", weights[..., 0]),
        ("recent", recent.sum(-1)),
    ):
        means = exact.mean((0, 2))
        assert [getattr(head, name) for head in told.heads] == pytest.approx(means.tolist(), rel=1e-5)
        assert getattr(told.rows[0], name) == pytest.approx(float(means.mean()), rel=1e-5)
    assert (told.rows[0].name, told.rows[0].heads, told.rows[0].near) == ("layers.0.attn", 6, NEAR)


def test_the_first_token_is_a_sink_with_its_exact_weight() -> None:
    sunk, not_sunk = noise() * SEEN, noise(1) * SEEN
    sunk[:, 0] += 8
    source = given(sunk, not_sunk)
    told = story([layer(source)])
    exact = float(source.given[0, 0, 1:, 0].mean())
    assert [(head.sink, head.taken) for head in told.heads] == [(0, pytest.approx(exact, rel=1e-6)), (None, 0.0)]
    (sink,) = told.sinks
    assert (sink.key, sink.heads, sink.exact) == (0, 1, True)
    assert sink.taken == pytest.approx(exact, rel=1e-6)
    assert told.rows[0].sinks == 1


def test_of_another_token_what_it_takes_is_a_lower_bound() -> None:
    sunk = noise()
    sunk[:, 7] += 12
    sunk[4] = 1 + noise(2)[4]
    sunk[4, 7] = 0.5  # where it is not among the largest, it counts nothing
    source = given(sunk, sunk, noise(1))
    told = story([layer(source)])
    exact = float(source.given[0, 0, 1:, 7].mean())
    assert [head.sink for head in told.heads] == [7, 7, None]
    (sink,) = told.sinks
    assert (sink.key, sink.heads, sink.exact) == (7, 2, False)
    assert exact - 0.02 < sink.taken <= exact


def test_in_a_short_text_an_even_spread_is_no_sink() -> None:
    even = Given(torch.ones(4, 4).tril().div(torch.arange(1, 5)[:, None]).expand(1, 2, 4, 4))
    assert float(even.given[0, 0, 1:, 0].mean()) > 0.3
    assert story([layer(even)]).sinks == ()


@pytest.mark.parametrize("step", [-1, 0, 1])
def test_a_head_that_looks_beside_its_query_is_told_with_the_evidence(step: int) -> None:
    weights = noise()
    rows = ROWS if step < 1 else ROWS[:-1]
    weights[rows, (rows + step).clamp_min(0)] += 30
    weights[9] = noise()[9]  # one query that does not
    weights[9, 3] += 2
    (head,) = heads_of(given(weights))
    assert head.kind == {-1: "previous", 0: "itself", 1: "next"}[step]
    hits = (given(weights).given[0, 0].argmax(-1) == ROWS + step)[2:]
    assert head.share == pytest.approx(float(hits.double().mean()))
    assert head.weight == pytest.approx(float(given(weights).given[0, 0].amax(-1)[2:][hits].mean()), rel=1e-5)
    assert (head.layer, head.head, head.sink) == (0, 0, None)


def test_a_sink_is_left_aside_when_the_rest_is_looked_at() -> None:
    weights = noise() * SEEN + 20 * BEFORE
    weights[:, 0] += 40
    (head,) = heads_of(given(weights))
    assert (head.sink, head.kind, head.share) == (0, "previous", 1.0)
    assert 0.1 < head.weight < head.taken


def test_what_has_next_to_no_weight_makes_no_kind() -> None:
    weights = 1e-3 * noise() * SEEN + BEFORE
    weights[:, 0] += 60
    (head,) = heads_of(given(weights))
    assert (head.sink, head.kind) == (0, None)


@pytest.mark.parametrize("seen", [SEEN, torch.ones_like(SEEN)], ids=["causal", "all keys"])
def test_a_broad_head_is_told_by_its_entropy(seen: Tensor) -> None:
    source = given(seen * (1 + 0.2 * noise()))
    (head,) = heads_of(source)
    weights = source.given[0, 0, 2:]
    largest = seen.sum(-1)[2:].double().log()
    assert head.kind == "broad"
    assert head.share == pytest.approx(float((-torch.xlogy(weights, weights).sum(-1) / largest).mean()), rel=1e-5)


def test_of_few_queries_no_kind_is_told() -> None:
    (head,) = heads_of(Given(torch.eye(6).expand(1, 1, 6, 6)))
    assert head.kind is None


def test_where_queries_are_of_another_sequence_nothing_is_said_of_places() -> None:
    source = given((noise() + 30 * ITSELF)[:, :-1])
    (head,) = heads_of(source)
    assert (head.kind, head.sink) == (None, None)
    assert head.start == pytest.approx(float(source.given[0, 0, :, 0].mean()), rel=1e-6)  # of every query


def test_a_query_that_sees_no_key_is_left_out() -> None:
    weights = noise() * SEEN
    weights[5:9] = 0
    weights[10:] = weights[10:] / weights[10:].sum(-1, keepdim=True)
    source = Given(weights.expand(1, 1, L, L))
    (head,) = heads_of(source)
    rows = [row for row in range(1, L) if not 5 <= row < 9]
    assert head.start == pytest.approx(float(weights[rows, 0].mean()), rel=1e-6)


def test_of_no_query_there_are_no_numbers() -> None:
    (head,) = heads_of(Given(torch.ones(1, 1, 1, 1)))
    assert math.isnan(head.entropy)
    assert (head.sink, head.kind) == (None, None)
    assert story([]) == replace(story([layer(Given(torch.ones(1, 1, 1, 1)))]), rows=(), heads=())


def test_rows_that_a_cache_joined_are_told_as_one_pass() -> None:
    weights = noise() * SEEN + 20 * BEFORE
    whole = given(weights)
    first, second = Given(whole.given[:, :, :9, :9]), Given(whole.given[:, :, 9:], 9)
    joined = join(layer(first).summary, layer(second, first=9).summary)
    assert story([replace(layer(whole), summary=joined)]) == story([layer(whole)])


def test_the_largest_weights_of_each_query() -> None:
    source = given(noise(), noise(1) * SEEN)
    found = detail(layer(source, top=5), 1, 7)
    assert (found.layer, found.head, found.queries) == (0, 1, L)
    assert [top.query for top in found.tops] == list(range(7))
    for top in found.tops:
        values, keys = source.given[0, 1, top.query].topk(min(5, top.query + 1))
        assert [key for key, _ in top.keys] == keys.tolist()
        assert [weight for _, weight in top.keys] == pytest.approx(values.tolist(), rel=1e-6)


def test_heads_keep_their_numbers() -> None:
    found = replace(layer(given(noise(), noise(1))), index=4, heads=(3, 8))
    assert [(head.layer, head.head) for head in story([found]).heads] == [(4, 3), (4, 8)]
    assert detail(found, 8).tops[2].keys[0][0] == int(noise(1)[2].argmax())
