"""An answer as lines of text for a terminal."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence

from attnlab.answers.data import Answer, Bars, Block, Cell, Literally, Shown, Table, Text, Title
from attnlab.answers.fault import Fault
from attnlab.diagnosis import Diagnosis
from attnlab.explanation.data import Param
from attnlab.views.diagnosis import lines as diagnosed
from attnlab.views.paint import Paint
from attnlab.views.text import cells, fit, pad, pad_left, plain, wrap
from attnlab.words import Words

INDENT = "    "
# Stands in the indent, before what was changed and before the rows that matter.
MARK = "  → "
GAP = "  "
# A column of text is cut down to this many cells before its row is folded.
NARROWEST = 20
BAR = "█"
# A bar for a number that is not 0 has at least one cell; the longest has at most this many.
LONGEST = 40


def lines(answer: Answer, words: Words, width: int, colour: bool = False) -> list[str]:
    """The answer in lines of at most `width` cells; with `colour`, escape sequences come on top of these."""
    view = _View(words, width, colour)
    found: list[str] = []
    before: Block | None = None
    for block in answer.blocks:
        if before is not None and not _together(before, block):
            found.append("")
        if isinstance(block, Shown) and block.code.file and not _same_file(before, block):
            found += view.file(block)
        found += view.block(block)
        before = block
    return found


def _together(before: Block, block: Block) -> bool:
    """Whether two blocks stand without an empty line between them."""
    match before, block:
        case (Title(), _) | (Shown(), Shown()) | (Text(), Table() | Bars() | Literally()):
            return True
        case _:
            return False


def _same_file(before: Block | None, block: Shown) -> bool:
    return isinstance(before, Shown) and before.code.file == block.code.file


class _View:
    """What every block needs: the words, the room, and whether there is colour."""

    def __init__(self, words: Words, width: int, colour: bool) -> None:
        self._words = words
        self._width = width
        self._room = width - len(INDENT)
        self._paint = Paint(colour)

    def block(self, block: Block) -> list[str]:
        match block:
            case Title():
                return [self._paint("strong", line) for line in wrap(self._said(block.says), self._width)]
            case Text():
                space = "" if self._words.language == "zh" else " "
                return self._indented(space.join(map(self._said, block.says)))
            case Shown():
                return self._shown(block)
            case Table():
                return self._table(block)
            case Bars():
                return self._bars(block)
            case Fault(diagnosis=Diagnosis() as diagnosis):
                told = diagnosed(diagnosis, block.run, self._words.say, self._width)
                return [
                    *self._literally(block.text),
                    "",
                    *(line for long in told for line in wrap(long, self._width, 8)),
                ]
            case Literally():
                return self._literally(block.text)

    def _literally(self, text: str) -> list[str]:
        return [part for line in text.splitlines() for part in self._indented(plain(line))]

    def _said(self, cell: Cell) -> str:
        """A cell as text; what a person wrote is made safe to print."""
        if isinstance(cell, str):
            return plain(cell)
        return self._words.say(cell.id, **{name: self._filled(value) for name, value in cell.params})

    def _filled(self, value: Param) -> str | int:
        if isinstance(value, tuple):
            return self._words.say("list.comma").join(map(plain, value))
        return value if isinstance(value, int) else self._said(value)

    def _painted(self, style: str, line: str) -> str:
        return self._paint(style, line) if style else line

    def _indented(self, text: str) -> list[str]:
        return [INDENT + line for line in wrap(text, self._room)]

    def file(self, block: Shown) -> list[str]:
        """The name of the file that code stands in."""
        return self._indented(plain(os.path.basename(block.code.file)))

    def _shown(self, block: Shown) -> list[str]:
        code = block.code
        found: list[str] = []
        for number, text in enumerate(code.text.splitlines(), code.lines[0]):
            label = f"{number:>4}{GAP}"
            body = [label + text for text in wrap(plain(text), max(self._room - len(label), 1))]
            body[1:] = [" " * len(label) + line.removeprefix(label) for line in body[1:]]
            indents = [MARK if block.changed else INDENT, *[INDENT] * len(body)]
            found += [
                self._painted("code" if block.changed else "", indent + line)
                for indent, line in zip(indents, body, strict=False)
            ]
        return found

    def _table(self, block: Table) -> list[str]:
        grid = [[self._said(cell) for cell in row] for row in (block.columns, *block.rows)]
        align = block.align.ljust(len(block.columns), "<")
        headed = any(grid[0])
        grid = grid if headed else grid[1:]
        if not grid:
            return []
        grid, align, dropped = self._fitting(grid, align)
        found: list[str] = []
        for index, body in enumerate(self._rows(grid, align), -1 if headed else 0):
            style = "faint" if index < 0 else "strong" if index in block.marked else ""
            indents = [MARK if index in block.marked else INDENT, *[INDENT] * len(body)]
            found += [self._painted(style, indent + line) for indent, line in zip(indents, body, strict=False)]
        if dropped:
            found += self._indented(self._words.say("answer.dropped", count=dropped))
        return found

    def _fitting(self, grid: list[list[str]], align: str) -> tuple[list[list[str]], str, int]:
        """The table with its widest column of text cut, or its last columns of numbers dropped, until it fits.

        Where neither helps it comes back as it is, to be folded.
        """
        widths = _widths(grid)
        widest = _widest_text(widths, align)
        over = _width(widths) - self._room
        if over <= 0:
            return grid, align, 0
        if widest is not None and widths[widest] - over >= NARROWEST:
            room = widths[widest] - over
            return (
                [[fit(cell, room) if at == widest else cell for at, cell in enumerate(row)] for row in grid],
                align,
                0,
            )
        kept = len(widths)
        while kept > 2 and align[kept - 1] == ">" and _width(widths[:kept]) > self._room:
            kept -= 1
        if _width(widths[:kept]) > self._room:
            return grid, align, 0
        return [row[:kept] for row in grid], align[:kept], len(widths) - kept

    def _rows(self, grid: list[list[str]], align: str) -> Iterator[list[str]]:
        """The lines of each row. One that is too wide is folded behind its widest text: what follows stands below."""
        widths = _widths(grid)
        cut = _widest_text(widths, align)
        hang = 0 if cut is None else _width([*widths[:cut], 0])
        for row in grid:
            if _width(widths) <= self._room:
                yield [_aligned(row, widths, align)]
            elif cut is None or hang > self._room // 2:
                yield wrap(GAP.join(row), self._room, len(GAP))
            else:
                head = _aligned([*row[:cut], ""], [*widths[:cut], 0], align[: cut + 1])
                first, *more = wrap(row[cut], self._room - hang)
                below = _aligned(row[cut + 1 :], widths[cut + 1 :], align[cut + 1 :])
                if cells(below) + hang <= self._room:
                    more.append(below)
                else:
                    more += wrap(GAP.join(row[cut + 1 :]), self._room - hang)
                yield [pad(head, hang) + first, *(" " * hang + line for line in more if line)]

    def _bars(self, block: Bars) -> list[str]:
        labels = [self._said(label) for label, _, _ in block.rows]
        texts = [self._said(text) for _, _, text in block.rows]
        column = max(map(cells, labels), default=0)
        room = self._room - column - max(map(cells, texts), default=0) - 2 * len(GAP)
        longest = max(min(room, LONGEST), 1)
        lengths = _lengths([value for _, value, _ in block.rows], block.scale == "log", longest)
        return [
            INDENT + fit(f"{pad(label, column)}{GAP}{BAR * length}{GAP if length else ''}{text}", self._room)
            for label, length, text in zip(labels, lengths, texts, strict=True)
        ]


def _widths(grid: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(cells, column)) for column in zip(*grid, strict=True)]


def _width(widths: Sequence[int]) -> int:
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _widest_text(widths: Sequence[int], align: str) -> int | None:
    """The place of the widest column of text; None where all are of numbers."""
    texts = [at for at, side in enumerate(align) if side == "<"]
    return max(texts, key=lambda at: widths[at]) if texts else None


def _aligned(row: Sequence[str], widths: Sequence[int], align: str) -> str:
    padded = [
        (pad_left if side == ">" else pad)(cell, width) for cell, width, side in zip(row, widths, align, strict=True)
    ]
    return GAP.join(padded).rstrip()


def _lengths(values: Sequence[float | None], log: bool, longest: int) -> list[int]:
    """The cells of each bar. On a log scale the smallest number has one cell, and what is not above 0 none."""
    known = [value for value in values if value is not None and math.isfinite(value) and value > 0]
    if not known:
        return [0] * len(values)
    low, high = math.log(min(known)), math.log(max(known))

    def length(value: float | None) -> int:
        if value is None or math.isnan(value) or value <= 0:
            return 0
        if math.isinf(value) or value == max(known):
            return longest
        share = (math.log(value) - low) / (high - low) if log else value / max(known)
        return max(round(share * longest), 1)

    return [length(value) for value in values]
