"""What a person sees: golden files for the cases that matter, and for every script of the corpus lines that fit."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from golden_files import GOLDEN, assert_golden
from runs import CORPUS, DEMO, SCRIPTS, explanation_of

import attnlab
from attnlab.axes import by_flow
from attnlab.explanation import explain
from attnlab.views.terminal import render
from attnlab.views.text import cells
from attnlab.words import LANGUAGES, Language, Words

LAYERS = GOLDEN / "twelve_layers.py"
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def corpus(name: str) -> Path:
    return CORPUS / f"{name}.py"


def shown(
    script: Path,
    lang: Language,
    width: int = 80,
    colour: bool = False,
    layer: str | None = None,
    everything: bool = False,
) -> str:
    text = render(explanation_of(script, layer, everything), Words(lang), width, colour)
    return text.replace(str(script.parent), "…")


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("width", [80, 120])
def test_the_demo(lang: Language, width: int) -> None:
    assert_golden(f"terminal/demo.{lang}.{width}.txt", shown(DEMO, lang, width))


def test_the_demo_in_colour() -> None:
    assert_golden("terminal/demo.zh.colour.txt", shown(DEMO, "zh", colour=True))


def test_every_step_of_the_demo() -> None:
    assert_golden("terminal/demo.all.en.80.txt", shown(DEMO, "en", everything=True))


@pytest.mark.parametrize(
    ("name", "lang"),
    [
        ("a_gpt", "zh"),  # multi-head, fused qkv, a causal mask, dropout, three equal layers
        ("a_multihead_view_zh", "en"),
        ("a_sdpa_causal", "zh"),
        ("a_sdpa_gqa", "en"),  # grouped query
        ("a_mha_batch_first", "en"),  # nn.MultiheadAttention: self, cross, causal
        ("a_encoder_eval", "zh"),  # the fast path of nn.TransformerEncoder
        ("a_cross_lengths", "zh"),
        ("a_talking_heads", "en"),
        ("a_bahdanau_zh", "zh"),
        ("a_nonlocal", "en"),  # the values on the left
        ("a_key_major", "en"),  # a row for each key
        ("a_where_mask", "zh"),  # a flat script
        ("a_no_attention_mlp", "zh"),
        ("a_no_attention_mlp", "en"),
    ],
)
def test_a_style(name: str, lang: Language) -> None:
    assert_golden(f"terminal/{name}.{lang}.80.txt", shown(corpus(name), lang))


@pytest.mark.parametrize("lang", LANGUAGES)
def test_twelve_equal_layers_are_told_once(lang: Language) -> None:
    assert_golden(f"terminal/twelve_layers.{lang}.80.txt", shown(LAYERS, lang))


def test_one_layer_is_told_alone() -> None:
    assert_golden("terminal/twelve_layers.layer.zh.80.txt", shown(LAYERS, "zh", layer="layers.5"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_no_line_is_wider_than_the_terminal(script: Path) -> None:
    for lang in LANGUAGES:
        for width in (80, 100, 120):
            lines = shown(script, lang, width).splitlines()
            assert [line for line in lines if cells(line) > width] == []
            assert not any(line != line.rstrip() for line in lines)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_english_has_no_chinese_but_the_users_own(script: Path) -> None:
    theirs = set(script.read_text(encoding="utf-8"))
    text = shown(script, "en")
    assert {character for character in text if "\u3000" <= character <= "\uffef"} <= theirs


@pytest.mark.parametrize("script", [DEMO, LAYERS, corpus("a_no_attention_mlp")], ids=lambda path: path.stem)
def test_colour_changes_nothing_but_the_colour(script: Path) -> None:
    plain, coloured = shown(script, "zh"), shown(script, "zh", colour=True)
    assert "\x1b" not in plain
    assert COLOUR.sub("", coloured) == plain


def test_a_program_cannot_reach_the_terminal(tmp_path: Path) -> None:
    """Source text is the user's: an escape sequence in it is shown, not obeyed."""
    script = tmp_path / "hostile.py"
    script.write_text('import torch\n\nx = torch.ones(2)[..., [0, 1]["\x1b[2J" == 0 :]]\n', encoding="utf-8")
    assert "\x1b" not in shown(script, "en", colour=False)
    assert "\\x1b[2J" in shown(script, "en", colour=False)


def test_code_of_another_file_says_which(tmp_path: Path) -> None:
    (tmp_path / "heads_beside.py").write_text("def double(x):\n    return x * 2\n", encoding="utf-8")
    script = tmp_path / "main.py"
    script.write_text(
        "import torch\nfrom heads_beside import double\n\nprint(double(torch.ones(3)))\n", encoding="utf-8"
    )
    lines = shown(script, "en").splitlines()
    assert "2  x * 2   # heads_beside.py" in lines
    assert "4  torch.ones(3)" in lines


def test_a_block_has_no_program_to_name() -> None:
    with attnlab.record() as run:
        torch.ones(2) + 1
    text = render(explain(run, (), by_flow(run, ())), Words("en"), 80, False)
    assert text.startswith("no attention found\n")
