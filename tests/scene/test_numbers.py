"""The numbers of a scene are those of the attention, in rows of queries and columns of keys, whatever the style.

All sizes differ, so that an axis in a wrong place cannot go unseen: B=2, L=5, H=3, d=4.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from scene.reading import numbers, scene_of, tensors
from torch import Tensor, nn
from torch.nn import functional as F

B, L, D, H = 2, 5, 12, 3
WIDTH = D // H


class Projected(nn.Module):
    """Three projections in float64; what is made of q, k and v is the styles' own."""

    def __init__(self, causal: bool = False) -> None:
        super().__init__()
        self.causal = causal
        self.q, self.k, self.v, self.out = (nn.Linear(D, D, dtype=torch.float64) for _ in range(4))

    def expected(self, x: Tensor) -> dict[str, Tensor]:
        """What there is to see, by role, [B, H, rows, columns]; `x` is [B, L, D]."""
        q, k, v = (item(x).reshape(B, L, H, WIDTH).permute(0, 2, 1, 3) for item in (self.q, self.k, self.v))
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k)
        scaled = scores / math.sqrt(WIDTH)
        hidden = torch.ones(L, L).triu(1).bool()
        masked = scaled.masked_fill(hidden, -math.inf) if self.causal else scaled
        weights = masked.softmax(-1)
        output = weights @ v
        found = {"q": q, "k": k, "v": v, "scores": scores, "scaled": scaled, "weights": weights, "output": output}
        if self.causal:
            found |= {"mask": hidden.double().expand(1, 1, L, L), "masked": masked}
        merged = output.permute(0, 2, 1, 3).reshape(B, 1, L, D)
        return found | {"x": x.unsqueeze(1), "projected": self.out(merged)}


class ByHand(Projected):
    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (item(x).view(B, L, H, WIDTH).transpose(1, 2) for item in (self.q, self.k, self.v))
        scores = q @ k.transpose(-2, -1)
        scores = scores / math.sqrt(WIDTH)
        if self.causal:
            scores = scores.masked_fill(torch.ones(L, L).triu(1).bool(), -math.inf)
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(B, L, D))


class Einsum(Projected):
    """Heads stay behind tokens, and the scores are stored keys first."""

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (item(x).reshape(B, L, H, WIDTH) for item in (self.q, self.k, self.v))
        scores = torch.einsum("bqhd,bkhd->bkhq", q, k) / math.sqrt(WIDTH)
        if self.causal:
            scores = scores + torch.full((L, L), -math.inf).triu(1).T[:, None]
        return self.out(torch.einsum("bkhq,bkhd->bqhd", scores.softmax(1), v).reshape(B, L, D))


class Folded(Projected):
    """Samples and heads in one axis."""

    def forward(self, x: Tensor) -> Tensor:
        def split(y: Tensor) -> Tensor:
            return y.view(B, L, H, WIDTH).transpose(1, 2).reshape(B * H, L, WIDTH)

        q, k, v = split(self.q(x)), split(self.k(x)), split(self.v(x))
        scores = torch.bmm(q, k.transpose(1, 2)) / math.sqrt(WIDTH)
        if self.causal:
            scores = scores.masked_fill(~torch.ones(L, L).tril().bool(), -math.inf)
        mixed = torch.bmm(F.softmax(scores, dim=-1), v)
        return self.out(mixed.view(B, H, L, WIDTH).transpose(1, 2).reshape(B, L, D))


class SequenceFirst(Projected):
    """Tokens before samples, heads before both."""

    def forward(self, x: Tensor) -> Tensor:
        x = x.transpose(0, 1)
        q, k, v = (item(x).view(L, B, H, WIDTH).permute(2, 1, 0, 3) for item in (self.q, self.k, self.v))
        scores = q @ k.mT / math.sqrt(WIDTH)
        if self.causal:
            scores = scores.masked_fill(torch.ones(L, L).triu(1).bool(), -math.inf)
        return self.out((scores.softmax(-1) @ v).permute(2, 1, 0, 3).reshape(L, B, D))


class Fused(Projected):
    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (item(x).view(B, L, H, WIDTH).transpose(1, 2) for item in (self.q, self.k, self.v))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out(mixed.transpose(1, 2).reshape(B, L, D))


