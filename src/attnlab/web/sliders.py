"""The whole numbers in a program's text that a slider can stand for, and where they stand."""

from __future__ import annotations

from typing import TypedDict

from attnlab.experiments.changes import Constant
from attnlab.experiments.constants import find

MOST = 12
# Numbers under these names are places, not sizes: another one would not be another size, but an error.
_PLACES = frozenset({"dim", "dims", "dim0", "dim1", "axis", "start_dim", "end_dim", "diagonal", "num_workers"})
_KINDS = ("name", "option", "keyword", "field", "item", "default")


class Slider(TypedDict):
    """A number in a text: its name, and its first character and the one behind its last, in UTF-16 units."""

    name: str
    value: int
    start: int
    end: int
    seed: bool


def sliders(text: str) -> list[Slider]:
    """One for each name, in the order in which they stand; of several numbers of a name the one that decides."""
    chosen: dict[str, Constant] = {}
    for constant in find({"": text}):
        name = _name(constant)
        if name is None or not isinstance(constant.value, int) or constant.value < (name != "seed"):
            continue
        before = chosen.get(name)
        if before is None or _rank(constant) < _rank(before):
            chosen[name] = constant
    starts = _starts(text)
    found = sorted(chosen.items(), key=lambda item: (item[1].line, item[1].col))
    return [_slider(name, constant, text, starts) for name, constant in found[:MOST]]


def _name(constant: Constant) -> str | None:
    """What the slider is called; None where there is none for it."""
    if constant.kind == "argument":
        return "seed" if constant.name in ("manual_seed[0]", "seed[0]") else None
    return None if constant.name in _PLACES or constant.kind not in _KINDS else constant.name


def _rank(constant: Constant) -> int:
    return _KINDS.index(constant.kind) if constant.kind in _KINDS else len(_KINDS)


def _starts(text: str) -> list[int]:
    """Where each line begins."""
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + _units(line) + 1)
    return starts


def _units(text: str) -> int:
    return len(text) + sum(character > "\uffff" for character in text)


def _slider(name: str, constant: Constant, text: str, starts: list[int]) -> Slider:
    line = text.split("\n")[constant.line - 1]
    start, end = (starts[constant.line - 1] + _units(line[:col]) for col in (constant.col, constant.end_col))
    seed = constant.kind == "argument"
    return {"name": name, "value": int(constant.value), "start": start, "end": end, "seed": seed}
