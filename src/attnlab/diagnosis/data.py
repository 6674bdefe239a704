"""What a diagnosis is: plain data, and no sentence; those stand in the catalogs of words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from attnlab.run import Source, Step

Shape: TypeAlias = "tuple[int, ...]"

# Tries steps on the recorded values: the shapes of the results of each step that ran, and what
# PyTorch said of the one that did not ("" where all ran).
Attempt: TypeAlias = "Callable[[Sequence[Step]], tuple[tuple[tuple[Shape, ...], ...], str]]"


@dataclass(frozen=True, slots=True)
class Message:
    """A sentence to be said: its id in the catalogs, and what fills its placeholders."""

    id: str
    params: Mapping[str, str | int]


@dataclass(frozen=True, slots=True)
class Row:
    """One operand of the failing expression.

    `text`   what it is called in the user's code, or in the library's where the user wrote no name
    `value`  id of its Value; None for sizes that were asked for, as those of a `view`
    `axes`   names of its axes, its size for one without; () where none is known
    `detail` its dtype or device, where that is what does not fit; else ""
    `marks`  the axes that do not fit, counted from 0
    `origin` the expression that made it; None where it is not known
    `made`   its text, with the name that was given to its value: "Q = self.W_q(x)"
    `kind`   "result", "parameter", "buffer", "input", "inside" (made within the same call of a
             library) or "asked" (no tensor)
    """

    text: str
    value: int | None
    shape: Shape
    axes: tuple[str, ...]
    detail: str
    marks: tuple[int, ...]
    origin: Source | None
    made: str
    kind: str


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Another expression in place of `source`, and what became of it when it was tried.

    `shown`   its text, with the name that its value is given where it stands in another line
    `verdict` "fits"; "fails": PyTorch refuses it too; "mixes": it runs, and means something else.
    `shapes`  of the operands as they would then be
    `results` shapes of what comes out; () where it fails
    `note`    why, where that is not plain
    """

    text: str
    source: Source
    shown: str
    verdict: Literal["fits", "fails", "mixes"]
    shapes: tuple[Shape, ...]
    results: tuple[Shape, ...]
    note: Message | None


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Why an operation did not take its operands, and what would fit.

    `aligned`: the shapes are to be read from the right, one under the other, as broadcasting does.
    `tried`: changes were tried; then no suggestion means that none fits.
    """

    source: Source
    text: str
    step: Step | None
    rows: tuple[Row, ...]
    aligned: bool
    reason: Message
    notes: tuple[Message, ...]
    suggestions: tuple[Suggestion, ...]
    tried: bool
