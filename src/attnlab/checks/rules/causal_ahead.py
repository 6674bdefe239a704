"""ATT072: a causal mask lets each token see the next one.

Decided by what the queries see when all scores are equal: all up to the token behind their own, and no more. Keys that
stand before the tokens (a cache, a learned key) are counted in; a prefix that every token sees is left out. A look
ahead by a number that has a name of its own is a note, unless the model is trained to tell the next token.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from attnlab.checks.case import Case
from attnlab.checks.causality import grid_steps, made, offset, trained
from attnlab.checks.editing import code
from attnlab.checks.found import Found, Rule, Said
from attnlab.checks.masking import Sight, sight
from attnlab.run import Step


def _look(case: Case) -> Iterator[Found]:
    view = sight(case)
    if view is None or view.seen.shape[-2] < 3 or case.attention.kind == "cross":
        return
    shift = offset(case, view)
    plain = shift is not None and is_triangle(view, shift + 1)
    if shift is None or not (plain or (shift == 0 and _behind_prefix(view))):
        return
    step = made(case) if plain else _triangle(case, view)
    last = view.seen.shape[-1] - 1
    evidence = {"keys": shift + 2, "first": shift + 1} if plain else {"query": last - 1, "next": last}
    yield Found(
        step,
        Said("check.causal-ahead.message", {"code": code(step)}),
        Said(f"check.causal-ahead.evidence{'' if plain else '-prefix'}", evidence),
        Said("check.causal-ahead.mend"),
        note=_is_named(step) and trained(case) != "next",
    )


def is_triangle(view: Sight, shift: int) -> bool:
    """Whether query i sees the keys up to i + `shift` and no later one (samples and heads taken together)."""
    seen = view.any
    wanted = torch.ones(seen.shape, dtype=torch.bool).tril(shift)
    return bool((seen == wanted).all()) and not bool(wanted.all())


def _behind_prefix(view: Sight) -> bool:
    """Whether in every row all queries see the same first keys, and behind these each sees one key past its own."""
    length = view.seen.shape[-1]
    columns = view.seen.all(-2)
    if not view.square or length - int(columns.sum(-1).max()) < 3:  # of fewer keys behind it little is to be told
        return False
    ahead = torch.ones(length, length, dtype=torch.bool).tril(1) | columns[:, None, :]
    return bool((columns[:, 1:] <= columns[:, :-1]).all()) and bool((view.seen == ahead).all())


def _triangle(case: Case, view: Sight) -> Step:
    """The step that made the triangle, where a mask was made of a prefix as well."""
    wanted = torch.ones(view.seen.shape[-2:], dtype=torch.bool).tril(1)
    for step in grid_steps(case):
        value = case.replay.value(step.results[0])
        if (
            value is not None
            and value.shape == wanted.shape
            and bool((value.bool() == value.bool()[0, 0]).eq(wanted).all())
        ):
            return step
    return made(case)


def _is_named(step: Step) -> bool:
    """Whether the number that shifts the triangle has a name: `diagonal=self.lookahead`."""
    if step.op in ("tril", "triu"):
        operand = step.operand("diagonal", 1)
        return operand is not None and any(letter.isalpha() for letter in operand.text)
    return "ahead" in code(step).lower() or "right" in code(step).lower()


RULE = Rule("ATT072", "causal-ahead", attention=_look, unless=frozenset({"ATT051", "ATT059"}))
