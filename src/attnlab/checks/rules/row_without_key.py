"""ATT060: a query sees no key at all, and what comes of that goes on.

A softmax over nothing but -inf is NaN. Decided by what the queries see when all scores are equal and by the record:
the output of the attention holds NaN, and so does something that the program ends with. Rows that are set to zero, or
given a key, or dropped, are left alone, as is F.scaled_dot_product_attention, which makes them zero itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from torch import Tensor

from attnlab.attention.graph import Graph
from attnlab.checks.case import Case
from attnlab.checks.editing import code
from attnlab.checks.found import Found, Rule, Said
from attnlab.checks.masking import even_logits, given_masks, hidden, masking_steps, sight
from attnlab.run import Step


def _look(case: Case) -> Iterator[Found]:
    view = sight(case)
    if view is None or case.attention.style == "sdpa":
        return
    if any(_is_nan(number, case) for number in given_masks(case)):
        return  # a mask that is NaN itself is another fault
    empty = ~view.seen.any(-1)
    ends = nan_ends(case)
    if not bool(empty.any()) or not ends:
        return
    step = _emptied(case)
    yield Found(
        step,
        Said("check.row-without-key.message", {"code": code(step)}),
        Said(
            "check.row-without-key.evidence",
            {"rows": int(empty.sum()), "all": empty.numel(), "code": code(ends[-1])},
        ),
        Said("check.row-without-key.mend"),
    )


def nan_ends(case: Case) -> list[Step]:
    """The steps that a program ends with and whose results hold NaN that comes from an attention's output."""
    output = case.replay.value(case.attention.result)
    if output is None or not _holds_nan(output):
        return []
    return [step for step in _ends(case.attention.result, case.graph) if _ends_in_nan(step, case)]


def _ends(number: int, graph: Graph) -> Iterator[Step]:
    """The steps after a value whose results nobody reads, and the step that made it if nobody reads it."""
    waiting, seen = [number], {number}
    for near in waiting:  # grows while it is walked
        users = graph.consumers(near)
        if not users:
            maker = graph.maker(near)
            if maker is not None:
                yield maker
        for step in users:
            fresh = [result for result in step.results if result not in seen]
            seen.update(fresh)
            waiting += fresh


def _ends_in_nan(step: Step, case: Case) -> bool:
    values = [case.replay.value(number) for number in step.results]
    return any(value is not None and value.is_floating_point() and _holds_nan(value) for value in values)


def _is_nan(number: int, case: Case) -> bool:
    tensor = case.replay.value(number)
    return tensor is not None and tensor.is_floating_point() and _holds_nan(tensor)


def _holds_nan(tensor: Tensor) -> bool:
    return bool(tensor.isnan().any())


def _emptied(case: Case) -> Step:
    """The first step after which a row has no key left; of a fused attention the call."""
    if not case.written:
        return case.softmax
    grid = case.attention.weights
    last = case.softmax
    for step, _ in masking_steps(case):
        last = step
        logits = even_logits(case, step.results[0]) if step.results else None
        drawn = None if logits is None else case.arranged_grid(logits, grid.query, grid.key)
        if drawn is not None and bool(hidden(drawn).all(-1).any()):
            return step
    return last


RULE = Rule(
    "ATT060",
    "row-without-key",
    attention=_look,
    unless=frozenset({"ATT051", "ATT052", "ATT053", "ATT054", "ATT061", "ATT073", "ATT074", "ATT075", "ATT103"}),
)
