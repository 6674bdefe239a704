"""Findings for a person: place, code, one line; then the evidence and the mend."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from attnlab.checks.finding import Finding
from attnlab.checks.report import Report
from attnlab.views.findings.places import relative
from attnlab.views.paint import Paint
from attnlab.views.text import cells, plain, wrap
from attnlab.words import Words

_MARGIN = 4
_NAMES = 2  # so many names may be others in what is told once for several places
_TOKEN = re.compile(r"\w+|\W")
_LABELS = ("check.evidence", "check.mend", "check.same")


def text(report: Report, words: Words, width: int, colour: bool) -> str:
    """The report for a terminal of `width` columns; it ends with a newline."""
    view = _View(report, words, max(width, 40), Paint(colour))
    lines = [line for group in grouped(report.found) for line in view.group(group)]
    return "\n".join((*lines, *view.end())) + "\n"


def grouped(found: Sequence[Finding]) -> list[list[Finding]]:
    """Findings that say the same of several places of a file, together; each group where its first one stands.

    The same: their messages and mends differ in names at most, as where one fault was made for q, k and v.
    """
    groups: list[list[Finding]] = []
    for item in found:
        group = next((group for group in groups if _alike(group[0], item)), None)
        if group is None:
            groups.append([item])
        else:
            group.append(item)
    return groups


def _alike(one: Finding, other: Finding) -> bool:
    if (one.path, one.code, one.note) != (other.path, other.code, other.note):
        return False
    if one.fix is None or other.fix is None:
        return one.fix is other.fix and _same_but_names(one.message, other.message)
    return _same_but_names(one.message, other.message) and _same_but_names(one.fix.text, other.fix.text)


def _same_but_names(one: str, other: str) -> bool:
    """Whether two texts differ in a few names at most; numbers have to be the same."""
    first, second = _TOKEN.findall(one), _TOKEN.findall(other)
    if len(first) != len(second):
        return False
    changed = {pair for pair in zip(first, second, strict=True) if pair[0] != pair[1]}
    return len(changed) <= _NAMES and all(a.isidentifier() and b.isidentifier() for a, b in changed)


class _View:
    def __init__(self, report: Report, words: Words, width: int, paint: Paint) -> None:
        self._report = report
        self._words = words
        self._width = width
        self._paint = paint
        self._hang = _MARGIN + 2 + max(cells(words.say(label)) for label in _LABELS)

    def group(self, group: Sequence[Finding]) -> Iterator[str]:
        item = group[0]
        yield from self._head(item)
        yield from self._part("check.evidence", item.evidence.split("\n"))
        if item.fix is not None:
            tried = [self._words.say("check.tried")] if all(one.fix and one.fix.tried for one in group) else []
            yield from self._part("check.mend", [*item.fix.text.split("\n"), *tried])
        if len(group) > 1:
            others = [str(one.line) for one in group[1:]]
            lines = self._words.say("check.comma").join(dict.fromkeys(others))
            which = "check.same_line" if len(set(others)) == 1 else "check.same_lines"
            yield from self._part("check.same", [self._words.say(which, lines=lines)])

    def _head(self, item: Finding) -> Iterator[str]:
        """The place, what is broken, and the message: in one line where it fits, else the message beneath."""
        place = f"{plain(relative(item.path, self._report.folder))}:{item.line}:{item.col + 1}:"
        parts = [("strong", place), ("faint" if item.note else "mark", item.code), ("shape", item.slug)]
        if item.note:
            parts.append(("faint", self._words.say("check.note_mark")))
        bare = " ".join(part for _, part in parts)
        painted = " ".join(self._paint(style, part) for style, part in parts)
        message = plain(item.message)
        if cells(bare) + 2 + cells(message) <= self._width:
            yield f"{painted}  {message}"
            return
        yield painted
        for line in wrap(message, self._width - _MARGIN):
            yield " " * _MARGIN + line

    def _part(self, label: str, said: Sequence[str]) -> Iterator[str]:
        name = self._words.say(label)
        before = " " * _MARGIN + self._paint("faint", name) + " " * (self._hang - _MARGIN - cells(name))
        for paragraph in said:
            if not paragraph.strip():
                continue
            body = plain(paragraph)
            margin = len(body) - len(body.lstrip(" "))
            for line in wrap(body.strip(), max(self._width - self._hang - margin, 20)):
                yield f"{before}{' ' * margin}{line}"
                before = " " * self._hang

    def end(self) -> Iterator[str]:
        """What there is to say of the whole."""
        for item in self._report.mended:
            place = f"{plain(relative(item.path, self._report.folder))}:{item.line}"
            yield self._words.say("check.mended", place=place, code=item.code, slug=item.slug)
        ended = self._report.ended
        if ended is not None:
            yield from wrap(self._words.say("check.ended", error=plain(ended.error)), self._width)
        yield from wrap(self._sum(), self._width)
        safe = sum(item.fix is not None and item.fix.tried for item in self._report.findings)
        if safe:
            yield from wrap(self._counted("safe", safe), self._width)

    def _sum(self) -> str:
        report, say = self._report, self._words.say
        findings = grouped(report.findings)
        places = len(report.findings)
        notes = len(grouped(report.notes))
        if findings:
            said = self._counted("count", len(findings))
            if places > len(findings):
                said = say("check.places", findings=said, places=places)
        elif not report.attentions:
            said = say("check.empty")
        else:
            said = self._counted("none", report.attentions)
        return say("check.sum", said=said, notes=self._counted("notes", notes)) if notes else said

    def _counted(self, name: str, count: int) -> str:
        return (
            self._words.say(f"check.{name}_one") if count == 1 else self._words.say(f"check.{name}_many", count=count)
        )
