"""What is found in code that the corpus does not show: mostly attention that is broken, or only looks like it.

Each function is an attention of its own. B, L, D and the rest are all different, so that no axis is taken for another.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnlab import record
from attnlab.attention import Attention, alike, find
from attnlab.run import Run

Code = Callable[[], Tensor]

B, L, D, H, DH = 2, 7, 12, 3, 4


def each(answers: str, **table: Any) -> pytest.MarkDecorator:
    """Parameters by name: the code, and what is to be found in it."""
    return pytest.mark.parametrize(answers, table.values(), ids=table)


def one(run: Run) -> Attention:
    (attention,) = find(run)
    return attention


def attention_of(code: Callable[..., Any], *inputs: Any) -> Attention:
    """The one attention in a function."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return one(record(code, *inputs))


def projected(x: Tensor, width: int = D) -> Tensor:
    return nn.Linear(x.shape[-1], width)(x)


def qkv(length: int = L) -> tuple[Tensor, ...]:
    """One head."""
    return projected(torch.randn(B, length, D), 3 * D).chunk(3, -1)


def qkv_heads(length: int = L) -> list[Tensor]:
    """[B, H, L, DH]."""
    return [t.view(B, length, H, DH).transpose(1, 2) for t in qkv(length)]


def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]), dim=-1) @ v


def split_by_view(length: int) -> Tensor:
    return attend(*[t.reshape(B, H, length, DH) for t in qkv(length)])


def wrong_axis() -> Tensor:
    q, k, v = qkv()
    return torch.softmax(q @ k.mT, dim=1) @ v


def no_axis_named() -> Tensor:
    q, k, v = qkv()
    return F.softmax(q @ k.mT) @ v


def weights_turned() -> Tensor:
    q, k, v = qkv()
    return torch.softmax(q @ k.mT, dim=-1).mT @ v


def scores_turned() -> Tensor:
    q, k, v = qkv()
    return torch.softmax((q @ k.mT).mT, dim=-1) @ v


@each(
    "code, normalised, summed",
    right=(lambda: attend(*qkv()), "key", "key"),
    wrong_axis=(wrong_axis, "query", "key"),
    no_axis=(no_axis_named, "batch", "key"),
    weights_turned=(weights_turned, "key", "query"),
    split_by_view=(lambda: split_by_view(L), "key", "key"),
)
def test_broken_attention_is_found_and_its_axes_told(code: Code, normalised: str, summed: str) -> None:
    found = attention_of(code)
    assert (found.normalised, found.summed) == (normalised, summed)
    assert found.kind == "self"


def test_turned_scores_make_the_operand_whose_axis_is_normalised_the_key() -> None:
    run = record(scores_turned)
    found = one(run)
    q, k, _ = run.steps[found.q.layout[0]].results
    assert (found.q.value, found.k.value) == (k, q)


def test_scalings_are_all_told_and_multiplied() -> None:
    def twice() -> Tensor:
        q, k, v = qkv()
        return torch.softmax((q * 0.5) @ (k / 4).mT * 8 / torch.tensor(2.0), -1) @ v

    run = record(twice)
    found = one(run)
    assert [run.steps[step].op for step in found.scale] == ["mul", "div", "mul", "div"]
    assert found.factor == 0.5 / 4 * 8 / 2
    assert attention_of(lambda: torch.softmax((x := qkv())[0] @ x[1].mT, -1) @ x[2]).factor == 1


def test_a_number_is_a_scale_only_where_it_scales() -> None:
    def inverse() -> Tensor:
        q, k, v = qkv()
        return torch.softmax(1 / (q @ k.mT), -1) @ v

    def cast() -> Tensor:
        q, k, v = qkv()
        return torch.softmax((q * 0.5).double() @ k.double().mT, -1).float() @ v

    def unknown() -> Tensor:
        q, k, v = qkv()
        return torch.softmax(q @ k.mT * torch.tensor(0.5), -1) @ v

    assert attention_of(inverse).scale == ()
    assert attention_of(cast).factor == 0.5
    assert one(record(unknown, numbers=False)).factor is None


