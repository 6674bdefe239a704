"""Findings as text, JSON, SARIF and commands of a GitHub workflow."""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlab.checks.codes import CODES
from attnlab.checks.finding import Finding, Fix
from attnlab.checks.report import Ended, Report
from attnlab.reporting import FORMATS, written
from attnlab.views.text import cells
from attnlab.words import LANGUAGES, Words

FOLDER = "/home/ada/模型 one"
ONE = Finding(
    "ATT011", "scale-missing", f"{FOLDER}/net/a b.py", 12, 8, 13, 20,
    "`q @ k.T` is not divided by √d_k", "the spread of the scores is 3.46 = √12",
    Fix("q @ k.T / math.sqrt(12)", ((13, 20, 13, 20, " / math.sqrt(12)"),), tried=True),
)  # fmt: skip
OTHER = replace(ONE, code="ATT001", slug="softmax-axis", path="/elsewhere/b.py", line=3, end_line=3, fix=None)
NOTE = replace(OTHER, code="ATT071", slug="causal-missing", note=True, fix=Fix("mask the later tokens"))
REPORT = Report("net/a b.py", FOLDER, (ONE, OTHER, NOTE), attentions=2)
NOTHING = Report("net/a b.py", FOLDER, (), attentions=0)
FAILED = replace(NOTHING, attentions=1, ended=Ended("RuntimeError: 100%, done: no", f"{FOLDER}/net/a b.py", 7))
ENDED = "The program ended in RuntimeError: 100%, done: no; what ran up to there was checked."
EN, ZH = Words("en"), Words("zh")


def shown(report: Report, form: str = "text", words: Words = EN, width: int = 80, colour: bool = False) -> str:
    text = written(report, form, words, width, colour)
    assert text.endswith("\n") or not text
    return text


# -- text ----------------------------------------------------------------------------------------


def test_place_code_one_line_then_evidence_and_mend() -> None:
    assert shown(REPORT, width=100).splitlines() == [
        "net/a b.py:12:9: ATT011 scale-missing  `q @ k.T` is not divided by √d_k",
        "    evidence  the spread of the scores is 3.46 = √12",
        "    mend      q @ k.T / math.sqrt(12)",
        "              tried: the finding is gone and no other appears",
        "/elsewhere/b.py:3:9: ATT001 softmax-axis  `q @ k.T` is not divided by √d_k",
        "    evidence  the spread of the scores is 3.46 = √12",
        "/elsewhere/b.py:3:9: ATT071 causal-missing (note)  `q @ k.T` is not divided by √d_k",
        "    evidence  the spread of the scores is 3.46 = √12",
        "    mend      mask the later tokens",
        "2 findings; 1 note",
        "1 mend is safe: --diff shows it, --fix writes it",
    ]


def test_what_is_the_same_in_several_places_is_told_once() -> None:
    found = tuple(replace(ONE, line=line, end_line=line, evidence=f"here {line}") for line in (3, 23, 24, 24))
    lines = shown(replace(REPORT, found=found)).splitlines()
    assert lines[0].startswith("net/a b.py:3:9: ATT011")
    assert "    evidence  here 3" in lines
    assert "    same      on lines 23, 24" in lines
    assert lines[-2:] == ["1 finding in 4 places", "4 mends are safe: --diff shows them, --fix writes them"]


def test_what_differs_in_names_alone_is_the_same() -> None:
    found = tuple(
        replace(ONE, line=line, message=f"`view` does not split {name} into 3 heads", fix=Fix(f"W_{name}(x).view(2)"))
        for line, name in ((7, "q"), (8, "k"), (9, "v"))
    )
    lines = shown(replace(REPORT, found=found)).splitlines()
    assert "    same      on lines 8, 9" in lines
    assert lines[-1] == "1 finding in 3 places"


@pytest.mark.parametrize(
    "changes",
    [
        {"fix": Fix("something else")},
        {"fix": None},
        {"message": "`q @ k.T` is not divided by √d_k, nor is it masked"},
        {"message": ONE.message.replace("@", "+")},
        {"path": "/elsewhere/b.py"},
        {"note": True},
    ],
)
def test_what_is_not_the_same_is_told_beside_the_first(changes: dict[str, Any]) -> None:
    assert "    same " not in shown(replace(REPORT, found=(ONE, replace(ONE, line=20, **changes))))


def test_other_numbers_are_told_beside_the_first() -> None:
    found = (replace(ONE, message="√12 in place of √4"), replace(ONE, message="√16 in place of √4", line=20))
    assert "    same " not in shown(replace(REPORT, found=found))


@pytest.mark.parametrize(
    ("report", "end"),
    [
        (replace(NOTHING, attentions=1), "no findings in 1 attention"),
        (replace(NOTHING, attentions=3), "no findings in 3 attentions"),
        (NOTHING, "no attention found in this run: nothing was checked"),
        (replace(REPORT, found=(NOTE,)), "no findings in 2 attentions; 1 note"),
        (
            FAILED,
            f"{ENDED}\nno findings in 1 attention",
        ),
        (
            replace(NOTHING, attentions=1, mended=(ONE,)),
            "mended net/a b.py:12 ATT011 scale-missing\nno findings in 1 attention",
        ),
    ],
)
def test_the_last_lines(report: Report, end: str) -> None:
    assert shown(report, width=100).endswith(end + "\n")


