"""ATT004: what v is weighed with sums to something else than one over the keys.

Decided by adding up what meets v, and by what became of the scores on the way: a softmax written out with a wrong sum,
powers that were never divided, the logarithm of the weights, or bare scores. A column for what no key answers to (a
sink), gates, dropout and what other rules name are left alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import torch
from torch import Tensor

from attnlab.attention.graph import CASTS, VIEWS
from attnlab.checks.case import Case
from attnlab.checks.editing import argument, code, replaced
from attnlab.checks.found import Edit, Found, Rule, Said
from attnlab.checks.loose import Loose, followed, loose, sums
from attnlab.checks.reference import is_one, row_sums
from attnlab.checks.whole import Whole
from attnlab.run import Step


def _look(case: Case) -> Iterator[Found]:
    """A softmax that is written out, and is divided by something else than its sum."""
    attention = case.attention
    if not case.written or (attention.normalised, attention.summed) != ("key", "key"):
        return
    if attention.blocks > 1:
        yield from _in_blocks(case)
        return
    step = case.step(attention.weights.step)
    if step.op != "div" or len(step.refs) != 2 or _is_more(case, step.refs[1]):
        return
    found = row_sums(case)
    made = case.grid(attention.weights.value)
    if found is None or is_one(found) is not False or made is None or is_one(made.sum(-1)) is not False:
        return
    total = next((case.step(index) for index in attention.softmax if case.step(index).op == "sum"), None)
    yield Found(
        step,
        Said("check.weights-sum.divided", {"code": code(step)}),
        _evidence(made.sum(-1)),
        Said("check.weights-sum.mend", {"total": "" if total is None else code(total)}),
        () if total is None else _kept(total),
    )


def _in_blocks(case: Case) -> Iterator[Found]:
    """An online softmax: where every value is one, every output must be one."""
    divided = case.step(case.attention.softmax[-1])
    number: int = case.attention.v.entered
    step = case.graph.maker(number)
    while step is not None and step.op in VIEWS | CASTS and len(step.refs) == 1:
        number = step.refs[0]
        step = case.graph.maker(number)
    values = case.replay.double(number)
    if divided.op != "div" or len(divided.refs) != 2 or values is None:
        return
    made = case.replay.again({number: torch.ones_like(values)}, [divided.results[0]])
    found = None if made is None else made[divided.results[0]]
    if found is None or is_one(found) is not False:
        return
    at = _uncorrected(divided.refs[1], case) or _uncorrected(divided.refs[0], case) or divided
    yield Found(
        at,
        Said("check.weights-sum.blocks", {"code": code(at)}),
        _evidence(found),
        Said("check.weights-sum.blocks-mend"),
    )


def _uncorrected(number: int, case: Case) -> Step | None:
    """The step that adds a block's share to what was before without multiplying that by its correction."""
    step = case.graph.maker(number)
    while step is not None and step.op in VIEWS | CASTS and step.refs:
        step = case.graph.maker(step.refs[0])
    if step is None or step.op not in ("add", "sub") or step.source is None:
        return None
    for read in step.refs:
        before = case.graph.maker(read)
        if before is not None and before.source == step.source and before.op == step.op:
            return step
    return None


def _is_more(case: Case, divisor: int) -> bool:
    """Whether what the powers are divided by is their sum and something more: a sink."""
    step = case.graph.maker(divisor)
    while step is not None and step.op in CASTS | VIEWS and step.refs:
        step = case.graph.maker(step.refs[0])
    return step is not None and step.op not in ("sum", "nansum")


def _kept(total: Step) -> tuple[Edit, ...]:
    """`keepdim=True` in the sum, where it is not there."""
    dim = argument(total, 1, "dim", "axis")
    return () if dim is None or total.arg("keepdim") is not None else replaced(total, dim, f"{dim.text}, keepdim=True")


def _whole(whole: Whole) -> Iterable[Found]:
    for item in loose(whole):
        at = _at(item, whole)
        found = sums(item, whole)
        if at is None or found is None or is_one(found) is not False:
            continue
        kind, step = at
        yield Found(
            step,
            Said(f"check.weights-sum.{kind}", {"code": code(step)}),
            _evidence(found),
            Said(f"check.weights-sum.{kind}-mend"),
            _softmax(step) if kind == "logs" else (),
        )


def _at(item: Loose, whole: Whole) -> tuple[str, Step] | None:
    """What was done in the place of a softmax, and the step that did it."""
    graph, trail = whole.graph, item.found.trail
    output = graph.steps[item.found.output.step]
    if not item.found.summed or output.via is not None:
        return None
    after = followed(output.results[0], graph)
    if any(step.op in ("div", "mul") and len(step.refs) > 1 for step in after):
        return None  # divided by the sum of the powers after all, or by a length
    if item.state == "logs":
        return "logs", graph.steps[trail.softmax[-1]]
    if item.state == "powers":
        divided = [graph.steps[index] for index in trail.path if graph.steps[index].op == "normalize"]
        return ("powers", (*divided, graph.steps[trail.softmax[0]])[0]) if item.scaled or item.masked else None
    if item.state != "scores" or not item.plain or not (item.masked or item.scaled):
        return None
    if any(step.op == "softmax" for step in after):
        return None  # a softmax over the wrong thing: ATT001
    return "bare", output


def _softmax(step: Step) -> tuple[Edit, ...]:
    text = code(step)
    if step.source is None or "log_softmax" not in text or step.via is not None:
        return ()
    return (Edit(step.source.span, step.source.text.replace("log_softmax", "softmax", 1)),)


def _evidence(found: Tensor) -> Said:
    finite = found[found.isfinite()]
    return Said("check.weights-sum.evidence", {"low": float(finite.min()), "high": float(finite.max())})


RULE = Rule(
    "ATT004",
    "weights-sum",
    attention=_look,
    whole=_whole,
    unless=frozenset({"ATT001", "ATT002", "ATT003", "ATT015", "ATT023", "ATT056", "ATT058"}),
)
