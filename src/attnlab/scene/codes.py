"""Files, lines and spans: where on the page what is told stands in the code."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping

from attnlab.axes import Axes
from attnlab.explanation.data import Code as Told
from attnlab.explanation.sight import Sight, main_file
from attnlab.run import Run, Span, Step
from attnlab.scene.data import Code, SourceFile


class Files:
    """The texts that are pointed into, numbered in the order in which they are met; the first is the program's own."""

    def __init__(self, sources: Mapping[str, str], main: str, name: str) -> None:
        """`main`: the path of the program's own text in `sources`; `name`: what the user calls it."""
        self.main = main
        self._sources = sources
        self._lines: dict[str, list[str]] = {}
        self._numbers = {main: 0}
        self._names = [name]

    def number(self, path: str) -> int:
        """The number of a file; "" is the program's own."""
        path = path or self.main
        if path not in self._numbers:
            self._numbers[path] = len(self._names)
            self._names.append(_short(path))
        return self._numbers[path]

    def listed(self) -> list[SourceFile]:
        """All files that were met."""
        return [
            {"name": name, "text": self._sources.get(path, "")}
            for path, name in zip(self._numbers, self._names, strict=True)
        ]

    def span(self, span: Span) -> tuple[int, int, int, int]:
        """A span with columns in UTF-16 units, as a page counts."""
        return span.line, self._column(span, span.line, span.col), span.end_line, self._end(span)

    def _end(self, span: Span) -> int:
        return self._column(span, span.end_line, span.end_col)

    def _column(self, span: Span, line: int, column: int) -> int:
        if span.file not in self._lines:
            self._lines[span.file] = self._sources.get(span.file, "").splitlines()
        lines = self._lines[span.file]
        text = lines[line - 1] if 0 < line <= len(lines) else ""
        return column if text.isascii() else column + sum(ord(character) > 0xFFFF for character in text[:column])


class Placed(Sight):
    """A sight of a Run that remembers where each code that it showed stands."""

    def __init__(self, run: Run, axes: Axes, attention: int | None, files: Files) -> None:
        super().__init__(run, axes, attention)
        self._files = files
        self._spans: dict[tuple[str, int, str], Span] = {}

    def code(self, step: Step, told: Collection[int] = ()) -> Told | None:
        """As the sight has it."""
        found = super().code(step, told)
        if found is not None and step.source is not None:
            self._spans.setdefault((found.file, found.lines[0], found.text), step.source.span)
        return found

    def placed(self, code: Told) -> Code:
        """Code as a page has it."""
        spans = [self._spans.get((code.file, line, code.text)) for line in code.lines]
        return {
            "file": self._files.number(code.file),
            "lines": list(code.lines),
            "spans": [
                (line, 0, line, 0) if span is None else self._files.span(span)
                for line, span in zip(code.lines, spans, strict=True)
            ],
            "text": code.text,
        }

    def of(self, value: int | None) -> list[Code]:
        """The code that made a value; none where that is not known."""
        made = None if value is None else self.run.values[value].step
        code = None if made is None else self.code(self.run.steps[made])
        return [] if code is None else [self.placed(code)]


def main_of(run: Run) -> str:
    """The path of the program's own text; "" where there is none."""
    if run.program.kind == "script" and not run.steps:
        return os.path.abspath(run.program.name)
    return main_file(run) or ""


def _short(path: str) -> str:
    """A path as it is told: beneath the current folder relative to it, else its name alone."""
    here = os.path.join(os.getcwd(), "")
    return path[len(here) :] if path.startswith(here) else os.path.basename(path)
