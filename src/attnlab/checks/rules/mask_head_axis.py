"""ATT053: the batch axis of a mask meets the heads, so that head 0 is masked by the padding of sample 0, and so on.

Decided by what the queries see when all scores are equal: in every sample head h is masked as sample h should be.
It runs without an error only where there are as many heads as samples.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from attnlab.attention.graph import VIEWS
from attnlab.checks.case import Case
from attnlab.checks.editing import code
from attnlab.checks.found import Found, Rule, Said
from attnlab.checks.masking import Sight, applied, path, sight
from attnlab.checks.padding import Padding, paddings
from attnlab.run import Step


def _look(case: Case) -> Iterator[Found]:
    view = sight(case)
    if view is None or len(view.lead) < 2 or case.attention.style == "mha":
        return
    for padding in paddings(case):
        other = _by_heads(padding)
        if other is None or not masked_as(view, padding.keep[other]) or masked_as(view, padding.kept):
            continue
        step = _led(case, padding) or applied(case, padding.value)
        place = int((padding.keep[other] != padding.kept).any(-1).int().argmax())
        yield Found(
            step,
            Said("check.mask-head-axis.message", {"code": code(step), "heads": padding.keep.shape[0]}),
            Said(
                "check.mask-head-axis.evidence",
                {"sample": int(padding.owner[place]), "head": int(other[place]), "other": int(other[place])},
            ),
            Said("check.mask-head-axis.mend"),
        )
        return


def _by_heads(padding: Padding) -> Tensor | None:
    """[N]: the number of the head in its sample, where there are as many as samples."""
    count = padding.keep.shape[0]
    if padding.owner.numel() != count * count or bool((padding.owner.bincount(minlength=count) != count).any()):
        return None
    heads = torch.empty_like(padding.owner)
    for sample in range(count):
        heads[padding.owner == sample] = torch.arange(count)
    return heads


def masked_as(view: Sight, keep: Tensor) -> bool:
    """Whether the keys that are seen are these [N, Lk], alone or with a causal mask."""
    columns = keep[:, None, :]
    full = torch.ones(view.seen.shape[-2:], dtype=torch.bool)
    return any(bool((view.seen == (base & columns)).all()) for base in (full, full.tril(full.shape[1] - full.shape[0])))


def _led(case: Case, padding: Padding) -> Step | None:
    """The last step that laid an axis before the batch of the mask."""
    step = applied(case, padding.value)
    found: list[Step] = []
    for number in step.refs:
        for near in path(padding.value, number, case.graph):
            shape, before = case.graph.shape(near.results[0]), case.graph.shape(near.refs[0])
            if near.op in VIEWS and len(shape) > len(before) and shape[0] == 1:
                found.append(near)
    return max(found, key=lambda near: near.index) if found else None


RULE = Rule("ATT053", "mask-head-axis", attention=_look, unless=frozenset({"ATT051", "ATT052"}))
