"""The text of a map: in columns that fit, whatever stands in the text or in the names of modules."""

from __future__ import annotations

from dataclasses import replace

import pytest
from map_data import B, H, atlas

from attnlab.maps.data import Atlas, Span, Text
from attnlab.maps.story import Window, detail, story
from attnlab.views.map import Labels, Told, lines, numbers, share, shown
from attnlab.views.text import cells
from attnlab.words import LANGUAGES, Words

HOSTILE = "\x1b[31m\u202e<script>"


def told(made: Atlas) -> Told:
    details = [detail(layer, 2) for layer in made.layers]
    window = Window(1, 2, range(2, 5), range(30), tuple(tuple(key / 100 for key in range(30)) for _ in range(3)))
    return Told(made, story(made.layers), details, [window], 3, ["a note"])


def spoiled() -> Atlas:
    """Names and tokens that a terminal would obey, or that are long and wide."""
    made = atlas()
    spans = [Span(0, 1, HOSTILE, "text"), Span(1, 3, "注意力" * 30, "text"), Span(3, 4, "\n\t  ", "space")]
    text = Text((HOSTILE, "Ġ" * 60, "\x07", "ĊĉĠĠ"), tuple(spans))
    layers = [replace(layer, name=f"{HOSTILE}{'deep.' * 30}attn") for layer in made.layers]
    return replace(made, name=HOSTILE, text=text, layers=tuple(layers), missed=((HOSTILE, "map.no_sink"),))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("width", [60, 80, 100])
@pytest.mark.parametrize("make", [atlas, spoiled])
def test_lines_fit_and_hold_nothing_that_a_terminal_obeys(language: str, width: int, make: object) -> None:
    assert callable(make)
    made = replace(make(), missed=(("layers.2.attn", "map.no_sink"),)) if make is atlas else make()
    found = lines(told(made), Words(language), width, False)
    assert max(map(cells, found)) <= width
    assert all(line.isprintable() for line in found)
    assert not any("\u202e" in line or "\x1b" in line for line in found)


def test_colour_changes_no_text() -> None:
    made = replace(atlas(), missed=())
    plain, painted = (lines(told(made), Words("en"), 80, colour) for colour in (False, True))
    assert [line.replace("\x1b[0m", "").replace("\x1b[1m", "").replace("\x1b[2m", "") for line in painted] == plain
    assert painted != plain


def test_labels_are_what_is_read_and_which_piece_of_it() -> None:
    labels = Labels(atlas())
    assert [labels.of(number) for number in (0, 1, 2, 3, 4, 7, 10)] == [
        "[CLS]",
        "注",
        "意·1",
        "意·2",
        "意·3",
        "␣",
        "[SEP]",
    ]
    assert (labels.of(11), Labels(replace(atlas(), text=None)).of(0)) == ("", "")


@pytest.mark.parametrize(
    ("text", "read"), [(" ", "␣"), ("\n\n\t", "↵↵⇥"), ("\r\n", "↵"), ("a\nb", "a b"), ("注" * 20, "注注注注注注注…")]
)
def test_white_space_is_seen_and_what_is_long_is_cut(text: str, read: str) -> None:
    assert shown(text) == read


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "0%"), (0.001, "<1%"), (0.005, "0%"), (0.994, "99%"), (1.0, "100%"), (float("nan"), "–")]
)
def test_shares(value: float, text: str) -> None:
    assert share(value) == text


def test_the_numbers_hold_all_of_it() -> None:
    made = atlas()
    found = numbers(told(made))
    assert found["name"] == "given"
    assert found["missed"] == [{"name": "layers.2.attn", "why": "capture.blocks"}]
    assert [len(item) for item in (found["layers"], found["heads"], found["queries"])] == [2, 2 * H, 2]  # type: ignore[arg-type]
    assert found["windows"][0]["keys"] == [*range(30)]  # type: ignore[index]
    assert made.layers[0].summary.shape[0] == B


def test_a_program_has_numbers_in_place_of_tokens() -> None:
    found = lines(told(replace(atlas(), text=None, missed=())), Words("en"), 80, False)
    assert found[0] == "given · 11 queries, 13 keys · 2 × 6 heads = 12"
    assert not any("意" in line for line in found)