def test_a_product_that_adds_brings_its_bias_or_mask() -> None:
    def added(bias: Tensor) -> Tensor:
        q, k, v = qkv()
        return torch.softmax(torch.baddbmm(bias, q, k.mT, alpha=0.25), -1) @ v

    far, near = attention_of(added, torch.full((L, L), -1e9).triu(1)), attention_of(added, torch.randn(B, L, L))
    assert ([mask.kind for mask in far.masks], far.bias, far.causal, far.factor) == (["add"], (), True, 0.25)
    assert (near.masks, near.bias) == ((), (near.scores.step,))


def test_a_second_softmax_is_told_with_the_first() -> None:
    def twice() -> Tensor:
        q, k, v = qkv()
        return torch.softmax(torch.softmax(q @ k.mT, -1), -1) @ v

    found = attention_of(twice)
    assert len(found.softmax) == 2
    assert found.weights.step == found.softmax[0]


def test_a_soft_cap_is_no_scale() -> None:
    def capped() -> Tensor:
        q, k, v = qkv()
        return torch.softmax(torch.tanh(q @ k.mT * 0.5 / 30) * 30, -1) @ v

    found = attention_of(capped)
    assert (found.factor, len(found.scale), len(found.cap)) == (0.5, 1, 3)


def test_a_learned_temperature_of_each_head_is_a_scale_of_unknown_size() -> None:
    temperature = nn.Parameter(torch.ones(H, 1, 1))

    def cosine() -> Tensor:
        q, k, v = qkv_heads()
        scores = F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).mT * temperature.exp()
        return scores.softmax(-1) @ v

    found = attention_of(cosine)
    assert (found.factor, len(found.scale), found.bias) == (None, 1, ())


def sink() -> Tensor:
    q, k, v = qkv_heads()
    scores = torch.cat([q @ k.mT, torch.zeros(B, H, L, 1)], dim=-1)
    return scores.softmax(-1)[..., :-1] @ v


def test_a_column_that_takes_weight_without_a_key_is_passed_over() -> None:
    found = attention_of(sink)
    assert (found.keys, found.normalised, found.summed) == (L, "key", "key")


def test_of_k_and_v_the_same_tensor_can_be_told() -> None:
    def keys_as_values() -> Tensor:
        q, k, _ = qkv()
        return attend(q, k, k)

    found = attention_of(keys_as_values)
    assert found.v.value == found.k.value != found.q.value


def folded() -> Tensor:
    return attend(*[t.reshape(B * H, L, DH) for t in qkv_heads()])


def heads_by_list() -> Tensor:
    x = torch.randn(B, L, D)
    return attend(*[torch.stack([projected(x, DH) for _ in range(H)], dim=1) for _ in range(3)])


def heads_in_a_batch() -> Tensor:
    q, k, v = (torch.cat(t.split(DH, 2), 0) for t in qkv())
    return attend(q, k, v)


def samples_by_list() -> Tensor:
    x = torch.stack([torch.randn(L, D) for _ in range(B)])
    return attend(*[projected(x) for _ in range(3)])


def rows_of_an_image() -> Tensor:
    x = projected(torch.randn(B, 5, L, D), 3 * D)
    return attend(*x.chunk(3, -1))


def windows() -> Tensor:
    x = projected(torch.randn(B, 6 * L, D), 3 * D).view(B, 6, L, 3 * D)
    return attend(*x.chunk(3, -1))


def grouped() -> Tensor:
    x = torch.randn(B, L, D)
    q, k, v = projected(x, 24).view(B, L, 3, 2, 4), projected(x).view(B, L, 3, 4), projected(x).view(B, L, 3, 4)
    weights = torch.einsum("blgrd,bsgd->bgrls", q, k).softmax(-1)
    return torch.einsum("bgrls,bsgd->blgrd", weights, v)


def shared_keys() -> Tensor:
    q, k, v = qkv_heads()
    return attend(q, k[:, :1], v[:, :1])


def split_before_the_projection() -> Tensor:
    x = torch.randn(B, L, D).reshape(B, L, H, DH)
    return attend(*[projected(x, DH).transpose(1, 2) for _ in range(3)])


def between_channels() -> Tensor:
    return attend(*[t.mT for t in qkv_heads()])


