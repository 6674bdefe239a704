"""Lesson 10, today's block: the logits of Llama, the cache against one pass, and its attention against lesson 9."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from lesson_files import CLOSE, FEW, different, double, lesson, numbers, scattered

SIZES = different((1, 7), (2, 9), (1, 4), (2, 4), (1, 4), (5, 30))


@FEW
@given(SIZES)
def test_has_the_logits_of_llama(sizes: tuple[int, ...]) -> None:
    transformers = pytest.importorskip(
        "transformers", reason="transformers is not installed: it is in the group models"
    )
    batch, length, groups, shared, half, inner = sizes
    heads, vocabulary, layers = groups * shared, 13, 2
    width = heads * 2 * half
    with double():
        ours = scattered(lesson(10).Llama(vocabulary, width, heads, groups, inner, layers))
    config = transformers.LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=width,
        intermediate_size=inner,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=groups,
        rms_norm_eps=1e-6,
        tie_word_embeddings=False,
        pad_token_id=None,
        bos_token_id=0,
        eos_token_id=0,
    )
    theirs = transformers.LlamaForCausalLM(config).double().eval()
    names = {
        "token": "model.embed_tokens", "blocks": "model.layers", "norm": "model.norm", "head": "lm_head",
        "norm1": "input_layernorm", "norm2": "post_attention_layernorm", "attention": "self_attn", "gain": "weight",
        "W_q": "q_proj", "W_k": "k_proj", "W_v": "v_proj", "W_o": "o_proj",
        "feed_forward": "mlp", "W_gate": "gate_proj", "W_up": "up_proj", "W_down": "down_proj",
    }  # fmt: skip
    theirs.load_state_dict(
        {
            ".".join(names.get(part, part) for part in name.split(".")): value
            for name, value in ours.state_dict().items()
        }
    )
    ids = torch.randint(vocabulary, (batch, length))
    with torch.no_grad(), double():
        logits = ours(ids)
    with torch.no_grad():
        # Llama turns by angles in float32 whatever its weights are in.
        torch.testing.assert_close(logits, theirs(ids).logits, rtol=1e-5, atol=1e-5)


@FEW
@given(SIZES, st.data())
def test_piece_by_piece_is_one_pass(sizes: tuple[int, ...], data: st.DataObject) -> None:
    batch, length, groups, shared, half, inner = sizes
    heads = groups * shared
    with double():
        model = scattered(lesson(10).Llama(13, heads * 2 * half, heads, groups, inner, 2))
        ids = torch.randint(13, (batch, length))
        caches = [{}, {}]
        pieces, at = [], 0
        while at < length:
            count = data.draw(st.integers(1, length - at))
            pieces.append(model(ids[:, at : at + count], caches))
            at += count
        torch.testing.assert_close(torch.cat(pieces, 1), model(ids), **CLOSE)
    assert all(cache[name].shape == (batch, groups, length, 2 * half) for cache in caches for name in "KV")


@FEW
@given(different((1, 7), (2, 9), (1, 7), (1, 5)))
def test_without_rotation_and_with_all_heads_is_lesson_9(sizes: tuple[int, ...]) -> None:
    batch, length, heads, half = sizes
    width = 2 * half * heads
    ours, before = scattered(lesson(10).Attention(width, heads, heads)), lesson(9).Attention(width, heads).double()
    with torch.no_grad():
        before.W_qkv.weight.copy_(torch.cat([ours.W_q.weight, ours.W_k.weight, ours.W_v.weight]))
        before.W_o.weight.copy_(ours.W_o.weight)
        before.W_qkv.bias.zero_()
        before.W_o.bias.zero_()
    x = numbers(batch, length, width)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            lesson(10), "angles", lambda past, seq_len, d_k: (torch.ones(seq_len, 1), torch.zeros(seq_len, 1))
        )
        torch.testing.assert_close(ours(x), before(x), **CLOSE)


@FEW
@given(different((1, 7), (1, 7), (1, 9)))
def test_its_norm_is_pytorchs(sizes: tuple[int, ...]) -> None:
    batch, length, width = sizes
    norm, x = scattered(lesson(10).RMSNorm(width)), numbers(batch, length, width)
    torch.testing.assert_close(norm(x), torch.nn.functional.rms_norm(x, (width,), norm.gain, norm.eps), **CLOSE)


@FEW
@given(st.integers(2, 12), st.integers(1, 6), st.integers(0, 9))
def test_rotation_depends_on_the_distance_alone(length: int, half: int, past: int) -> None:
    q, k = numbers(2, 1, 2 * half)
    with double():
        turn = lesson(10).angles(past, length, 2 * half)
        table = lesson(10).rotate(q.expand(length, -1), *turn) @ lesson(10).rotate(k.expand(length, -1), *turn).T
    for distance in range(-length + 1, length):
        line = table.diagonal(distance)
        torch.testing.assert_close(line, line[:1].expand_as(line), **CLOSE)


@pytest.mark.parametrize(
    ("sizes", "sentence"),
    [
        ((12, 5, 1), "d_model = 12, n_heads = 5, n_kv_heads = 1: each must divide the one before"),
        ((12, 6, 4), "d_model = 12, n_heads = 6, n_kv_heads = 4: each must divide the one before"),
        ((9, 3, 1), "d_k = 3 is odd: "),
    ],
)
def test_what_cannot_be_is_told_in_a_sentence(sizes: tuple[int, ...], sentence: str) -> None:
    with pytest.raises(ValueError, match=f"^{sentence}"):
        lesson(10).Attention(*sizes)(torch.randn(1, 2, sizes[0]))
