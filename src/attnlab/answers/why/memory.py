"""`memory`: how the scores grow with the length, measured as far as the machine allows and computed beyond."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from attnlab.answers.data import Answer, Bars, Block, Cell, Table, Title
from attnlab.answers.why.bench import Bench, Tried
from attnlab.answers.why.levers import Lever, levers
from attnlab.answers.why.opening import on_bench
from attnlab.answers.why.telling import codes, lengths_of, letters, sizes, text
from attnlab.attention import Attention, Grid
from attnlab.attention.graph import VIEWS
from attnlab.experiments.changes import SetConstant
from attnlab.experiments.lab import Lab
from attnlab.explanation.data import Message, say

LENGTHS = (64, 256, 1024, 4096, 16384, 65536, 131072)
# Seconds for all measurements together, and bytes that one may take.
BUDGET = 8.0
MEMORY = 2 << 30
_BYTES = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2}


@dataclass(frozen=True, slots=True)
class _Point:
    """One length: the shape of the scores, their bytes, and the seconds that the program took; None: not measured."""

    length: int
    shape: tuple[int, ...]
    bytes: int
    seconds: float | None


def answer(lab: Lab, attention: Attention) -> Answer:
    """The answer.

    `numbers`: by length, "shape", "bytes", "measured", and "seconds", of the whole program (None: not
    measured), the first as it stands; "copies", how many tensors of that shape one pass makes.

    Raises `NotAgain` for a program that is too long to be run again.
    """
    bench, told = on_bench(lab, attention)
    attention = bench.attention
    seen = next((item for item in (attention.scores, attention.weights) if item.value is not None), None)
    blocks: list[Block] = [Title(say("why.memory.title"))]
    blocks += told or codes(bench, [bench.step(attention.scores.step)])
    if seen is None or seen.value is None:
        return Answer("memory", (*blocks, text(say("why.memory.unseen"))))
    numbers: dict[str, object] = {}
    what = say("why.what.scores" if seen is attention.scores else "why.what.weights")
    blocks.append(text(*_size(bench, seen.value, what, numbers)))
    found = _levers(bench, seen)
    points, stopped = _points(bench, seen, found)
    numbers |= {str(point.length): _numbers(point) for point in points}
    if found is None:
        blocks.append(text(say("why.lever.none", axes=lengths_of(bench, seen))))
    names = " = ".join(dict.fromkeys(lever.name for lever in found or ()))
    blocks.append(Title(say("why.memory.experiment", names=names) if found else say("why.memory.computed")))
    blocks += [
        _table(points, what),
        *([text(stopped)] if stopped else []),
        Title(say("why.memory.bars", what=what)),
        _bars(points),
    ]
    blocks += [text(*says)] if (says := [*_growth(points, what), *_fused(lab, bench, attention)]) else []
    return Answer("memory", tuple(blocks), numbers)


def _axes(seen: Grid) -> list[int]:
    return [axis for axis in (seen.query, seen.key) if axis is not None]


def _bytes(bench: Bench, value: int) -> int:
    return _BYTES.get(bench.run.values[value].dtype, 4)


def _size(bench: Bench, value: int, what: Message, numbers: dict[str, object]) -> list[Message]:
    """What the scores take now, and how many tensors like them there are; `what`: scores, or weights in their place."""
    shape, each = bench.shape(value), _bytes(bench, value)
    taken = _text(prod(shape) * each)
    found = [
        say("why.memory.size", what=what, shape=letters(bench, value), count=f"{prod(shape):,}", each=each, bytes=taken)
    ]
    steps = [bench.step(index) for index in bench.attention.steps]
    copies = [
        step
        for step in steps
        if step.op not in VIEWS and not step.inplace and step.results and bench.shape(step.results[0]) == shape
    ]
    numbers["copies"] = len(copies)
    if len(copies) > 1:
        lines = dict.fromkeys(step.source.span.line for step in copies if step.source is not None)
        found.append(say("why.memory.copies", count=len(copies), lines=", ".join(map(str, lines))))
    return found


def _levers(bench: Bench, seen: Grid) -> list[Lever] | None:
    """What sets the lengths, one for each axis of queries and keys or one for both; None where it is not known."""
    found: dict[tuple[object, ...], Lever] = {}
    for axis in _axes(seen):
        moving = levers(bench, seen.value, axis)[:1] if seen.value is not None else []
        if not moving:
            return None
        found.setdefault(moving[0].constants, moving[0])
    return list(found.values())


def _points(bench: Bench, seen: Grid, found: list[Lever] | None) -> tuple[list[_Point], Message | None]:
    """The lengths, measured until time or memory end it, then computed; and what ended it."""
    assert seen.value is not None
    shape, each = bench.shape(seen.value), _bytes(bench, seen.value)
    own = max(shape[axis] for axis in _axes(seen))
    points = [_Point(own, shape, prod(shape) * each, bench.run.seconds)]
    stopped: Message | None = None
    until = time.monotonic() + BUDGET
    for length in (item for item in LENGTHS if item > own):
        seconds = None
        computed = tuple(length if axis in _axes(seen) else size for axis, size in enumerate(shape))
        if found is not None and stopped is None:
            tried, stopped = _measured(bench, found, length, until - time.monotonic())
            run = None if tried is None else tried.run
            measured = None if tried is None else tried.shape(seen.value)
            if run is not None and measured is not None:
                computed, seconds = measured, run.seconds
        points.append(_Point(length, computed, prod(computed) * each, seconds))
    return points, stopped


def _measured(bench: Bench, found: list[Lever], length: int, left: float) -> tuple[Tried | None, Message | None]:
    """The program with this length, within the time that is left; or what kept it from running."""
    changes: list[SetConstant] = []
    for lever in found:
        number = lever.number(length)
        if number is None or number < 1:
            return None, say("why.memory.stopped.number", name=lever.name, length=length)
        changes += lever.set(number)
    if left <= 0:
        return None, say("why.memory.stopped.time", bound=f"{BUDGET:.0f}")
    (tried,) = bench.each([changes], seconds=left, numbers=False)
    if tried.reply.ended == "memory":
        return None, say("why.memory.stopped.memory", length=length, bound=_text(MEMORY))
    if tried.reply.ended == "time":
        return None, say("why.memory.stopped.time", bound=f"{BUDGET:.0f}")
    if tried.failure:
        return None, say("why.memory.stopped.failure", length=length, error=tried.failure)
    return tried, None


def _table(points: Sequence[_Point], what: Message) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (
            str(point.length),
            sizes(point.shape),
            _text(point.bytes),
            say("why.memory.beyond") if point.seconds is None else f"{point.seconds:.2f} s",
        )
        for point in points
    ]
    heads = ("L", say("why.shape", what=what), say("why.memory.bytes"), say("why.memory.seconds"))
    return Table(heads, tuple(rows), "><>>", frozenset({0}))


def _bars(points: Sequence[_Point]) -> Bars:
    rows: list[tuple[Cell, float | None, Cell]] = []
    for point in points:
        text = _text(point.bytes)
        shown: Cell = text if point.seconds is not None else say("why.memory.computed_bar", bytes=text)
        rows.append((f"L = {point.length}", point.bytes, shown))
    return Bars(tuple(rows), "log")


def _growth(points: Sequence[_Point], what: Message) -> list[Message]:
    """How much longer, and how much more memory, from one measured length to the next."""
    measured = [point for point in points if point.seconds is not None]
    if len(measured) < 3:
        return []
    one, other = measured[-2:]
    if other.bytes / one.bytes != (other.length / one.length) ** 2:
        return []
    return [
        say(
            "why.memory.growth",
            what=what,
            low=one.length,
            high=other.length,
            times=f"{other.length / one.length:g}",
            more=f"{other.bytes / one.bytes:g}",
        )
    ]


def _fused(lab: Lab, bench: Bench, attention: Attention) -> list[Message]:
    """Whether the program as it stands, whose scores are kept inside, has a tensor of their shape at all."""
    value = attention.scores.value
    if bench.run is lab.run or value is None:
        return []
    shape = bench.shape(value)
    return [] if any(item.shape == shape for item in lab.run.values) else [say("why.memory.fused", shape=sizes(shape))]


def _text(count: int) -> str:
    """A number of bytes in the unit that suits it."""
    value, units = float(count), ["B", "KiB", "MiB", "GiB", "TiB"]
    while value >= 1024 and len(units) > 1:
        value /= 1024
        units.pop(0)
    return f"{value:g} {units[0]}" if value == int(value) else f"{value:.1f} {units[0]}"


def _numbers(point: _Point) -> dict[str, object]:
    return {
        "shape": point.shape,
        "bytes": point.bytes,
        "measured": point.seconds is not None,
        "seconds": point.seconds,
    }