@each(
    "code, heads, kv_heads",
    none=(lambda: attend(*qkv()), 1, 1),
    usual=(lambda: attend(*qkv_heads()), H, H),
    folded_into_the_batch=(folded, H, H),
    list_of_projections=(heads_by_list, H, H),
    cut_and_joined_in_the_batch=(heads_in_a_batch, H, H),
    samples_in_a_list=(samples_by_list, 1, 1),
    rows_of_an_image=(rows_of_an_image, 1, 1),
    windows=(windows, 1, 1),
    grouped=(grouped, 6, 3),
    shared_keys=(shared_keys, H, 1),
    drawn_with_shared_keys=(lambda: attend(torch.randn(B, H, L, DH), *torch.randn(2, B, 1, L, DH)), H, 1),
    drawn_for_sdpa=(lambda: F.scaled_dot_product_attention(*torch.randn(3, B, H, L, DH)), H, H),
    split_before_the_projection=(split_before_the_projection, H, H),
    between_channels=(between_channels, H, H),
    split_by_view=(lambda: split_by_view(L), H, H),
    split_by_view_that_divides=(lambda: split_by_view(6), H, H),
    drawn=(lambda: attend(*torch.randn(3, B, H, L, DH)), H, H),
    sdpa_of_rows=(lambda: F.scaled_dot_product_attention(*projected(torch.randn(B, 5, L, D)).split(4, -1)), 1, 1),
    sdpa_folded=(lambda: F.scaled_dot_product_attention(*[t.reshape(B * H, L, DH) for t in qkv_heads()]), H, H),
)
def test_heads_are_counted_where_features_were_cut(code: Code, heads: int, kv_heads: int) -> None:
    found = attention_of(code)
    assert (found.heads, found.kv_heads) == (heads, kv_heads)


def of_two(x: Tensor, y: Tensor) -> Tensor:
    return attend(projected(x), projected(y), projected(y))


def cached() -> Tensor:
    cache = torch.zeros(B, 16, D)
    x = torch.randn(B, 1, D)
    cache[:, 4:5] = projected(x)
    return attend(projected(x), cache[:, :5], cache[:, :5])


def cached_in_a_view() -> Tensor:
    cache = torch.zeros(B, 16, D)
    keys = cache[:, :5]
    x = torch.randn(B, 1, D)
    with torch.no_grad():
        cache[:, 4:5] = projected(x)
        return attend(projected(x), keys, keys)


def normed_apart() -> Tensor:
    x = torch.randn(B, L, D)
    return of_two(nn.LayerNorm(D)(x), nn.LayerNorm(D)(x))


@each(
    "code, kind",
    one_input=(lambda: attend(*qkv()), "self"),
    no_projection=(lambda: attend(x := torch.randn(B, L, D), x, x), "self"),
    cached=(cached, "self"),
    cached_in_a_view=(cached_in_a_view, "self"),
    normed_apart=(normed_apart, "self"),
    two_inputs=(lambda: of_two(torch.randn(B, L, D), torch.randn(B, L, D)), "cross"),
    two_lengths=(lambda: attend(torch.randn(B, 5, D), x := torch.randn(B, L, D), x), "cross"),
    drawn=(lambda: attend(torch.randn(B, L, D), x := torch.randn(B, L, D), x), None),
    drawn_for_sdpa=(
        lambda: F.scaled_dot_product_attention(torch.randn(B, L, D), x := torch.randn(B, L, D), x),
        None,
    ),
)
def test_the_kind_is_told_from_what_q_and_k_were_made_of(code: Code, kind: str | None) -> None:
    assert attention_of(code).kind == kind


def later(queries: int = L, keys: int = L, shift: int = 1) -> Tensor:
    """True above the diagonal."""
    return torch.ones(queries, keys).triu(shift).bool()


def masked(mask: Callable[[Tensor], Tensor], length: int = L, queries: int | None = None) -> Code:
    def code() -> Tensor:
        q, k, v = qkv_heads(length)
        return mask(q[:, :, -(queries or length) :] @ k.mT / 2).softmax(-1) @ v

    return code


def masked_late() -> Tensor:
    q, k, v = qkv()
    return (torch.softmax(q @ k.mT, -1) * torch.ones(L, L).tril()) @ v


def written_in_rounds(scores: Tensor) -> Tensor:
    scores = scores.detach()
    for i in range(L):
        scores[:, :, i, i + 1 :] = -math.inf
    return scores


