"""ATT057: a mask of zeros and ones is added to the scores as a number.

It raises or lowers a score by one and hides nothing. Decided by the values that are added, zero and one alone, and by
their pattern and where they come from: a triangle, or one row for all queries, made by a comparison, from ones, or
written down; of yes and no that are added as they are, whatever pattern. A table that was learned, or a bias of
another pattern, is left alone.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from attnlab.checks.case import Case
from attnlab.checks.editing import code
from attnlab.checks.found import Found, Rule, Said
from attnlab.checks.masking import distinct, made_up, makers, masking_steps, small_table
from attnlab.run import Step


def _look(case: Case) -> Iterator[Found]:
    if case.attention.blocks > 1:
        return
    for step, numbers in masking_steps(case):
        if case.written and step.index not in case.attention.bias:
            continue
        for number in numbers:
            table = small_table(number, case)
            tensor = case.replay.double(number)
            if table is None or table[0] not in (1, -1) or tensor is None or not made_up(number, case):
                continue
            if case.graph.values[number].dtype == "bool" and not case.written:
                continue
            if not _masks(tensor) and case.graph.values[number].dtype != "bool":
                continue
            yield _found(step, table[0] if step.op != "sub" else -table[0])
            return
        yield from _to_bias(numbers, case)


def _to_bias(numbers: tuple[int, ...], case: Case) -> Iterator[Found]:
    """Yes and no that are added to a bias on its way to the scores."""
    for step in makers(numbers, case.graph):
        if step.op != "add" or len(step.refs) != 2 or "float" not in case.graph.values[step.results[0]].dtype:
            continue
        for number, other in (step.refs, step.refs[::-1]):
            values = case.graph.values
            if values[number].dtype != "bool" or "float" not in values[other].dtype or not made_up(number, case):
                continue
            tensor = case.replay.double(number)
            if tensor is not None and len(distinct(tensor)) == 2 and _masks(tensor):
                yield _found(step, 1)
                return


def _masks(tensor: Tensor) -> bool:
    """Whether a table has the pattern of a mask: a triangle, or the same for all queries, or for all keys."""
    if tensor.dim() < 2 or 1 in tensor.shape[-2:]:
        return True
    grid = tensor.reshape(-1, *tensor.shape[-2:])
    if bool((grid == grid[:, :1]).all()) or bool((grid == grid[:, :, :1]).all()):
        return True
    later = torch.ones(grid.shape[-2:], dtype=torch.bool).triu(1)
    upper = grid[:, later]
    below = grid[:, ~later.bool() & ~torch.eye(*grid.shape[-2:], dtype=torch.bool)]
    return bool((upper == upper[:, :1]).all()) or bool((below == below[:, :1]).all())


def _found(step: Step, number: float) -> Found:
    kind = {"scaled_dot_product_attention": "sdpa", "multi_head_attention_forward": "mha"}.get(step.op, "written")
    return Found(
        step,
        Said("check.mask-added-as-number.message", {"code": code(step), "number": f"{number:+g}"}),
        Said("check.mask-added-as-number.evidence", {"factor": float(torch.tensor(number).exp())}),
        Said(f"check.mask-added-as-number.mend-{kind}"),
    )


RULE = Rule("ATT057", "mask-added-as-number", attention=_look)
