"""ATT001: the softmax runs over another axis than that of the keys.

Decided by two facts of the data flow, over which axis the weights sum to one and over which the product with v sums
them, and by adding up, for each query, the weights that meet v. Where both the weights are normalised over one axis of
tokens and summed over the other, the softmax is at fault if what it runs over is the queries, and a transposition
(ATT023) if it is the keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod

from attnlab.attention.graph import axes_of, axis_of
from attnlab.attention.products import product
from attnlab.checks.case import Case
from attnlab.checks.editing import argument, code, replaced
from attnlab.checks.found import Found, Rule, Said
from attnlab.checks.loose import Loose, followed, loose
from attnlab.checks.reference import is_one, row_sums, turned_round
from attnlab.checks.whole import Whole
from attnlab.run import Step


def _look(case: Case) -> Iterator[Found]:
    attention = case.attention
    roles = (attention.normalised, attention.summed)
    astray = roles[1] == "key" and roles[0] in ("query", "batch", "head")
    single = roles == ("key", "query") and attention.keys == 1
    if not case.written or not (astray or single or roles == ("key", "query")):
        return
    if roles in (("query", "key"), ("key", "query")) and not single and turned_round(case) == (roles[0] == "query"):
        return
    sums = row_sums(case)
    step = case.step(attention.weights.step)
    if is_one(sums) is not False or sums is None or (step.op == "softmax" and step.arg("dim", 1) is None):
        return
    axes = {"key": attention.weights.key, "query": attention.weights.query}
    shape = case.graph.shape(step.results[0])
    keys = axes["key"] if roles[1] == "key" else axes["query"]
    if keys is None:
        return
    wrong = _axis(step, case, len(shape))
    what = "single" if single or (wrong is not None and shape[wrong] == 1) else _what(roles)
    yield Found(
        step,
        Said(
            "check.softmax-axis.message",
            {
                "code": code(step),
                "axis": "?" if wrong is None else wrong,
                "shape": str(list(shape)),
                "keys": keys,
                "what": Said(f"check.softmax-axis.what.{what}"),
            },
        ),
        Said("check.softmax-axis.evidence", {"low": float(sums.min()), "high": float(sums.max())}),
        Said("check.softmax-axis.mend", {"dim": keys - len(shape)}),
        replaced(*_axis_part(step, case), str(keys - len(shape))),
    )


def _what(roles: tuple[str, str]) -> str:
    return roles[0] if roles[1] == "key" else "query"


def _axis_part(step: Step, case: Case):
    """The step that names the axis, and where it does so: the softmax, or the sum of one that is written out."""
    for index in case.attention.softmax:
        near = case.step(index)
        if near.op in ("softmax", "sum", "log_softmax"):
            return near, argument(near, 1, "dim", "axis")
    return step, None


def _axis(step: Step, case: Case, rank: int) -> int | None:
    near, _ = _axis_part(step, case)
    dim = near.arg("dim", 1)
    dim = near.arg("axis") if dim is None else dim
    return axis_of(dim[0] if isinstance(dim, tuple) and len(dim) == 1 else dim, rank)


def _whole(whole: Whole) -> Iterable[Found]:
    """A softmax over features: after the product with v, or before the features of each pair are added up."""
    yield from _summed_again(whole)
    for item in loose(whole):
        step = _after(item, whole)
        if step is not None:
            number = step.results[0]
            shape = whole.graph.shape(number)
            axis = axis_of(step.arg("dim", 1), len(shape))
            value = whole.replay.double(number)
            scores = whole.replay.double(item.found.output.left)
            if axis is None or value is None or scores is None:
                continue
            yield Found(
                step,
                Said("check.softmax-axis.late", {"code": code(step), "axis": axis, "shape": str(list(shape))}),
                Said(
                    "check.softmax-axis.late-evidence",
                    {"features": shape[axis], "low": float(scores.min()), "high": float(scores.max())},
                ),
                Said("check.softmax-axis.late-mend"),
            )


def _summed_again(whole: Whole) -> Iterator[Found]:
    """A softmax that is summed over its own axis, which gives ones, and these weigh the values."""
    for step in whole.run.steps:
        if step.op != "softmax" or step.via is not None or len(step.results) != 1:
            continue
        shape = whole.graph.shape(step.results[0])
        axis = axis_of(step.arg("dim", 1), len(shape))
        for user in whole.graph.consumers(step.results[0]):
            if user.op != "sum" or axis is None or axes_of(user, len(shape)) != (axis,):
                continue
            met = [near for near in whole.graph.consumers(user.results[0]) if product(near, whole.graph) is not None]
            made = whole.replay.double(user.results[0])
            if met and made is not None:
                yield Found(
                    step,
                    Said("check.softmax-axis.again", {"code": code(step), "axis": axis, "shape": str(list(shape))}),
                    Said("check.softmax-axis.again-evidence", {"low": float(made.min()), "high": float(made.max())}),
                    Said("check.softmax-axis.again-mend"),
                )


def _after(item: Loose, whole: Whole) -> Step | None:
    """The softmax over v's features that follows a product of bare scores with v."""
    if item.state != "scores" or not (item.scaled or item.masked):
        return None
    output = item.found.output
    made = whole.graph.steps[output.step].results[0]
    own = output.right_letters if item.found.v == output.right else output.left_letters
    other = output.left_letters if item.found.v == output.right else output.right_letters
    features = prod(
        whole.graph.shape(made)[place]
        for place, letter in enumerate(output.letters)
        if letter in own and letter not in other
    )
    for step in followed(made, whole.graph):
        if step.op == "softmax" and step.results:
            shape = whole.graph.shape(step.results[0])
            axis = axis_of(step.arg("dim", 1), len(shape))
            return step if axis is not None and shape[axis] == features else None
    return None


RULE = Rule("ATT001", "softmax-axis", attention=_look, whole=_whole, unless=frozenset({"ATT021"}))