def written_through_a_view(scores: Tensor) -> Tensor:
    scores = scores.detach()
    scores[1].masked_fill_(later(), -math.inf)
    scores[0].masked_fill_(later(), -math.inf)
    return scores


def written_beneath_a_view(scores: Tensor) -> Tensor:
    scores = scores.detach()
    folded = scores.view(B * H, L, L)
    scores.masked_fill_(later(), -math.inf)
    return folded.view(B, H, L, L)


PAD = torch.arange(L) >= torch.tensor([[5], [L]])


@each(
    "code, causal",
    no_mask=(masked(lambda s: s), False),
    fill=(masked(lambda s: s.masked_fill(later(), -math.inf)), True),
    inverted=(masked(lambda s: s.masked_fill(~later(), -math.inf)), False),
    one_too_few=(masked(lambda s: s.masked_fill(later(shift=2), -1e9)), False),
    itself_too=(masked(lambda s: s.masked_fill(later(shift=0), -1e9)), True),
    where=(masked(lambda s: torch.where(later(), -1e9, s)), True),
    where_inverted=(masked(lambda s: torch.where(later(), s, torch.tensor(-1e9))), False),
    added=(masked(lambda s: s + torch.full((L, L), -math.inf).triu(1)), True),
    taken_away=(masked(lambda s: s - 1e9 * later().float()), True),
    multiplied_and_added=(masked(lambda s: s * (~later()) - 1e4 * later().float()), True),
    logarithm=(masked(lambda s: s + (~later()).float().log()[None]), True),
    padding=(masked(lambda s: s.masked_fill(PAD[:, None, None], -math.inf)), False),
    padding_and_later=(masked(lambda s: s.masked_fill(PAD[:, None, None] | later(), -1e9)), True),
    window=(masked(lambda s: s.masked_fill(later() | later(shift=3).T, -1e9)), True),
    keys_first=(masked(lambda s: s.mT.masked_fill(later().T, -1e9).mT), True),
    written_in_rounds=(masked(written_in_rounds), True),
    written_through_a_view=(masked(written_through_a_view), True),
    last_queries=(masked(lambda s: s.masked_fill(later(4, L, 4), -1e9), queries=4), True),
    long=(masked(lambda s: s.masked_fill(later(40, 40), -1e9), length=40), True),
    past_what_is_kept=(masked(lambda s: s.masked_fill(later(20, 60, 41), -1e9), length=60, queries=20), None),
    late=(masked_late, True),
    triangle=(masked(lambda s: s.tril()), True),
    triangle_keys_first=(masked(lambda s: s.mT.triu().mT), True),
    other_triangle=(masked(lambda s: s.triu()), False),
    written_beneath_a_view=(masked(written_beneath_a_view), True),
)
def test_causal_is_told_from_what_the_mask_hides(code: Code, causal: bool | None) -> None:
    assert attention_of(code).causal == causal


def test_what_can_only_be_told_from_numbers_is_not_told_without_them() -> None:
    code = masked(lambda s: s.masked_fill(later(), -math.inf))
    assert one(record(code, numbers=False)).causal is None
    added = one(record(masked(lambda s: s + torch.full((L, L), -1e9).triu(1)), numbers=False))
    assert ([mask.kind for mask in added.masks], added.causal) == (["add"], None)
    by_argument = record(F.scaled_dot_product_attention, *qkv_heads(), is_causal=True, numbers=False)
    assert one(by_argument).causal is True


def doubled(scores: Tensor) -> Tensor:
    scores = scores.detach()
    scores[:, :, 0] = scores[:, :, 0] * 2
    return scores


def test_a_padding_mask_of_a_single_query_is_not_causal() -> None:
    def pooled() -> Tensor:
        x = projected(torch.randn(B, L, D))
        scores = torch.einsum("bd,bkd->bk", projected(torch.randn(B, 5)), x)
        return torch.einsum("bk,bkd->bd", scores.masked_fill(PAD, -math.inf).softmax(-1), x)

    found = attention_of(pooled)
    assert (found.causal, found.queries, found.keys, found.kind) == (False, 1, L, "cross")


