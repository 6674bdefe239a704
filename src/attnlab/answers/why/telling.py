"""How code, shapes and numbers are written in an answer."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from math import isinf, isnan

from attnlab.answers.data import Literally, Shown, Text
from attnlab.answers.edits import without_comments
from attnlab.answers.why.bench import Bench, Tried
from attnlab.answers.why.rewriting import Rewrite, key_of, operand, rewritten
from attnlab.attention import Grid
from attnlab.explanation.data import Code, Message, say
from attnlab.run import CORNER, Source, Step


def text(*says: Message) -> Text:
    """Sentences that stand together."""
    return Text(says)


def shown(bench: Bench, source: Source, *rewrites: Rewrite) -> Shown:
    """The lines on which an expression stands, without comments; with rewritings, as they are after these."""
    span = source.span
    file = bench.run.sources.get(span.file)
    if file is None:  # code that was made while the program ran: of it there is the expression alone
        return Shown(Code("" if span.file == bench.lab.main else span.file, (span.line,), source.text), False)
    changed = rewritten(bench.run, rewrites).get(span.file, file)
    last = span.end_line + changed.count("\n") - file.count("\n")
    body = textwrap.dedent("\n".join(without_comments(changed)[span.line - 1 : last]))
    return Shown(Code("" if span.file == bench.lab.main else span.file, (span.line,), body), changed is not file)


def codes(bench: Bench, steps: Sequence[Step]) -> list[Shown]:
    """The lines of several steps, each once."""
    return list(dict.fromkeys(shown(bench, step.source) for step in steps if step.source is not None))


def sizes(shape: Sequence[int]) -> str:
    """A shape in numbers: [2, 4, 8]."""
    return f"[{', '.join(map(str, shape))}]"


def letters(bench: Bench, value: int) -> str:
    """A shape in names: [B, L, d_k]; an axis without a name by its size."""
    shape = bench.shape(value)
    names = bench.axes.names(value, bench.attention.index)
    return f"[{', '.join(name or str(size) for name, size in zip(names, shape, strict=True))}]"


def named(bench: Bench, value: int, axis: int) -> str:
    """One axis: L=4, or its size alone."""
    name, size = bench.axes.names(value, bench.attention.index)[axis], bench.shape(value)[axis]
    return str(size) if name is None else f"{name}={size}"


def lengths_of(bench: Bench, grid: Grid) -> str:
    """How many queries and keys: L=4, or L_q=5, L_k=8."""
    axes = [axis for axis in (grid.query, grid.key) if axis is not None and grid.value is not None]
    return ", ".join(dict.fromkeys(named(bench, grid.value or 0, axis) for axis in axes))


def number(value: float, digits: int = 4) -> str:
    """A number with so many decimals; whole ones that are too large for them, or too small, in powers of ten."""
    if isnan(value):
        return "NaN"
    if isinf(value):
        return "∞" if value > 0 else "-∞"
    if value and not 0.5 * 10.0**-digits <= abs(value) < 1e6:
        return f"{value:.1e}"
    return f"{value:.{digits}f}"


def fixed(value: float) -> str:
    """A number in a table, with four decimals whatever its size."""
    return number(value) if isnan(value) or isinf(value) else f"{value:.4f}"


def place(shape: Sequence[int], at: dict[int, int], along: int | None = None) -> str:
    """An index: [0, 1, 2], an axis that is not in `at` at 0; ":" at the axis `along`, which is left out at the end."""
    items = [":" if axis == along else str(at.get(axis, 0)) for axis in range(len(shape))]
    while items and items[-1] == ":":
        items.pop()
    return f"[{', '.join(items)}]" if items else ""


def failed(tried: Tried) -> Literally | Text | None:
    """What ended a run early; None where it ran to its end, or no further than the first one did."""
    if tried.failure:
        return Literally(tried.failure)
    if tried.reply.ended in ("time", "memory", "died"):
        return text(say(f"why.ended.{tried.reply.ended}"))
    return None


def equation(bench: Bench, step: Step) -> Literally:
    """What goes into a product and what comes out of it: [B, L, d_k] · [B, d_k, L] → [B, L, L] = [2, 4, 4]."""
    result = step.results[0]
    operands = " · ".join(letters(bench, value) for value in step.refs)
    return Literally(f"{operands} → {letters(bench, result)} = {sizes(bench.shape(result))}")


def called(step: Step, value: int, otherwise: str) -> str:
    """What the user calls an operand of a step, where that is a name; else what the paper calls it."""
    key = key_of(step, value)
    part = None if key is None else operand(step, key)
    return part.text if part is not None and is_name(part.text) else otherwise


def result_name(step: Step, otherwise: str) -> str:
    """What the user calls the result of a step; else what the paper calls it."""
    targets = () if step.source is None else step.source.targets
    return targets[0] if len(targets) == 1 else otherwise


def is_name(expression: str) -> bool:
    """Whether an expression is a name: `Q`, `self.queries`."""
    return all(part.isidentifier() for part in expression.split("."))


def first_of(bench: Bench) -> Message:
    """What of the scores the numbers are taken from: the first sample and head, and a corner where they are large."""
    attention = bench.attention
    grid = attention.weights if attention.scores.value is None else attention.scores
    axes = 0 if grid.value is None else len(bench.shape(grid.value))
    kind = "heads" if (attention.heads or 1) > 1 else "sample"
    if axes == sum(axis is not None for axis in (grid.query, grid.key)):
        kind = "one"
    found = say(f"why.first.{kind}")
    large = max(attention.queries or 1, attention.keys or 1) > CORNER
    return say("why.first.corner", of=found, corner=CORNER) if large else found
