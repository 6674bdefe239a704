"""ATT054: a mask that was repeated for the heads lies in another order than the batch and heads it is laid on.

Decided by what the queries see when all scores are equal, and by nudging one sample after the other: which rows of
the folded batch × heads are whose, and whose padding masks them.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from attnlab.checks.case import Case
from attnlab.checks.editing import code
from attnlab.checks.found import Found, Rule, Said
from attnlab.checks.masking import applied, path, sight
from attnlab.checks.padding import Padding, paddings
from attnlab.checks.rules.mask_head_axis import masked_as
from attnlab.run import Step

_REPEATS = frozenset(["repeat", "tile", "repeat_interleave", "cat", "stack", "reshape", "flatten", "view"])


def _look(case: Case) -> Iterator[Found]:
    view = sight(case)
    if view is None or (len(view.lead) > 1 and case.attention.style != "mha"):
        return
    size = view.seen.shape[0]
    for padding in paddings(case):
        count = padding.keep.shape[0]
        if count < 2 or size % count or size == count or masked_as(view, padding.kept):
            continue
        orders = {"sample": torch.arange(size) % count, "head": torch.arange(size) // (size // count)}
        for name, order in orders.items():
            if not masked_as(view, padding.keep[order]):
                continue
            step = _repeated(case, padding) or applied(case, padding.value)
            place = int((padding.keep[order] != padding.kept).any(-1).int().argmax())
            yield Found(
                step,
                Said("check.mask-repeat-order.message", {"code": code(step)}),
                Said(
                    "check.mask-repeat-order.evidence",
                    {"row": place, "sample": int(padding.owner[place]), "other": int(order[place])},
                ),
                Said(f"check.mask-repeat-order.mend-{name}", {"heads": size // count}),
            )
            return


def _repeated(case: Case, padding: Padding) -> Step | None:
    """The last of the user's steps that gave the mask its copies."""
    count, graph = padding.keep.shape[0], case.graph
    found: list[Step] = []
    for number in applied(case, padding.value).refs:
        for step in path(padding.value, number, graph):
            rows = graph.shape(step.results[0])[:1]
            if step.op in _REPEATS and rows == (padding.owner.numel(),) and graph.shape(step.refs[0])[:1] != rows:
                found.append(step)
    return max(found, key=lambda step: step.index) if found and count else None


RULE = Rule("ATT054", "mask-repeat-order", attention=_look, unless=frozenset({"ATT051", "ATT052"}))
