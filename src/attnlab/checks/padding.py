"""Which tokens are padding: what a mask was made from tells it.

Token ids that are compared with one number (the pad id), positions that are compared with lengths, or a table of two
values, a row for each sample, in which what begins or ends a row is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from attnlab.attention.graph import Graph
from attnlab.checks.case import Case
from attnlab.checks.masking import ancestors, distinct, given_masks, makers, samples, sight
from attnlab.run import Step

_KNOWN: WeakKeyDictionary[Case, tuple[Padding, ...]] = WeakKeyDictionary()
_COMPARE = frozenset(["eq", "ne", "lt", "le", "gt", "ge"])
_EMPTY = frozenset(["tensor", "as_tensor", "from_numpy", "stack", "cat", "full", "setitem"])


@dataclass(frozen=True)
class Padding:
    """What is known of padding. `value`: the value that tells it; `keep` [B, L], bool: the real tokens.

    `owner` [N]: the sample that each row of N belongs to. `sure`: it can't be the prompt of a prefix instead.
    """

    value: int
    keep: Tensor
    owner: Tensor
    sure: bool

    @cached_property
    def kept(self) -> Tensor:
        """[N, L]: the real tokens of each of N."""
        return self.keep[self.owner]

    @cached_property
    def mixed(self) -> Tensor:
        """[N]: whether a sample has both real tokens and padding."""
        return self.kept.any(-1) & ~self.kept.all(-1)


def paddings(case: Case) -> tuple[Padding, ...]:
    """The paddings of the keys that an attention's masks were made from."""
    if case not in _KNOWN:
        _KNOWN[case] = tuple(_paddings(case))
    return _KNOWN[case]


def _paddings(case: Case) -> list[Padding]:
    view = sight(case)
    masks = given_masks(case)
    if view is None or not masks:
        return []
    behind = makers(masks, case.graph)
    found: list[Padding] = []
    told: set[int] = set()
    for step in behind:
        item = _compared(step, case)
        if item is not None:
            told |= ancestors([item[0]], case.graph)
            found += _placed(case, *item)
    for number in sorted(ancestors(masks, case.graph) - told):
        keep = _table(number, case)
        if keep is not None:
            found += _placed(case, number, keep, True)
    return found


def _placed(case: Case, value: int, keep: Tensor, sure: bool) -> list[Padding]:
    view = sight(case)
    if view is None or keep.shape[1] != view.seen.shape[-1] or bool(keep.all()) or not _is_padding(keep):
        return []
    owner = samples(case, keep.shape[0], keep.shape[1])
    return [] if owner is None else [Padding(value, keep, owner, sure)]


def _is_padding(keep: Tensor) -> bool:
    """Whether each row is real first and then padding, or the other way about."""
    changes = (keep[:, 1:] != keep[:, :-1]).sum(1)
    return bool((changes <= 1).all())


def _compared(step: Step, case: Case) -> tuple[int, Tensor, bool] | None:
    """(value, keep, sure) of a comparison that tells padding: ids with a number, or places with lengths."""
    if step.op not in _COMPARE or not step.results:
        return None
    result = case.replay.value(step.results[0])
    if result is None or result.dtype != torch.bool:
        return None
    if len(step.refs) == 1:
        return _ids(step, case, result)
    return _lengths(step, case, result) if len(step.refs) == 2 else None


def _ids(step: Step, case: Case, result: Tensor) -> tuple[int, Tensor, bool] | None:
    ids = case.replay.value(step.refs[0])
    flat = _two_axes(result)
    if ids is None or ids.is_floating_point() or ids.dtype == torch.bool or flat is None:
        return None
    if len(distinct(ids)) <= 2:
        return None
    return step.results[0], ~flat if step.op in ("eq", "le", "lt") else flat, True


def _lengths(step: Step, case: Case, result: Tensor) -> tuple[int, Tensor, bool] | None:
    """Places (from arange) beside lengths, one for each sample."""
    left, right = (_is_places(number, case.graph) for number in step.refs[:2])
    if left == right or step.op in ("eq", "ne"):
        return None
    flat = _two_axes(result)
    other = case.replay.value(step.refs[1] if left else step.refs[0])
    if flat is None or other is None or (other.dim() and other.shape[-1] != 1):
        return None
    below = (step.op in ("lt", "le")) == left  # the place is below the length
    keep = flat if below else ~flat
    return step.results[0], keep, bool(keep.all(1).any())


def _is_places(number: int, graph: Graph) -> bool:
    return any(step.op == "arange" for step in makers([number], graph))


def _two_axes(tensor: Tensor) -> Tensor | None:
    """[B, L] from a tensor in which all other axes are 1."""
    sizes = [size for size in tensor.shape[:-1] if size != 1]
    if not tensor.dim() or len(sizes) > 1:
        return None
    return tensor.reshape(sizes[0] if sizes else 1, tensor.shape[-1])


def _table(number: int, case: Case) -> Tensor | None:
    """What a table of two values keeps: the value of rows that have only one; else 1 in a table of numbers."""
    value = case.graph.values[number]
    step = case.graph.maker(number)
    if value.kind in ("parameter", "buffer") or (step is not None and step.op not in _EMPTY):
        return None
    tensor = case.replay.value(number)
    flat = None if tensor is None else _two_axes(tensor)
    if tensor is None or flat is None or distinct(flat) != [0, 1]:
        return None
    table = flat.bool()
    rows = table[(table == table[:, :1]).all(1)]
    if rows.numel():
        return table if bool(rows.all()) else ~table if not bool(rows.any()) else None
    return None if tensor.dtype == torch.bool else table


def equal(number: int, wanted: Tensor, case: Case) -> bool:
    """Whether a value of two values, whatever axes of size 1 it has, is true where a table [B, L] is."""
    tensor = case.replay.value(number)
    if tensor is None or not tensor.dim() or tensor.shape[-1] != wanted.shape[-1] or tensor.numel() != wanted.numel():
        return False
    if tensor.is_floating_point() and not bool(((tensor == 0) | (tensor == 1)).all()):
        return False
    return bool((tensor.reshape(wanted.shape).bool() == wanted).all())