@each(
    "change, kinds",
    fill=(lambda s: s.masked_fill(later(), -1e9), ["fill"]),
    where=(lambda s: torch.where(later(), -1e9, s), ["fill"]),
    triangle=(lambda s: s.tril(), ["fill"]),
    add=(lambda s: s + torch.full((L, L), -1e4).triu(1), ["add"]),
    add_a_little=(lambda s: s + torch.full((L, L), -100.0).triu(1), ["add"]),
    add_nothing_now=(lambda s: s + ((1 - torch.ones(B, L)) * -10000.0)[:, None, None], ["add"]),
    subtract=(lambda s: s - later() * 1e9, ["add"]),
    multiply=(lambda s: s * later(), ["multiply"]),
    write=(written_in_rounds, ["write"] * L),
    two=(lambda s: s.masked_fill(PAD[:, None, None], -1e9).masked_fill(later(), -1e9), ["fill", "fill"]),
    bias=(lambda s: s + torch.randn(H, L, L), []),
    ones=(lambda s: s + later(), []),
    decay=(lambda s: s * torch.rand(L, L), []),
    written_over=(doubled, []),
)
def test_masks_are_told_by_how_they_hide(change: Callable[[Tensor], Tensor], kinds: list[str]) -> None:
    assert [mask.kind for mask in attention_of(masked(change)).masks] == kinds


def test_a_mask_after_the_softmax_is_told_as_late() -> None:
    (mask,) = attention_of(masked_late).masks
    assert (mask.kind, mask.late) == ("multiply", True)


def test_positions_and_what_is_no_mask_are_bias() -> None:
    distances = -torch.arange(L).sub(torch.arange(L)[:, None]).abs() * torch.tensor([0.5, 0.25, 8.0]).view(H, 1, 1)
    found = attention_of(masked(lambda s: s + distances))
    assert (len(found.bias), found.masks, found.causal) == (1, (), False)


