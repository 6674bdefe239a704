"""What all lessons have in common: how they are written, and that their comments are said in English, too."""

import ast
import tokenize
import unicodedata
from pathlib import Path

import pytest
from lesson_files import CHINESE, FILES, LESSONS, ROOT, chinese, english

NAMES = {file.name for file in FILES} | {file.stem for file in FILES}


def columns(line: str) -> int:
    """How wide a line is: a Chinese character takes two columns."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in line)


def imported(file: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or ".")
    return names


def test_they_are_numbered_from_1_to_12() -> None:
    assert [int(file.name[:2]) for file in LESSONS] == list(range(1, 13))
    assert english().keys() == {file.name for file in FILES}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_imports_torch_and_math_alone(file: Path) -> None:
    assert {name.partition(".")[0] for name in imported(file)} <= {"torch", "math"}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_is_short_and_narrow(file: Path) -> None:
    lines = file.read_text(encoding="utf-8").splitlines()
    assert len(lines) < (150 if file.name < "06" or file.name[0] == "s" else 250)
    assert [line for line in lines if columns(line) > 120] == []


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_comment_is_said_in_english_in_as_little_room(file: Path) -> None:
    words = english()[file.name]
    for token in chinese(file):
        assert token.string in words
        said = words[token.string]
        assert said.startswith("#")
        assert not CHINESE.search(said)
        assert columns(token.line[: token.start[1]] + said) <= 120, said


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_no_english_is_left_over(file: Path) -> None:
    with file.open("rb") as stream:
        there = {
            token.string
            for token in tokenize.tokenize(stream.readline)
            if token.type in (tokenize.COMMENT, tokenize.STRING)
        }
    assert english()[file.name].keys() <= there


@pytest.mark.parametrize("file", LESSONS, ids=lambda file: file.stem)
def test_starts_with_its_number_and_runs_when_it_is_the_program(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert text.startswith(f"# 第 {int(file.name[:2])} 课：")
    assert text.count('if __name__ == "__main__":') == 1


@pytest.mark.parametrize("file", LESSONS, ids=lambda file: file.stem)
def test_a_mask_is_called_keep_and_says_where_one_may_look(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    filled = [
        line for line in text.splitlines() if "masked_fill(" in line and '"-inf"' in line and "smallest" not in line
    ]
    assert all("masked_fill(~keep, " in line for line in filled)
    assert "attn_mask" not in text.replace("F.scaled_dot_product_attention", "")


def test_the_tool_imports_none_of_them() -> None:
    for file in (ROOT / "src").rglob("*.py"):
        assert not imported(file) & NAMES
        assert not any(name.partition(".")[0] == "lessons" for name in imported(file))
