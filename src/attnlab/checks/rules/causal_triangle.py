"""ATT074: a mask keeps the upper triangle, so that each token sees what comes later and nothing before itself.

Decided by what the queries see when all scores are equal. A model that is trained to tell the token before, a sequence
that was flipped, or code that calls itself backward is left alone.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from attnlab.checks.case import Case
from attnlab.checks.causality import made, reads_backwards
from attnlab.checks.editing import code, own
from attnlab.checks.found import Edit, Found, Rule, Said
from attnlab.checks.masking import sight
from attnlab.run import Step

_OTHER = {"tril": "triu", "triu": "tril"}


def _look(case: Case) -> Iterator[Found]:
    view = sight(case)
    if view is None or not view.square or view.seen.shape[-1] < 3 or case.attention.kind == "cross":
        return
    size = view.seen.shape[-1]
    if not bool((view.any == torch.ones(size, size, dtype=torch.bool).triu()).all()) or reads_backwards(case):
        return
    step = made(case)
    yield Found(
        step,
        Said("check.causal-triangle.message", {"code": code(step)}),
        Said("check.causal-triangle.evidence", {"keys": size}),
        Said("check.causal-triangle.mend"),
        _edits(step),
    )


def _edits(step: Step) -> tuple[Edit, ...]:
    """The other triangle, where the diagonal is the default one."""
    if step.op not in _OTHER or step.source is None or not own(step) or step.operand("diagonal", 1) is not None:
        return ()
    text = step.source.text
    return (Edit(step.source.span, text.replace(step.op, _OTHER[step.op], 1)),) if text.count(step.op) == 1 else ()


RULE = Rule("ATT074", "causal-triangle", attention=_look, unless=frozenset({"ATT051", "ATT022", "ATT023", "ATT001"}))
