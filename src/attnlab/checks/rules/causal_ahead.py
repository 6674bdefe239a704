"""ATT072: a causal mask lets each token see the next one.

Decided by what the queries see when all scores are equal: all up to the token behind their own, and no more. Keys
that stand before the tokens (a cache, a learned key) are counted in. A look ahead by a number that has a name of its
own is a note, unless the model is trained to tell the next token.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from attnlab.checks.case import Case
from attnlab.checks.causality import made, offset, trained
from attnlab.checks.editing import code
from attnlab.checks.found import Found, Rule, Said
from attnlab.checks.masking import Sight, sight
from attnlab.run import Step


def _look(case: Case) -> Iterator[Found]:
    view = sight(case)
    if view is None or view.seen.shape[-2] < 3 or case.attention.kind == "cross":
        return
    shift = offset(case, view)
    if shift is None or not is_triangle(view, shift + 1):
        return
    step = made(case)
    yield Found(
        step,
        Said("check.causal-ahead.message", {"code": code(step)}),
        Said("check.causal-ahead.evidence", {"keys": shift + 2, "first": shift + 1}),
        Said("check.causal-ahead.mend"),
        note=_is_named(step) and trained(case) != "next",
    )


def is_triangle(view: Sight, shift: int) -> bool:
    """Whether query i sees the keys up to i + `shift` and no later one (samples and heads taken together)."""
    seen = view.any
    wanted = torch.ones(seen.shape, dtype=torch.bool).tril(shift)
    return bool((seen == wanted).all()) and not bool(wanted.all())


def _is_named(step: Step) -> bool:
    """Whether the number that shifts the triangle has a name: `diagonal=self.lookahead`."""
    if step.op in ("tril", "triu"):
        operand = step.operand("diagonal", 1)
        return operand is not None and any(letter.isalpha() for letter in operand.text)
    return "ahead" in code(step).lower() or "right" in code(step).lower()


RULE = Rule("ATT072", "causal-ahead", attention=_look, unless=frozenset({"ATT051", "ATT059"}))
