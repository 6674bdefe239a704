"""Pieces joined into what a person reads as one, whatever the tokenizer cut them by."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlab.maps.data import Span, Text
from attnlab.models.reading import bare, read


def told(text: str, *pieces: tuple[str, int, int]) -> list[tuple[str, str, tuple[str, ...]]]:
    """What is read, of which kind, and the pieces beneath."""
    found = read(text, [p for p, _, _ in pieces], [(a, b) for _, a, b in pieces], [a < 0 for _, a, _ in pieces])
    return [(span.text, span.kind, found.pieces[span.start : span.stop]) for span in found.spans]


def test_pieces_of_one_character_are_joined_into_it() -> None:
    pieces = ("æ³", 0, 1), ("¨", 0, 1), ("æ", 1, 2), ("Ħ", 1, 2), ("ı", 1, 2), ("çļĦ", 2, 3)
    assert told("注意的", *pieces) == [
        ("注", "text", ("æ³", "¨")),
        ("意", "text", ("æ", "Ħ", "ı")),
        ("的", "text", ("çļĦ",)),
    ]


def test_a_piece_that_lies_across_two_characters_makes_them_one() -> None:
    assert told("注意的", ("a", 0, 1), ("b", 0, 2), ("c", 1, 2), ("d", 2, 3)) == [
        ("注意", "text", ("a", "b", "c")),
        ("的", "text", ("d",)),
    ]


def test_pieces_of_a_word_are_joined_and_words_are_not() -> None:
    pieces = ("un", 0, 2), ("##happi", 2, 7), ("##ly", 7, 9), (",", 9, 10), ("it", 11, 13), ("'", 13, 14), ("s", 14, 15)
    assert told("unhappily, it's", *pieces) == [
        ("unhappily", "text", ("un", "##happi", "##ly")),
        (",", "text", (",",)),
        ("it", "text", ("it",)),
        ("'", "text", ("'",)),
        ("s", "text", ("s",)),
    ]


@pytest.mark.parametrize("start", [5, 6], ids=["the piece holds the space before it", "it does not"])
def test_the_space_before_a_word_is_not_read(start: int) -> None:
    assert told("Hello world", ("Hello", 0, 5), ("Ġwor", start, 9), ("ld", 9, 11)) == [
        ("Hello", "text", ("Hello",)),
        ("world", "text", ("Ġwor", "ld")),
    ]


@pytest.mark.parametrize("start", [2, 3], ids=["the piece holds the space before it", "it does not"])
def test_the_space_before_a_word_is_told(start: int) -> None:
    pieces, places = ["a", "Ġb", ".", "ĊĊ", "c", "[SEP]"], [(0, 1), (1, 3), (3, 4), (4, 6), (6, 7), (0, 0)]
    places[1] = (start - 1, 3)
    found = read("a b.\n\nc", pieces, places, [False] * 5 + [True])
    assert [(span.text, span.gap) for span in found.spans] == [
        ("a", False),
        ("b", True),
        (".", False),
        ("\n\n", False),  # it is there itself
        ("c", False),
        ("[SEP]", False),
    ]


@pytest.mark.parametrize("text", ["注意", "かな", "カナ", "ไทย"])
def test_where_no_space_stands_between_words_a_character_is_read_as_one(text: str) -> None:
    pieces = [(c, i, i + 1) for i, c in enumerate(text)]
    assert [read for read, _, _ in told(text, *pieces)] == list(text)


@pytest.mark.parametrize("text", ["cafe\u0301", "👨\u200d👩\u200d👧", "👍\U0001f3fd", "Ω1", "말씀"])
def test_what_is_one_for_the_eye_is_read_as_one(text: str) -> None:
    pieces = [(c, i, i + 1) for i, c in enumerate(text)]
    assert told(text, *pieces) == [(text, "text", tuple(text))]


def test_white_space_and_tokens_of_the_model_are_marked() -> None:
    pieces = ("[CLS]", -1, -1), ("a", 0, 1), ("ĠĊ", 1, 3), ("b", 3, 4), ("[SEP]", -1, -1)
    assert told("a \nb", *pieces) == [
        ("[CLS]", "special", ("[CLS]",)),
        ("a", "text", ("a",)),
        (" \n", "space", ("ĠĊ",)),
        ("b", "text", ("b",)),
        ("[SEP]", "special", ("[SEP]",)),
    ]


@pytest.mark.parametrize(
    ("text", "pieces", "gaps"),
    [
        ("a b", [("a", 0, 1), ("Ġb", 1, 3)], [False, True]),  # the space is a part of the piece
        ("a b", [("a", 0, 1), ("b", 2, 3)], [False, True]),  # of none
        ("a b", [("a", 0, 1), ("Ġ", 1, 2), ("b", 2, 3)], [False, False, False]),  # or a piece of its own
        ("ab c", [("a", 0, 1), ("b", 1, 2), ("Ġ\u00e6", 2, 4), ("\u0108", 3, 4)], [False, True]),
        ("注意", [("注", 0, 1), ("意", 1, 2)], [False, False]),
        (" a", [("Ġa", 0, 2)], [True]),
        ("a b", [("a", 0, 1), ("[SEP]", -1, -1), ("b", 2, 3)], [False, False, True]),
    ],
)
def test_where_white_space_stood_is_kept(text: str, pieces: list[tuple[str, int, int]], gaps: list[bool]) -> None:
    found = read(text, [p for p, _, _ in pieces], [(a, b) for _, a, b in pieces], [a < 0 for _, a, _ in pieces])
    assert [span.gap for span in found.spans] == gaps


def test_an_unknown_piece_reads_as_what_stands_there() -> None:
    assert told("机a", ("[UNK]", 0, 1), ("a", 1, 2)) == [("机", "text", ("[UNK]",)), ("a", "text", ("a",))]


def test_a_piece_that_stands_for_no_character_is_read_by_its_name() -> None:
    assert told("注", ("▁", 0, 0), ("注", 0, 1)) == [(" ", "space", ("▁",)), ("注", "text", ("注",))]


@pytest.mark.parametrize(
    ("piece", "read"), [("Ġthe", "the"), ("▁the", "the"), ("##ing", "ing"), ("Ġ", " "), ("▁", " "), ("#", "#")]
)
def test_marks_of_tokenizers(piece: str, read: str) -> None:
    assert bare(piece) == read


@given(st.text(max_size=20), st.data())
@settings(max_examples=300)
def test_every_piece_is_in_one_span(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    places = list(zip([0, *cuts], [*cuts, len(text)], strict=True))
    pieces = [text[a:b] or "x" for a, b in places]
    found = read(text, pieces, places, [data.draw(st.booleans()) for _ in places])
    assert found == Text(tuple(pieces), found.spans)
    assert [at for span in found.spans for at in range(span.start, span.stop)] == list(range(len(pieces)))
    assert all(isinstance(span, Span) and span.text for span in found.spans)
