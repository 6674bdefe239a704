"""`attnlab.testing`: an assertion on a module, and strategies for hypothesis."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional as F

from attnlab import check
from attnlab.testing import AttentionError, Shape, assert_attention, dtypes, inputs, masks, shapes


class Attention(nn.Module):
    """Causal or not, with a padding mask or without, and with one fault or none."""

    def __init__(self, width: int = 12, heads: int = 3, *, ahead: int | None = None, dropout: float = 0.0) -> None:
        super().__init__()
        self.heads, self.ahead = heads, ahead
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))
        self.dropout = nn.Dropout(dropout)

    def split(self, x: Tensor) -> Tensor:
        return x.view(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2)

    def forward(self, x: Tensor, keep: Tensor | None = None) -> Tensor:
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        if self.ahead is not None:
            late = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1 + self.ahead)
            scores = scores.masked_fill(late, -1e9)
        if keep is not None:
            scores = scores.masked_fill(~keep[:, None, None, :], -1e9)
        weights = self.dropout(F.softmax(scores, dim=-1))
        return (weights @ v).transpose(1, 2).reshape(x.shape)


def wrong(x: Tensor) -> Tensor:
    return torch.softmax(x @ x.transpose(1, 2) / x.shape[-1] ** 0.5, dim=1) @ x


X = torch.randn(2, 5, 12, generator=torch.Generator().manual_seed(1))
KEEP = torch.tensor([[True, True, True, False, False], [True, True, True, True, True]])


def test_right_code_passes() -> None:
    assert_attention(Attention(), X)


def test_a_finding_is_raised_as_text() -> None:
    with pytest.raises(AttentionError, match="ATT001 softmax-axis") as caught:
        assert_attention(wrong, X, lang="en")
    assert isinstance(caught.value, AssertionError)
    assert str(caught.value).startswith("wrong does not do what attention does:")
    assert [item.code for item in caught.value.findings] == ["ATT001"]
    assert caught.value.line.endswith("ATT001 softmax-axis")


def test_select_and_ignore() -> None:
    assert_attention(wrong, X, ignore=["softmax-axis"])
    assert_attention(wrong, X, select=["ATT05"])
    with pytest.raises(ValueError, match="did you mean softmax-axis"):
        assert_attention(wrong, X, ignore=["softmx-axis"], lang="en")


def test_a_comment_holds_in_tests_too() -> None:
    def ignored(x: Tensor) -> Tensor:
        return torch.softmax(x @ x.transpose(1, 2) / x.shape[-1] ** 0.5, dim=1) @ x  # attnlab: ignore[ATT001]

    assert_attention(ignored, X)
    assert check(ignored, X) == []
    assert [item.code for item in check(wrong, X)] == ["ATT001"]


def test_what_the_module_raises_is_raised_unchanged() -> None:
    error = RuntimeError("mine")

    def fails(_: Tensor) -> Tensor:
        raise error

    with pytest.raises(RuntimeError) as caught:
        assert_attention(fails, X)
    assert caught.value is error
    with pytest.raises(RuntimeError) as caught:
        check(fails, X)
    assert caught.value is error


# -- causal --------------------------------------------------------------------------------------


class Model(nn.Module):
    """Token ids in, their padding known from the ids."""

    def __init__(self, attention: nn.Module) -> None:
        super().__init__()
        self.embedding = nn.Embedding(9, 12, padding_idx=0)
        self.attention = attention

    def forward(self, ids: Tensor) -> Tensor:
        return self.attention(self.embedding(ids), ids != 0)


class Cached(nn.Module):
    """Keeps something from call to call."""

    def __init__(self) -> None:
        super().__init__()
        self.attention, self.calls = Attention(ahead=0), 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        return self.attention(x) * self.calls


def three(size: tuple[int, ...] = (2, 3, 5, 4)) -> list[Tensor]:
    return [torch.randn(size, generator=torch.Generator().manual_seed(seed)) for seed in range(3)]


def sdpa(causal: bool) -> Callable[..., Tensor]:
    return lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=causal)


IDS = torch.tensor([[1, 2, 3, 0, 0], [4, 5, 6, 7, 8]])
FIRST = X.transpose(0, 1)
LATE = torch.ones(5, 5, dtype=torch.bool).triu(1)
CAUSAL: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = [
    (Attention(ahead=0), (X,), {}),
    (Attention(ahead=0, dropout=0.3), (X,), {}),
    (Attention(ahead=0).double(), (X.double(),), {}),
    (Cached(), (X,), {}),
    (Model(Attention(ahead=0)), (IDS,), {}),
    (sdpa(True), tuple(three()), {}),
    (nn.MultiheadAttention(12, 3), (FIRST, FIRST, FIRST), {"attn_mask": LATE}),
    (nn.MultiheadAttention(12, 3, batch_first=True), (X, X, X), {"attn_mask": LATE}),
]
OPEN: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = [
    (Attention(), (X,), {}),
    (Attention(ahead=1), (X,), {}),
    (Model(Attention(ahead=1)), (IDS,), {}),
    (sdpa(False), tuple(three()), {}),
    (nn.MultiheadAttention(12, 3), (FIRST, FIRST, FIRST), {}),
    (nn.Sequential(Attention(ahead=0), Attention()), (X,), {}),
]
QUIET: dict[str, Any] = {"select": []}


@pytest.mark.parametrize(("module", "args", "options"), CAUSAL)
def test_causal(module: Any, args: tuple[Any, ...], options: dict[str, Any]) -> None:
    assert_attention(module, *args, causal=True, **QUIET, **options)
    with pytest.raises(AttentionError, match="is causal"):
        assert_attention(module, *args, causal=False, lang="en", **QUIET, **options)


@pytest.mark.parametrize(("module", "args", "options"), OPEN)
def test_not_causal(module: Any, args: tuple[Any, ...], options: dict[str, Any]) -> None:
    assert_attention(module, *args, causal=False, **QUIET, **options)
    with pytest.raises(AttentionError, match=r"is not causal: token \d of the output moved"):
        assert_attention(module, *args, causal=True, lang="en", **QUIET, **options)


def test_which_token_felt_which() -> None:
    with pytest.raises(AttentionError) as caught:
        assert_attention(Attention(ahead=1), X, causal=True, lang="en", **QUIET)
    assert re.search("token 0 of the output moved by .* when token 1 of the input", caught.value.line)


def test_a_module_that_cannot_be_copied() -> None:
    class Stubborn(Cached):
        def __deepcopy__(self, _: object) -> Stubborn:
            raise TypeError("no")

    with pytest.raises(ValueError, match="another result"):
        assert_attention(Stubborn(), X, causal=True, lang="en", **QUIET)


def test_running_statistics_are_those_of_one_call() -> None:
    class Normed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.attention = nn.BatchNorm1d(12), Attention(ahead=0)

        def forward(self, x: Tensor) -> Tensor:
            return self.attention(x) + 0 * self.norm(x.transpose(1, 2)).transpose(1, 2)

    module = Normed()
    assert_attention(module, X, causal=True, **QUIET)
    assert int(module.norm.num_batches_tracked) == 1


def test_it_leaves_the_module_and_the_random_state_alone() -> None:
    module = Cached().train()
    torch.manual_seed(3)
    module(X)
    after = torch.get_rng_state()
    torch.manual_seed(3)
    assert_attention(module, X, causal=True, **QUIET)
    assert torch.equal(torch.get_rng_state(), after)
    assert not module.attention._forward_hooks


# -- masks ---------------------------------------------------------------------------------------


def test_a_mask_that_is_heeded() -> None:
    assert_attention(Attention(), X, KEEP, mask=KEEP)
    assert_attention(Model(Attention()), IDS, mask=IDS != 0)
    mha = nn.MultiheadAttention(12, 3)
    assert_attention(mha, FIRST, FIRST, FIRST, key_padding_mask=~KEEP, mask=KEEP.T)
    assert_attention(sdpa(False), *three(), mask=torch.ones(2, 5, dtype=torch.bool))


@pytest.mark.parametrize("given", [(), (~KEEP,)], ids=["none", "turned round"])
def test_a_mask_that_is_not(given: tuple[Tensor, ...]) -> None:
    with pytest.raises(AttentionError, match="does not leave out what the mask drops"):
        assert_attention(Attention(), X, *given, mask=KEEP, lang="en", **QUIET)


def test_a_pooled_output() -> None:
    def pooled(x: Tensor, keep: Tensor) -> Tensor:
        return (x * keep[..., None]).sum(1)

    def mean(x: Tensor, _: Tensor) -> Tensor:
        return x.mean(1)

    assert_attention(pooled, X, KEEP, mask=KEEP, **QUIET)
    with pytest.raises(AttentionError) as caught:
        assert_attention(mean, X, KEEP, mask=KEEP, lang="en", **QUIET)
    assert "(sample 0;" in caught.value.line


@pytest.mark.parametrize(
    ("module", "args", "options", "reason"),
    [
        (lambda: X, (), {"causal": True}, "none of its inputs"),
        (lambda x: x.shape, (X,), {"causal": True}, "no tensor of floating-point"),
        (lambda x: x.mean(1), (X,), {"causal": True}, "no axis of its output"),
        (lambda x: x, (X[:1, :1],), {"causal": True}, "one token only"),
        (lambda x: x, (X,), {"mask": KEEP[:, :4]}, r"the mask \[2, 4\]"),
        (lambda x: x + torch.randn((), generator=GENERATOR), (X,), {"causal": True}, "another result"),
    ],
)
def test_what_cannot_be_tried_is_told(module: Any, args: tuple[Any, ...], options: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        assert_attention(module, *args, lang="en", **QUIET, **options)


GENERATOR = torch.Generator()


# -- strategies ----------------------------------------------------------------------------------


@given(shape=shapes())
def test_shapes(shape: Shape) -> None:
    batch, length, width, heads = shape
    assert width % heads == 0
    assert min(shape) >= 1
    assert len({batch, length, heads, width // heads}) == 4
    assert len({batch, length, width}) == 3


@given(data=st.data(), batch=st.integers(1, 4), length=st.integers(1, 6))
def test_masks(data: st.DataObject, batch: int, length: int) -> None:
    mask = data.draw(masks(batch, length))
    assert mask.shape == (batch, length)
    assert mask.dtype == torch.bool
    assert bool(mask.any(-1).all())


@settings(max_examples=10, deadline=None)
@given(data=st.data(), shape=shapes(most=4), dtype=dtypes())
def test_a_whole_test_with_strategies(data: st.DataObject, shape: Shape, dtype: torch.dtype) -> None:
    x = data.draw(inputs(*shape[:3], dtype=dtype))
    keep = data.draw(masks(shape.batch, shape.length))
    module = Attention(shape.width, shape.heads).to(dtype)
    assert_attention(module, x, keep, mask=keep)
