"""ATT055: scores that should be hidden are filled with a number that the softmax does not take for nothing.

Decided by the weights as recorded: where the mask fills, keys still have a share of what a query gives. Rows that are
filled whole are left out, and so is a mask that was made from the scores themselves. What is added in the place of a
fill (a table of 0 and one small negative number) is judged alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from attnlab.attention import Mask
from attnlab.attention.graph import refs
from attnlab.checks.case import Case
from attnlab.checks.editing import argument, code, own, replaced
from attnlab.checks.found import Edit, Found, Rule, Said
from attnlab.checks.masking import ancestors, hidden, masking_steps, met_weights, small_table
from attnlab.run import Step

# The share of an even weight that a key may have and still count as hidden.
SHARE = 1e-3
_FILL = "float('-inf')"


class Leak(NamedTuple):
    """`share`: what goes to keys that a step should hide, on average over queries; `cells`: how many it should."""

    share: float
    cells: int


def _look(case: Case) -> Iterator[Found]:
    if not case.written or case.attention.blocks > 1:
        return
    for mask in case.attention.masks:
        if mask.kind in ("fill", "write") and not mask.late:
            yield from _filled(case, mask)
    for step, numbers in masking_steps(case):
        if step.index in case.attention.bias:
            yield from _added(case, step, numbers)


def _filled(case: Case, mask: Mask) -> Iterator[Found]:
    step = case.step(mask.step)
    if mask.value is not None and case.attention.scores.value in ancestors([mask.value], case.graph):
        return
    cells = filled(case, step)
    leak = None if cells is None else leaked(case, cells)
    if leak is None:
        return
    yield Found(
        step,
        Said("check.mask-fill-small.message", {"code": code(step)}),
        _evidence(leak),
        Said("check.mask-fill-small.mend"),
        _edits(step),
    )


def _added(case: Case, step: Step, numbers: tuple[int, ...]) -> Iterator[Found]:
    for number in numbers:
        table = small_table(number, case)
        if table is None or table[0] in (1, -1) or table[0] > 0 or step.op == "sub":
            continue
        tensor = case.replay.double(number)
        leak = None if tensor is None else leaked(case, spread(case, step, tensor == table[0]))
        if leak is not None:
            yield Found(
                step,
                Said("check.mask-fill-small.added", {"code": code(step), "number": table[0]}),
                _evidence(leak),
                Said("check.mask-fill-small.mend"),
            )


def _evidence(leak: Leak) -> Said:
    return Said("check.mask-fill-small.evidence", {"share": leak.share, "cells": leak.cells})


def filled(case: Case, step: Step) -> Tensor | None:
    """[N, Lq, Lk], bool: where a step put something else in the place of the scores."""
    value, result = case.attention.scores.value, step.results[0] if step.results else None
    scores = None if value is None else case.replay.double(value)
    if value is None or result is None or scores is None:
        return None
    noise = torch.rand(scores.shape, generator=torch.Generator().manual_seed(7), dtype=torch.float64)
    found = [case.replay.again({value: scores + shift}, [result]) for shift in (noise, noise + 1)]
    if any(item is None for item in found):
        return None
    one, other = (item[result] for item in found if item is not None)
    same = (one == other) | (one.isnan() & other.isnan())
    grid = case.attention.weights
    # What was hidden before, and is still, is none of this step's doing.
    same &= ~hidden(one)
    return case.arranged_grid(same, grid.query, grid.key)


def spread(case: Case, step: Step, cells: Tensor) -> Tensor | None:
    """[N, Lq, Lk] from cells of a mask that meets the scores in a step."""
    shape = case.graph.shape(step.results[0])
    grid = case.attention.weights
    try:
        return case.arranged_grid(cells.expand(shape), grid.query, grid.key)
    except RuntimeError:
        return None


def leaked(case: Case, cells: Tensor | None) -> Leak | None:
    """What goes to cells [N, Lq, Lk] that should be hidden; None where next to nothing does."""
    weights = met_weights(case)
    if cells is None or weights is None or cells.shape != weights.shape:
        return None
    rows = cells.any(-1) & ~cells.all(-1) & weights.isfinite().all(-1)
    if not bool(rows.any()):
        return None
    shares = torch.where(cells, weights, 0.0)[rows].sum(-1)
    share = float(shares.mean())
    return Leak(share, int(cells.sum())) if share > SHARE / cells.shape[-1] else None


def _edits(step: Step) -> tuple[Edit, ...]:
    """-inf in the place of the number that is filled in."""
    if step.op == "masked_fill" and own(step) and not refs(step.arg("value", 2)):
        return replaced(step, argument(step, 2, "value"), _FILL)
    return ()


RULE = Rule("ATT055", "mask-fill-small", attention=_look)
