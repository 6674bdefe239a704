"""Lesson 3, positions: the paper's formula, rotation by distance alone, and without positions against lesson 1."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from lesson_files import CLOSE, FEW, different, double, lesson, numbers

KINDS = ["none", "sine", "learned", "rotary", "alibi"]


@FEW
@given(st.integers(1, 40), st.integers(1, 9))
def test_the_sines_are_the_papers(length: int, half: int) -> None:
    with double():
        table = lesson(3).sinusoid(length, 2 * half)
    for position in range(length):
        for i in range(half):
            angle = position / 10000 ** (2 * i / (2 * half))
            assert table[position, 2 * i] == pytest.approx(math.sin(angle), abs=1e-12)
            assert table[position, 2 * i + 1] == pytest.approx(math.cos(angle), abs=1e-12)


@FEW
@given(st.integers(2, 12), st.integers(1, 6))
def test_rotation_depends_on_the_distance_alone(length: int, half: int) -> None:
    q, k = numbers(2, 1, 2 * half)
    with double():
        rotate = lesson(3).rotate
        table = rotate(q.expand(length, -1)) @ rotate(k.expand(length, -1)).T  # every place of q, every place of k
    for distance in range(-length + 1, length):
        line = table.diagonal(distance)
        torch.testing.assert_close(line, line[:1].expand_as(line), **CLOSE)
    # At distance 0 nothing is turned. A distance of 1 turns feature pair i by θ_i.
    torch.testing.assert_close(table[0, 0], (q @ k.T)[0, 0], **CLOSE)
    turned = [complex(*pair) for pair in q.view(half, 2).tolist()]
    held = [complex(*pair) for pair in k.view(half, 2).tolist()]
    one = sum(
        (a * complex(math.cos(t), math.sin(t)) * b.conjugate()).real
        for a, b, t in zip(turned, held, (10000 ** (-2 * i / (2 * half)) for i in range(half)), strict=True)
    )
    assert table[1, 0].item() == pytest.approx(one, abs=1e-10)


def test_alibi_has_the_papers_slopes() -> None:
    bias = lesson(3).alibi(8, 5)
    assert bias.shape == (8, 5, 5)
    for head in range(8):
        for i in range(5):
            for j in range(5):
                assert bias[head, i, j].item() == -(2.0 ** -(head + 1)) * abs(i - j)


@FEW
@given(different((1, 7), (3, 7), (1, 7), (1, 4)), st.sampled_from(KINDS))
def test_shuffled_tokens_give_shuffled_outputs_only_without_positions(sizes: tuple[int, ...], kind: str) -> None:
    batch, length, heads, half = sizes
    torch.manual_seed(0)
    with double():
        model = lesson(3).Attention(2 * half * heads, heads, kind)
        x, order = numbers(batch, length, 2 * half * heads), torch.arange(length).roll(1)
        first, last = model(x[:, order]), model(x)[:, order]
    if kind == "none":
        torch.testing.assert_close(first, last, **CLOSE)
    else:
        assert (first - last).abs().max() > 1e-6


@FEW
@given(different((1, 7), (1, 7), (1, 7), (1, 7)))
def test_without_positions_is_lesson_1(sizes: tuple[int, ...]) -> None:
    batch, length, heads, size = sizes
    ours, before = (
        lesson(3).Attention(heads * size, heads).double(),
        lesson(1).MultiHeadAttention(heads * size, heads).double(),
    )
    ours.load_state_dict(before.state_dict())
    x = numbers(batch, length, heads * size)
    torch.testing.assert_close(ours(x), before(x)[0], **CLOSE)


def test_what_is_learned_is_added_to_the_tokens() -> None:
    with double():
        model, plain = lesson(3).Attention(6, 3, "learned", max_len=5), lesson(3).Attention(6, 3)
    plain.load_state_dict(model.state_dict(), strict=False)
    x = numbers(2, 4, 6)
    torch.testing.assert_close(model(x), plain(x + model.table.weight[:4]), **CLOSE)


@pytest.mark.parametrize(
    ("work", "sentence"),
    [
        (lambda m: m.sinusoid(4, 7), "d_model = 7 is odd: "),
        (lambda m: m.rotate(torch.randn(2, 4, 5)), "d_k = 5 is odd: "),
        (lambda m: m.Attention(12, 5), "d_model = 12 cannot be split over n_heads = 5: "),
        (lambda m: m.Attention(6, 2, "learned", max_len=3)(torch.randn(1, 4, 6)), "4 tokens, but only 3 positions"),
    ],
    ids=["sine", "rotary", "heads", "learned"],
)
def test_what_cannot_be_is_told_in_a_sentence(work: object, sentence: str) -> None:
    with pytest.raises(ValueError, match=f"^{sentence}"):
        work(lesson(3))
