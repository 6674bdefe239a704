"""What hides keys from queries: telling a mask from a bias, and a causal mask from another.

Decided by evidence: the corner of the mask's numbers that the Run keeps, at index 0 of all leading axes, or the
large negative number that it was made with. Where neither is there, the answer is None.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

from attnlab.attention.axes import Roots
from attnlab.attention.graph import POINTWISE, VIEWS, Graph
from attnlab.attention.layout import carry
from attnlab.run import Arg, Opaque, Ref, Slice

Rows: TypeAlias = "list[list[float]]"

# Nothing that is learned, and no slope of ALiBi times any distance, comes near it; all usual fills are beyond.
FILL = 9_999.0
# Two values, 0 and one at least so far below, are a mask as well: shifted windows add -100.
_BELOW = 20.0
_FAR = 8


def hides_when_added(number: int, sign: int, graph: Graph) -> bool:
    """Whether adding a value (`sign` -1: taking it away) hides scores: some elements are far below, or -inf."""
    numbers = graph.values[number].numbers
    if numbers is None:
        return _made_with_fill(number, graph, _FAR)
    cells = {sign * cell for row in numbers.corner for cell in row}
    ends = [sign * end for end in (numbers.min, numbers.max) if end is not None]
    lowest = min([*ends, *(cell for cell in cells if not math.isnan(cell))], default=0.0)
    two_valued = len(cells) == 2 and max(cells) == 0
    if numbers.nonfinite or lowest <= -FILL or (two_valued and lowest <= -_BELOW):
        return True
    return lowest == max(ends, default=0.0) == 0 and _made_with_fill(number, graph, _FAR)


def is_far_below(cell: float) -> bool:
    """Whether an element that is added hides a score, where the tensor that it is of is a mask. NaN: 0 times -inf."""
    return not cell > -_BELOW


def hides_when_multiplied(number: int, graph: Graph) -> bool:
    """Whether multiplying by a value hides scores: its elements are 0 and 1."""
    value = graph.values[number]
    if value.dtype == "bool":
        return True
    if value.numbers is None:
        return False
    return {cell for row in value.numbers.corner for cell in row} <= {0.0, 1.0}


def _made_with_fill(number: int, graph: Graph, depth: int) -> bool:
    """Whether a value was made with a number that only masks have."""
    step = graph.maker(number)
    if step is None or not depth:
        return False
    filled = any(
        isinstance(operand.arg, (int, float)) and abs(operand.arg) >= FILL
        for operand in step.operands
        if step.op in ("mul", "masked_fill", "where", "full", "full_like", "fill", "div")
    )
    if filled:
        return True
    near = [item for item in step.refs if item < number and step.op in POINTWISE | VIEWS]
    return any(_made_with_fill(item, graph, depth - 1) for item in near)


def is_causal(
    mask: int,
    hidden: Callable[[float], bool],
    grid: tuple[int, int],
    shape: tuple[int, ...],
    graph: Graph,
    lead: bool = False,
) -> bool | None:
    """Whether a mask hides the later keys of each query; None where it can't be told.

    `hidden` tells whether a mask's element hides; `grid` are the query axis and the key axis of the masked tensor,
    whose shape is `shape`; the mask's axes are its last ones, or its first with `lead` (`scores[mask] = x`).
    """
    own = graph.shape(mask)
    offset = 0 if lead else len(shape) - len(own)
    if shape[grid[0]] == 1:
        return False
    query, key = grid[0] - offset, grid[1] - offset
    if not (0 <= query < len(own) and 0 <= key < len(own)) or own[query] == 1 or own[key] == 1:
        return False  # the same for all queries, or for all keys
    rows = _rows(mask, query, key, graph)
    if rows is None:
        return None
    return is_triangle([[hidden(cell) for cell in row] for row in rows], own[query], own[key])


def is_triangle(hidden: list[list[bool]], queries: int, keys: int) -> bool | None:
    """Whether every later key is hidden, and not all else: queries and keys begin, or end, at one place."""
    cells = [(i, j, cell) for i, row in enumerate(hidden) for j, cell in enumerate(row)]
    if all(cell for _, _, cell in cells):
        return None
    unknown = False
    for offset in {0, keys - queries}:
        later = [cell for i, j, cell in cells if j > i + offset]
        reached = [cell for i, j, cell in cells if j > 0 and i + offset - 1 <= j <= i + offset]
        if later and all(later) and not all(reached):
            return True
        unknown |= (not later and queries > len(hidden)) or (all(later) and all(reached))
    return None if unknown else False


def is_triangular(numbers: Rows, queries: int, keys: int) -> bool | None:
    """The same for weights: what is hidden has weight 0. A row without any weight (NaN) tells nothing."""
    return is_triangle([[cell == 0 or math.isnan(cell) for cell in row] for row in numbers], queries, keys)


def corner(number: int, query: int, key: int, graph: Graph) -> Rows | None:
    """The corner that was kept of a value, queries in rows; None where these two are not its last axes."""
    value = graph.values[number]
    rank = len(value.shape)
    if value.numbers is None or {query, key} != {rank - 2, rank - 1}:
        return None
    rows = [list(row) for row in value.numbers.corner]
    return rows if query < key else [list(column) for column in zip(*rows, strict=True)]


def _rows(number: int, query: int, key: int, graph: Graph) -> Rows | None:
    """The corner of a mask, or of what it was before its axes were moved."""
    found = corner(number, query, key, graph)
    step = graph.maker(number)
    if found is not None or step is None or step.op not in VIEWS | {"contiguous", "clone"}:
        return found
    roots = Roots()
    before = step.refs[0]
    old = roots.fresh(graph.shape(before))
    (new, *_) = carry(step, graph, {before: old}, roots)
    if new is None or new[query] not in old or new[key] not in old:
        return None
    return _rows(before, old.index(new[query]), old.index(new[key]), graph)


def index_mask(index: Arg) -> int | None:
    """The mask in `scores[mask] = x` and `scores[..., mask] = x`; None for an index of another kind."""
    items = index if isinstance(index, tuple) else (index,)
    tensors = [item.id for item in items if isinstance(item, Ref)]
    return tensors[0] if len(tensors) == 1 else None


def leads(index: Arg) -> bool:
    """Whether an index begins with the mask, so that the mask's axes are the first ones."""
    items = index if isinstance(index, tuple) else (index,)
    return not isinstance(items[0], (Slice, Opaque))
