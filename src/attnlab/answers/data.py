"""What an answer consists of: blocks in reading order, and the numbers behind them. No sentence, no layout."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from attnlab.explanation.data import Code, Message

Cell: TypeAlias = "str | Message"


@dataclass(frozen=True, slots=True)
class Title:
    """What the blocks after it are about."""

    says: Message


@dataclass(frozen=True, slots=True)
class Text:
    """One or more sentences."""

    says: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Shown:
    """The user's code at its line, as it stands or with a change made in it."""

    code: Code
    changed: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under headings; `align` has "<" or ">" for each column. `marked` rows are those that matter."""

    columns: tuple[Cell, ...]
    rows: tuple[tuple[Cell, ...], ...]
    align: str = ""
    marked: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Bars:
    """Numbers drawn as bars: (label, value or None where it was not measured, text of the value)."""

    rows: tuple[tuple[Cell, float | None, Cell], ...]
    scale: Literal["linear", "log"] = "linear"


@dataclass(frozen=True, slots=True)
class Literally:
    """Text that is shown as it is: an error of PyTorch's, a line that the program printed."""

    text: str


Block: TypeAlias = "Title | Text | Shown | Table | Bars | Literally"


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer. `numbers` holds what was measured, by name, for whoever asks from a program."""

    question: str
    blocks: tuple[Block, ...]
    numbers: Mapping[str, object] = field(default_factory=dict[str, object])