@pytest.mark.parametrize(
    ("report", "code"), [(REPORT, 1), (NOTHING, 0), (FAILED, 1), (replace(REPORT, found=(NOTE,)), 0)]
)
def test_the_exit_code(report: Report, code: int) -> None:
    assert report.exit_code == code


LONG = (
    "把 q 与 k 的乘积除以 √d_k，否则 softmax 会饱和；" * 4 + "and `a_long_name.transpose(-2, -1)` is not the same as it"
)


@pytest.mark.parametrize("words", [EN, ZH], ids=["en", "zh"])
@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_is_wider_than_the_terminal(width: int, words: Words) -> None:
    item = replace(ONE, message=LONG, evidence=LONG, fix=Fix(LONG + "\n    " + LONG, tried=True))
    report = Report("a.py", FOLDER, (item, replace(item, line=5), replace(item, note=True)), 1, FAILED.ended)
    assert [line for line in shown(report, words=words, width=width).splitlines() if cells(line) > width] == []


def test_colour_only_where_it_is_asked_for() -> None:
    assert "\x1b[" not in shown(REPORT)
    coloured = shown(REPORT, colour=True)
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == shown(REPORT)
    assert coloured != shown(REPORT)


HOSTILE = "a\x1b[2Jb\r\nc\u202ed\x07\u2028e\x00"


