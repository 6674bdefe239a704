"""Text in cells: full-width characters, combining marks, and what a terminal would obey."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab.views.text import cells, fit, pad, pad_left, plain, wrap, wrap_code

MIXED = st.text(alphabet="ab c,（。注意力x\u0301Kᵀ→√", max_size=60)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("softmax", 7),
        ("注意力", 6),
        ("，", 2),
        ("ＡＢ", 4),
        ("e\u0301", 1),  # a combining accent
        ("한글", 4),
        ("\u1112\u1161\u11ab", 2),  # the same syllable in three parts
        ("Kᵀ · √d_k → ÷", 13),
        ("👩\u200d💻", 2),  # two pictures joined to one
        ("a\u200bb", 2),
    ],
)
def test_cells(text: str, expected: int) -> None:
    assert cells(text) == expected


@given(MIXED, st.integers(min_value=0, max_value=40))
def test_padding_fills_up_to_the_width(text: str, width: int) -> None:
    for padded in (pad(text, width), pad_left(text, width)):
        assert padded.strip(" ") == text.strip(" ")
        assert cells(padded) == max(width, cells(text))


@given(MIXED, st.integers(min_value=2, max_value=40))
def test_a_text_that_is_cut_fits_and_says_so(text: str, width: int) -> None:
    cut = fit(text, width)
    assert cells(cut) <= width
    assert cut == text if cells(text) <= width else cut.endswith("…") and text.startswith(cut[:-1])


@given(MIXED, st.integers(min_value=8, max_value=40), st.integers(min_value=0, max_value=4))
def test_wrapped_lines_fit_and_lose_nothing(text: str, width: int, hang: int) -> None:
    lines = wrap(text, width, hang)
    assert all(cells(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert all(line.startswith(" " * hang) for line in lines[1:])


@given(MIXED, st.integers(min_value=8, max_value=40), st.integers(min_value=0, max_value=4))
def test_wrapped_code_fits_and_loses_nothing(text: str, width: int, hang: int) -> None:
    lines = wrap_code(text, width, hang)
    assert all(cells(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")


def test_chinese_breaks_anywhere_but_before_a_closing_mark() -> None:
    assert wrap("形状不变，分数除以", 8) == ["形状不", "变，分数", "除以"]
    assert wrap("外面的（查询）留下", 8) == ["外面的", "（查询）", "留下"]


def test_words_and_formulas_stay_whole() -> None:
    assert wrap("点积 scores[0,0,1] 是 1.5", 16) == ["点积", "scores[0,0,1] 是", "1.5"]
    assert wrap("no word is ever cut", 7) == ["no word", "is ever", "cut"]


def test_what_is_longer_than_a_line_is_cut_where_the_line_ends() -> None:
    assert wrap("abcdefghij", 4) == ["abcd", "efgh", "ij"]


def test_code_breaks_where_a_reader_would_break_it() -> None:
    code = "torch.nn.functional.scaled_dot_product_attention(query, key)"
    assert wrap_code(code, 52, 4) == ["torch.nn.functional.scaled_dot_product_attention(", "    query, key)"]
    assert wrap_code("x.view(2, 3).transpose(1, 2)", 18, 4) == ["x.view(2, 3)", "    .transpose(1,", "    2)"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("注意力 √", "注意力 √"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\rb\x07", "a\\rb\\x07"),
        ("a\tb", "a    b"),
        ("abc\u202ecba", "abc\\u202ecba"),  # turns what follows round
        ("a\u2028b", "a\\u2028b"),
        ("👩\u200d💻", "👩\u200d💻"),
    ],
)
def test_nothing_of_the_users_reaches_the_terminal_as_a_command(text: str, expected: str) -> None:
    assert plain(text) == expected