class Ready(Projected):
    """`nn.MultiheadAttention`, which projects within."""

    def __init__(self, causal: bool = False) -> None:
        super().__init__(causal)
        self.ready = nn.MultiheadAttention(D, H, batch_first=True, dtype=torch.float64)
        with torch.no_grad():
            self.ready.in_proj_weight.copy_(torch.cat([self.q.weight, self.k.weight, self.v.weight]))
            self.ready.in_proj_bias.copy_(torch.cat([self.q.bias, self.k.bias, self.v.bias]))
            self.ready.out_proj.weight.copy_(self.out.weight)
            self.ready.out_proj.bias.copy_(self.out.bias)

    def forward(self, x: Tensor) -> Tensor:
        mask = torch.ones(L, L).triu(1).bool() if self.causal else None
        return self.ready(x, x, x, attn_mask=mask, need_weights=False)[0]


STYLES: list[type[Projected]] = [ByHand, Einsum, Folded, SequenceFirst, Fused, Ready]


def looked_at(style: type[Projected], causal: bool) -> tuple[Any, dict[str, Tensor]]:
    torch.manual_seed(0)
    module = style(causal)
    x = torch.randn(B, L, D, dtype=torch.float64)
    with torch.no_grad():
        return scene_of(module, x), module.expected(x)


@pytest.mark.parametrize("causal", [False, True], ids=["all", "causal"])
@pytest.mark.parametrize("style", STYLES)
def test_every_role_has_the_numbers_of_the_attention(style: type[Projected], causal: bool) -> None:
    scene, expected = looked_at(style, causal)
    (told,) = scene["told"]
    (layer,) = told["layers"]
    assert layer["divisor"] == pytest.approx(2.0)
    found = layer["tensors"]
    assert expected.keys() <= found.keys()
    for role, wanted in expected.items():
        got = numbers(found[role])
        assert got.shape == wanted.shape, role
        assert torch.allclose(got, wanted, rtol=1e-6, atol=1e-6), role
        assert (found[role]["samples"], found[role]["heads"]) == wanted.shape[:2]
    assert "additive" not in layer
    assert "changed" not in layer


@pytest.mark.parametrize("style", STYLES)
def test_rows_and_columns_say_what_they_count(style: type[Projected]) -> None:
    found = tensors(looked_at(style, True)[0])
    counted = {role: (tensor["rows"], tensor["cols"]) for role, tensor in found.items()}
    grids = dict.fromkeys(("scores", "scaled", "mask", "masked", "weights"), ("query", "key"))
    inputs = {"q": ("query", "feature"), "k": ("key", "feature"), "v": ("key", "feature")}
    wanted = {**grids, **inputs, "output": ("query", "feature"), "x": ("token", "feature")}
    assert {role: counted[role] for role in wanted} == wanted


def test_a_tensor_that_a_call_keeps_to_itself_is_said_to_be_worked_out() -> None:
    scene, _ = looked_at(Ready, False)
    found = tensors(scene)
    assert all(found[role]["computed"] for role in ("q", "k", "v", "scores", "weights", "output"))
    assert "computed" not in found["x"]
    assert found["weights"]["shape"] == [B, H, L, L]
    assert found["weights"]["axes"] == ["B", "H", "L", "L"]
    assert any("worked out again" in note["en"] for note in scene["told"][0]["notes"])
    assert all("computed" not in tensor for tensor in tensors(looked_at(ByHand, False)[0]).values())


