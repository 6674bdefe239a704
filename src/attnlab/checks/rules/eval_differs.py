"""ATT102: two calls in evaluation mode that differ.

Decided by running the recorded steps again with other numbers drawn, or with the state that a call left behind; for a
program that never evaluates, of a rerun in which every module is in evaluation mode. Dropout is ATT101; caches and
memories of keys and values are there to be kept.
"""

from __future__ import annotations

from collections.abc import Iterator

from attnlab.checks.editing import code
from attnlab.checks.evaluation import evaluated
from attnlab.checks.found import Found, Rule, Said
from attnlab.checks.unsteady import Unsteady, hidden, unsteady
from attnlab.checks.whole import Whole
from attnlab.run import Span


def _look(whole: Whole) -> Iterator[Found]:
    found = {item.span: item for item in unsteady(whole)}
    rerun = evaluated(whole) if hidden(whole) else None
    for item in () if rerun is None else rerun.unsteady:
        found.setdefault(item.span, item)
    for item in found.values():
        yield _found(item, whole)


def _found(item: Unsteady, whole: Whole) -> Found:
    text = _text(item.span, whole)
    return Found(
        item.span,
        Said(f"check.eval-differs.{item.kind}", {"code": text}),
        Said(f"check.eval-differs.{item.kind}-moved", {"share": f"{item.share:.1%}"}),
        Said(f"check.eval-differs.{item.kind}-mend"),
    )


def _text(span: Span, whole: Whole) -> str:
    for step in whole.run.steps:
        if step.source is not None and step.source.span == span:
            return code(step)
    return ""


RULE = Rule("ATT102", "eval-differs", whole=_look, unless=frozenset({"ATT036"}))
