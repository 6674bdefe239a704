"""What can be changed before a program is run again, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias


class BadChange(ValueError):
    """A change that cannot be made. `id` is a sentence in the catalogs of words, `params` its placeholders."""

    def __init__(self, message: str, **params: object) -> None:
        super().__init__(message, params)
        self.id = message
        self.params = params


@dataclass(frozen=True, slots=True)
class Constant:
    """A number that stands in the source: `seq_len = 4`, `d_model: int = 8`, `f(n_heads=2)`, `randn(2, 4)`.

    `kind`: "name" (an assignment), "field" (in a class body), "default" (of a parameter), "option"
    (the default of a command line option), "keyword" (an argument passed by name), "item" (of a dict),
    "argument" (passed by place: its name is like `randn[1]`). Lines count from 1, columns in characters.
    """

    name: str
    value: int | float
    kind: str
    file: str
    line: int
    col: int
    end_col: int


@dataclass(frozen=True, slots=True)
class SetConstant:
    """Another number in the place of a constant."""

    constant: Constant
    value: int | float


@dataclass(frozen=True, slots=True)
class Replace:
    """Another text in the place of one in the source. `line` (from 1) where the text stands more than once."""

    old: str
    new: str
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Nudge:
    """Part of a tensor changed as a step produces it, before the program sees it.

    `step` is the index of the step in the first run and `result` which of its results. `index` is, per
    axis, one place or None for all of them. `by` is added to the elements there; `to` takes their place.
    """

    step: int
    index: tuple[int | None, ...]
    by: float | None = None
    to: float | None = None
    result: int = 0


@dataclass(frozen=True, slots=True)
class Seed:
    """Another seed: every `torch.manual_seed` in the program, and the generator it starts with."""

    value: int


@dataclass(frozen=True, slots=True)
class Mode:
    """Every module is put in this mode when it is called from outside any module."""

    mode: Literal["train", "eval"]


Change: TypeAlias = "SetConstant | Replace | Nudge | Seed | Mode"
