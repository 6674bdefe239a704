"""ATT003: what a softmax made goes through a softmax again.

Decided by following scores to weights: a softmax of what already is weights. (A softmax of their logarithm changes
nothing.) Shown by how much the largest weight of a query falls.
"""

from __future__ import annotations

from collections.abc import Iterator

from attnlab.attention.trails import SOFTMAX
from attnlab.checks.case import Case
from attnlab.checks.editing import argument, code, whole
from attnlab.checks.found import Found, Rule, Said
from attnlab.run import Step


def _look(case: Case) -> Iterator[Found]:
    step = _second(case) if case.written else None
    if step is None or not step.refs or not step.results:
        return
    once, twice = case.replay.double(step.refs[0]), case.replay.double(step.results[0])
    dim = step.arg("dim", 1)
    if once is None or twice is None or not isinstance(dim, int) or not -once.dim() <= dim < once.dim():
        return
    # A mask between the two puts what is far below among the weights; of the rest the largest is looked at.
    given = argument(step, 0, "input")
    yield Found(
        step,
        Said("check.softmax-twice.message", {"code": code(step)}),
        Said(
            "check.softmax-twice.evidence",
            {
                "once": float(once.amax(dim).mean()),
                "twice": float(twice.amax(dim).mean()),
                "keys": once.shape[dim],
                "even": 1 / once.shape[dim],
            },
        ),
        Said("check.softmax-twice.mend"),
        () if given is None else whole(step, given.text),
    )


def _second(case: Case) -> Step | None:
    """The step that normalises what was weights already."""
    state = "scores"
    for index in case.attention.softmax:
        step = case.step(index)
        if state == "weights" and step.op in SOFTMAX | {"log_softmax"}:
            return step
        state = _after(state, step.op)
    return None


def _after(state: str, op: str) -> str:
    """What scores, their powers, weights or the logarithms of weights are after an operation."""
    if op in SOFTMAX:
        return "weights"
    if op == "log_softmax" or (op == "sub" and state == "scores"):
        return "logs"
    if op in ("exp", "exp2"):
        return "weights" if state == "logs" else "powers"
    return "weights" if op in ("div", "mul", "normalize") and state == "powers" else state


RULE = Rule("ATT003", "softmax-twice", attention=_look)
