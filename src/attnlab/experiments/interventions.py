"""Changes that are made while a program runs: a tensor nudged, another seed, another mode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from attnlab.experiments.changes import Mode, Nudge, Seed
from attnlab.recording import operations

MEASURES = ("entropy", "gradient", "largest")
_AT_ONCE = 1 << 20  # weights that are measured at a time


def intervene(
    recorder: Any, changes: Sequence[Nudge | Seed | Mode], measures: dict[int, dict[str, float]] | None = None
) -> None:
    """Set up a recorder so that the program it records runs under the changes, and is measured into `measures`.

    Not undone: to be used in a process that ends afterwards.
    """
    nudges: dict[int, list[Nudge]] = {}
    for change in changes:
        match change:
            case Nudge():
                nudges.setdefault(change.step, []).append(change)
            case Seed():
                _seed(change.value)
            case Mode():
                _mode(change.mode == "train")
    if not nudges and measures is None:
        return

    def on_result(step: int, noted: Any, result: Any) -> Any:
        if measures is not None and isinstance(result, Tensor) and operations.name(noted[0]).op == "softmax":
            measures[step] = measured(result, _dim(noted))
        return nudged(result, nudges.get(step, ()))

    recorder.nudge = on_result


def _dim(noted: Any) -> int:
    _, passed, named, *_ = noted
    dim: Any = (named or {}).get("dim", passed[1] if len(passed) > 1 else -1)
    return dim if isinstance(dim, int) else -1


def measured(weights: Tensor, dim: int) -> dict[str, float]:
    """Measures of attention weights, each the mean over all rows along `dim`, in float64.

    "entropy": -sum of p ln p, in nats. "gradient": the Frobenius norm of the softmax's Jacobian
    diag(p) - p pᵀ. "largest": the largest weight. Some rows at a time: a whole copy in float64 may not fit.
    """
    with torch.no_grad():
        rows = weights.detach().movedim(dim, -1).flatten(0, -2) if weights.dim() > 1 else weights.detach()[None]
        sums = torch.zeros(len(MEASURES), dtype=torch.float64)
        for some in rows.split(max(1, _AT_ONCE // max(1, rows.size(-1)))):
            sums += _sums(some.to(torch.float64)).cpu()
        return dict(zip(MEASURES, (sums / len(rows)).tolist(), strict=True))


def _sums(p: Tensor) -> Tensor:
    """The measures of rows of weights, in the order of `MEASURES`, summed over the rows."""
    squares = (p * p).sum(-1)
    jacobian = (p * p).mul((1 - p) ** 2).sum(-1) + squares**2 - (p**4).sum(-1)
    return torch.stack([-torch.special.xlogy(p, p).sum(), jacobian.clamp_min(0).sqrt().sum(), p.amax(-1).sum()])


def nudged(result: Any, nudges: Sequence[Nudge]) -> Any:
    """A step's result with the nudges made in it; what is not nudged stays the object that it was."""
    for nudge in nudges:
        if isinstance(result, Tensor):
            result = _moved(result, nudge)
        elif isinstance(result, (tuple, list)):
            items: list[Any] = list(result)
            items[nudge.result] = _moved(items[nudge.result], nudge)
            result = type(result)(items)
    return result


def _moved(tensor: Tensor, nudge: Nudge) -> Tensor:
    where = tuple(slice(None) if place is None else place for place in nudge.index)
    moved = tensor.clone()
    with torch.no_grad():
        if nudge.by is not None:
            moved.data[where] += nudge.by
        if nudge.to is not None:
            moved.data[where] = nudge.to
    return moved


def _seed(value: int) -> None:
    real = torch.manual_seed

    def manual_seed(seed: int) -> torch.Generator:  # noqa: ARG001 - the program's own seed is what is changed
        return real(value)

    real(value)
    torch.manual_seed = manual_seed
    torch.random.manual_seed = manual_seed


def _mode(train: bool) -> None:
    def set_mode(module: torch.nn.Module, _inputs: Any) -> None:
        if module.training != train:
            module.train(train)

    torch.nn.modules.module.register_module_forward_pre_hook(set_mode)
