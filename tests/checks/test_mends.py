"""Mends in files: only what was tried, never two that overlap, and the file as it was in all else."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab.checks.finding import Edit, Finding, Fix
from attnlab.checks.report import Report
from attnlab.mends import applied, chosen, mended, moved, write
from attnlab.reporting import diff, fixed
from attnlab.words import Words

TEXT = "import torch\nw = softmax(s, dim=1)\no = w @ v\n"
EDIT: Edit = (2, 19, 2, 20, "-1")
EN = Words("en")


def found(path: Path | str, *edits: Edit, line: int = 2, tried: bool = True, note: bool = False) -> Finding:
    return Finding("ATT001", "softmax-axis", str(path), line, 4, line, 21, "m", "e", Fix("f", edits, tried), note)


def together(_: Sequence[Finding]) -> bool:
    return True


def fix(path: Path, *items: Finding, sources: dict[str, str] | None = None) -> tuple[Report, list[str]]:
    report = Report(path.name, str(path.parent), items, 1)
    return fixed(report, together, sources or {str(path): TEXT}, EN)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "p.py").write_text(TEXT, encoding="utf-8")
    return tmp_path / "p.py"


def test_it_is_written_and_the_finding_is_gone(file: Path) -> None:
    report, said = fix(file, found(file, EDIT), found(file, line=3, tried=False))
    assert file.read_text() == TEXT.replace("dim=1", "dim=-1")
    assert said == []
    assert [item.line for item in report.found] == [3]
    assert [item.line for item in report.mended] == [2]
    assert os.listdir(file.parent) == ["p.py"]


@pytest.mark.parametrize("changes", [{"tried": False}, {"note": True}])
def test_what_was_not_tried_and_what_is_a_note_is_not_written(file: Path, changes: dict[str, bool]) -> None:
    report, _ = fix(file, found(file, EDIT, **changes))
    assert file.read_text() == TEXT
    assert len(report.found) == 1


@pytest.mark.parametrize(
    ("encoding", "head"),
    [
        ("utf-8", "# 一\n注 = 1\n"),
        ("utf-8-sig", "# 一\n注 = 1\n"),
        ("gbk", "# -*- coding: gbk -*-\n注 = 1\n"),
        ("latin-1", "# coding: latin-1\né = 1\n"),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("end", ["", "\n"])
def test_encoding_newlines_and_permissions_are_kept(
    encoding: str, head: str, newline: str, end: str, tmp_path: Path
) -> None:
    text = head + "z = f(x)" + end
    new = "g(x,\n  y)"
    path = tmp_path / "p.py"
    path.write_bytes(text.replace("\n", newline).encode(encoding))
    path.chmod(0o640)
    report, said = fix(path, found(path, (3, 4, 3, 8, new)), sources={str(path): text.rstrip("\n") + "\n"})
    assert said == []
    assert path.read_bytes() == text.replace("f(x)", new).replace("\n", newline).encode(encoding)
    assert path.stat().st_mode & 0o777 == 0o640
    assert len(report.mended) == 1


def test_a_link_stays_a_link(file: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.py"
    link.symlink_to(file)
    fix(link, found(link, EDIT), sources={str(link): TEXT})
    assert link.is_symlink()
    assert "dim=-1" in file.read_text()


def test_a_file_that_has_changed_since_is_left(file: Path) -> None:
    file.write_text(TEXT + "# more\n", encoding="utf-8")
    report, (sentence,) = fix(file, found(file, EDIT))
    assert file.read_text() == TEXT + "# more\n"
    assert sentence.startswith("p.py is no longer what was run")
    assert len(report.found) == 1
    assert report.exit_code == 1


@pytest.mark.parametrize("where", ["write", "replace"])
def test_a_file_that_cannot_be_written_is_left_whole(file: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync" if where == "write" else "replace", fail)
    report, (sentence,) = fix(file, found(file, EDIT))
    assert "No space left on device" in sentence
    assert file.read_text() == TEXT
    assert os.listdir(file.parent) == ["p.py"]
    assert len(report.found) == 1


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        ((2, 4, 2, 8, "a"), (2, 6, 2, 9, "b"), False),
        ((2, 4, 2, 8, "a"), (2, 4, 2, 8, "a"), True),  # the same edit, made once
        ((2, 4, 2, 8, "a"), (2, 4, 2, 8, "b"), False),
        ((2, 4, 2, 8, "a"), (2, 8, 2, 9, "b"), True),
        ((2, 4, 2, 8, "a"), (2, 8, 2, 8, "b"), False),  # which comes first is not known
        ((2, 4, 2, 4, "a"), (2, 4, 2, 4, "b"), False),
        ((1, 2, 3, 1, "a"), (2, 0, 2, 1, "b"), False),
        ((1, 2, 2, 1, "a"), (2, 2, 2, 3, "b"), True),
    ],
)
def test_two_that_overlap_are_never_both_written(one: Edit, other: Edit, both: bool) -> None:
    for pair in ((one, other), (other, one)):
        kept = chosen([found("p.py", edit) for edit in pair])
        assert len(kept) == (2 if both else 1)
    assert len(chosen([found("p.py", one), found("q.py", other)])) == 2


def test_where_not_all_go_together_the_first_is_written_alone(file: Path) -> None:
    items = (found(file, EDIT), found(file, (3, 0, 3, 1, "out"), line=3))
    report, _ = fixed(Report("p.py", str(file.parent), items, 1), lambda _: False, {str(file): TEXT}, EN)
    assert file.read_text() == TEXT.replace("dim=1", "dim=-1")
    assert [item.line for item in report.found] == [3]


def test_the_diff(file: Path) -> None:
    report = Report("p.py", str(file.parent), (found(file, EDIT), found(file, line=3, tried=False)), 1)
    text, said = diff(report, together, {str(file): TEXT}, EN)
    assert text.splitlines() == [
        "--- p.py", "+++ p.py", "@@ -1,3 +1,3 @@", " import torch",
        "-w = softmax(s, dim=1)", "+w = softmax(s, dim=-1)", " o = w @ v",
    ]  # fmt: skip
    assert said == ["findings with a safe mend: 1 of 2"]
    assert file.read_text() == TEXT


def test_a_diff_without_a_last_newline(tmp_path: Path) -> None:
    path = tmp_path / "p.py"
    path.write_text("w = 1", encoding="utf-8")
    report = Report("p.py", str(tmp_path), (found(path, (1, 4, 1, 5, "2")),), 1)
    text, _ = diff(report, together, {str(path): "w = 1\n"}, EN)
    assert text.endswith("-w = 1\n\\ No newline at end of file\n+w = 2\n\\ No newline at end of file\n")


LINES = st.lists(st.text("ab注 ", max_size=8), min_size=1, max_size=6)


@given(lines=LINES, data=st.data())
def test_what_stands_behind_an_edit_moves_with_it(lines: list[str], data: st.DataObject) -> None:
    text = "\n".join(lines)
    places = [(row + 1, col) for row, line in enumerate(lines) for col in range(len(line) + 1)]
    start, end = sorted((data.draw(st.sampled_from(places)), data.draw(st.sampled_from(places))))
    edit: Edit = (*start, *end, data.draw(st.text("xy\n", max_size=4)))
    place = data.draw(st.sampled_from([place for place in places if place >= end]))
    after = applied(text, [edit])
    item = found("p.py", edit)
    from attnlab.mends import Mended

    file = Mended("p.py", "utf-8", text, after, (edit,), (item,))
    line, col = place
    there = moved(Finding("ATT011", "s", "p.py", line, col, line, col, "", "", None), [file])

    def rest(whole: str, at: tuple[int, int]) -> str:
        rows = whole.split("\n")
        return "\n".join([rows[at[0] - 1][at[1] :], *rows[at[0] :]])

    assert rest(after, (there.line, there.col)) == rest(text, place)


def test_a_file_with_mends_is_what_was_run(file: Path) -> None:
    (one,) = mended([found(file, EDIT)], {str(file): TEXT})
    write(one)
    assert mended([found(file, EDIT)], {str(file): TEXT}) == []
