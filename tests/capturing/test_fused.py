"""Operations that are an attention whole: the weights are those that float64 gives, or that PyTorch returns itself."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.attention.bias import causal_lower_right, causal_upper_left

from attnlab import capture

B, H, G, Q, K, D = 2, 6, 3, 5, 7, 4


def drawn(*shape: int) -> Tensor:
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(sum(shape)))


def softmax(q: Tensor, k: Tensor, scale: float | None = None, added: Tensor | float = 0.0) -> Tensor:
    """The weights by the book; a row that sees nothing is 0."""
    scores = q @ k.mT * (1 / math.sqrt(q.shape[-1]) if scale is None else scale) + added
    return scores.softmax(-1).nan_to_num(0.0)


def hiding(passing: Tensor) -> Tensor:
    return torch.zeros(passing.shape, dtype=torch.float64).masked_fill(~passing, -torch.inf)


def close(found: Tensor, wanted: Tensor) -> None:
    assert found.shape == wanted.shape
    assert (found - wanted).abs().max() <= 1e-12, f"largest difference {(found - wanted).abs().max()}"


MASK = torch.rand(Q, K, generator=torch.Generator().manual_seed(3)) > 0.4
SEEN = MASK.clone()
SEEN[2] = False  # a query that sees no key


@pytest.mark.parametrize(
    ("options", "added"),
    [
        ({}, 0.0),
        ({"scale": 0.3}, 0.0),
        ({"is_causal": True}, hiding(torch.ones(Q, K, dtype=torch.bool).tril())),
        ({"attn_mask": MASK}, hiding(MASK)),
        ({"attn_mask": SEEN}, hiding(SEEN)),
        ({"attn_mask": drawn(Q, K)}, drawn(Q, K)),
        ({"attn_mask": drawn(B, 1, 1, K)}, drawn(B, 1, 1, K)),
        ({"attn_mask": drawn(H, Q, K)}, drawn(H, Q, K)),
        ({"attn_mask": causal_upper_left(Q, K)}, hiding(torch.ones(Q, K, dtype=torch.bool).tril())),
        ({"attn_mask": causal_lower_right(Q, K)}, hiding(torch.ones(Q, K, dtype=torch.bool).tril(K - Q))),
        ({"dropout_p": 0.5}, 0.0),
    ],
    ids=["plain", "scale", "causal", "bool", "row", "float", "keys", "heads", "upper", "lower", "dropout"],
)
def test_sdpa_with_each_of_its_arguments(options: dict[str, Any], added: Tensor | float) -> None:
    q, k, v = drawn(B, H, Q, D), drawn(B, H, K, D), drawn(B, H, K, 3)
    (found,) = capture(F.scaled_dot_product_attention, q, k, v, **options)
    assert found.style == "sdpa"
    close(found.weights, softmax(q, k, options.get("scale"), added))


@pytest.mark.parametrize(
    ("q", "k", "shape"),
    [
        ((Q, D), (K, D), (1, 1, Q, K)),
        ((B, Q, D), (B, K, D), (B, 1, Q, K)),
        ((B, Q, D), (1, K, D), (B, 1, Q, K)),
        ((B, 1, H, Q, D), (B, 3, H, K, D), (B * 3, H, Q, K)),
        ((B, H, Q, D), (B, 1, K, D), (B, H, Q, K)),
    ],
)
def test_sdpa_with_axes_of_any_number(q: tuple[int, ...], k: tuple[int, ...], shape: tuple[int, ...]) -> None:
    query, key = drawn(*q), drawn(*k)
    mask = drawn(*torch.broadcast_shapes(q[:-2], k[:-2]), Q, K)
    (found,) = capture(F.scaled_dot_product_attention, query, key, key, mask)
    close(found.weights, softmax(query, key, None, mask).reshape(shape))


def test_heads_that_share_keys() -> None:
    q, k = drawn(B, H, Q, D), drawn(B, G, K, D)
    (found,) = capture(F.scaled_dot_product_attention, q, k, k, enable_gqa=True)
    close(found.weights, softmax(q, k.repeat_interleave(H // G, 1)))
    assert found.source is not None
    close(found.source.heads((4, 1)).weights(slice(1, 3)), found.window(slice(1, 3))[:, [4, 1]])


def test_heads_laid_into_the_axis_of_queries_get_their_own_axis_again() -> None:
    q, k = drawn(B, H, 1, D), drawn(B, G, K, D)

    def packed() -> Tensor:
        return F.scaled_dot_product_attention(q.reshape(B, G, H // G, D), k, k)

    (found,) = capture(packed)
    close(found.weights, softmax(q, k.repeat_interleave(H // G, 1)))


def test_autocast_lowers_q_and_k_as_it_does_for_the_operation() -> None:
    q, k = drawn(B, H, Q, D).float(), drawn(B, H, K, D).float()
    with torch.autocast("cpu", torch.bfloat16):
        (found,) = capture(F.scaled_dot_product_attention, q, k, k)
        inside = found.weights
    wanted = softmax(q.bfloat16().double(), k.bfloat16().double())
    assert found.weights.dtype == torch.float32
    assert torch.equal(inside, found.weights)
    assert (found.weights - wanted).abs().max() < 1e-6


L, E, S = 5, 12, 7


def attention(**options: Any) -> nn.MultiheadAttention:
    torch.manual_seed(0)
    made = nn.MultiheadAttention(E, 3, dtype=torch.float64, **options)
    for parameter in made.parameters():
        nn.init.normal_(parameter, std=0.5)
    return made


CAUSAL = ~torch.ones(L, L, dtype=torch.bool).tril()
PADDING = torch.tensor([[False] * L, [False] * 3 + [True] * 2])


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"key_padding_mask": PADDING},
        {"attn_mask": CAUSAL},
        {"attn_mask": CAUSAL, "key_padding_mask": PADDING},
        {"attn_mask": drawn(L, L)},
        {"attn_mask": drawn(B * 3, L, L)},
        {"attn_mask": drawn(B * 3, L, L) > 0.9, "key_padding_mask": PADDING},
    ],
    ids=["plain", "padding", "causal", "both", "numbers", "of heads", "heads and padding"],
)
@pytest.mark.parametrize(
    "made", [{}, {"bias": False}, {"add_bias_kv": True, "add_zero_attn": True}], ids=["", "no bias", "more keys"]
)
def test_multihead_attention_self(made: dict[str, Any], options: dict[str, Any], training: bool) -> None:
    module, x = attention(batch_first=True, **made).train(training), drawn(B, L, E)
    with torch.no_grad():
        wanted = module(x, x, x, average_attn_weights=False, **options)[1]
        found = capture(module, x, x, x, need_weights=False, **options)
    assert found.output[1] is None
    assert [captured.style for captured in found] == ["mha"]
    close(found[0].weights, wanted.nan_to_num(0.0))


def test_the_hint_that_a_mask_is_causal_is_what_counts_where_no_weights_are_asked_for() -> None:
    module, x = attention(batch_first=True, add_zero_attn=True), drawn(B, L, E)
    found = capture(module, x, x, x, need_weights=False, attn_mask=CAUSAL, is_causal=True)
    v = F.linear(x, module.in_proj_weight[2 * E :], module.in_proj_bias[2 * E :]).unflatten(-1, (3, 4)).transpose(1, 2)
    out = module.out_proj((found[0].weights @ F.pad(v, (0, 0, 0, 1))).transpose(1, 2).flatten(2))
    close(out, found.output[0])


def test_multihead_attention_of_other_widths_crossed_and_sequence_first() -> None:
    module = attention(kdim=8, vdim=9)
    q, k, v = drawn(L, B, E), drawn(S, B, 8), drawn(S, B, 9)
    wanted = module(q, k, v, average_attn_weights=False)[1]
    close(capture(module, q, k, v)[0].weights, wanted)


def test_multihead_attention_without_samples() -> None:
    module, q, k = attention(), drawn(L, E), drawn(S, E)
    mask, padding = drawn(3, L, S), torch.tensor([False] * 5 + [True] * 2)
    options: dict[str, Any] = {"attn_mask": mask, "key_padding_mask": hiding(~padding)}
    wanted = module(q, k, k, average_attn_weights=False, **options)[1]
    close(capture(module, q, k, k, **options)[0].weights, wanted[None])


def test_static_keys() -> None:
    module, q, static = attention(), drawn(L, B, E), drawn(B * 3, S, 4)
    given: list[Any] = [E, 3, module.in_proj_weight, module.in_proj_bias, None, None, False, 0.0]
    more: dict[str, Any] = {"static_k": static, "static_v": static, "average_attn_weights": False}
    out = (module.out_proj.weight, module.out_proj.bias)
    found = capture(F.multi_head_attention_forward, q, q, q, *given, *out, **more)
    close(found[0].weights, found.output[1])


def encoder(norm_first: bool) -> nn.TransformerEncoder:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(E, 4, 16, batch_first=True, norm_first=norm_first, dtype=torch.float64)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=not norm_first).eval()


@pytest.mark.parametrize("norm_first", [False, True])
def test_an_encoder_on_its_fast_path(norm_first: bool) -> None:
    module, x = encoder(norm_first), drawn(B, L, E)
    wanted = capture(module, x)  # with gradients, by the slow path
    with torch.no_grad():
        fast = capture(module, x)
    assert [(a.name, a.style) for a in wanted] == [(f"layers.{i}.self_attn", "mha") for i in range(2)]
    assert [(a.name, a.style) for a in fast] == [(f"layers.{i}.self_attn", "layer") for i in range(2)]
    for one, other in zip(fast, wanted, strict=True):
        close(one.weights, other.weights)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_an_encoder_on_its_fast_path_with_padding_makes_nested_tensors() -> None:
    module, x = encoder(False), drawn(B, L, E)
    padding = torch.tensor([[False] * 4 + [True], [False] * 3 + [True] * 2])
    wanted = capture(module, x, src_key_padding_mask=padding)
    with torch.no_grad():
        fast = capture(module, x, src_key_padding_mask=padding)
    for one, other in zip(fast, wanted, strict=True):
        real = other.weights[:, :, :4, :4] * (~padding[:, None, :4, None])  # what is cut off is never computed
        close(one.weights, real)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_sdpa_of_nested_tensors() -> None:
    samples = [drawn(3, E), drawn(5, E)]
    nested = torch.nested.nested_tensor(samples, layout=torch.jagged)
    x = nested.unflatten(-1, (3, 4)).transpose(1, 2)
    (found,) = capture(F.scaled_dot_product_attention, x, x, x)
    assert found.weights.shape == (2, 3, 5, 5)
    for index, sample in enumerate(samples):
        heads = sample.unflatten(-1, (3, 4)).transpose(0, 1)
        length = len(sample)
        close(found.weights[index, :, :length, :length], softmax(heads, heads))
        assert not found.weights[index, :, length:].any()
        assert not found.weights[index, :, :, length:].any()


def test_the_fast_path_hides_whatever_is_not_zero_in_a_mask() -> None:
    module, x = attention(batch_first=True).eval(), drawn(B, L, E)
    mask = drawn(L, L).masked_fill(~CAUSAL, 0.0)
    out = (module.out_proj.weight, module.out_proj.bias)

    def native() -> tuple[Tensor, Tensor]:
        return torch._native_multi_head_attention(
            x, x, x, E, 3, module.in_proj_weight, module.in_proj_bias, *out, mask, True, False, 0
        )

    with torch.no_grad():
        found = capture(native)
    close(found[0].weights, found.output[1])


def test_a_function_with_no_keys_has_weights_of_that_shape() -> None:
    (found,) = capture(F.scaled_dot_product_attention, drawn(B, H, Q, D), drawn(B, H, 0, D), drawn(B, H, 0, D))
    assert found.weights.shape == (B, H, Q, 0)
