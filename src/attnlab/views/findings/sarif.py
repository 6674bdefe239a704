"""Findings as SARIF 2.1.0, the format in which tools of analysis tell others what they found.

Columns count from 1, in characters. Paths beneath the folder are relative to `%SRCROOT%`, which is that folder.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from attnlab.checks.finding import Edit, Finding, Fix
from attnlab.checks.report import Report
from attnlab.views.findings.places import relative
from attnlab.words import LANGUAGES, Words

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_ROOT = "%SRCROOT%"


def text(report: Report, words: Words, version: str, page: Callable[[str], str | None]) -> str:
    """The report as SARIF; it ends with a newline. `page` gives the page of a rule as Markdown, by its code."""
    rules = sorted({(item.code, item.slug) for item in report.found})
    places = {code: place for place, (code, _) in enumerate(rules)}
    run = {
        "tool": {"driver": _driver(version, [_rule(code, slug, words, page(code)) for code, slug in rules])},
        "invocations": [_invocation(report, words)],
        "originalUriBaseIds": {_ROOT: {"uri": Path(report.folder).as_uri().rstrip("/") + "/"}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(item, places[item.code], report, words) for item in report.found],
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, ensure_ascii=False, indent=2) + "\n"


def _driver(version: str, rules: list[dict[str, Any]]) -> dict[str, Any]:
    return {"name": "attnlab", "version": version, "semanticVersion": version, "rules": rules}


def _rule(code: str, slug: str, words: Words, page: str | None) -> dict[str, Any]:
    names = {language: Words(language).say(f"rule.{slug}") for language in LANGUAGES}
    short = names[words.language]
    return {
        "id": code,
        "name": slug,
        "shortDescription": {"text": short},
        "help": {"text": page or short, "markdown": page or short},
        "defaultConfiguration": {"level": "error"},
        "properties": {"names": names, "tags": ["attention"]},
    }


def _invocation(report: Report, words: Words) -> dict[str, Any]:
    found: dict[str, Any] = {"executionSuccessful": report.ended is None}
    said = list(_of_the_run(report, words))
    if said:
        found["toolExecutionNotifications"] = said
    return found


def _of_the_run(report: Report, words: Words) -> Iterator[dict[str, Any]]:
    if report.ended is not None:
        message = words.say("check.ended", error=report.ended.error)
        found: dict[str, Any] = {"level": "error", "message": {"text": message}}
        if report.ended.line:
            place = {
                "artifactLocation": _artifact(report.ended.path, report),
                "region": {"startLine": report.ended.line},
            }
            found["locations"] = [{"physicalLocation": place}]
        yield found
    elif not report.attentions and not report.findings:
        yield {"level": "note", "message": {"text": words.say("check.empty")}}


def _result(item: Finding, rule: int, report: Report, words: Words) -> dict[str, Any]:
    said = [item.message, words.say("check.labelled", label=words.say("check.evidence"), said=item.evidence)]
    place = {
        "artifactLocation": _artifact(item.path, report),
        "region": _region(item.line, item.col, item.end_line, item.end_col),
    }
    found: dict[str, Any] = {
        "ruleId": item.code,
        "ruleIndex": rule,
        "level": "note" if item.note else "error",
        "message": {"text": "\n".join(said)},
        "locations": [{"physicalLocation": place}],
    }
    if item.fix is None:
        return found
    if item.fix.tried and item.fix.edits:
        found["fixes"] = [_fix(item.fix, item.path, report)]
    else:
        said.append(words.say("check.labelled", label=words.say("check.mend"), said=item.fix.text))
        found["message"] = {"text": "\n".join(said)}
    return found


def _fix(fix: Fix, path: str, report: Report) -> dict[str, Any]:
    change = {"artifactLocation": _artifact(path, report), "replacements": [_replacement(edit) for edit in fix.edits]}
    return {"description": {"text": fix.text}, "artifactChanges": [change]}


def _replacement(edit: Edit) -> dict[str, Any]:
    line, col, end_line, end_col, new = edit
    return {"deletedRegion": _region(line, col, end_line, end_col), "insertedContent": {"text": new}}


def _region(line: int, col: int, end_line: int, end_col: int) -> dict[str, int]:
    return {"startLine": line, "startColumn": col + 1, "endLine": end_line, "endColumn": end_col + 1}


def _artifact(path: str, report: Report) -> dict[str, str]:
    inside = relative(path, report.folder)
    if os.path.isabs(inside):
        return {"uri": Path(inside).as_uri()}
    return {"uri": quote(inside.replace(os.sep, "/")), "uriBaseId": _ROOT}
