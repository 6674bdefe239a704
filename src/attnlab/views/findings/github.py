"""Findings as commands of a GitHub workflow, which shows them beside the lines: `::error file=…,line=…::message`."""

from __future__ import annotations

import os
from collections.abc import Iterator

from attnlab.checks.finding import Finding
from attnlab.checks.report import Report
from attnlab.views.findings.places import relative
from attnlab.words import Words


def text(report: Report, words: Words) -> str:
    """The report, a command a line; empty where there is nothing to say."""
    return "".join(line + "\n" for line in _lines(report, words))


def _lines(report: Report, words: Words) -> Iterator[str]:
    for item in report.found:
        yield _command(
            "notice" if item.note else "error",
            {
                "file": relative(item.path, report.folder).replace(os.sep, "/"),
                "line": item.line,
                "endLine": item.end_line,
                "col": item.col + 1,
                **({"endColumn": item.end_col} if item.line == item.end_line else {}),
                "title": f"{item.code} {item.slug}",
            },
            "\n".join(_said(item, words)),
        )
    if report.ended is not None:
        yield _command("notice", {}, words.say("check.ended", error=report.ended.error))
    elif not report.attentions and not report.findings:
        yield _command("notice", {}, words.say("check.empty"))


def _said(item: Finding, words: Words) -> Iterator[str]:
    yield item.message
    yield words.say("check.labelled", label=words.say("check.evidence"), said=item.evidence)
    if item.fix is not None:
        yield words.say("check.labelled", label=words.say("check.mend"), said=item.fix.text)


def _command(name: str, properties: dict[str, object], message: str) -> str:
    listed = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items())
    return f"::{name}{' ' if listed else ''}{listed}::{_data(message)}"


def _data(value: str) -> str:
    return value.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(value: str) -> str:
    return _data(value).replace(":", "%3A").replace(",", "%2C")
