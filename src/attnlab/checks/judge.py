"""All rules over one run."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from attnlab.attention import Attention
from attnlab.checks.case import Case
from attnlab.checks.found import Found, Rule, place
from attnlab.checks.masking import given_masks, makers
from attnlab.checks.rules import rules
from attnlab.checks.whole import Whole
from attnlab.recording.tape import Tape
from attnlab.run import Run, Span


@dataclass(frozen=True, slots=True)
class Verdict:
    """A rule, and one place where it does not hold."""

    rule: Rule
    found: Found
    span: Span


def judge(whole: Whole, faults: list[tuple[str, Exception]] | None = None) -> list[Verdict]:
    """What the rules find in a run, by place. A place is told once for each rule.

    `faults` takes (code, exception) of a rule that failed, which is a fault of ours; without it, it is raised.
    """
    seen: dict[tuple[str, Span], Verdict] = {}
    for case in _cases(whole):
        asked = [(rule, partial(rule.attention, case)) for rule in rules() if rule.attention is not None]
        _gather([(rule, _answer(rule, ask, faults)) for rule, ask in asked], seen)
    wide = [(rule, partial(rule.whole, whole)) for rule in rules() if rule.whole is not None]
    _gather([(rule, _answer(rule, ask, faults)) for rule, ask in wide], seen)
    return sorted(seen.values(), key=lambda item: (item.span.file, item.span.line, item.span.col, item.rule.code))


def _cases(whole: Whole) -> Iterator[Case]:
    """Equal layers once; one line with masks that were made in several ways, once for each way."""
    for group in whole.groups:
        ways: dict[object, list[Attention]] = {}
        for attention in group:
            masks = given_masks(Case(whole, attention, group)) if len(group) > 1 else ()
            behind = [step.source for step in makers(masks, whole.graph)]
            places = frozenset(source.span for source in behind if source is not None)
            ways.setdefault(places, []).append(attention)
        for alike in ways.values():
            yield Case(whole, alike[0], tuple(alike))


def _answer(rule: Rule, ask: Callable[[], Iterable[Found]], faults: list[tuple[str, Exception]] | None) -> list[Found]:
    try:
        with warnings.catch_warnings():  # what runs again warns again
            warnings.simplefilter("ignore")
            return list(ask())
    except Exception as fault:
        if faults is None:
            raise
        faults.append((rule.code, fault))
        return []


def _gather(met: Iterable[tuple[Rule, list[Found]]], seen: dict[tuple[str, Span], Verdict]) -> None:
    """Take over what was found; not where a rule that sees the same fault from nearer found something."""
    met = list(met)
    codes = {rule.code for rule, found in met if any(not item.note for item in found)}
    codes |= {item.rule.code for item in seen.values() if not item.found.note}
    for rule, found in met:
        if rule.unless & codes:
            continue
        for item in found:
            span = place(item)
            if span is not None:
                seen.setdefault((rule.code, span), Verdict(rule, item, span))


@dataclass(frozen=True, slots=True)
class Places:
    """What is told of a rerun: the codes of the findings and the lines that they name, and the error it ended in."""

    findings: tuple[tuple[str, str, int], ...]
    error: str | None


def again(run: Run, tape: Tape) -> Places:
    """What the rules find in a rerun, as plain data: called in the process that ran it."""
    found = [
        (item.rule.code, item.span.file, item.span.line) for item in judge(Whole(run, tape)) if not item.found.note
    ]
    return Places(tuple(found), None if run.error is None else run.error.type)
