"""Mends as edits, each tried before it is offered: the program is run with it, and its findings are looked at again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from attnlab.checks.applying import applied
from attnlab.checks.found import Edit
from attnlab.checks.judge import Places, Verdict
from attnlab.checks.whole import LONGEST, Whole
from attnlab.experiments.request import Request

# So many mends are tried.
MOST = 12


def tried(verdicts: Sequence[Verdict], whole: Whole, rerun: bool = False) -> list[bool]:
    """For each finding, whether its edits do away with it, bring no other, and let the program run as far as before.

    `rerun`: also for a program that took long.
    """
    asked = [place for place, verdict in enumerate(verdicts) if verdict.found.edits and not verdict.found.note][:MOST]
    if whole.ask is None or not asked or (whole.run.seconds > LONGEST and not rerun):
        return [False] * len(verdicts)
    replies = whole.ask([_request(verdicts[place].found.edits, whole) for place in asked])
    before = Counter(verdict.rule.code for verdict in verdicts if not verdict.found.note)
    error = None if whole.run.error is None else whole.run.error.type
    good = {
        place
        for place, reply in zip(asked, replies, strict=True)
        if reply.ended == "whole" and _mended(reply.examined, verdicts[place].rule.code, before, error)
    }
    return [place in good for place in range(len(verdicts))]


def all_tried(verdicts: Sequence[Verdict], whole: Whole) -> bool:
    """Whether the edits of all these findings together do away with all of them and bring no other."""
    if whole.ask is None:
        return False
    edits = [edit for verdict in verdicts for edit in verdict.found.edits]
    (reply,) = whole.ask([_request(edits, whole)])
    left = reply.examined
    codes = {verdict.rule.code for verdict in verdicts}
    return (
        reply.ended == "whole" and isinstance(left, Places) and not any(code in codes for code, _, _ in left.findings)
    )


def _request(edits: Iterable[Edit], whole: Whole) -> Request:
    texts = {
        file: applied(whole.run.sources[file], [edit.told for edit in edits if edit.span.file == file])
        for file in {edit.span.file for edit in edits}
        if file in whole.run.sources
    }
    return whole.again("attnlab.checks.judge:again", texts)


def _mended(left: object, code: str, before: Counter[str], error: str | None) -> bool:
    if not isinstance(left, Places) or (left.error is not None and left.error != error):
        return False
    after = Counter(found for found, _, _ in left.findings)
    return after[code] < before[code] and all(after[other] <= before[other] for other in after)
