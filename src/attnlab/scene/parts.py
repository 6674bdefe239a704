"""Which tensors each part of an explanation makes, and which it reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TypeAlias

from attnlab.attention import Attention
from attnlab.explanation.inputs import source_letters
from attnlab.scene.data import READS, Part, Role

_Roles: TypeAlias = "tuple[Role, ...]"

# By the key of the formula that a part has in hand, the one that says most first.
_MADE: Mapping[str, _Roles] = {
    "scores": ("scores",),
    "k": ("kt",),
    "scale": ("scaled",),
    "cap": ("masked",),
    "bias": ("masked",),
    "mask": ("mask", "masked"),
    "softmax": ("weights",),
    "late": ("mask",),
    "v": ("output",),
    "merge": ("merged",),
    "out": ("projected",),
}
_INSIDE: _Roles = ("scores", "scaled", "mask", "masked", "weights", "output")


def tie(parts: Sequence[Part], attention: Attention, there: AbstractSet[Role]) -> None:
    """Say of each part which of the tensors that are `there` it makes, and which it reads."""
    bent = [part for part in parts if {"cap", "bias", "mask"} & set(part["marks"]) and "softmax" not in part["marks"]]
    for part in parts:
        makes = _made(part, attention)
        if part in bent and part is not bent[-1]:  # the last of them makes what enters the softmax
            makes = makes[: makes.index("masked")]
        reads: list[Role] = _read(makes, there)
        if part["names"][0]["en"] == "dropout":
            makes = ()
            reads = ["weights"]
        part["makes"] = [role for role in makes if role in there]
        part["reads"] = [role for role in reads if role in there and role not in part["makes"]]


def _made(part: Part, attention: Attention) -> _Roles:
    marks = set(part["marks"])
    if not marks:
        return _source(part, attention)
    if marks == {"q", "k", "v"}:
        return "q", "k", "v"
    if {"softmax", "q"} <= marks:  # all of it in one call
        return ("q", "k", "v", *_INSIDE, "projected") if attention.style in ("mha", "layer") else _INSIDE
    if marks == {"scale"} and not set(attention.scale) - {*attention.q.scale, *attention.k.scale}:
        scaled: list[tuple[Role, tuple[int, ...]]] = [("q", attention.q.scale), ("k", attention.k.scale)]
        return tuple(role for role, steps in scaled if steps)  # before the product
    return next((roles for mark, roles in _MADE.items() if mark in marks), ())


def _source(part: Part, attention: Attention) -> _Roles:
    """X or Y, where a part is that; what else is done to the weights has no role."""
    letters = list(source_letters(attention).values())
    name = part["names"][0]["en"]
    roles: _Roles = ("x", "memory")
    return roles[letters.index(name) :][:1] if name in letters else ()


def _read(makes: _Roles, there: AbstractSet[Role]) -> list[Role]:
    groups = [group for made in makes for group in READS.get(made, ())]
    found: list[Role] = []
    for group in groups:
        first: Role | None = next((role for role in group if role in there), None)
        if first is not None and first not in found:
            found.append(first)
    return found
