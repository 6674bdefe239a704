"""ATT098: a linear bias by distance (ALiBi) with the wrong sign, slopes, or axis.

Decided by what reaches the softmax: with q at zero the weights hold the bias alone. Where their logarithm changes by
one number from each key to the next, that number is the slope, head by head: positive where a nearer key counts more.
A bias that is learned, or made of data, is left alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

import torch
from torch import Tensor

from attnlab.checks.case import Case
from attnlab.checks.editing import code
from attnlab.checks.found import Found, Rule, Said
from attnlab.checks.positions import Positions, positions
from attnlab.run import Step

# Slopes, and what follows from them, agree to this share.
SHARE = 0.01


def _look(case: Case) -> Iterator[Found]:
    attention = case.attention
    if attention.style not in ("written", "sdpa") or (attention.keys or 0) < 3 or (attention.queries or 0) < 3:
        return
    place = positions(case.whole)
    added = _added(case, place)
    if added is None:
        return
    step, table = added
    slopes = _slopes(case)
    if slopes is None:
        return
    if float(slopes.abs().max()) < 1e-9:
        if _by_query_alone(case, table):
            yield _found(step, "query", {}, slopes)
        return
    heads = _by_head(slopes, case, place)
    if heads is None:
        return
    if isinstance(heads, str):
        yield _found(step, heads, {}, slopes)
        return
    row = [float(item) for item in heads]
    kind = _kind(row, case, place, table)
    if kind is not None:
        yield _found(step, kind, _params(kind, row), heads)


def _params(kind: str, row: list[float]) -> dict[str, object]:
    right = [2 ** (-8 * (place + 1) / len(row)) for place in range(len(row))]
    if kind in ("first", "grow", "scaled"):
        return {"right": _numbers(right)}
    return {"heads": len(row)} if kind == "one" else {}


def _numbers(row: list[float]) -> str:
    return ", ".join(f"{item:.4g}" for item in row[:4]) + (" …" if len(row) > 4 else "")


def _found(step: Step, kind: str, params: dict[str, object], slopes: Tensor) -> Found:
    own = [float(item) for item in slopes.reshape(-1)]
    evidence = {"slopes": _numbers(own), **{name: value for name, value in params.items() if name == "right"}}
    return Found(
        step,
        Said(f"check.alibi.{kind}", {"code": code(step), **{n: v for n, v in params.items() if n == "heads"}}),
        Said(f"check.alibi.{kind}-evidence", {} if kind == "query" else evidence),
        Said(f"check.alibi.{kind}-mend"),
    )


def _added(case: Case, place: Positions) -> tuple[Step, int] | None:
    """The step that adds what was counted out from positions, and what it adds."""
    attention = case.attention
    steps = [*attention.bias, *(mask.step for mask in attention.masks if mask.kind in ("add", "argument"))]
    for index in sorted(steps):
        step = case.step(index)
        mask = step.operand("attn_mask", 3) if step.op == "scaled_dot_product_attention" else None
        read = (
            step.refs
            if mask is None
            else tuple(number for number in step.refs if number == getattr(mask.arg, "id", None))
        )
        for number in read:
            shape = case.graph.shape(number)
            if len(shape) >= 2 and place.free(number) and _is_counted(number, place):
                return step, number
    return None


def _is_counted(number: int, place: Positions) -> bool:
    """Whether a table was made from 0, 1, 2 … (or is a buffer made elsewhere), and nothing in it is learned."""
    value = place.whole.replay.value(number)
    if value is None or not value.is_floating_point():
        return False
    counted = False
    for item in place.made_of(number):
        if place.graph.values[item].kind == "parameter":
            return False
        step = place.graph.maker(item)
        counted = counted or (step is not None and step.op in ("arange", "cumsum", "linspace"))
        counted = counted or (step is None and place.graph.values[item].kind == "buffer")
    finite = value[value.isfinite() & (value > -1e4)]
    return counted and finite.numel() > 0 and bool((finite != finite[0]).any())


def _slopes(case: Case) -> Tensor | None:
    """[N]: by how much the logits rise from one key to the next nearer one; None where that is no one number."""
    q = case.replay.double(case.attention.q.entered)
    weights = None if q is None else case.weights_where({case.attention.q.entered: torch.zeros_like(q)})
    if weights is None or weights.shape[-1] < weights.shape[-2]:
        return None
    keys = weights.shape[-1]
    back = torch.arange(weights.shape[-2])[:, None] + keys - weights.shape[-2]
    both = (weights[..., 1:] > 0) & (weights[..., :-1] > 0) & (torch.arange(1, keys) <= back)
    rise = torch.where(
        both, weights[..., 1:].clamp_min(1e-300).log() - weights[..., :-1].clamp_min(1e-300).log(), torch.nan
    )
    flat = rise.flatten(1)
    slope = flat.nanmean(-1)
    if bool(slope.isnan().any()):
        return None
    apart = torch.where(flat.isnan(), 0.0, (flat - slope[:, None]).abs()).amax(-1)
    return slope if bool((apart <= 1e-5 * slope.abs() + 1e-7).all()) else None


def _by_query_alone(case: Case, table: int) -> bool:
    """Whether a table has one number for each query, which a softmax over keys does not see."""
    shape = case.graph.shape(table)
    return (
        case.written
        and case.attention.scores.key is not None
        and shape[-1] == 1
        and shape[-2] == case.attention.queries
    )


def _by_head(slopes: Tensor, case: Case, place: Positions) -> Tensor | str | None:
    """The slopes of the heads in order; "batch" where they go along samples instead; None where it can't be told."""
    lead = _lead(case)
    if lead is None or math.prod(lead) != len(slopes) or not lead:
        return None
    grid = slopes.reshape(lead)
    varied = [axis for axis in range(len(lead)) if lead[axis] > 1 and _varies(grid, axis)]
    same = case.graph.shape(case.attention.q.entered)[: len(lead)] == lead  # and not folded, unlike the weights
    own = [axis for axis in range(len(lead)) if same and _is_head(case, place, axis)]
    if not varied:
        return grid.flatten()[: lead[own[0]]] if len(own) == 1 else grid.flatten()[:1]
    if len(varied) > 1:
        return None
    axis = varied[0]
    if own and axis not in own and lead[own[0]] > 1:
        return "batch"
    heads = grid.movedim(axis, 0).flatten(1)[:, 0]
    count = case.attention.heads or len(heads)
    if len(heads) == count:
        return heads
    folded = heads.reshape(-1, count) if len(heads) % count == 0 else heads[None]
    return folded[0] if bool(torch.isclose(folded, folded[:1], rtol=1e-4).all()) else None


