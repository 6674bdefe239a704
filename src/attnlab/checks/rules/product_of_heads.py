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
from attnlab.checks.reference import Holds, feature_axis, holds, letters_of


def _look(case: Case) -> Iterator[Found]:
    for name in ("q", "k"):
        sides = _sides(case, name)
        if sides is None or sides[0] != "features" or any(kind != "features" for kind in sides[1]) or not sides[1]:
            return
        # All places of x, batch and tokens, must be carried along.
        if sides[2].count("place") < _places(case, name):
            return
    role = case.input("q")
    if role.x is None:
        return
    shape = case.graph.shape(role.x)
    if len(shape) < 3 and not _is_named_tokens(case, role.x):
        return
    step = case.step(case.attention.scores.step)
    q = case.graph.shape(role.entered)
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
    role = case.input(name)
    if role.x is None or role.project is None:
        return 99
    axis = feature_axis(case.step(role.project), role.x, case.graph)
    return max(1, sum(size > 1 for place, size in enumerate(case.graph.shape(role.x)) if place != axis))


def _sides(case: Case, name: Name) -> tuple[Holds, tuple[Holds, ...], tuple[Holds, ...]] | None:
    """What the row of q or k holds, what is summed over, and all other axes."""
    found = holds(case, name)
    if found is None:
        return None
    if case.attention.style == "sdpa":
        return found[-2], found[-1:], found[:-2]
    product, letters = case.scores_product, letters_of(case, name)
    row = case.query_letter if name == "q" else case.key_letter
    if product is None or letters is None or row not in letters or len(letters) != len(found):
        return None
    held: dict[int, Holds] = dict(zip(letters, found, strict=True))
    inner: tuple[Holds, ...] = tuple(kind for letter, kind in held.items() if letter not in product.letters)
    rest: tuple[Holds, ...] = tuple(
        kind for letter, kind in held.items() if letter in product.letters and letter != row
    )
    return held[row], inner, rest


def _is_named_tokens(case: Case, x: int) -> bool:
    """Whether the one axis beside the features counts tokens, by the user's name for it."""
    flow, names = sizes(case.whole)
    return size_kind([name.text for name in names.get(flow.root(Axis(x, 0)), ())]) == "tokens"


RULE = Rule("ATT026", "product-of-heads", attention=_look)
