"""ATT026: heads meet heads: within each token the heads attend to each other, and no token sees another.

Decided by nudging one token of x and looking at what moves in q and in k: along the rows of the scores, and along what
is summed over, everything does; the token itself stands on an axis that is only carried along.
"""

from __future__ import annotations

from collections.abc import Iterator

from attnlab.axes.axis import Axis
from attnlab.checks.case import Case, Name
from attnlab.checks.editing import code, own
from attnlab.checks.found import Found, Rule, Said
from attnlab.checks.naming import size_kind, sizes
from attnlab.checks.reference import sides, source


def _look(case: Case) -> Iterator[Found]:
    for name in ("q", "k"):
        found = sides(case, name)
        if found is None or found[0] != "features" or any(kind != "features" for kind in found[1]) or not found[1]:
            return
        # All places of x, batch and tokens, must be carried along.
        if found[2].count("place") < _places(case, name):
            return
    origin = source(case, "q")
    if origin is None or (len(case.graph.shape(origin[0])) < 3 and not _is_named_tokens(case, origin[0])):
        return
    step = case.step(case.attention.scores.step)
    q = case.graph.shape(case.attention.q.entered)
    yield Found(
        step,
        Said(
            "check.product-of-heads.message",
            {"code": code(step), "shape": str(list(q)), "heads": case.attention.queries or 0},
        ),
        Said("check.product-of-heads.evidence", {"heads": case.attention.queries or 0}),
        Said("check.product-of-heads.mend"),
        note=not own(step),
    )


def _places(case: Case, name: Name) -> int:
    """How many axes x has besides its features, those of one element left out."""
    found = source(case, name)
    if found is None:
        return 99
    return max(1, sum(size > 1 for place, size in enumerate(case.graph.shape(found[0])) if place != found[1]))


def _is_named_tokens(case: Case, x: int) -> bool:
    """Whether the one axis beside the features counts tokens, by the user's name for it."""
    flow, names = sizes(case.whole)
    return size_kind([name.text for name in names.get(flow.root(Axis(x, 0)), ())]) == "tokens"


RULE = Rule("ATT026", "product-of-heads", attention=_look)
