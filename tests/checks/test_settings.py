"""Which findings are wanted: what is asked for, the table in pyproject.toml, and comments in the code."""

from __future__ import annotations

from pathlib import Path

import pytest

from attnlab.checks.codes import CODES
from attnlab.checks.rules import rules
from attnlab.settings import BadSettings, Comments, Settings, code_of, comments, named, rule, settings


def test_every_rule_is_in_the_table_of_codes() -> None:
    assert {item.code: item.slug for item in rules()} == CODES


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("ATT012", "ATT012"),
        ("att012", "ATT012"),
        (" ATT05 ", "ATT05"),
        ("ATT", "ATT"),
        ("scale-missing", "ATT011"),
        ("ATT999", None),
        ("ATT0123", None),
        ("A", None),
        ("", None),
        ("scale", None),
    ],
)
def test_the_name_of_a_rule(name: str, code: str | None) -> None:
    assert code_of(name) == code


@pytest.mark.parametrize(
    ("name", "message", "near"),
    [
        ("scale-mising", "settings.near", "scale-missing"),
        ("ATT997", "settings.near", None),
        ("xyz", "settings.unknown", None),
    ],
)
def test_an_unknown_rule(name: str, message: str, near: str | None) -> None:
    with pytest.raises(BadSettings) as caught:
        named(["ATT011", name], "--select")
    assert caught.value.id == message
    assert caught.value.params["asked"] == name
    if near:
        assert caught.value.params["near"] == near


def test_one_rule_is_more_than_the_beginning_of_codes() -> None:
    assert rule("softmax-axis", "--explain") == "ATT001"
    with pytest.raises(BadSettings):
        rule("ATT00", "--explain")


@pytest.mark.parametrize(
    ("select", "ignore", "wanted"),
    [
        (None, (), True),
        (None, ("ATT012",), False),
        (None, ("ATT01",), False),
        (None, ("ATT",), False),
        (None, ("ATT05",), True),
        (("ATT012",), (), True),
        (("ATT01",), (), True),
        (("ATT05",), (), False),
        ((), (), False),
        (("ATT012",), ("ATT01",), True),  # what names it more closely holds
        (("ATT01",), ("ATT012",), False),
        (("ATT012",), ("ATT012",), False),
    ],
)
def test_select_and_ignore(select: tuple[str, ...] | None, ignore: tuple[str, ...], wanted: bool) -> None:
    assert Settings(select, ignore).wants("ATT012", "/x/a.py") is wanted


CODE = """\
x = "# attnlab: ignore"
y = f(x)  # attnlab: ignore[ATT012, att05]
z = g(x)  # noqa: X  # attnlab:ignore[scale-missing]
w = (
    x  # attnlab: ignore
    + y
)
v = h(x)  # attnlab: ignored, and # attnlab: ignore[ATT999]
'''
# attnlab: ignore
'''
"""


def test_comments() -> None:
    assert comments(CODE) == {2: ("ATT012", "ATT05"), 3: ("ATT011",), 5: ("ATT",), 8: ()}


@pytest.mark.parametrize("text", ["x = (  # attnlab: ignore\n", "x = 1  # attnlab: ignore\n  y = 'a\n"])
def test_comments_of_a_source_that_is_not_whole(text: str) -> None:
    assert comments(text) == {1: ("ATT",)}


@pytest.mark.parametrize(
    ("code", "line", "end", "ignored"),
    [
        ("ATT012", 2, 2, True),
        ("ATT053", 2, 2, True),
        ("ATT011", 2, 2, False),
        ("ATT011", 3, 3, True),
        ("ATT081", 4, 7, True),
        ("ATT081", 6, 7, False),
        ("ATT081", 8, 8, False),
    ],
)
def test_a_comment_on_any_line_of_the_expression(code: str, line: int, end: int, ignored: bool) -> None:
    assert Comments({"/x/a.py": CODE}).ignore(code, "/x/a.py", line, end) is ignored


def test_a_file_that_is_not_there_has_no_comments() -> None:
    assert not Comments({}).ignore("ATT001", "<string>", 1, 3)


def project(folder: Path, table: str) -> str:
    """A program two folders beneath a pyproject.toml with that table."""
    (folder / "pyproject.toml").write_text(table, encoding="utf-8")
    inner = folder / "src" / "net"
    inner.mkdir(parents=True, exist_ok=True)
    return str(inner / "model.py")


TABLE = """
[tool.attnlab]
select = ["ATT0", "dropout-in-eval"]
ignore = ["ATT05"]
per-file-ignores = { "src/net/*" = ["ATT081"], "test_*.py" = ["ATT"] }
"""


def test_the_table(tmp_path: Path) -> None:
    path = project(tmp_path, TABLE)
    found = settings(path)
    wants = [code for code in ("ATT001", "ATT051", "ATT081", "ATT101", "ATT102") if found.wants(code, path)]
    assert wants == ["ATT001", "ATT101"]
    assert found.wants("ATT081", str(tmp_path / "other.py"))
    assert not found.wants("ATT001", str(tmp_path / "deep" / "test_x.py"))


def test_what_is_asked_for_goes_before_the_table(tmp_path: Path) -> None:
    path = project(tmp_path, TABLE)
    assert settings(path, select=["ATT102"]).wants("ATT102", path)
    assert not settings(path, select=["ATT102"]).wants("ATT001", path)
    assert not settings(path, ignore=["ATT00"]).wants("ATT001", path)
    assert not settings(path, ignore=["ATT00"]).wants("ATT051", path)
    assert settings(path, select=["ATT051"]).wants("ATT051", path)  # named more closely than in the table


def test_the_nearest_table_holds(tmp_path: Path) -> None:
    path = project(tmp_path, TABLE)
    (tmp_path / "src" / "pyproject.toml").write_text("[project]\nname = 'x'\n", encoding="utf-8")
    assert not settings(path).wants("ATT051", path)  # a file without a table is passed by
    (tmp_path / "src" / "pyproject.toml").write_text("[tool.attnlab]\n", encoding="utf-8")
    assert settings(path).wants("ATT051", path)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("[tool.attnlab\n", "settings.toml"),
        ("tool.attnlab = 3", "settings.table"),
        ("[tool.attnlab]\nselct = ['ATT']", "settings.key"),
        ("[tool.attnlab]\nselect = 'ATT'", "settings.list"),
        ("[tool.attnlab]\nignore = [3]", "settings.list"),
        ("[tool.attnlab]\nignore = ['scale-mising']", "settings.near"),
        ("[tool.attnlab]\nper-file-ignores = ['x']", "settings.files"),
        ("[tool.attnlab]\nper-file-ignores = {x = 'ATT'}", "settings.list"),
    ],
)
def test_a_bad_table_is_told(table: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(BadSettings) as caught:
        settings(project(tmp_path, table))
    assert caught.value.id == message
