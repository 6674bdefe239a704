"""An axis of a value, and what can be said of several: that they are one, or that one holds others."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias


class Axis(NamedTuple):
    """One axis of one value, counted from 0. Below 0: a part of an axis that stands nowhere by itself."""

    value: int
    axis: int


class Same(NamedTuple):
    """Two axes that are one."""

    one: Axis
    other: Axis


class Parts(NamedTuple):
    """An axis that several others are laid out in, the slowest first: `H` and `d_k` in `H·d_k`."""

    whole: Axis
    parts: tuple[Axis, ...]


class Hidden(NamedTuple):
    """A part that is no axis of any value: `H` where `[L, B, H·d_k]` is viewed as `[L, B·H, d_k]`."""

    axis: Axis
    size: int


Link: TypeAlias = "Same | Parts | Hidden"
