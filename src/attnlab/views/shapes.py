"""Shapes and equations of shapes as text: `[B, L, D] · [D, d_k] → [B, L, d_k] = [2, 4, 8]`."""

from __future__ import annotations

from attnlab.explanation.data import Equation, Shape

# A line is not broken here; to be made a plain space when all lines are.
HARD_SPACE = "\u00a0"
_COMMA = f",{HARD_SPACE}"


def shape(axes: Shape) -> str:
    """The names of the axes, and their sizes where there is a name: `[B, L, 3] = [2, 4, 3]`."""
    sizes = f"[{_COMMA.join(str(axis.size) for axis in axes)}]"
    return f"{names(axes)} ={HARD_SPACE}{sizes}" if any(axis.name for axis in axes) else sizes


def names(axes: Shape) -> str:
    """The names of the axes alone; the size of one that has none."""
    return f"[{_COMMA.join(axis.name or str(axis.size) for axis in axes)}]"


def equation(found: Equation) -> str:
    """The shapes before and after."""
    label = f"{found.label}: " if found.label else ""
    after = ", ".join(dict.fromkeys(map(shape, found.results)))
    if not found.operands:
        return label + after
    before = list(dict.fromkeys(map(shape, found.operands)))
    if before == after.split(", "):
        return label + after
    sign = f" ·{HARD_SPACE}" if found.sign == "·" else ", "
    return f"{label}{sign.join(map(names, found.operands))} →{HARD_SPACE}{after}"