def _lead(case: Case) -> tuple[int, ...] | None:
    if case.written:
        grid = case.attention.weights
        if grid.value is None:
            return None
        shape = case.graph.shape(grid.value)
        return tuple(size for axis, size in enumerate(shape) if axis not in (grid.query, grid.key))
    return case.graph.shape(case.attention.q.entered)[:-2]


def _varies(grid: Tensor, axis: int) -> bool:
    return not torch.allclose(grid, grid.narrow(axis, 0, 1), rtol=1e-4, atol=1e-9)


def _is_head(case: Case, place: Positions, axis: int) -> bool:
    """Whether an axis of q was cut from features."""
    axes = place.origins.axes(case.attention.q.entered)
    if axis >= len(axes) - 1 or not axes[axis]:
        return False
    features = {part.root for part in axes[-1]}
    return any(place.origins.is_cut(part, features) for part in axes[axis])


def _kind(row: list[float], case: Case, place: Positions, table: int) -> str | None:
    """What is wrong with the slopes of the heads; None where nothing is known to be."""
    if all(slope < 0 for slope in row):
        return "sign"
    if len(row) < 2 or any(slope <= 0 for slope in row):
        return None
    if all(math.isclose(slope, row[0], rel_tol=1e-4) for slope in row):
        return "one" if _has_several(place, table, len(row)) else None
    ratio = row[1] / row[0]
    wanted = 2 ** (-8 / len(row))
    geometric = all(math.isclose(b / a, ratio, rel_tol=SHARE) for a, b in pairwise(row))
    if not geometric:
        return None
    if math.isclose(ratio, 1 / wanted, rel_tol=SHARE) and math.isclose(row[0], ratio, rel_tol=SHARE):
        return "grow"
    if not math.isclose(ratio, wanted, rel_tol=SHARE):
        return None
    first = row[0] / ratio
    if math.isclose(first, 1 / ratio, rel_tol=SHARE):
        return "first"
    d_k = case.attention.d_k or 1
    return "scaled" if d_k > 1 and math.isclose(first, d_k**-0.5, rel_tol=SHARE) else None


def _has_several(place: Positions, table: int, heads: int) -> bool:
    """Whether slopes of several heads were made, of which one serves all."""
    for number in place.made_of(table):
        value = place.whole.replay.value(number)
        if value is None or value.numel() != heads or not value.is_floating_point():
            continue
        flat = value.reshape(-1).double()
        rates = flat[1:] / flat[:-1]
        if bool(torch.isclose(rates, torch.tensor(2 ** (-8 / heads), dtype=torch.float64), rtol=SHARE).all()):
            return True
    return False


RULE = Rule("ATT098", "alibi", attention=_look)
