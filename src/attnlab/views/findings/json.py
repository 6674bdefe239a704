"""Findings as JSON, version 1: `{"version": 1, "findings": […], "notes": […]}`.

Lines and columns count from 1, columns in characters; `end_col` is the column behind the last one. What there is to
say of the whole run stands among the notes, with the code `ATT000`, which no rule has.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from attnlab.checks.finding import Edit, Finding, Fix
from attnlab.checks.report import Report
from attnlab.views.findings.places import relative
from attnlab.words import Words

VERSION = 1
# Of what is said of the run itself: no rule has this code.
RUN = "ATT000"


def text(report: Report, words: Words) -> str:
    """The report as JSON; it ends with a newline."""
    notes = [*(_entry(item, report) for item in report.notes), *_of_the_run(report, words)]
    found = {"version": VERSION, "findings": [_entry(item, report) for item in report.findings], "notes": notes}
    return json.dumps(found, ensure_ascii=False, indent=2) + "\n"


def _entry(item: Finding, report: Report) -> dict[str, Any]:
    return {
        "code": item.code,
        "slug": item.slug,
        "path": relative(item.path, report.folder).replace(os.sep, "/"),
        "line": item.line,
        "col": item.col + 1,
        "end_line": item.end_line,
        "end_col": item.end_col + 1,
        "message": item.message,
        "evidence": item.evidence,
        "fix": None if item.fix is None else _fix(item.fix),
    }


def _fix(fix: Fix) -> dict[str, Any]:
    return {"text": fix.text, "tried": fix.tried, "edits": [_edit(edit) for edit in fix.edits]}


def _edit(edit: Edit) -> dict[str, Any]:
    line, col, end_line, end_col, new = edit
    return {"line": line, "col": col + 1, "end_line": end_line, "end_col": end_col + 1, "new": new}


def _of_the_run(report: Report, words: Words) -> Iterator[dict[str, Any]]:
    said: list[tuple[str, str, int, str]] = []
    if report.ended is not None:
        message = words.say("check.ended", error=report.ended.error)
        said.append(("program-ended", report.ended.path or report.program, report.ended.line or 1, message))
    elif not report.attentions and not report.findings:
        said.append(("no-attention", report.program, 1, words.say("check.empty")))
    for slug, path, line, message in said:
        yield _entry(Finding(RUN, slug, os.path.join(report.folder, path), line, 0, line, 0, message, "", None), report)
