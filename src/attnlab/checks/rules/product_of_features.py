"""ATT021: features meet features: the product of q and k sums over the tokens.

Decided by nudging one token of x and looking at what moves in q and in k: along the axes that become rows and columns
of the scores everything moves, and along the axis that is summed over one place. Attention between channels is that on
purpose: with q and k brought to one length along the tokens, with a learned temperature, or of feature maps it is no
finding. It is one where something else speaks of tokens: a mask, a scale by the width, a v that is summed over tokens.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isclose

from attnlab.checks.case import Case
from attnlab.checks.editing import code, own, whole
from attnlab.checks.found import Edit, Found, Rule, Said
from attnlab.checks.reference import Holds, even, feature_axis, holds, kinds
from attnlab.diagnosis.expression import Expression, bracketed
from attnlab.run import Step


def _look(case: Case) -> Iterator[Found]:
    attention, product = case.attention, case.scores_product
    if product is None or attention.factor is None or not attention.queries:
        return
    sides = [(kinds(case, "q"), case.query_letter), (kinds(case, "k"), case.key_letter)]
    for held, row in sides:
        if held is None or row is None or held.get(row) != "features":
            return
        gone = [letter for letter in held if letter not in product.letters]
        if [held[letter] for letter in gone] != ["place"]:
            return
    if all(found is not None and even(found) for found in (case.q, case.k)) or any(
        case.graph.values[number].kind == "parameter" for index in attention.scale for number in case.step(index).refs
    ):
        return
    step = case.step(attention.scores.step)
    features, tokens = attention.queries, attention.d_k
    yield Found(
        step,
        Said("check.product-of-features.message", {"code": code(step), "features": features, "tokens": tokens}),
        Said(
            "check.product-of-features.evidence",
            {"shape": str(list(case.graph.shape(step.results[0]))), "tokens": tokens, "features": features},
        ),
        Said("check.product-of-features.mend"),
        _edits(step),
        note=not own(step) or not _speaks_of_tokens(case, features) or (features == tokens and _in_front(case)),
    )


def _speaks_of_tokens(case: Case, features: int) -> bool:
    attention = case.attention
    factor = attention.factor or 1.0
    widths = (features, features * (attention.heads or 1))
    by_width = any(isclose(factor, width**-0.5, rel_tol=2e-3) for width in widths)
    return bool(attention.masks) or by_width or _summed(case) == "place"


def _in_front(case: Case) -> bool:
    """Whether the weight stands in front of x: then tokens and features may be taken for each other."""
    role = case.attention.q
    if role.x is None or role.project is None:
        return True
    return feature_axis(case.step(role.project), role.x, case.graph) != len(case.graph.shape(role.x)) - 1


def _summed(case: Case) -> Holds | None:
    """What the axis of v holds that is summed over."""
    product, held = case.output_product, holds(case, "v")
    if product is None or held is None:
        return None
    letters = product.left_letters if product.left == case.attention.v.entered else product.right_letters
    gone: list[Holds] = [kind for letter, kind in zip(letters, held, strict=True) if letter not in product.letters]
    return gone[0] if len(gone) == 1 else None


def _edits(step: Step) -> tuple[Edit, ...]:
    """The transposition moved from q to k: `q @ k.transpose(-2, -1)`."""
    if not own(step) or step.source is None or step.op not in ("matmul", "bmm"):
        return ()
    text = Expression(step.source.text)
    left, right = text.operand(step, 0), text.operand(step, 1)
    if left is None or right is None or not right.text.isidentifier():
        return ()
    name, dot, rest = left.text.partition(".")
    if not name.isidentifier() or not dot:
        return ()
    return whole(step, text.replaced([(left, name), (right, f"{bracketed(right)}.{rest}")]))


RULE = Rule("ATT021", "product-of-features", attention=_look)
