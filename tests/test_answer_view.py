"""An answer as lines: what each block becomes, and that no line is wider than it may be."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab.answers.data import Answer, Bars, Block, Cell, Literally, Shown, Table, Text, Title
from attnlab.answers.fault import Fault
from attnlab.explanation.data import Code, say
from attnlab.run import Program, Run
from attnlab.views.answer import lines
from attnlab.views.text import cells
from attnlab.words import LANGUAGES, Words

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def shown(*blocks: Block, width: int = 80, lang: str = "en", colour: bool = False) -> list[str]:
    return lines(Answer("", blocks), Words("zh" if lang == "zh" else "en"), width, colour)


def code(text: str, line: int = 7, file: str = "") -> Code:
    return Code(file, (line,), text)


def test_a_title_and_a_text() -> None:
    blocks = Title(say("whatif.title.set", name="n", before="4", after="6")), Text((say("whatif.nothing", count=3),))
    assert shown(*blocks) == [
        "If n were 6 instead of 4",
        "    Nothing changed: no shape and no value of the 3 steps, and the same was",
        "    printed.",
    ]
    assert shown(*blocks, lang="zh") == [
        "如果 n 不是 4，而是 6",
        "    什么都没有变：3 步的形状和数值都和原来一样，打印出来的也一样。",
    ]


def test_sentences_of_a_text_are_set_apart_as_the_language_does() -> None:
    text = Text((say("whatif.size", names=("L_q", "L_k"), before=4, after=6), say("whatif.meaning.cross")))
    assert shown(text)[0].startswith("    L_q, L_k went from 4 to 6. Self-attention became")
    assert shown(text, lang="zh")[0].startswith("    L_q、L_k 从 4 变成 6。自注意力变成了")


def test_a_message_within_a_message() -> None:
    inner = say("whatif.weights.query", index=2)
    assert shown(Text((say("whatif.weights.before", text=inner),))) == ["    query 2 before:"]


def test_code_stands_at_its_line() -> None:
    blocks = Shown(code("x = 1\ny = 2")), Shown(code("x = 3"), changed=True)
    assert shown(*blocks) == ["       7  x = 1", "       8  y = 2", "  →    7  x = 3"]


def test_code_of_another_file_is_under_its_name() -> None:
    blocks = Shown(code("x = 1", file="/a/lib.py")), Shown(code("x = 3", file="/a/lib.py"), changed=True)
    assert shown(*blocks) == ["    lib.py", "       7  x = 1", "  →    7  x = 3"]


def test_long_code_goes_on_below() -> None:
    found = shown(Shown(code("y = f(" + ", ".join(["abcdefgh"] * 8) + ")"), changed=True), width=50)
    assert [line[:10] for line in found] == ["  →    7  ", " " * 10, " " * 10]
    assert "".join(line[10:] for line in found).replace(" ", "") == "y=f(" + ",".join(["abcdefgh"] * 8) + ")"


def test_blocks_are_set_apart_where_they_are_not_one() -> None:
    table, literal = Table(("", ""), (("a", "b"),)), Literally("c")
    text = Text((say("whatif.until"),))
    title = Title(say("whatif.until"))
    words = "It ran up to there."
    assert shown(title, text, table, literal, text, literal) == [
        words, f"    {words}", "    a  b", "", "    c", "", f"    {words}", "    c",
    ]  # fmt: skip


def test_a_table() -> None:
    table = Table(("line", "code", "now"), (("7", "x", "[2, 4]"), ("12", "y = x + 1", "[2]")), "><<", frozenset({1}))
    assert shown(table) == [
        "    line  code       now",
        "       7  x          [2, 4]",
        "  →   12  y = x + 1  [2]",
    ]


def test_a_table_without_headings_in_both_widths_of_characters() -> None:
    table = Table(("", ""), (("查询", "1"), ("ab", "22")), "<>")
    assert shown(table) == ["    查询   1", "    ab    22"]


def test_the_widest_text_of_a_table_is_cut() -> None:
    table = Table(("", "", ""), (("7", "x" * 90, "[2, 4]"),), "><>")
    (line,) = shown(table)
    assert line == "    7  " + "x" * 64 + "…  [2, 4]"


def test_a_table_that_is_much_too_wide_is_folded() -> None:
    table = Table(("line", "code", "axes", "now"), (("7", "x = f(y, z)", "[" + "a, " * 19 + "a]", "[2]"),), "><<<")
    assert shown(table, width=72) == [
        "    line  code",
        "          axes                                                         now",
        "       7  x = f(y, z)",
        "          [" + "a, " * 19 + "a]  [2]",
    ] or all(cells(line) <= 72 for line in shown(table, width=72))


def test_columns_of_numbers_that_do_not_fit_are_dropped_and_that_is_said() -> None:
    table = Table(("", *map(str, range(20))), (("row", *["0.1234"] * 20),), "<" + ">" * 20)
    found = shown(table)
    assert found[-1] == "    (Columns that do not fit in this width: 11.)"
    assert found[1].split() == ["row", *["0.1234"] * 9]


def test_bars() -> None:
    bars = Bars((("a", 1.0, "1"), ("bb", 4.0, "4"), ("c", None, "not measured"), ("d", 0.0, "0")))
    assert shown(bars, width=100) == [
        "    a   " + "█" * 10 + "  1",
        "    bb  " + "█" * 40 + "  4",
        "    c   not measured",
        "    d   0",
    ]


def test_bars_on_a_log_scale() -> None:
    bars = Bars(tuple(("", 10.0**power, "") for power in range(5)), "log")
    assert [line.count("█") for line in shown(bars, width=100)] == [1, 10, 20, 30, 40]


def test_bars_of_nothing() -> None:
    assert shown(Bars(())) == []
    assert shown(Bars((("a", None, "—"),))) == ["    a  —"]


def test_what_is_shown_literally_keeps_its_lines() -> None:
    assert shown(Literally("a\n  b\n\nc")) == ["    a", "      b", "    ", "    c"]


def test_an_error_without_a_diagnosis_is_the_error() -> None:
    run = Run.empty(Program("script", "a.py", ()), ("ValueError", "no"), 1, 0.0)
    assert shown(Fault("ValueError: no", run, None)) == ["    ValueError: no"]


HOSTILE = "\x1b[31mred\x07 \u202eback\t\x00"


@pytest.mark.parametrize("lang", LANGUAGES)
def test_nothing_that_a_person_wrote_reaches_the_terminal_as_it_is(lang: str) -> None:
    cell: Cell = say("whatif.weights.before", text=HOSTILE)
    blocks: list[Block] = [
        Title(cell),
        Text((cell, say("whatif.size", names=(HOSTILE,), before=1, after=2))),
        Shown(code(HOSTILE, file=f"/{HOSTILE}.py")),
        Table((HOSTILE, cell), ((HOSTILE, cell),)),
        Bars(((HOSTILE, 1.0, HOSTILE),)),
        Literally(HOSTILE),
    ]
    text = "".join(shown(*blocks, lang=lang))
    assert "red" in text
    assert not {"\x1b", "\x07", "\u202e", "\t", "\x00"} & set(text)


ALL: list[Block] = [
    Title(say("whatif.until")),
    Text((say("whatif.until"),)),
    Shown(code("x = 1"), changed=True),
    Table(("a", "b"), (("1", "2"), ("3", "4")), "", frozenset({0})),
    Bars((("a", 1.0, "1"),)),
    Literally("text"),
]


def test_colour_comes_only_where_it_is_asked_for_and_moves_nothing() -> None:
    plain, painted = shown(*ALL), shown(*ALL, colour=True)
    assert not any("\x1b" in line for line in plain)
    assert sum("\x1b" in line for line in painted) >= 4
    assert [ESCAPE.sub("", line) for line in painted] == plain


WORDS = st.text(st.sampled_from("ab _(),.=查询，。√"), max_size=60)


@st.composite
def tables(draw: st.DrawFn) -> Table:
    columns = draw(st.integers(1, 7))
    row = st.tuples(*[WORDS] * columns)
    align = draw(st.text("<>", max_size=columns))
    rows = draw(st.lists(row, max_size=4))
    return Table(draw(row), tuple(rows), align, frozenset(draw(st.sets(st.integers(0, 3)))))


BLOCKS = st.one_of(
    tables(),
    WORDS.map(Literally),
    WORDS.map(lambda text: Shown(code(text or "x"), changed=True)),
    WORDS.map(lambda text: Title(say("whatif.weights.before", text=text))),
    st.lists(st.tuples(WORDS, st.none() | st.floats(), WORDS), max_size=4).map(lambda rows: Bars(tuple(rows), "log")),
)


@given(st.lists(BLOCKS, max_size=4), st.integers(40, 120), st.sampled_from(LANGUAGES))
def test_no_line_is_too_wide(blocks: list[Block], width: int, lang: str) -> None:
    assert [line for line in shown(*blocks, width=width, lang=lang) if cells(line) > width] == []


@given(tables())
def test_what_fits_is_shown_whole(table: Table) -> None:
    text = " ".join(" ".join(shown(table, width=1000)).split())
    for cell in (item for row in table.rows for item in row if isinstance(item, str)):
        assert " ".join(cell.split()) in text
