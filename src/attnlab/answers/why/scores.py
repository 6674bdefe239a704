"""`scores`: why there are L × L of them, and which cell is which dot product."""

from __future__ import annotations

from collections.abc import Sequence
from math import isclose

from attnlab.answers.data import Answer, Block, Cell, Table, Title
from attnlab.answers.why import meeting
from attnlab.answers.why.bench import Bench
from attnlab.answers.why.levers import Lever, levers
from attnlab.answers.why.meeting import Meeting
from attnlab.answers.why.opening import on_bench
from attnlab.answers.why.reading import Look, Matrix, read
from attnlab.answers.why.telling import (
    called,
    codes,
    equation,
    first_of,
    lengths_of,
    number,
    place,
    result_name,
    sizes,
    text,
)
from attnlab.attention import Attention, Grid
from attnlab.experiments.lab import Lab
from attnlab.explanation.data import Message, say
from attnlab.run import CORNER

# The table of scores has at most so many rows and columns.
WIDE = 6
# Of more terms than FEW only the first three and the last are written out.
FEW = 8
FIRST = 3


def answer(lab: Lab, attention: Attention) -> Answer:
    """The answer.

    `numbers`: "shapes" by setting; "cell" (its index), "q", "k", "sum" and "recorded".

    Raises `NotAgain` for a program that is too long to be run again.
    """
    bench, told = on_bench(lab, attention)
    attention = bench.attention
    step = bench.step(attention.scores.step)
    blocks: list[Block] = [Title(say("why.scores.title", axes=_axes(attention))), *(told or codes(bench, [step]))]
    numbers: dict[str, object] = {}
    seen = next((item for item in (attention.scores, attention.weights) if item.value is not None), None)
    if seen is None:
        return Answer("scores", (*blocks, text(say("why.scores.unseen"))), numbers)
    if attention.style == "written":
        shape = bench.shape(seen.value or 0)
        queries, keys = (1 if axis is None else shape[axis] for axis in (seen.query, seen.key))
        blocks += [equation(bench, step), text(say("why.scores.each", queries=queries, keys=keys))]
    blocks += _experiment(bench, seen, numbers)
    met = meeting.of_scores(bench)
    if met is not None:
        blocks += _by_hand(bench, met, numbers)
    elif attention.style == "written":
        blocks.append(text(say("why.scores.additive" if attention.additive else "why.scores.other")))
    return Answer("scores", tuple(blocks), numbers)


def _axes(attention: Attention) -> str:
    """L × L; L_q × L_k where queries and keys are not the same tokens."""
    return "L_q × L_k" if attention.kind == "cross" or attention.queries != attention.keys else "L × L"


def _experiment(bench: Bench, seen: Grid, numbers: dict[str, object]) -> list[Block]:
    """What becomes longer, and what stays, where a number in the source grows."""
    assert seen.value is not None
    shape = bench.shape(seen.value)
    settings = _settings(bench, seen)
    if not settings:
        return [text(say("why.lever.none", axes=lengths_of(bench, seen)))]
    tried = bench.each([lever.set(value) for lever, value in settings], numbers=False)
    found = [item.shape(seen.value) for item in tried]
    numbers["shapes"] = {f"{lever.name} = {value}": size for (lever, value), size in zip(settings, found, strict=True)}
    rows: list[tuple[Cell, ...]] = [(say("why.unchanged"), sizes(shape), _count(shape, seen))]
    for (lever, value), size in zip(settings, found, strict=True):
        cells: tuple[Cell, ...] = (say("why.failed"), "") if size is None else (sizes(size), _count(size, seen))
        rows.append((f"{lever.name} = {value}", *cells))
    sizes_by: dict[str, list[tuple[int, ...]]] = {}
    for (lever, _), size in zip(settings, found, strict=True):
        sizes_by.setdefault(lever.name, []).extend([] if size is None else [size])
    says = [_moves(name, shape, several, seen) for name, several in sizes_by.items() if several]
    names = ", ".join(dict.fromkeys(lever.name for lever, _ in settings))
    what = say("why.what.scores" if seen is bench.attention.scores else "why.what.weights")
    count = "why.scores.count.heads" if (bench.attention.heads or 1) > 1 else "why.scores.count.sample"
    heads = ("", say("why.shape", what=what), say(count))
    return [
        Title(say("why.experiment.set", names=names)),
        Table(heads, tuple(rows), "<<>", frozenset({0})),
        *([text(*says)] if says else []),
    ]


def _settings(bench: Bench, seen: Grid) -> list[tuple[Lever, int]]:
    """The lengths that are tried, by what sets them in the source; last, twice as many features."""
    found: dict[str, tuple[Lever, int]] = {}
    value = seen.value
    for axis in (seen.query, seen.key):
        for lever in levers(bench, value, axis)[:1] if value is not None and axis is not None else []:
            numbers = [lever.number(length) for length in sorted({1, lever.size + 2, 16, 64} - {lever.size})]
            found |= {f"{lever.name} {item}": (lever, item) for item in numbers if item is not None and item > 0}
    met = meeting.of_scores(bench)
    for lever in levers(bench, met.first.value, met.first.summed)[:1] if met is not None else []:
        found[lever.name] = (lever, 2 * lever.value)
    return list(found.values())


