"""What an explanation consists of: message ids with parameters, code, shapes and numbers. No sentence, no layout."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Param: TypeAlias = "str | int | Message | tuple[str, ...]"


@dataclass(frozen=True, slots=True)
class Message:
    """One sentence: its id in `words`, and what fills its placeholders.

    A parameter may be a message itself, or several texts, to be listed as the language lists them.
    """

    id: str
    params: tuple[tuple[str, Param], ...] = ()


def say(id: str, /, **params: Param) -> Message:  # noqa: A002 - positional only
    """A Message."""
    return Message(id, tuple(params.items()))


Said: TypeAlias = "str | Message"


@dataclass(frozen=True, slots=True)
class Code:
    """Code as its author wrote it, and the lines where it begins, several where it stands alike in several places.

    `text` may have several lines. `file` is "" for the program itself.
    """

    file: str
    lines: tuple[int, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Size:
    """The size of one axis, and the axis's name where it is known."""

    name: str | None
    size: int

    def __str__(self) -> str:
        return str(self.size) if self.name is None else f"{self.name}={self.size}"


Shape: TypeAlias = "tuple[Size, ...]"


@dataclass(frozen=True, slots=True)
class Equation:
    """Shapes before and after. `sign` stands between the operands: "·" where they are multiplied, "," where not.

    `label` says whose equation it is, where an Item has several.
    """

    operands: tuple[Shape, ...]
    results: tuple[Shape, ...]
    sign: Literal["·", ","] = ","
    label: str = ""


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a formula. The part in hand is the pieces with one of its keys."""

    text: str
    key: str = ""


Formula: TypeAlias = "tuple[Piece, ...]"


@dataclass(frozen=True, slots=True)
class Item:
    """Expressions that do alike things, told together: their code, the shapes before and after, and why it is so."""

    codes: tuple[Code, ...]
    equations: tuple[Equation, ...] = ()
    says: tuple[Message, ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the formula, in reading order: its names, the formula with the keys in hand, and what was done."""

    names: tuple[Said, ...]
    formula: Formula
    marks: frozenset[str]
    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Letter:
    """A letter of the shapes: its size, what it counts, and the user's own names for it."""

    letter: str
    size: int
    meaning: Message
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Weights:
    """A corner of the attention weights: rows are queries, columns keys.

    `sums` are of whole rows, empty where not all of a row is here; `queries` and `keys` are how many there are in all.
    """

    title: Message
    rows: tuple[tuple[float, ...], ...]
    sums: tuple[float, ...]
    queries: int
    keys: int


@dataclass(frozen=True, slots=True)
class Told:
    """One attention, told in full. `title` is in pieces; `steps` are the indices of the steps that were told."""

    title: tuple[Said, ...]
    formulas: tuple[Formula, ...]
    letters: tuple[Letter, ...]
    parts: tuple[Part, ...]
    weights: Weights | None
    notes: tuple[Message, ...]
    steps: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """A step in one line: the code (None where it has no source), what it is, the shapes of its results.

    `times`: how often it was done alike.
    """

    code: Code | None
    does: Said
    results: tuple[Shape, ...]
    times: int


@dataclass(frozen=True, slots=True)
class Explanation:
    """A Run, explained: first all attentions in a line each, then each told in full, then the steps that are none.

    `steps` are told with their reasons, where no attention was found; `rest` are the others, a line each, or all
    steps of the run with `complete`; `left_out` of them were left out.
    """

    program: str
    summary: tuple[Message, ...]
    overview: tuple[tuple[Said, ...], ...]
    told: tuple[Told, ...]
    steps: tuple[Item, ...]
    rest: tuple[Line, ...]
    complete: bool
    left_out: int
    notes: tuple[Message, ...]