def attention(change: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    """An attention whose weights are changed before they meet v."""

    def run(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        scores = q @ k.transpose(-2, -1)
        weights = torch.softmax(scores / math.sqrt(WIDTH), dim=-1)
        return change(weights) @ v

    return run


@pytest.mark.parametrize(
    ("change", "changed"),
    [(lambda w: F.dropout(w, 0.5), True), (lambda w: F.dropout(w, 0.5, training=False), False), (lambda w: w, False)],
    ids=["dropout", "dropout in eval", "nothing"],
)
def test_weights_that_are_changed_before_they_meet_v_are_said_to_be(
    change: Callable[[Tensor], Tensor], changed: bool
) -> None:
    torch.manual_seed(0)
    q, k, v = (torch.randn(B, L, WIDTH) for _ in range(3))
    scene = scene_of(attention(change), q, k, v)
    assert scene["told"][0]["layers"][0].get("changed", False) is changed
    assert any("changed once more" in note["en"] for note in scene["told"][0]["notes"]) is changed
    sums = numbers(tensors(scene)["weights"]).sum(-1)
    assert torch.allclose(sums, torch.ones_like(sums), atol=1e-6)


def test_a_product_that_multiplies_says_by_what() -> None:
    def run(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        empty = torch.empty(B, L, L)
        return torch.baddbmm(empty, q, k.transpose(1, 2), beta=0, alpha=0.25).softmax(-1) @ v

    torch.manual_seed(0)
    q, k, v = (torch.randn(B, L, WIDTH) for _ in range(3))
    scene = scene_of(run, q, k, v)
    layer = scene["told"][0]["layers"][0]
    assert layer["factor"] == 0.25
    assert layer["divisor"] is None
    assert torch.allclose(numbers(layer["tensors"]["scores"])[:, 0], 0.25 * (q @ k.mT).double(), atol=1e-6)


def test_additive_scores_are_no_dot_products() -> None:
    class Additive(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.query, self.key, self.score = nn.Linear(4, 6), nn.Linear(4, 6), nn.Linear(6, 1)

        def forward(self, one: Tensor, many: Tensor) -> Tensor:
            summed = self.query(one)[:, :, None] + self.key(many)[:, None]
            weights = self.score(torch.tanh(summed)).squeeze(-1).softmax(-1)
            return weights @ many

    torch.manual_seed(0)
    scene = scene_of(Additive(), torch.randn(B, 3, 4), torch.randn(B, L, 4))
    assert scene["told"][0]["layers"][0]["additive"] is True


def test_heads_of_keys_that_are_shared_are_shown_for_each_head_that_reads_them() -> None:
    def run(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(q, k, v, enable_gqa=True)

    torch.manual_seed(0)
    q, k, v = torch.randn(B, 6, L, 4), torch.randn(B, 2, L, 4), torch.randn(B, 2, L, 4)
    found = tensors(scene_of(run, q, k, v))
    assert torch.allclose(numbers(found["k"]), k.repeat_interleave(3, 1).double())
    weights = (q @ k.repeat_interleave(3, 1).mT / 2).softmax(-1)
    assert torch.allclose(numbers(found["weights"]), weights.double(), atol=1e-6)


@pytest.mark.parametrize("kind", ["bool", "float", "bias"])
def test_what_a_fused_call_adds_or_hides_is_seen(kind: str) -> None:
    torch.manual_seed(0)
    q, k, v = (torch.randn(B, H, L, WIDTH) for _ in range(3))
    seen = torch.rand(B, 1, L, L) > 0.3
    seen[..., 0] = True
    added = torch.zeros(B, 1, L, L).masked_fill(~seen, -math.inf) if kind != "bias" else torch.randn(H, L, L)
    mask = seen if kind == "bool" else added

    def run(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)

    found = tensors(scene_of(run, q, k, v))
    masked = q @ k.mT / math.sqrt(WIDTH) + added
    assert torch.allclose(numbers(found["masked"]), masked.double(), atol=1e-5)
    assert torch.allclose(numbers(found["weights"]), masked.softmax(-1).double(), atol=1e-6)
    if kind == "bias":
        assert "mask" not in found
    else:
        assert torch.equal(numbers(found["mask"]), (~seen).double())


@pytest.mark.parametrize("where", ["scores", "powers", "weights"])
def test_a_mask_hides_the_same_keys_wherever_it_stands(where: str) -> None:
    def run(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        scores = q @ k.mT / math.sqrt(WIDTH)
        if where == "scores":
            return (scores + torch.full((L, L), -1e9).triu(1)).softmax(-1) @ v
        if where == "powers":
            powers = scores.exp().tril()
            return powers / powers.sum(-1, keepdim=True) @ v
        return scores.softmax(-1).tril() @ v

    torch.manual_seed(0)
    found = tensors(scene_of(run, *(torch.randn(B, L, WIDTH) for _ in range(3))))
    assert torch.equal(numbers(found["mask"])[0, 0], torch.ones(L, L).triu(1).double())
    assert ("masked" in found) is (where == "scores")
    if where == "scores":  # for the shades of what is seen
        assert found["masked"]["min"] > -100 > float(numbers(found["masked"]).min())
    assert "computed" not in found["mask"]