@pytest.mark.parametrize("words", [EN, ZH], ids=["en", "zh"])
def test_what_a_person_wrote_reaches_no_terminal_as_a_command(words: Words) -> None:
    item = replace(ONE, path=f"{FOLDER}/{HOSTILE}.py", message=HOSTILE, evidence=HOSTILE, fix=Fix(HOSTILE, tried=True))
    report = Report(HOSTILE, FOLDER, (item,), 1, Ended(HOSTILE, "", 0), (item,))
    text = shown(report, words=words, width=200)
    bad = [c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")]
    assert bad == []


# -- JSON ----------------------------------------------------------------------------------------

ENTRY = {"code", "slug", "path", "line", "col", "end_line", "end_col", "message", "evidence", "fix"}


def test_json() -> None:
    found = json.loads(shown(REPORT, "json"))
    assert list(found) == ["version", "findings", "notes"]
    assert found["version"] == 1
    assert found["findings"][0] == {
        "code": "ATT011", "slug": "scale-missing", "path": "net/a b.py",
        "line": 12, "col": 9, "end_line": 13, "end_col": 21,
        "message": ONE.message, "evidence": ONE.evidence,
        "fix": {
            "text": "q @ k.T / math.sqrt(12)", "tried": True,
            "edits": [{"line": 13, "col": 21, "end_line": 13, "end_col": 21, "new": " / math.sqrt(12)"}],
        },
    }  # fmt: skip
    assert found["findings"][1]["path"] == "/elsewhere/b.py"
    assert found["findings"][1]["fix"] is None
    assert [entry["code"] for entry in found["notes"]] == ["ATT071"]


@pytest.mark.parametrize(
    ("report", "slug", "line"),
    [(FAILED, "program-ended", 7), (NOTHING, "no-attention", 1)],
)
def test_what_there_is_to_say_of_the_run_is_a_note_in_json(report: Report, slug: str, line: int) -> None:
    found = json.loads(shown(report, "json"))
    assert found["findings"] == []
    (note,) = found["notes"]
    assert set(note) == ENTRY
    assert (note["code"], note["slug"], note["path"], note["line"]) == ("ATT000", slug, "net/a b.py", line)
    assert note["code"] not in CODES


@pytest.mark.parametrize("form", [form for form in FORMATS if form != "text"])
@given(text=st.text(max_size=30))
def test_any_text_passes(form: str, text: str) -> None:
    item = replace(ONE, path=f"{FOLDER}/{text.replace('/', '')}x.py", message=text, evidence=text, fix=Fix(text))
    said = shown(Report(text, FOLDER, (item,), 1), form)
    if form == "github":
        assert len(said.splitlines()) >= 1
        assert said.count("\n") == 1
    elif form == "json":
        assert json.loads(said)["findings"][0]["message"] == text
    else:
        assert text in json.loads(said)["runs"][0]["results"][0]["message"]["text"]


# -- SARIF ---------------------------------------------------------------------------------------

# What the schema of SARIF 2.1.0 lets stand in the objects that are written, and which of it has to be there (!).
SARIF: dict[str, str] = {
    "log": "$schema version! runs!",
    "run": "tool! invocations results originalUriBaseIds columnKind",
    "driver": "name! version semanticVersion rules",
    "rule": "id! name shortDescription help defaultConfiguration properties",
    "invocation": "executionSuccessful! toolExecutionNotifications",
    "notification": "level message! locations",
    "result": "ruleId ruleIndex level message! locations fixes",
    "physical": "artifactLocation region",
    "artifact": "uri uriBaseId",
    "region": "startLine startColumn endLine endColumn",
    "fix": "description artifactChanges!",
    "change": "artifactLocation! replacements!",
    "replacement": "deletedRegion! insertedContent",
}


def shaped(kind: str, item: dict[str, Any]) -> dict[str, Any]:
    names = SARIF[kind].split()
    assert set(item) <= {name.rstrip("!") for name in names}, kind
    assert {name[:-1] for name in names if name.endswith("!")} <= set(item), kind
    return item


def region(item: dict[str, Any]) -> tuple[int, int, int, int]:
    shaped("region", item)
    assert all(isinstance(number, int) and number >= 1 for number in item.values())
    return item["startLine"], item["startColumn"], item["endLine"], item["endColumn"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_sarif(language: Any) -> None:
    log = shaped("log", json.loads(shown(REPORT, "sarif", Words(language))))
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    shaped("run", run)
    assert run["columnKind"] == "unicodeCodePoints"
    root = run["originalUriBaseIds"]["%SRCROOT%"]["uri"]
    assert root.startswith("file:///home/ada/")
    assert root.endswith("/")
    rules = [shaped("rule", rule) for rule in shaped("driver", run["tool"]["driver"])["rules"]]
    assert [rule["id"] for rule in rules] == ["ATT001", "ATT011", "ATT071"]
    for rule in rules:
        names = rule["properties"]["names"]
        assert names == {lang: Words(lang).say(f"rule.{rule['name']}") for lang in LANGUAGES}
        assert rule["shortDescription"]["text"] == names[language]
        assert rule["help"]["text"]
        assert rule["help"]["markdown"]
    results = [shaped("result", result) for result in run["results"]]
    assert [rules[result["ruleIndex"]]["id"] for result in results] == [result["ruleId"] for result in results]
    assert [result["level"] for result in results] == ["error", "error", "note"]
    places = [shaped("physical", result["locations"][0]["physicalLocation"]) for result in results]
    assert shaped("artifact", places[0]["artifactLocation"]) == {"uri": "net/a%20b.py", "uriBaseId": "%SRCROOT%"}
    assert shaped("artifact", places[1]["artifactLocation"]) == {"uri": "file:///elsewhere/b.py"}
    assert region(places[0]["region"]) == (12, 9, 13, 21)
    (fix,) = results[0]["fixes"]
    assert shaped("fix", fix)["description"] == {"text": "q @ k.T / math.sqrt(12)"}
    (change,) = fix["artifactChanges"]
    (edit,) = shaped("change", change)["replacements"]
    assert region(shaped("replacement", edit)["deletedRegion"]) == (13, 21, 13, 21)
    assert edit["insertedContent"] == {"text": " / math.sqrt(12)"}
    assert [("fixes" in result) for result in results] == [True, False, False]


def test_sarif_of_a_program_that_failed() -> None:
    (run,) = json.loads(shown(FAILED, "sarif"))["runs"]
    (invocation,) = run["invocations"]
    assert shaped("invocation", invocation)["executionSuccessful"] is False
    (told,) = invocation["toolExecutionNotifications"]
    assert "RuntimeError" in shaped("notification", told)["message"]["text"]
    assert told["locations"][0]["physicalLocation"]["region"] == {"startLine": 7}


# -- GitHub --------------------------------------------------------------------------------------


def test_github() -> None:
    first, second, third = shown(REPORT, "github").splitlines()
    assert first == (
        "::error file=net/a b.py,line=12,endLine=13,col=9,title=ATT011 scale-missing::`q @ k.T` is not divided by √d_k"
        "%0Aevidence: the spread of the scores is 3.46 = √12%0Amend: q @ k.T / math.sqrt(12)"
    )
    assert second.startswith("::error file=/elsewhere/b.py,line=3,endLine=3,col=9,endColumn=20,title=")
    assert third.startswith("::notice file=/elsewhere/b.py")


def test_github_escapes() -> None:
    item = replace(ONE, path=f"{FOLDER}/a,b:c%\n.py", message="100%\r\n::error::x")
    (line,) = shown(replace(REPORT, found=(item,)), "github").splitlines()
    assert line.startswith("::error file=a%2Cb%3Ac%25%0A.py,line=12,")
    assert "::100%25%0D%0A::error::x%0A" in line


@pytest.mark.parametrize(
    ("report", "line"),
    [
        (FAILED, "::notice::The program ended in RuntimeError: 100%25, done: no; what ran up to there was checked.\n"),
        (NOTHING, "::notice::no attention found in this run: nothing was checked\n"),
        (replace(NOTHING, attentions=1), ""),
    ],
)
def test_github_tells_of_the_run(report: Report, line: str) -> None:
    assert shown(report, "github") == line
