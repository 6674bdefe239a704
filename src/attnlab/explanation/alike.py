"""Equations of shapes that differ in a name only: one is shown, and of the others it is said in what they differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from attnlab.explanation.data import Equation, Message, Shape, say

_CHANGES = 2


def compared(equations: Mapping[str, Equation]) -> tuple[tuple[Equation, ...], tuple[Message, ...]]:
    """The equations to show, with labels where there are several, and what to say of those that are not shown.

    `equations`: by the letters of those they belong to, Q, K and V.
    """
    labels: dict[Equation, list[str]] = {}
    for letter, found in equations.items():
        labels.setdefault(found, []).append(letter)
    first, *others = labels
    shown = [first]
    said: list[Message] = []
    for other in others:
        renamed = _renamed(first, other)
        if renamed is None:
            shown.append(other)
        else:
            said.append(say("inputs.renamed", letters=tuple(labels[other]), changes=renamed))
    if len(shown) == 1:
        return (first,), tuple(said)
    likewise = tuple(letter for other in shown[1:] for letter in labels[other])
    named = tuple(replace(item, label=", ".join(labels[item])) for item in shown)
    return named, (*said, say("inputs.likewise", letters=likewise))


def _renamed(one: Equation, other: Equation) -> tuple[str, ...] | None:
    """The one or two names by which two equations differ, as `d_k → d_v=4`; None where they differ in more."""
    if [len(shape) for shape in _axes(one)] != [len(shape) for shape in _axes(other)]:
        return None
    changes: dict[tuple[str, str], int] = {}
    for left, right in zip(_axes(one), _axes(other), strict=True):
        for a, b in zip(left, right, strict=True):
            old, new = ((axis.name or str(axis.size)).split("·") for axis in (a, b))
            if a != b and (a.name is None or b.name is None or len(old) != len(new)):
                return None
            for before, after in zip(old, new, strict=False):
                if before != after:
                    size = b.size if len(new) == 1 and a.size != b.size else 0
                    changes[before, after] = max(size, changes.get((before, after), 0))
    if not 0 < len(changes) <= _CHANGES:
        return None
    return tuple(f"{old} → {new}={size}" if size else f"{old} → {new}" for (old, new), size in changes.items())


def _axes(found: Equation) -> tuple[Shape, ...]:
    return (*found.operands, *found.results)
