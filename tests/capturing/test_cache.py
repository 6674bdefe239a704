"""Rows of a generation over one key/value cache are joined, however long it is and however it masks."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnlab import capture
from attnlab.capturing import Capturing

B, H, G, D, P, STEPS = 2, 6, 3, 12, 4, 5
TOTAL = P + STEPS


class Cached(nn.Module):
    """One layer; `how` it computes attention and keeps its cache."""

    def __init__(self, how: str, most: int = TOTAL) -> None:
        super().__init__()
        self.how = how
        self.q, self.k, self.v = nn.Linear(D, H * 2), nn.Linear(D, G * 2), nn.Linear(D, G * 2)
        self.out = nn.Linear(H * 2, D)
        self.past: tuple[Tensor, Tensor] | None = None
        self.most = most
        self.length = 0

    def forward(self, x: Tensor) -> Tensor:
        q = self.q(x).view(B, -1, H, 2).transpose(1, 2)
        k, v = (f(x).view(B, -1, G, 2).transpose(1, 2) for f in (self.k, self.v))
        first, self.length = self.length, self.length + x.shape[1]
        rows = torch.arange(first, self.length)
        if self.how == "static":
            if self.past is None:
                self.past = (torch.zeros(B, G, self.most, 2), torch.zeros(B, G, self.most, 2))
            for held, new in zip(self.past, (k, v), strict=True):
                held[:, :, rows] = new
            k, v = self.past
        elif self.past is not None:
            k, v = (torch.cat(pair, 2) for pair in zip(self.past, (k, v), strict=True))
        if self.how != "static":
            self.past = (k, v)
        seen = torch.arange(k.shape[2]) <= rows[:, None]
        k, v = (item.repeat_interleave(H // G, 1) for item in (k, v))
        return self.out(self.attend(q, k, v, seen).transpose(1, 2).flatten(2))

    def attend(self, q: Tensor, k: Tensor, v: Tensor, seen: Tensor) -> Tensor:
        if self.how == "written":
            scores = q @ k.mT / 2**0.5
            return scores.masked_fill(~seen, -torch.inf).softmax(-1) @ v
        if self.how == "causal":
            return F.scaled_dot_product_attention(q, k, v, is_causal=q.shape[2] > 1)
        if self.how == "numbers":
            seen = torch.zeros(seen.shape).masked_fill(~seen, torch.finfo(torch.float32).min)
        return F.scaled_dot_product_attention(q, k, v, seen)


class Model(nn.Module):
    def __init__(self, how: str, layers: int = 2, most: int = TOTAL) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Cached(how, most) for _ in range(layers))

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = x + layer(x)
        return x


def model(how: str, **options: Any) -> Model:
    torch.manual_seed(0)
    return Model(how, **options).eval()


X = torch.randn(B, TOTAL, D, generator=torch.Generator().manual_seed(1))
CHUNKS = [slice(0, P), *(slice(at, at + 1) for at in range(P, TOTAL))]


@pytest.fixture
def wanted() -> list[Tensor]:
    """The weights of all tokens in one pass, written out in full."""
    module = model("written")
    made: list[Tensor] = []
    for layer in module.layers:
        assert isinstance(layer, Cached)
        attend = layer.attend

        def keep(q: Tensor, k: Tensor, v: Tensor, seen: Tensor, attend: Any = attend) -> Tensor:
            made.append((q.double() @ k.double().mT / 2**0.5).masked_fill(~seen, -torch.inf).softmax(-1))
            return attend(q, k, v, seen)

        layer.attend = keep
    module(X)
    return made


@pytest.mark.parametrize("how", ["written", "causal", "mask", "numbers", "static"])
@torch.no_grad()
def test_the_rows_of_each_step_are_joined(how: str, wanted: list[Tensor]) -> None:
    module = model(how)
    with capture() as found:
        for chunk in CHUNKS:
            module(X[:, chunk])
    assert [(one.name, one.calls, one.first) for one in found] == [(f"layers.{i}", 1 + STEPS, 0) for i in range(2)]
    for one, weights in zip(found, wanted, strict=True):
        assert one.shape == weights.shape
        assert (one.weights - weights).abs().max() < 1e-6
        assert torch.equal(one.window(slice(3, 8), slice(1, 6)), one.weights[:, :, 3:8, 1:6])
    if how == "causal":
        source = found[0].source
        assert getattr(source, "causal", None) == 0  # no mask of L × L is made
        assert getattr(source, "mask", 0) is None


@pytest.mark.parametrize("how", ["written", "causal", "mask", "numbers", "static"])
@torch.no_grad()
def test_each_is_told_which_rows_a_call_gives(how: str, wanted: list[Tensor]) -> None:
    module = model(how)
    with Capturing(each=lambda one: (one.first, one.weights, one.source.position)) as found:
        for chunk in CHUNKS:
            module(X[:, chunk])
    assert [one.name for one in found] == [f"layers.{i}" for i in range(2)] * len(CHUNKS)
    assert [one.index for one in found] == [0, 1] * len(CHUNKS)
    for one, (chunk, weights) in zip(found, [(chunk, weights) for chunk in CHUNKS for weights in wanted], strict=True):
        first, own, position = one.result
        assert first == one.first == position == chunk.start
        keys = min(own.shape[3], chunk.stop)
        assert (own[..., :keys] - weights[:, :, chunk, :keys]).abs().max() < 1e-6
        assert not own[..., keys:].any()


@torch.no_grad()
def test_a_second_text_begins_anew() -> None:
    module = model("causal")
    with capture() as found:
        for _ in range(2):
            for chunk in CHUNKS[:3]:
                module(X[:, chunk])
            for layer in module.layers:
                layer.past, layer.length = None, 0
    assert [one.calls for one in found] == [3] * 4


@torch.no_grad()
def test_a_cache_that_was_changed_is_not_joined() -> None:
    module = model("causal", layers=1)
    with capture() as found:
        module(X[:, CHUNKS[0]])
        layer = module.layers[0]
        assert isinstance(layer, Cached)
        assert layer.past is not None
        layer.past = (layer.past[0].flip(0), layer.past[1])  # as a search does that keeps several texts
        module(X[:, CHUNKS[1]])
    assert [one.calls for one in found] == [1, 1]


@torch.no_grad()
def test_a_block_that_begins_in_the_midst_of_a_generation(wanted: list[Tensor]) -> None:
    module = model("causal")
    for chunk in CHUNKS[:2]:
        module(X[:, chunk])
    with capture() as found:
        for chunk in CHUNKS[2:]:
            module(X[:, chunk])
    first = CHUNKS[2].start
    assert [(one.calls, one.first) for one in found] == [(STEPS - 1, first)] * 2
    for one, weights in zip(found, wanted, strict=True):
        assert (one.weights - weights[:, :, first:]).abs().max() < 1e-6
        assert one.source is not None
        assert one.source.position == first


class Decoder(nn.Module):
    """A causal self attention over a cache, then a cross attention to a memory that stays."""

    def __init__(self) -> None:
        super().__init__()
        self.own, self.q, self.k = Cached("causal"), nn.Linear(D, D), nn.Linear(D, D)

    def forward(self, x: Tensor, memory: Tensor) -> Tensor:
        x = x + self.own(x)
        q, k = (f(y).view(B, -1, 3, 4).transpose(1, 2) for f, y in ((self.q, x), (self.k, memory)))
        return F.scaled_dot_product_attention(q, k, k).transpose(1, 2).flatten(2)


@torch.no_grad()
def test_a_cross_attention_in_a_generation_is_joined_too() -> None:
    memory = torch.randn(B, 7, D)

    def steps(chunks: list[slice]) -> Any:
        torch.manual_seed(0)
        module = Decoder()
        with capture() as found:
            for chunk in chunks:
                module(X[:, chunk], memory)
        return found

    found, whole = steps(CHUNKS), steps([slice(0, TOTAL)])
    assert [(one.name, one.calls, one.shape) for one in found] == [
        ("own", 6, (B, H, TOTAL, TOTAL)),
        ("Decoder", 6, (B, 3, TOTAL, 7)),
    ]
    for one, other in zip(found, whole, strict=True):
        assert (one.weights - other.weights).abs().max() < 1e-6


@pytest.mark.parametrize("how", ["written", "causal"])
@torch.no_grad()
def test_no_step_of_a_long_generation_is_lost(how: str) -> None:
    steps = 150  # of four layers some 15 operations each: past every bound of a record
    module = model(how, layers=4, most=steps)
    x = torch.randn(B, 1, D)
    with Capturing(each=lambda one: one.shape[2:]) as found:
        for _ in range(steps):
            module(x)
    assert [one.result for one in found] == [(1, step + 1) for step in range(steps) for _ in range(4)]
    assert [one.first for one in found] == [step for step in range(steps) for _ in range(4)]


@torch.no_grad()
def test_a_long_loop_in_one_place_without_any_module() -> None:
    q, k = torch.randn(B, 3, D), torch.randn(B, 7, D)
    with Capturing(each=lambda one: one.shape) as found:
        for _ in range(300):
            torch.softmax(torch.bmm(q * 2, (k * 2).mT), -1) @ k
    assert [one.result for one in found] == [(B, 1, 3, 7)] * 300
