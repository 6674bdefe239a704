"""Lesson 9, the cache: any way to feed the tokens gives what one pass over all of them does; without it, lesson 8."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from lesson_files import CLOSE, FEW, different, lesson, scattered

SIZES = different((1, 7), (3, 9), (1, 7), (1, 7), (1, 4))


@FEW
@given(SIZES, st.data())
def test_piece_by_piece_is_one_pass(sizes: tuple[int, ...], data: st.DataObject) -> None:
    batch, length, heads, size, layers = sizes
    model = scattered(lesson(9).GPT(13, 10, heads * size, heads, layers))
    ids = torch.randint(13, (batch, length))
    caches = [{} for _ in range(layers)]
    pieces, at = [], 0
    while at < length:
        count = data.draw(st.integers(1, length - at))
        pieces.append(model(ids[:, at : at + count], caches))
        at += count
    torch.testing.assert_close(torch.cat(pieces, 1), model(ids), **CLOSE)
    assert all(cache[name].shape == (batch, heads, length, size) for cache in caches for name in "KV")


@FEW
@given(SIZES)
def test_writes_the_same_with_it_and_without(sizes: tuple[int, ...]) -> None:
    batch, length, heads, size, layers = sizes
    model = scattered(lesson(9).GPT(13, 20, heads * size, heads, layers))
    start = torch.randint(13, (batch, length))
    assert model.generate(start, 11).equal(model.generate(start, 11, use_cache=False))


@FEW
@given(SIZES)
def test_without_it_is_lesson_8(sizes: tuple[int, ...]) -> None:
    batch, length, heads, size, layers = sizes
    before = scattered(lesson(8).GPT(13, 10, heads * size, heads, layers))
    ours = lesson(9).GPT(13, 10, heads * size, heads, layers).double()
    ours.load_state_dict(before.state_dict())
    ids = torch.randint(13, (batch, length))
    torch.testing.assert_close(ours(ids), before(ids), **CLOSE)


@pytest.mark.parametrize(
    ("work", "sentence"),
    [
        (lambda m: m.GPT(7, 5, 12, 5, 1), "d_model = 12 cannot be split over n_heads = 5: "),
        (
            lambda m: m.GPT(7, 5, 6, 2, 1).generate(torch.zeros(1, 3).long(), 4),
            "6 tokens do not fit into a context of 5",
        ),
    ],
    ids=["heads", "context"],
)
def test_what_cannot_be_is_told_in_a_sentence(work: object, sentence: str) -> None:
    with pytest.raises(ValueError, match=f"^{sentence}"):
        work(lesson(9))
