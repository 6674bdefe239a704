"""What an explanation sees of a Run: shapes with names, code with line numbers, numbers as they are shown."""

from __future__ import annotations

import ast
import os
import re
import textwrap
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from math import isinf, isnan

from attnlab.axes import Axes
from attnlab.explanation.data import Code, Shape, Size
from attnlab.run import Run, Source, Span, Step

ELLIPSIS = "…"
_CHAIN = re.compile(r"\s*\n\s*\.(?=[^\W\d])")  # a chain of methods over several lines is told on one
_LEAST = 4  # letters that must be left of an expression whose parts are replaced
_SHORT = 56  # an expression that is shown whole, even if a part of it was told before


def number(value: float) -> str:
    """A number as it is shown: whole ones in full, others with four significant digits."""
    if isnan(value):
        return "NaN"
    if isinf(value):
        return "∞" if value > 0 else "-∞"
    if value == int(value) and abs(value) < 1e6:
        return str(int(value))
    return f"{value:.4g}".replace("e+", "e")


class Sight:
    """A Run, its axes, and the attention in hand (None: none), whose letters are the ones that count."""

    def __init__(self, run: Run, axes: Axes, attention: int | None = None) -> None:
        self.run = run
        self.axes = axes
        self._attention = attention
        self._main = main_file(run)

    def shape(self, value: int) -> Shape:
        """The sizes of a value, named where a name is known."""
        names = self.axes.names(value, self._attention)
        return tuple(Size(name, size) for name, size in zip(names, self.run.values[value].shape, strict=True))

    def called(self, value: int, axis: int) -> tuple[str, ...]:
        """The user's own names for the size of an axis."""
        return tuple(name.text for name in self.axes.called(value, axis))

    def floating(self, value: int) -> bool:
        """Whether a value holds fractions rather than whole numbers or booleans."""
        return "float" in self.run.values[value].dtype

    def code(self, step: Step, told: Collection[int] = ()) -> Code | None:
        """The expression of a step as it was written, with the name that its result was given.

        A part of it that a step in `told` stands for is replaced by an ellipsis. None where a step has no source.
        """
        source = step.source
        if source is None or not source.text:
            return None
        text = _without(source, [inner for index in told if (inner := self.run.steps[index].source) is not None])
        line = _line(source, text)
        text = _CHAIN.sub(".", text)
        if source.targets and _is_expression(source.text):
            text = f"{', '.join(source.targets)} = {text}"
        return Code("" if source.span.file == self._main else source.span.file, (line,), _dedented(text))

    def name(self, value: int) -> str | None:
        """The name that the user gave to a value; None where it has none."""
        made = self.run.values[value].step
        step = None if made is None else self.run.steps[made]
        if step is None or step.source is None:
            return None
        targets = step.source.targets
        if len(targets) == 1:
            return targets[0]
        return targets[step.results.index(value)] if len(targets) == len(step.results) else None


def main_file(run: Run) -> str | None:
    """The file of the program itself: the script, else that in which most of the user's expressions stand."""
    if run.program.kind == "script" and (path := os.path.abspath(run.program.name)) in run.sources:
        return path
    files = Counter(step.source.span.file for step in run.steps if step.source is not None)
    return files.most_common(1)[0][0] if files else None


def _is_expression(text: str) -> bool:
    try:
        ast.parse(f"({text}\n)", mode="eval")
    except (SyntaxError, ValueError, RecursionError):
        return False
    return True


def _dedented(text: str) -> str:
    first, newline, rest = text.partition("\n")
    return first + newline + textwrap.dedent(rest)


def _line(source: Source, text: str) -> int:
    """The line on which what is left of a source begins: that of its end, where only its end is left."""
    return source.span.end_line if text.startswith(ELLIPSIS) and "\n" not in text else source.span.line


def _without(source: Source, inner: list[Source]) -> str:
    """The text of a source with an ellipsis in place of the expressions in it that were told already."""
    text = source.text
    found = {place for item in inner if (place := _place(source, item.span)) is not None}
    places = sorted(found, key=lambda place: (place[0], -place[1]))  # the outermost first
    chained = bool(places) and places[0][0] == 0 and text[places[0][1] :].lstrip().startswith(".")
    if len(_CHAIN.sub(".", text)) <= _SHORT and not chained:
        return text
    kept = ""
    at = 0
    for start, end in places:
        if start >= at and (start, end) != (0, len(text)) and end - start > 1:
            kept += text[at:start] + ELLIPSIS
            at = end
    kept += text[at:]
    if sum(map(str.isalnum, kept)) < _LEAST:
        return text
    if kept.startswith(ELLIPSIS):  # `….view(…)` on a line of its own
        kept = ELLIPSIS + kept[1:].lstrip() if kept[1:].lstrip().startswith(".") else kept
    return kept


def _place(outer: Source, span: Span) -> tuple[int, int] | None:
    """Where a span stands within the text of a source: offsets of its start and end; None where it does not."""
    start, end = _offset(outer, span.line, span.col), _offset(outer, span.end_line, span.end_col)
    if span.file != outer.span.file or start is None or end is None or not 0 <= start < end <= len(outer.text):
        return None
    return start, end


def _offset(source: Source, line: int, col: int) -> int | None:
    rows = source.text.split("\n")
    row = line - source.span.line
    if not 0 <= row < len(rows):
        return None
    before = sum(len(text) + 1 for text in rows[:row])
    return before + col - (source.span.col if row == 0 else 0)


# Copies, and changes of type or of place in memory: nothing that a reader would follow.
TRIVIAL = frozenset(
    [
        *(
            "contiguous",
            "clone",
            "detach",
            "float",
            "double",
            "half",
            "bfloat16",
            "to",
            "type",
            "type_as",
            "data",
            "cpu",
        ),
        *("cuda", "requires_grad"),
    ]
)


def holds(outer: Span, inner: Span) -> bool:
    """Whether a span lies within another, and is smaller."""
    return (
        outer != inner
        and (outer.file, outer.line, outer.col) <= (inner.file, inner.line, inner.col)
        and (inner.end_line, inner.end_col) <= (outer.end_line, outer.end_col)
    )


def joined(steps: Sequence[Step]) -> list[tuple[Step, ...]]:
    """The steps in groups: those that one evaluation of one expression made stand together."""
    groups: list[list[Step]] = []
    for step in steps:
        if groups and groups[-1][-1].call == step.call:
            groups[-1].append(step)
        else:
            groups.append([step])
    return [tuple(group) for group in groups]


def merged_codes(codes: Iterable[Code]) -> tuple[Code, ...]:
    """The codes, those of one text with all their lines."""
    found: dict[tuple[str, str], list[int]] = {}
    for code in codes:
        lines = found.setdefault((code.file, code.text), [])
        lines += [line for line in code.lines if line not in lines]
    return tuple(Code(file, tuple(sorted(lines)), text) for (file, text), lines in found.items())
