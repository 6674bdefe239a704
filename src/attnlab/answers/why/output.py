"""`output`: which sizes cancel in weights · V, and one row of the output as the weighted sum of values that it is."""

from __future__ import annotations

from collections.abc import Sequence
from math import isclose

from attnlab.answers.data import Answer, Block, Cell, Table, Title
from attnlab.answers.why import meeting
from attnlab.answers.why.bench import Bench
from attnlab.answers.why.meeting import Meeting
from attnlab.answers.why.opening import hidden, on_bench
from attnlab.answers.why.reading import Look, Looking, Matrix, read
from attnlab.answers.why.telling import codes, equation, fixed, named, place, result_name, text
from attnlab.attention import Attention
from attnlab.experiments.changes import Nudge
from attnlab.experiments.lab import Lab
from attnlab.explanation.data import Message, say
from attnlab.run import CORNER

# How many features and how many keys are written out.
FEATURES = 4
KEYS = 6


def answer(lab: Lab, attention: Attention) -> Answer:
    """The answer.

    `numbers`: "cell" (the row that is worked out), "weights", "values", "sum" and "recorded"; "nudged", the key whose
    value grew by 1, with how much each row of the output "moved" and the weight that each gave it, "column".

    Raises `NotAgain` for a program that is too long to be run again.
    """
    bench, told = on_bench(lab, attention)
    blocks: list[Block] = [Title(say("why.output.title"))]
    if hidden(bench):
        return Answer("output", (*blocks, *told))
    step = bench.step(bench.attention.output)
    blocks += told or codes(bench, [step])
    met = meeting.of_output(bench)
    if met is None:
        return Answer("output", (*blocks, text(say("why.output.other"))))
    blocks += [equation(bench, step), text(*_cancels(bench, met))]
    numbers: dict[str, object] = {}
    blocks += _by_hand(bench, met, numbers)
    blocks += _nudged(bench, met, numbers)
    return Answer("output", tuple(blocks), numbers)


def _cancels(bench: Bench, met: Meeting) -> list[Message]:
    """Which sizes meet and are gone, and which remain."""
    kept = [named(bench, met.result, axis) for axis in (met.rows, met.columns) if axis is not None]
    return [say("why.output.cancels", inner=named(bench, met.first.value, met.first.summed), kept=" × ".join(kept))]


def _by_hand(bench: Bench, met: Meeting, numbers: dict[str, object]) -> list[Block]:
    """One row of the output, as the weights times the values."""
    assert met.columns is not None  # `of_output` has features
    looks = [
        Look(met.step, met.result, met.rows, met.columns, CORNER),
        Look(met.step, met.first.value, met.first.own, met.first.summed),
        Look(met.step, met.second.value, met.second.own, met.second.summed),
    ]
    made, weights, values = read(bench, looks)
    if made is None or weights is None or values is None:
        return [text(say("why.output.unread"))]
    row = min(1, len(made) - 1, len(weights) - 1)
    sums = [sum(w * v for w, v in zip(weights[row], feature, strict=True)) for feature in values[: len(made[0])]]
    step = bench.step(met.step)
    name = result_name(step, "Z")
    cell = name + place(bench.shape(met.result), {} if met.rows is None else {met.rows: row}, met.columns)
    numbers |= {"cell": cell, "weights": weights[row], "values": values, "sum": tuple(sums), "recorded": made[row]}
    whole = zip(sums, made[row], strict=False)
    if not met.plain or not all(isclose(a, b, rel_tol=1e-3, abs_tol=1e-4) for a, b in whole):
        return [text(say("why.output.more"))]
    return [Title(say("why.output.hand", cell=cell)), _sum(weights[row], values, sums, made[row], cell)]


def _sum(weights: Sequence[float], values: Matrix, sums: Sequence[float], made: Sequence[float], cell: str) -> Table:
    """The keys with their weights and the first features of their values; their weighted sum; what was computed."""
    features = range(min(FEATURES, len(sums)))
    rows: list[tuple[Cell, ...]] = [
        (say("why.key", at=at), fixed(weight), *(fixed(values[feature][at]) for feature in features))
        for at, weight in enumerate(weights)
    ]
    if len(rows) > KEYS:
        rows[3:-1] = [("…",) * (2 + len(features))]
    rows.append((say("why.output.sum"), "", *(fixed(sums[feature]) for feature in features)))
    rows.append((cell, "", *(fixed(made[feature]) for feature in features)))
    heads = ("", say("why.output.weight"), *(say("why.output.feature", at=feature) for feature in features))
    return Table(heads, tuple(rows), "<" + ">" * (1 + len(features)), frozenset({len(rows) - 2, len(rows) - 1}))


def _nudged(bench: Bench, met: Meeting, numbers: dict[str, object]) -> list[Block]:
    """1 added to the value of one key: how far each row of the output moves."""
    value = bench.run.values[met.second.value]
    if value.step is None or met.columns is None:
        return []
    key = min(2, value.shape[met.second.summed] - 1)
    index = tuple(key if axis == met.second.summed else None for axis in range(len(value.shape)))
    nudge = Nudge(value.step, index, by=1.0, result=bench.step(value.step).results.index(value.id))
    looking = Looking(
        bench,
        [
            Look(met.step, met.result, met.rows, met.columns, CORNER),
            Look(met.step, met.first.value, met.first.own, met.first.summed),
        ],
    )
    plain = bench.again(*looking.rewrites)
    there = plain.nudge(nudge)
    if there is None:
        return []
    before, weights = looking.seen(plain)
    after, _ = looking.seen(bench.again(*looking.rewrites, there))
    if weights is None or before is None or after is None:
        return []
    moved = [[b - a for a, b in zip(one, other, strict=True)] for one, other in zip(before, after, strict=True)]
    column = [row[key] for row in weights]
    numbers |= {"nudged": key, "moved": tuple(map(tuple, moved)), "column": tuple(column)}
    if not all(
        isclose(cell, weight, rel_tol=1e-3, abs_tol=1e-4)
        for row, weight in zip(moved, column, strict=True)
        for cell in row
    ):
        return []
    rows = [
        (say("why.query", at=at), fixed(cells[0]), fixed(weight))
        for at, (cells, weight) in enumerate(zip(moved[:KEYS], column, strict=False))
    ]
    heads = ("", say("why.output.moved"), say("why.output.column", at=key))
    return [
        Title(say("why.output.experiment", at=key)),
        Table(heads, tuple(rows), "<>>"),
        text(say("why.output.share", at=key)),
    ]
