"""Lesson 7, training: it learns to reverse, by an anti-diagonal; and its attention is lesson 1's."""

import pytest
import torch
from hypothesis import given
from lesson_files import CLOSE, FEW, different, lesson, numbers


def test_learns_to_reverse_by_an_anti_diagonal(capsys: pytest.CaptureFixture[str]) -> None:
    vocabulary, length, steps = 10, 12, 150
    torch.manual_seed(1)
    generator = torch.Generator().manual_seed(1)
    model = lesson(7).Reverser(vocabulary, 64, length)
    ids, _ = lesson(7).batch(200, length, vocabulary, generator)
    before = model(ids)[1].mean((0, 1))
    assert before.diag().mean() < 0.3
    assert before.flip(1).diag().mean() < 0.3

    lesson(7).train(model, steps, length, vocabulary, generator)
    assert capsys.readouterr().out.count("█|") == 1  # the bar is full at the end
    assert lesson(7).accuracy(model, length, vocabulary, generator) >= 0.99
    after = model(ids)[1].mean((0, 1))
    assert after.argmax(-1).tolist() == list(reversed(range(length)))
    picture = lesson(7).picture(after).splitlines()
    assert [len(row) for row in picture] == [4 + 2 * length] * length
    assert all(row[4:][2 * (length - 1 - i)] in "+*#%@" for i, row in enumerate(picture))


@pytest.mark.parametrize("steps", [1, 3, 15])
def test_trains_for_as_few_steps_as_one_likes(steps: int, capsys: pytest.CaptureFixture[str]) -> None:
    generator = torch.Generator().manual_seed(1)
    lesson(7).train(lesson(7).Reverser(5, 8, 4), steps, 4, 5, generator)
    assert capsys.readouterr().out.splitlines()[-1].startswith(f"step {steps:3}" if steps < 10 else "step ")


@FEW
@given(different((1, 7), (1, 7), (1, 7), (1, 7)))
def test_its_attention_is_lesson_1(sizes: tuple[int, ...]) -> None:
    batch, length, heads, size = sizes
    ours = lesson(7).Reverser(10, heads * size, length, heads).double()
    before = lesson(1).MultiHeadAttention(heads * size, heads).double()
    before.load_state_dict({name: value for name, value in ours.state_dict().items() if name.startswith("W_")})
    x = numbers(batch, length, heads * size)
    torch.testing.assert_close(ours.attend(x), before(x), **CLOSE)


def test_heads_that_do_not_divide_are_told_in_a_sentence() -> None:
    with pytest.raises(ValueError, match=r"^d_model = 12 cannot be split over n_heads = 5: choose a divisor$"):
        lesson(7).Reverser(10, 12, 4, 5)
