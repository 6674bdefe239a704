"""ATT073: a causal mask hides each token from itself as well, so that the first one sees nothing.

Decided by what the queries see when all scores are equal: only keys before their own, the first query none; where
documents are packed into a row, all keys of its document before its own, the first query of each none. A mask that
only hides the diagonal is left alone, and so is one under which the first query sees something. Where the empty row is
set to something else on purpose, it is a note.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from attnlab.checks.case import Case
from attnlab.checks.causality import made, offset
from attnlab.checks.editing import code
from attnlab.checks.found import Found, Rule, Said
from attnlab.checks.masking import Sight, met_weights, sight
from attnlab.checks.rules.causal_ahead import is_triangle


def _look(case: Case) -> Iterator[Found]:
    view = sight(case)
    if view is None or view.seen.shape[-2] < 2 or case.attention.kind == "cross":
        return
    if offset(case, view) != 0 or not (is_triangle(view, -1) or _in_documents(view)):
        return
    step = made(case)
    yield Found(
        step,
        Said("check.causal-diagonal.message", {"code": code(step)}),
        Said("check.causal-diagonal.evidence", {"queries": view.seen.shape[-2]}),
        Said("check.causal-diagonal.mend"),
        note=_is_handled(case),
    )


def _in_documents(view: Sight) -> bool:
    """Whether each row falls into documents, and each token sees all of its own before it and nothing else."""
    if not view.square:
        return False
    together = view.seen | view.seen.transpose(-2, -1) | torch.eye(view.seen.shape[-1], dtype=torch.bool)
    linked = together.double()
    apart = bool(((linked @ linked > 0) == together).all())  # who is with one of a document is with all of it
    return apart and bool(view.seen.any()) and bool((view.seen == together.tril(-1)).all())


def _is_handled(case: Case) -> bool:
    """Whether the row of the first query was NaN and is not any more when it meets v."""
    made_weights, met = case.grid(case.attention.weights.value) if case.written else None, met_weights(case)
    if made_weights is None or met is None:
        return False
    return bool(made_weights[:, 0].isnan().any()) and not bool(met[:, 0].isnan().any())


RULE = Rule("ATT073", "causal-diagonal", attention=_look, unless=frozenset({"ATT051"}))
