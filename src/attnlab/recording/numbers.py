"""What is kept of a tensor's values: a corner, and statistics, taken so that the program cannot notice."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import Parameter

from attnlab.run import CORNER, STATISTICS, Numbers

_C: Any = torch._C

# Elements that are held in float64 at a time: as much as stays in the cache of a core.
CHUNK = 1 << 16


class RawNumbers(NamedTuple):
    """A corner of at most CORNER × CORNER, and (mean, std, min, max, non-finite count) or None."""

    corner: Tensor
    statistics: tuple[float | None, float | None, float | None, float | None, int] | None


def take(tensor: Tensor) -> RawNumbers | None:
    """The corner and the statistics of a tensor; None where reading it could be noticed or makes no sense.

    A read is an operation too: it would enter a trace that is being taken, be counted by a dispatch
    mode or a profiler, or ask a tensor without data for its data.
    """
    with _C.DisableTorchFunction():
        if not _readable(tensor):
            return None
    # A mode of the program's own, or a recording around this one, is not to see it.
    with torch.no_grad(), _C.DisableTorchFunction():
        plain = tensor.detach()
        corner = plain[(0,) * (plain.dim() - 2)] if plain.dim() > 2 else plain
        corner = corner[(slice(CORNER),) * corner.dim()].to("cpu", torch.float64, copy=True)
        statistics = _statistics(plain) if 0 < plain.numel() <= STATISTICS else None
    return RawNumbers(corner, statistics)


def _readable(tensor: Tensor) -> bool:
    kind: Any = tensor.__class__
    return (
        (kind is Tensor or kind is Parameter)
        and tensor.layout is torch.strided
        and tensor.device.type != "meta"
        and not (tensor.is_complex() or tensor.is_quantized or tensor.is_nested)
        and all(tensor.shape)
        and _C._get_tracing_state() is None
        and torch._C._len_torch_dispatch_stack() == 0
        and _C._functorch.maybe_current_level() is None
        and not _C._autograd._profiler_enabled()
    )


def _statistics(tensor: Tensor) -> tuple[float | None, float | None, float | None, float | None, int]:
    """Over all elements in float64, of which CHUNK at a time are made."""
    # In the order in which they lie, most tensors are flat already; what they are laid out in does not matter here.
    order = sorted(range(tensor.dim()), key=tensor.stride, reverse=True)
    flat = tensor.permute(order).flatten()
    held = flat.new_empty(min(CHUNK, flat.numel()), dtype=torch.float64)
    count = missing = 0
    mean = squares = 0.0
    low, high = math.inf, -math.inf
    for chunk in flat.split(CHUNK):
        numbers = held[: chunk.numel()].copy_(chunk)
        total = float(numbers.sum())
        if not math.isfinite(total):
            numbers = numbers[numbers.isfinite()]
            missing += chunk.numel() - numbers.numel()
            if not numbers.numel():
                continue
            total = float(numbers.sum())
        least, largest = torch.aminmax(numbers)
        low, high = min(low, float(least)), max(high, float(largest))
        # The sum of squares is about the mean, for it to be exact; two such sums join as Chan, Golub and LeVeque show.
        size = numbers.numel()
        apart = total / size - mean
        numbers -= total / size
        squares += float(numbers.dot(numbers)) + apart * apart * count * size / (count + size)
        count += size
        mean += apart * size / count
    if not count:
        return None, None, None, None, missing
    return mean, math.sqrt(squares / count), low, high, missing


def finish(raw: RawNumbers | None) -> Numbers | None:
    """The plain data of what was taken."""
    if raw is None:
        return None
    with _C.DisableTorchFunction():
        corner = raw.corner.reshape(-1, raw.corner.shape[-1] if raw.corner.dim() else 1)
        rows = tuple(tuple(row) for row in corner.tolist())
    return Numbers(rows, *(raw.statistics or (None, None, None, None, None)))
