"""Tensors as stacks of matrices, [samples, heads, rows, columns], whatever layout the code has.

`checks.case` brings q, k, v, the scores, the weights and the output of any style into [N, rows, columns]; here the N
become samples and heads. Where it can't be told which axis counts heads, all N are samples.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import NamedTuple, TypeAlias

import torch
from torch import Tensor

from attnlab.explanation.data import Size

_HEADS = ("H", "H_kv")
_TOKENS = ("L", "L_q", "L_k")
Batch: TypeAlias = "Sequence[Size]"


class Stack(NamedTuple):
    """[samples, heads, rows, columns]; `rows` and `columns` are the axes they were, where they are known."""

    tensor: Tensor
    rows: Size | None = None
    columns: Size | None = None


def stacked(tensor: Tensor | None, batch: Batch, heads: int | None) -> Stack | None:
    """[N, rows, columns] as a stack; `batch` are the axes that were made into N, in order."""
    if tensor is None or tensor.dim() != 3:
        return None
    count = tensor.shape[0]
    sizes = [axis.size for axis in batch]
    cut = _cut(batch, heads) if prod(sizes) == count else None
    if cut is None:
        return Stack(tensor.reshape(count, 1, *tensor.shape[1:]))
    shape, of_heads = cut
    order = [at for at in range(len(shape)) if at not in of_heads] + of_heads
    turned = tensor.reshape(*shape, *tensor.shape[1:]).permute(*order, len(shape), len(shape) + 1)
    held = prod(shape[at] for at in of_heads)
    return Stack(turned.reshape(count // held, held, *tensor.shape[1:]))


def _cut(batch: Batch, heads: int | None) -> tuple[list[int], list[int]] | None:
    """The sizes of the axes, those that hold heads and samples cut in two, and which of them count heads."""
    if heads in (None, 1):
        return [axis.size for axis in batch], []
    shape: list[int] = []
    known: list[int] = []
    for axis in batch:
        parts = (axis.name or "").split("·")
        inner = [part for part in parts if part in _HEADS]
        if len(parts) == 2 and len(inner) == 1 and axis.size % heads == 0:
            first = parts[0] in _HEADS
            known.append(len(shape) + (0 if first else 1))
            shape += [heads, axis.size // heads] if first else [axis.size // heads, heads]
        else:
            if inner:
                known.append(len(shape))
            shape.append(axis.size)
    if known and prod(shape[at] for at in known) == heads:
        return shape, known
    named = {at for at, axis in enumerate(batch) if axis.name == "B"}
    runs = [run for run in _runs(len(batch)) if prod(batch[at].size for at in run) == heads and not named & set(run)]
    runs = [run for run in runs if all(batch[at].size > 1 for at in run)]
    return ([axis.size for axis in batch], runs[0]) if len(runs) == 1 else None


def _runs(count: int) -> list[list[int]]:
    return [list(range(start, end)) for start in range(count) for end in range(start + 1, count + 1)]


def order_of(arrange: Callable[[Tensor], Tensor | None], axes: Batch) -> list[Size] | None:
    """Which of a tensor's axes `arrange` makes into N, in its order; found by sending numbered places through it."""
    shape = [axis.size for axis in axes]
    numbered = arrange(torch.arange(prod(shape)).reshape(shape))
    if numbered is None or not numbered.numel():
        return None
    firsts = [int(first) for first in numbered[:, 0, 0]]
    found: list[tuple[int, Size]] = []
    for at, size in enumerate(axes):
        stride = prod(shape[at + 1 :])
        places = [first // stride % size.size for first in firsts]
        moves = next((n for n, place in enumerate(places) if place != places[0]), None)
        if moves is not None:
            found.append((moves, size))
    return [size for _, size in sorted(found, key=lambda item: -item[0])]


def by_names(tensor: Tensor, axes: Batch) -> Stack:
    """A tensor as a stack by the names of its axes: tokens in rows, features in columns, samples and heads before.

    Where the names do not tell, its last two axes are rows and columns, and nothing is said of what they count.
    """
    if tensor.dim() < 2:
        flat = tensor.reshape(1, 1, 1, -1)
        return Stack(flat, None, axes[0] if axes and _features(axes[0]) else None)
    names = [axis.name for axis in axes]
    rows = [at for at, name in enumerate(names) if name in _TOKENS]
    heads = [at for at, name in enumerate(names) if name in _HEADS]
    columns = [at for at, axis in enumerate(axes) if _features(axis)]
    if len(rows) == 1 and not columns and names[-1] is None:
        columns = [tensor.dim() - 1]
    if len(rows) == 1 and len(columns) == 1 and len(heads) < 2:
        rest = [at for at in range(tensor.dim()) if at not in (*rows, *heads, *columns)]
        turned = tensor.permute(*rest, *heads, *rows, *columns)
        held = prod(tensor.shape[at] for at in heads)
        whole = turned.reshape(-1, held, *turned.shape[-2:])
        return Stack(whole, axes[rows[0]], axes[columns[0]])
    return Stack(tensor.reshape(-1, 1, *tensor.shape[-2:]))


def _features(axis: Size) -> bool:
    parts = (axis.name or "").split("·")
    return parts[-1] in ("D", "D_kv", "d_k", "d_v")
