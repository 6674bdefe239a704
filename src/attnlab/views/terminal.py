"""An explanation for a terminal: on the left the formula with the part in hand, on the right code and shapes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from attnlab.explanation.data import Code, Explanation, Item, Letter, Line, Param, Part, Said, Told
from attnlab.views.grid import grid
from attnlab.views.paint import Paint
from attnlab.views.shapes import HARD_SPACE, equation, shape
from attnlab.views.text import cells, fit, pad, pad_left, plain, wrap, wrap_code
from attnlab.words import Words

_WIDEST = 100  # longer lines are hard to read
_MARGIN = 4
_LEFT = 24
_HANG = 4


def render(explanation: Explanation, words: Words, width: int, colour: bool) -> str:
    """The explanation in lines of at most `width` cells, which should be 80 or more; it ends with a newline."""
    page = _Page(words, min(width, _WIDEST), Paint(colour))
    return "\n".join(line.rstrip() for line in page.lines(explanation)) + "\n"


def sentence(said: Said, words: Words) -> str:
    """One message as text."""
    return _Page(words, _WIDEST, Paint(False)).say(said)


@dataclass(frozen=True)
class _Row:
    """A line of the right side: a line number (or none), a text, and the style of the text."""

    text: str
    style: str = ""
    label: str = ""


@dataclass(frozen=True)
class _Page:
    words: Words
    width: int
    paint: Paint

    def say(self, said: Said) -> str:
        """The text of a message; what the user wrote is made safe to print."""
        if isinstance(said, str):
            return plain(said)
        return self.words.say(said.id, **{name: self._filled(value) for name, value in said.params})

    def _filled(self, value: Param) -> str | int:
        if isinstance(value, tuple):
            return self.words.say("list.comma").join(map(plain, value))
        return value if isinstance(value, int) else self.say(value)

    def lines(self, explanation: Explanation) -> Iterator[str]:
        first, *more = explanation.summary
        head = [plain(explanation.program)] if explanation.program else []
        yield from self._wrapped(" · ".join([*head, self.say(first)]), "strong")
        for message in more:
            yield from self._wrapped(self.say(message))
        if explanation.overview:
            yield ""
            yield from self._overview(explanation.overview)
            yield from self._wrapped(self.words.say("overview.hint"), indent=_MARGIN)
        for told in explanation.told:
            yield ""
            yield from self._told(told)
        gutter = _gutter(explanation.steps)
        for item in explanation.steps:
            yield ""
            yield from (self._row(row, gutter) for row in self._item(item, self.width - gutter))
        if explanation.rest:
            yield ""
            yield self.paint("strong", self.words.say("rest.all" if explanation.complete else "rest.title"))
            yield from self._rest(explanation.rest)
        if explanation.left_out:
            yield from self._wrapped(self.words.say("rest.left", count=explanation.left_out))
        for note in explanation.notes:
            yield ""
            yield from self._wrapped(self.say(note))

    def _wrapped(self, text: str, style: str = "", indent: int = 0) -> Iterator[str]:
        for line in wrap(text, self.width - indent):
            yield " " * indent + self.paint(style, line)

    def _overview(self, rows: Sequence[tuple[Said, ...]]) -> Iterator[str]:
        numbers = [self.say(row[0]) for row in rows]
        column = max(map(cells, numbers)) + 2 + _MARGIN
        for number, row in zip(numbers, rows, strict=True):
            first, *more = wrap(" · ".join(map(self.say, row[1:])), self.width - column)
            yield pad_left(number, column - 2) + "  " + first
            yield from (" " * column + line for line in more)

    def _told(self, told: Told) -> Iterator[str]:
        yield from self._wrapped(" · ".join(map(self.say, told.title)), "strong")
        yield ""
        for formula in told.formulas:
            yield " " * _MARGIN + "".join(piece.text for piece in formula)
        yield ""
        yield from self._letters(told.letters)
        gutter = _gutter([item for part in told.parts for item in part.items])
        left = [self._left(number, part) for number, part in enumerate(told.parts, 1)]
        column = max([_LEFT, *(width + 2 for rows in left for _, width in rows)])
        for rows, part in zip(left, told.parts, strict=True):
            yield ""
            yield from self._part(rows, part, column, gutter)
        if told.weights is not None:
            yield ""
            yield from (
                " " * _MARGIN + line for line in grid(told.weights, self.words, self.width - _MARGIN, self.paint)
            )
        for note in told.notes:
            yield ""
            yield from self._wrapped(self.say(note), indent=_MARGIN)

    def _letters(self, letters: Sequence[Letter]) -> Iterator[str]:
        meanings = [self.say(item.meaning) for item in letters]
        column = max(map(cells, meanings), default=0)
        letter = max((len(item.letter) for item in letters), default=0)
        size = max((len(str(item.size)) for item in letters), default=0)
        for item, meaning in zip(letters, meanings, strict=True):
            text = f"{item.letter:<{letter}} = {item.size:>{size}}   {pad(meaning, column)}   {', '.join(item.names)}"
            yield " " * _MARGIN + fit(plain(text), self.width - _MARGIN)

    def _part(self, left: list[tuple[str, int]], part: Part, column: int, gutter: int) -> Iterator[str]:
        """One part: its names and the formula on the left; the code and what became of it on the right."""
        right = [
            self._row(row, gutter) for item in part.items for row in self._item(item, self.width - column - gutter)
        ]
        for index in range(max(len(left), len(right))):
            text, width = left[index] if index < len(left) else ("", 0)
            yield text + " " * (column - width) + (right[index] if index < len(right) else "")

    def _left(self, number: int, part: Part) -> list[tuple[str, int]]:
        """The lines of the left side, painted, each with its width."""
        names = [self.say(name) for name in part.names]
        found = [(self.paint("strong", name), cells(name)) for name in names]
        if part.marks:
            width = sum(cells(piece.text) for piece in part.formula)
            marked = [(piece, piece.key in part.marks) for piece in part.formula]
            found.append(("".join(self.paint("mark" if on else "faint", piece.text) for piece, on in marked), width))
            under = "".join(("^" if on else " ") * cells(piece.text) for piece, on in marked)
            found.append((self.paint("mark", under), width))
        starts = [f"{number:>2}  ", *[" " * _MARGIN] * len(found)]
        return [(start + text, _MARGIN + width) for start, (text, width) in zip(starts, found, strict=False)]

    def _item(self, item: Item, width: int) -> Iterator[_Row]:
        label = ""
        for code in item.codes:
            label = _lines(code)
            for row in self._code(code, width) if code.text else ():
                yield _Row(row, "code", label)
                label = ""
        for found in item.equations:
            yield from (_Row(row.replace(HARD_SPACE, " "), "shape") for row in wrap(plain(equation(found)), width, 2))
        for message in item.says:
            for line in self.say(message).split("\n"):
                for row in wrap(line, width, _indent(line)):
                    yield _Row(row, "", label)
                    label = ""

    def _code(self, code: Code, width: int) -> list[str]:
        """Code in lines of `width` cells; a longer line goes on below, further in."""
        place = f"   # {code.file.replace(chr(92), '/').rpartition('/')[2]}" if code.file else ""
        first, *more = (code.text + place).split("\n")
        return [row for line in (first, *more) for row in wrap_code(plain(line), width, _HANG)]

    def _row(self, row: _Row, gutter: int) -> str:
        label = self.paint("faint", pad_left(row.label, gutter - 2))
        return f"{label}  {self.paint(row.style, row.text)}"

    def _rest(self, rest: Sequence[Line]) -> Iterator[str]:
        labels = [_lines(line.code) if line.code else "" for line in rest]
        gutter = max(map(cells, labels)) + 2 + _MARGIN
        for line, label in zip(rest, labels, strict=True):
            text = line.code.text if line.code is not None and line.code.text else self.say(line.does)
            text = plain(text.replace("\n", " "))
            end = plain(", ".join(dict.fromkeys(shape(axes) for axes in line.results))).replace(HARD_SPACE, " ")
            end += f"   ×{line.times}" if line.times > 1 else ""
            room = self.width - gutter - (cells(end) + 2 if end else 0)
            row = _Row(fit(text, room), "code", label)
            yield pad(self._row(row, gutter), 0) + (
                " " * (room - cells(fit(text, room)) + 2) + self.paint("shape", end) if end else ""
            )


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _lines(code: Code) -> str:
    """The lines of code, short: "23", "23, 25", "23–27"."""
    first, last = code.lines[0], code.lines[-1]
    if len(code.lines) > 2 and last - first + 1 != len(code.lines):
        return f"{first}…{last}"
    return (
        str(first)
        if first == last
        else f"{first}–{last}"
        if last - first + 1 == len(code.lines)
        else f"{first}, {last}"
    )


def _gutter(items: Sequence[Item]) -> int:
    return max((cells(_lines(code)) for item in items for code in item.codes), default=0) + 2
