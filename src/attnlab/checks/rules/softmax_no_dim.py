"""ATT002: no axis was given to the softmax, and PyTorch chose one by the number of axes: 0 of three, else 1.

Decided by the axis that it ran over: a finding where that is not the keys, a note where it happens to be.
"""

from __future__ import annotations

from collections.abc import Iterator

from attnlab.checks.case import Case
from attnlab.checks.editing import argument, code, replaced
from attnlab.checks.found import Found, Rule, Said
from attnlab.checks.reference import is_one, row_sums


def _look(case: Case) -> Iterator[Found]:
    attention = case.attention
    step = case.step(attention.weights.step)
    if not case.written or step.op != "softmax" or step.arg("dim", 1) is not None or attention.summed != "key":
        return
    sums, keys = row_sums(case), attention.weights.key
    right = is_one(sums)
    if sums is None or right is None or keys is None:
        return
    shape = case.graph.shape(step.results[0])
    given = argument(step, 0, "input")
    dim = keys - len(shape)
    edits = replaced(step, given, f"{given.text}, dim={dim}") if given is not None else ()
    yield Found(
        step,
        Said(
            "check.softmax-no-dim.message",
            {"code": code(step), "axis": 0 if len(shape) == 3 else 1, "shape": str(list(shape)), "keys": keys},
        ),
        Said("check.softmax-no-dim.evidence", {"low": float(sums.min()), "high": float(sums.max())}),
        Said("check.softmax-no-dim.mend", {"dim": dim}),
        edits,
        note=right,
    )


RULE = Rule("ATT002", "softmax-no-dim", attention=_look)
