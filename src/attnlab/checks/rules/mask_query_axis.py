"""ATT052: a padding mask lies along the queries, not along the keys.

Decided by what the queries see when all scores are equal: the rows of padding see nothing at all (or themselves alone,
where each token is given its own key), and the other rows see padding as they see real tokens. A mask over both axes,
or one that only zeroes the rows of padding after the softmax, is left alone. So is told a comparison that should meet
queries with keys and has both sides along one axis: it compares each token with itself.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from attnlab.attention.graph import VIEWS
from attnlab.checks.case import Case
from attnlab.checks.editing import code, own
from attnlab.checks.found import Found, Rule, Said
from attnlab.checks.masking import Sight, applied, given_masks, makers, path, sight
from attnlab.checks.padding import Padding, paddings
from attnlab.checks.reference import base
from attnlab.run import Step

_COMPARE = frozenset(["eq", "ne", "lt", "le", "gt", "ge"])


def _look(case: Case) -> Iterator[Found]:
    yield from _with_itself(case)
    view = sight(case)
    if view is None or not view.square:
        return
    for padding in paddings(case):
        if _lies_along_queries(view, padding):
            step = _turned(case, padding) or applied(case, padding.value)
            place = int(padding.mixed.int().argmax())
            kept, seen = padding.kept[place], view.seen[place]
            empty, alone = (~seen.any(-1)).sum(), (seen.sum(-1) == 1).sum()
            yield Found(
                step,
                Said("check.mask-query-axis.message", {"code": code(step)}),
                Said(
                    f"check.mask-query-axis.evidence{'' if int(empty) else '-own'}",
                    {
                        "sample": int(padding.owner[place]),
                        "real": int(kept.sum()),
                        "padded": int((~kept).sum()),
                        "seen": int(seen[kept][:, ~kept].any(0).sum()),
                        "rows": int(empty or alone),
                    },
                ),
                Said("check.mask-query-axis.mend"),
            )
            return


def _with_itself(case: Case) -> Iterator[Found]:
    """Comparisons of whole numbers, in what an attention's masks are made of, that have the same on both sides."""
    for step in makers(given_masks(case), case.graph):
        if step.op not in _COMPARE or len(step.refs) != 2 or not own(step):
            continue
        one, other = (case.replay.value(number) for number in step.refs)
        if one is None or other is None or one.is_floating_point() or not torch.equal(one, other):
            continue
        alike = base(step.refs[0], case.graph) == base(step.refs[1], case.graph)
        makers_of = [case.graph.maker(base(number, case.graph)) for number in step.refs]
        if one.dim() < 2 or one.numel() < 3 or not (alike or all(made and made.op == "arange" for made in makers_of)):
            continue
        yield Found(
            step,
            Said("check.mask-query-axis.itself", {"code": code(step)}),
            Said("check.mask-query-axis.itself-evidence", {"shape": str(list(one.shape)), "cells": one.numel()}),
            Said("check.mask-query-axis.itself-mend"),
        )
        return


def bases(length: int) -> tuple[Tensor, ...]:
    """What else a mask may be joined with, [L, L]: nothing, or the causal triangle."""
    full = torch.ones(length, length, dtype=torch.bool)
    return full, full.tril()


def _lies_along_queries(view: Sight, padding: Padding) -> bool:
    rows, columns = padding.kept[:, :, None], padding.kept[:, None, :]
    nothing, own_key = torch.zeros(1, dtype=torch.bool), torch.eye(view.seen.shape[-1], dtype=torch.bool)
    for other in bases(view.seen.shape[-1]):
        for added in (nothing, own_key):  # each token its own key, so that no row is empty
            if bool((view.seen == (other & rows | added)).all()):
                return not bool((view.seen == (other & rows & columns | added)).all())
    return False


def _turned(case: Case, padding: Padding) -> Step | None:
    """The last of the user's steps that gave the padding its axes."""
    found: list[Step] = []
    for number in applied(case, padding.value).refs:
        found += path(padding.value, number, case.graph)
    shaped = [step for step in found if step.op in VIEWS - {"expand", "expand_as", "broadcast_to"}]
    return max(shaped, key=lambda step: step.index) if shaped else None


RULE = Rule("ATT052", "mask-query-axis", attention=_look, unless=frozenset({"ATT051"}))