def _count(shape: tuple[int, ...], seen: Grid) -> str:
    """How many scores one sample (and head) has: 4 × 4 = 16."""
    queries, keys = (1 if axis is None else shape[axis] for axis in (seen.query, seen.key))
    return f"{queries} × {keys} = {queries * keys:,}"


def _moves(name: str, shape: tuple[int, ...], several: Sequence[tuple[int, ...]], seen: Grid) -> Message:
    """Which axes of the scores followed a number in the source."""
    axes = [axis for axis in (seen.query, seen.key) if axis is not None]
    moved = [axis for axis in axes if any(size[axis] != shape[axis] for size in several)]
    kind = "none" if not moved else "both" if len(moved) == 2 else "query" if moved == [seen.query] else "key"
    return say(f"why.scores.moves.{kind}", name=name)


def _by_hand(bench: Bench, met: Meeting, numbers: dict[str, object]) -> list[Block]:
    """The scores of the first sample, and one of them worked out."""
    if met.columns is None:
        return [text(say("why.scores.unread"))]
    (made,) = read(bench, [Look(met.step, met.result, met.rows, met.columns, CORNER)])
    looks = [Look(met.step, side.value, side.own, side.summed) for side in (met.first, met.second)]
    q, k = read(bench, looks)
    if made is None or q is None or k is None:
        return [text(say("why.scores.unread"))]
    row, column = min(1, len(made) - 1), min(2, len(made[0]) - 1, len(k) - 1)
    terms = [a * b for a, b in zip(q[row], k[column], strict=True)]
    recorded, total = made[row][column], sum(terms)
    step = bench.step(met.step)
    name = result_name(step, "scores")
    cell = name + place(bench.shape(met.result), _at(met.rows, row) | _at(met.columns, column))
    numbers |= {"cell": cell, "q": q[row], "k": k[column], "sum": total, "recorded": recorded}
    blocks: list[Block] = [Title(say("why.scores.first", of=first_of(bench), name=name)), _grid(made, row)]
    if not isclose(total, recorded, rel_tol=1e-3, abs_tol=1e-4 * sum(map(abs, terms)) + 1e-6):
        return [*blocks, text(say("why.scores.more"))]
    texts = _vector(bench, met, "first", row), _vector(bench, met, "second", column)
    table = _terms(q[row], k[column], terms, texts)
    says = say("why.scores.worked", cell=cell, q=texts[0], k=texts[1], sum=number(total), recorded=number(recorded))
    return [*blocks, Title(say("why.scores.hand", cell=cell)), table, text(says)]


def _at(axis: int | None, index: int) -> dict[int, int]:
    return {} if axis is None else {axis: index}


def _grid(made: Matrix, row: int) -> Table:
    """A corner of the scores, the row of the one that is worked out marked."""
    columns = min(WIDE, len(made[0]))
    rows = [(say("why.query", at=at), *map(number, cells[:columns])) for at, cells in enumerate(made[:WIDE])]
    heads = ("", *(say("why.key", at=at) for at in range(columns)))
    return Table(heads, tuple(rows), "<" + ">" * columns, frozenset({row}))


def _vector(bench: Bench, met: Meeting, which: str, row: int) -> str:
    """How a query or key is written: Q[0, 1]; a key as it was before it was turned."""
    side = met.first if which == "first" else met.second
    step, value, axis, along = bench.step(met.step), side.value, side.own, side.summed
    part = bench.attention.q if which == "first" else bench.attention.k
    if part.turned is not None and value == part.entered:
        step, last = bench.step(part.turned), len(bench.shape(value)) - 1
        swap = {last: last - 1, last - 1: last}
        value, axis, along = step.refs[0], None if axis is None else swap.get(axis, axis), swap.get(along, along)
    name = called(step, value, "Q" if which == "first" else "K")
    return name + place(bench.shape(value), _at(axis, row), along)


def _terms(q: tuple[float, ...], k: tuple[float, ...], terms: list[float], texts: tuple[str, str]) -> Table:
    """The terms of a dot product, one a row, and their sum."""
    rows: list[tuple[Cell, ...]] = [
        (str(at), number(q[at]), number(k[at]), number(terms[at])) for at in range(len(terms))
    ]
    if len(rows) > FEW:
        rows[FIRST:-1] = [("…", "…", "…", "…")]
    rows.append((say("why.scores.sum"), "", "", number(sum(terms))))
    heads = (say("why.scores.feature"), *texts, say("why.scores.product"))
    return Table(heads, tuple(rows), "<>>>", frozenset({len(rows) - 1}))
