"""ATT022: the roles of q and k are exchanged in the scores: each row is a key's, and is used as a query's.

Between x and x the data flow alone can't tell, for what is called q may serve as k. So this is decided by where the
tokens come from (v holds the tokens of what serves as queries, not of what serves as keys), or by the user's names for
q and k, which are hints and are said to be ones.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from attnlab.checks.case import Case, Name
from attnlab.checks.editing import code, own, whole
from attnlab.checks.found import Edit, Found, Rule, Said
from attnlab.checks.naming import exchanged, role_of
from attnlab.checks.reference import base, largest, turned_between
from attnlab.diagnosis.expression import Expression, bracketed
from attnlab.run import Step


def _look(case: Case) -> Iterator[Found]:
    attention = case.attention
    if not case.written or attention.additive or (attention.normalised, attention.summed) != ("key", "key"):
        return
    if attention.queries != attention.keys or attention.queries == 1:
        return
    named, strange = exchanged(case), _is_strange(case)
    if not named and not (strange and role_of(case, "q") is None and role_of(case, "k") is None):
        return
    moved = _moved(case)
    if moved is None or moved < 1e-6:
        return
    product = case.step(attention.scores.step)
    turn = turned_between(case, case.attention.scores.value or 0, case.softmax.refs[0])
    apart = turn is not None and turn.call != product.call
    step = turn if turn is not None and apart else product
    kind = "strange" if strange else "named"
    yield Found(
        step,
        Said(f"check.scores-transposed.{kind}", {"code": code(step)}),
        Said("check.scores-transposed.evidence", {"moved": moved}),
        Said("check.scores-transposed.mend"),
        _untransposed(step) if apart else _swapped(product),
        note=not own(product),
    )


def _is_strange(case: Case) -> bool:
    """Whether v was made of what serves as queries was made of, and not of what serves as keys was."""
    q, k, v = (_base(case, name) for name in ("q", "k", "v"))
    return v is not None and q is not None and k is not None and v == q and v != k


def _base(case: Case, name: Name) -> int | None:
    x = case.input(name).x
    return None if x is None else base(x, case.graph)


def _moved(case: Case) -> float | None:
    """How much the weights differ from those with the roles exchanged back."""
    scores = case.grid(case.attention.scores.value)
    allowed = case.allowed
    if scores is None or scores.shape[-1] != scores.shape[-2]:
        return None
    factor = case.attention.factor or 1.0
    one, other = scores * factor, scores.transpose(-1, -2) * factor
    if allowed is not None and allowed.shape == scores.shape:
        one, other = (part.masked_fill(~allowed, -torch.inf) for part in (one, other))
    return largest(one.softmax(-1) - other.softmax(-1))


def _untransposed(turn: Step) -> tuple[Edit, ...]:
    if not own(turn) or turn.source is None:
        return ()
    part = Expression(turn.source.text).operand(turn, 0)
    return () if part is None else whole(turn, part.text)


def _swapped(product: Step) -> tuple[Edit, ...]:
    """`k @ q.transpose(…)` with the two names exchanged."""
    if not own(product) or product.source is None or product.op not in ("matmul", "bmm"):
        return ()
    text = Expression(product.source.text)
    left, right = text.operand(product, 0), text.operand(product, 1)
    if left is None or right is None or not left.text.isidentifier():
        return ()
    name, dot, rest = right.text.partition(".")
    if not name.isidentifier() or not dot:
        return ()
    new = text.replaced([(left, name), (right, f"{bracketed(left)}.{rest}")])
    return whole(product, new)


RULE = Rule("ATT022", "scores-transposed", attention=_look)
