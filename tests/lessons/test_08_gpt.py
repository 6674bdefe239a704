"""Lesson 8, the language model: the logits of GPT-2, what it writes, and its attention against lesson 5."""

import runpy

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from lesson_files import CLOSE, FEW, different, file_of, lesson, numbers, scattered

SIZES = different((1, 7), (2, 9), (1, 7), (1, 7), (1, 4))


@FEW
@given(SIZES)
def test_has_the_logits_of_gpt2(sizes: tuple[int, ...]) -> None:
    transformers = pytest.importorskip(
        "transformers", reason="transformers is not installed: it is in the group models"
    )
    batch, length, heads, size, layers = sizes
    width, vocabulary, context = heads * size, 13, 10
    ours = scattered(lesson(8).GPT(vocabulary, context, width, heads, layers))
    config = transformers.GPT2Config(
        vocab_size=vocabulary,
        n_positions=context,
        n_embd=width,
        n_layer=layers,
        n_head=heads,
        bos_token_id=0,
        eos_token_id=0,
    )
    theirs = transformers.GPT2LMHeadModel(config).double().eval()
    with torch.no_grad():
        theirs.transformer.wte.weight.copy_(ours.token.weight)
        theirs.transformer.wpe.weight.copy_(ours.position.weight)
        theirs.transformer.ln_f.load_state_dict(ours.norm.state_dict())
        for block, layer in zip(ours.blocks, theirs.transformer.h, strict=True):
            layer.ln_1.load_state_dict(block.norm1.state_dict())
            layer.ln_2.load_state_dict(block.norm2.state_dict())
            pairs = (
                (block.attention.W_qkv, layer.attn.c_attn),
                (block.attention.W_o, layer.attn.c_proj),
                (block.up, layer.mlp.c_fc),
                (block.down, layer.mlp.c_proj),
            )
            for linear, turned in pairs:  # GPT-2 holds its matrices transposed
                turned.weight.copy_(linear.weight.T)
                turned.bias.copy_(linear.bias)
        ids = torch.randint(vocabulary, (batch, length))
        torch.testing.assert_close(ours(ids), theirs(ids).logits, **CLOSE)


@FEW
@given(SIZES)
def test_its_attention_is_lesson_5_with_a_causal_mask(sizes: tuple[int, ...]) -> None:
    batch, length, heads, size, _ = sizes
    before, ours = (
        scattered(lesson(5).Attention(heads * size, heads)),
        lesson(8).CausalSelfAttention(heads * size, heads),
    )
    parts = [before.W_q, before.W_k, before.W_v]
    ours.double().load_state_dict(
        {
            "W_qkv.weight": torch.cat([part.weight for part in parts]),
            "W_qkv.bias": torch.cat([part.bias for part in parts]),
            "W_o.weight": before.W_o.weight,
            "W_o.bias": before.W_o.bias,
        }
    )
    x = numbers(batch, length, heads * size)
    keep = torch.ones(length, length, dtype=torch.bool).tril()
    torch.testing.assert_close(ours(x), before(x, keep), **CLOSE)


@FEW
@given(st.floats(0.2, 5.0), st.integers(1, 6))
def test_draws_by_temperature_among_the_top_k(temperature: float, top_k: int) -> None:
    model = scattered(lesson(8).GPT(7, 5, 6, 2, 1))
    start = torch.tensor([[3, 1, 2]])
    many = start.expand(4000, -1)
    drawn = model.generate(many, 1, temperature, top_k, torch.Generator().manual_seed(0))[:, -1]
    best = model(start)[0, -1].topk(top_k)
    expected = torch.zeros(7, dtype=torch.float64).index_add(0, best.indices, (best.values / temperature).softmax(0))
    share = drawn.bincount(minlength=7) / len(drawn)
    assert (share[expected == 0] == 0).all()
    torch.testing.assert_close(share.double(), expected.detach(), rtol=0, atol=0.05)


def test_writes_on_beyond_its_context() -> None:
    model = lesson(8).GPT(7, 5, 6, 2, 1)
    start = torch.tensor([[3, 1]])
    written = model.generate(start, 9, top_k=1)
    assert written.shape == (1, 11)
    for at in range(2, 11):  # each one is the likeliest after the last five
        assert written[0, at] == model(written[:, max(0, at - 5) : at])[0, -1].argmax()


def test_learns_its_text(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(file_of(8)), run_name="__main__")
    printed = capsys.readouterr().out
    losses = [float(line.split()[3]) for line in printed.splitlines() if line.startswith("step")]
    assert len(losses) == 5
    assert losses[-1] < 0.3  # guessing evenly: 4.9
    careful = next(line for line in printed.splitlines() if line.startswith("temperature 0.5")).rpartition(": ")[2]
    text = lesson(8).TEXT.replace("\n", "/")
    assert sum(careful[at : at + 3] in text for at in range(len(careful) - 2)) >= 0.8 * (len(careful) - 2)


def test_what_is_wanted_is_what_comes_next() -> None:
    given, wanted = lesson(8).batch(torch.arange(10), 50, 4, torch.Generator().manual_seed(0))
    assert given.shape == wanted.shape == (50, 4)
    assert wanted.equal(given + 1)
    assert {0, 9} <= set(given.flatten().tolist()) | set(wanted.flatten().tolist())


@pytest.mark.parametrize(
    ("work", "sentence"),
    [
        (lambda m: m.GPT(7, 5, 12, 5, 1), "d_model = 12 cannot be split over n_heads = 5: "),
        (lambda m: m.batch(torch.arange(4), 2, 4, None), "the text has 4 tokens, and the context of 4 needs one more"),
        (lambda m: m.GPT(7, 5, 6, 2, 1)(torch.zeros(1, 6).long()), "6 tokens do not fit into a context of 5: "),
    ],
    ids=["heads", "text", "context"],
)
def test_what_cannot_be_is_told_in_a_sentence(work: object, sentence: str) -> None:
    with pytest.raises(ValueError, match=f"^{sentence}"):
        work(lesson(8))