def turned_by_position(x: Tensor) -> Tensor:
    angles = torch.outer(torch.arange(L), torch.ones(DH))
    halves = torch.cat((-x[..., DH // 2 :], x[..., : DH // 2]), -1)
    return x * angles.cos() + halves * angles.sin()


def test_the_projection_is_seen_through_a_rotation() -> None:
    def rotary() -> Tensor:
        q, k, v = qkv_heads()
        return attend(turned_by_position(q), turned_by_position(k), v)

    run = record(rotary)
    found = one(run)
    assert found.q.project == found.k.project == found.v.project
    assert run.steps[found.v.project or 0].op == "linear"
    assert run.steps[found.q.step or 0].op == "add"


def test_a_projection_of_an_earlier_layer_is_not_taken_for_one_of_q() -> None:
    def residual() -> Tensor:
        x = torch.randn(B, L, D)
        x = nn.LayerNorm(D)(x + projected(x))
        return attend(x, x, x)

    found = attention_of(residual)
    assert (found.q.project, found.q.x, found.kind) == (None, None, "self")


def experts(x: Tensor) -> Tensor:
    gate = projected(x, 5).softmax(-1)
    return torch.einsum("ble,bled->bld", gate, torch.stack([projected(x) for _ in range(5)], -2))


def contrast() -> Tensor:
    a, b = projected(torch.randn(8, D)), projected(torch.randn(8, D))
    powers = torch.exp(a @ b.T)
    shares = powers / powers.sum(1, keepdim=True)
    return -(shares * shares.log()).sum(1) - (shares * torch.eye(8)).sum(1)


def linear_attention() -> Tensor:
    q, k, v = qkv()
    return q.softmax(-1) @ (k.softmax(-2).mT @ v)


def flat_classifier() -> Tensor:
    hidden = torch.relu(torch.randn(9, 4) @ torch.randn(4, 8))
    return torch.softmax(hidden @ torch.randn(8, 3), 1) @ torch.randn(3, 5)


def codebook() -> Tensor:
    codes = nn.Parameter(torch.randn(16, D))
    return (torch.randn(B, L, D) @ codes.T).softmax(-1) @ codes


def places() -> Tensor:
    maps = nn.Conv2d(3, 4, 3)(torch.randn(B, 3, 8, 8)).flatten(2).softmax(-1)
    return (maps * torch.linspace(-1, 1, 36)).sum(-1)


def scripted() -> Tensor:
    return torch.jit.script(attend_plainly)(*torch.randn(3, B, L, D).unbind(0))


def attend_plainly(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return torch.softmax(q @ k.transpose(-2, -1), dim=-1) @ v


@each(
    "code",
    experts=lambda: experts(torch.randn(B, L, D)),
    contrast=contrast,
    linear_attention=linear_attention,
    classifier=flat_classifier,
    codebook=codebook,
    places=places,
)
def test_what_is_no_attention_is_not_found(code: Code) -> None:
    assert find(record(code)) == ()


def test_nothing_is_found_inside_scripted_code() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert find(record(scripted)) == ()


def test_experts_after_an_attention_are_no_second_one() -> None:
    assert attention_of(lambda: experts(attend(*qkv()))).kind == "self"


def test_weights_that_are_looked_at_do_not_hide_the_product_with_v() -> None:
    def studied() -> Tensor:
        q, k, v = qkv()
        weights = torch.softmax(q @ k.mT, -1)
        rollout = (weights + torch.eye(L)) @ weights
        entropy = -(weights * weights.log()).sum(-1)
        probe = weights @ projected(torch.eye(L), 3)
        return rollout.sum() + entropy.sum() + probe.sum() + (weights @ v).sum()

    run = record(studied)
    found = one(run)
    assert run.steps[found.output].refs[1] == found.v.value
    assert found.v.project == found.k.project


def blocks_of_keys() -> Tensor:
    q, k, v = qkv_heads(8)
    top, total, sums = torch.full((B, H, 8, 1), -math.inf), torch.zeros(B, H, 8, 1), torch.zeros(B, H, 8, DH)
    for start in range(0, 8, 2):
        scores = q @ k[:, :, start : start + 2].mT / 2
        new = torch.maximum(top, scores.max(-1, keepdim=True).values)
        powers, shrink = torch.exp(scores - new), torch.exp(top - new)
        total, top = total * shrink + powers.sum(-1, keepdim=True), new
        sums = sums * shrink + powers @ v[:, :, start : start + 2]
    return sums / total


def test_blocks_of_keys_are_one_attention() -> None:
    run = record(blocks_of_keys)
    found = one(run)
    assert (found.blocks, found.queries, found.keys, found.heads) == (4, 8, 8, H)
    assert [run.steps[step].op for step in found.softmax] == ["exp", "sum", "div"]
    assert found.weights.step == found.softmax[0]


def stable(s: Tensor) -> Tensor:
    powers = (s - s.max(-1, keepdim=True).values).exp()
    return powers / (powers.sum(-1)[..., None] + 1e-9)


def test_powers_of_two_memories_that_are_not_added_up_are_two_attentions() -> None:
    def apart() -> Tensor:
        q = projected(torch.randn(B, L, D))
        found = []
        for _ in range(2):
            powers = torch.exp(q @ projected(torch.randn(B, 5, D)).mT)
            found.append((powers @ torch.randn(B, 5, D)) / powers.sum(-1, keepdim=True))
        return torch.stack(found)

    run = record(apart)
    assert [len(group) for group in alike(find(run), run)] == [2]
    assert [attention.blocks for attention in find(run)] == [1, 1]


@each(
    "weigh",
    divided=lambda s: s.exp() / s.exp().sum(-1, keepdim=True),
    multiplied=lambda s: s.exp() * (1 / s.exp().sum(-1, keepdim=True)),
    stable=stable,
    logsumexp=lambda s: (s - s.logsumexp(-1, keepdim=True)).exp(),
    log_of_sum=lambda s: (s - s.exp().sum(-1, keepdim=True).log()).exp(),
    log_softmax=lambda s: s.log_softmax(-1).exp(),
    normalize=lambda s: F.normalize(s.exp(), p=1, dim=-1),
    cast=lambda s: torch.softmax(s.double(), -1).type_as(s),
)
def test_a_softmax_may_be_written_out(weigh: Callable[[Tensor], Tensor]) -> None:
    def code() -> Tensor:
        q, k, v = qkv()
        return weigh(q @ k.mT) @ v

    found = attention_of(code)
    assert (found.normalised, found.bias, found.masks, found.scale) == ("key", (), (), ())


def test_the_axes_of_queries_and_keys_are_followed_through_every_layout() -> None:
    def sequence_first() -> Tensor:
        q, k, v = (t.transpose(0, 1) for t in qkv())
        scores = torch.einsum("ibd,jbd->ijb", q, k)
        return torch.einsum("bji,jbd->ibd", scores.permute(2, 1, 0).softmax(1), v)

    found = attention_of(sequence_first)
    assert (found.scores.query, found.scores.key) == (0, 1)
    assert (found.weights.query, found.weights.key) == (2, 1)


def test_a_single_query_has_no_axis() -> None:
    def pooled() -> Tensor:
        x = torch.randn(B, L, D)
        weights = torch.softmax(x @ nn.Parameter(torch.ones(D)), dim=1)
        return (weights.unsqueeze(-1) * x).sum(1)

    found = attention_of(pooled)
    assert (found.weights.query, found.weights.key, found.queries, found.keys) == (None, 1, 1, L)
    assert found.kind == "cross"


def bent_sum(q: Tensor, k: Tensor) -> Tensor:
    return nn.Linear(D, 1)(torch.tanh(projected(q) + projected(k) + nn.Parameter(torch.ones(D)))).squeeze(-1)


def bent_pair(q: Tensor, k: Tensor) -> Tensor:
    both = torch.cat((q.repeat(1, k.shape[1], 1), k), dim=2)
    return torch.tanh(projected(both)) @ nn.Parameter(torch.randn(D))


@each("score", sum=bent_sum, pair=bent_pair)
def test_scores_may_be_additive(score: Callable[[Tensor, Tensor], Tensor]) -> None:
    def code() -> Tensor:
        q, k = torch.randn(B, 1, 5), torch.randn(B, L, D)
        return torch.bmm(score(q, k).softmax(-1).unsqueeze(1), k)

    run = record(code)
    found = one(run)
    assert (found.additive, found.kind, found.queries, found.keys) == (True, "cross", 1, L)
    assert "tanh" in [run.steps[step].op for step in found.steps]


def test_queries_may_stand_along_several_axes() -> None:
    def picture() -> Tensor:
        q, k = projected(torch.randn(B, 5, L, D)), projected(torch.randn(B, 9, D))
        weights = torch.einsum("bxyd,bkd->bxyk", q, k).softmax(-1)
        return torch.einsum("bxyk,bkd->bxyd", weights, k)

    found = attention_of(picture)
    assert (found.queries, found.keys, found.heads, found.weights.query, found.weights.key) == (5 * L, 9, 1, None, 3)


def test_graph_attention_is_additive() -> None:
    first, second = nn.Parameter(torch.randn(D, 1)), nn.Parameter(torch.randn(D, 1))

    def graph() -> Tensor:
        h = projected(torch.randn(L, D))
        scores = F.leaky_relu(h @ first + (h @ second).T)
        return torch.where(torch.eye(L) > 0, scores, -9e15).softmax(-1) @ h

    run = record(graph)
    found = one(run)
    assert (found.additive, found.kind, found.normalised) == (True, "self", "key")
    assert run.steps[found.scores.step].op == "add"


@pytest.mark.parametrize(("batch", "length"), [(0, L), (B, 0), (1, 1)])
def test_an_attention_over_nothing_is_one_all_the_same(batch: int, length: int) -> None:
    def code() -> Tensor:
        x = projected(torch.randn(batch, length, D), 3 * D)
        q, k, v = (t.reshape(batch, length, H, DH).transpose(1, 2) for t in x.chunk(3, -1))
        weights = (q @ k.mT).masked_fill(later(length, length), -math.inf).softmax(-1)
        return (weights @ v).transpose(1, 2).reshape(batch, length, D)

    found = attention_of(code)
    assert (found.queries, found.keys, found.kind) == (length, length, "self")


def test_the_steps_are_in_reading_order() -> None:
    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.q, self.k, self.v, self.o = (nn.Linear(D, D) for _ in range(4))

        def forward(self, x: Tensor) -> Tensor:
            v = self.v(x).view(B, L, H, DH).transpose(1, 2)
            k = self.k(x).view(B, L, H, DH).transpose(1, 2)
            q = self.q(x).view(B, L, H, DH).transpose(1, 2)
            scores = (q @ k.mT / 2).masked_fill(later(), -math.inf)
            return self.o((F.dropout(scores.softmax(-1)) @ v).transpose(1, 2).flatten(2))

    layer = Layer()
    with record() as run:
        layer(torch.randn(B, L, D))
    found = one(run)
    split = ["linear", "view", "transpose"]
    rest = ["mT", "matmul", "div", "masked_fill", "softmax", "dropout", "matmul", "transpose", "flatten", "linear"]
    assert [run.steps[step].op for step in found.steps] == ["randn", *split * 3, *rest]
    assert [run.steps[step].module for step in found.steps if run.steps[step].op == "linear"] == ["q", "k", "v", "o"]
    assert [len(part) for part in (found.merge, found.dropout, found.masks)] == [2, 1, 1]


def test_the_next_projection_is_not_taken_for_that_of_the_output() -> None:
    project = nn.Linear(D, 3 * D)

    def layers() -> Tensor:
        x = torch.randn(B, L, D)
        for _ in range(3):
            x = attend(*project(x).chunk(3, -1))
        return x

    run = record(layers)
    assert [attention.project_out for attention in find(run)] == [None, None, None]
    assert [len(group) for group in alike(find(run), run)] == [3]


def test_attentions_of_other_lines_or_shapes_are_not_alike() -> None:
    def several() -> None:
        for length in (5, 7, 5):
            attend(*qkv(length))
        q, k, v = qkv()
        torch.softmax(q @ k.mT, -1) @ v

    run = record(several)
    assert [[attention.index for attention in group] for group in alike(find(run), run)] == [[0, 2], [1], [3]]


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("fast", [False, True])
def test_multi_head_attention_by_the_library(first: bool, fast: bool) -> None:
    attention = nn.MultiheadAttention(D, 4, batch_first=first).train(not fast)
    x = torch.randn(B, L, D) if first else torch.randn(L, B, D)
    with torch.set_grad_enabled(not fast):
        run = record(attention, x, x, x, attn_mask=later())
    found = one(run)
    assert (found.style, found.heads, found.queries, found.keys, found.d_k) == ("mha", 4, L, L, 3)
    assert (found.kind, found.causal, found.factor) == ("self", True, 1 / math.sqrt(3))
    assert run.steps[found.output].op == (
        "native_multi_head_attention" if fast and first else "multi_head_attention_forward"
    )
    assert found.q.value == found.k.value == found.v.value
    assert found.weights.value is not None
    assert run.values[found.weights.value].shape == (B, L, L)
    assert (found.weights.query, found.weights.key) == (1, 2)


def test_a_layer_on_the_fast_path() -> None:
    layer = nn.TransformerEncoderLayer(D, 4, 16, batch_first=True).eval()
    with torch.no_grad():
        found = one(record(layer, torch.randn(B, L, D), src_mask=later()))
    assert (found.style, found.kind, found.causal, found.heads, found.queries) == ("layer", "self", True, 4, L)


def test_an_attention_inside_a_call_of_the_library_stands_at_that_call() -> None:
    layer = nn.TransformerDecoderLayer(D, H, 16)
    with record() as run:
        x, memory = torch.randn(L, B, D), torch.randn(9, B, D)
        y = layer(x, memory)
        nn.MultiheadAttention(D, H)(y, y, y)
    inner, cross, outer = find(run)
    assert inner.q.step == inner.scores.step
    assert cross.k.step == cross.scores.step
    assert (inner.kind, cross.kind, cross.keys) == ("self", "cross", 9)
    assert run.steps[outer.q.step or 0].op == "layer_norm"


def test_flex_attention_is_known_by_the_name_of_what_was_compiled() -> None:
    def compiled(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(q, k, v)

    run = record(compiled, *qkv_heads())
    (step,) = (step for step in run.steps if step.op == "scaled_dot_product_attention")
    for name, styles in (("flex_attention", ["flex"]), ("forward", [])):
        other = replace(step, op="compiled", function=f"torch.compile.{name}")
        steps = tuple(other if item is step else item for item in run.steps)
        assert [attention.style for attention in find(replace(run, steps=steps))] == styles
