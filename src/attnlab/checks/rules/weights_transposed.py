"""ATT023: the weights are transposed before they meet v, or einsum lets v meet the wrong axis of them.

Decided by the data flow: they are normalised over the keys, and the product with v sums over the queries; so what v is
weighed with does not sum to one.
"""

from __future__ import annotations

from collections.abc import Iterator

from attnlab.checks.case import Case
from attnlab.checks.editing import code, own, whole
from attnlab.checks.found import Edit, Found, Rule, Said
from attnlab.checks.reference import is_one, meeting, row_sums, turned_between, turned_round
from attnlab.diagnosis.expression import Expression
from attnlab.run import Step


def _look(case: Case) -> Iterator[Found]:
    attention = case.attention
    roles = (attention.normalised, attention.summed)
    if not case.written or set(roles) != {"key", "query"} or attention.keys == 1 or attention.queries == 1:
        return
    if (roles[0] == "key") == turned_round(case):
        return
    sums = row_sums(case)
    if sums is None or is_one(sums) is not False:
        return
    found = meeting(case)
    turn = None if found is None else turned_between(case, case.attention.weights.value, found.weights)
    output = case.step(attention.output)
    apart = turn is not None and turn.source is not None and turn.call != output.call and bool(turn.source.targets)
    step = turn if turn is not None and apart else output
    yield Found(
        step,
        Said("check.weights-transposed.message", {"code": code(step)}),
        Said("check.weights-transposed.evidence", {"low": float(sums.min()), "high": float(sums.max())}),
        Said(f"check.weights-transposed.{'letters' if turn is None else 'mend'}"),
        () if turn is None else _edits(turn),
    )


def _edits(turn: Step) -> tuple[Edit, ...]:
    """What is transposed, as it is."""
    if not own(turn) or turn.source is None:
        return ()
    part = Expression(turn.source.text).operand(turn, 0)
    return () if part is None else whole(turn, part.text)


RULE = Rule("ATT023", "weights-transposed", attention=_look, unless=frozenset({"ATT021", "ATT026"}))
