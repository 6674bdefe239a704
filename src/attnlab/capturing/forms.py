"""Weights of whatever layout as [B, H, Q, K]."""

from __future__ import annotations

from math import prod
from typing import TypeAlias

from torch import Tensor

from attnlab.attention import Grid

# For each axis what it holds, and how many, the slowest first; see `attnlab.attention.Grid`.
Form: TypeAlias = "tuple[tuple[tuple[str, int], ...], ...]"

_ORDER = ("batch", "head", "query", "key")


def form_of(grid: Grid) -> Form | None:
    """The form of weights that were found; None where not every axis could be followed."""
    known = all(role in _ORDER for axis in grid.parts for role, _ in axis)
    return grid.parts if grid.parts and known else None


def lasting(form: Form) -> bool:
    """Whether no axis holds several things, so that the form is that of weights of other sizes too."""
    return all(len(axis) <= 1 for axis in form)


def shaped(weights: Tensor, form: Form) -> Tensor | None:
    """Weights as [B, H, Q, K]; None where they have another form."""
    if weights.dim() != len(form):
        return None
    sizes: list[int] = []
    roles: list[str] = []
    for size, axis in zip(weights.shape, form, strict=True):
        if len(axis) == 1:
            sizes.append(size)
            roles.append(axis[0][0])
            continue
        if prod(part for _, part in axis) != size:
            return None
        sizes += [part for _, part in axis]
        roles += [role for role, _ in axis]
    places = {role: [place for place, own in enumerate(roles) if own == role] for role in _ORDER}
    ordered = weights.reshape(sizes).permute([place for role in _ORDER for place in places[role]])
    return ordered.reshape([prod(sizes[place] for place in places[role]) for role in _ORDER])
