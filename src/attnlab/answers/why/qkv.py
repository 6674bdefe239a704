"""`qkv`: why there are three projections, shown by letting keys and values share that of the queries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from attnlab.answers.data import Answer, Block, Cell, Table, Title
from attnlab.answers.why import meeting, sharing
from attnlab.answers.why.bench import Bench, Tried
from attnlab.answers.why.opening import hidden, on_bench
from attnlab.answers.why.reading import Look, Looking, Matrix, largest_difference
from attnlab.answers.why.telling import codes, failed, first_of, number, place, result_name, text
from attnlab.attention import Attention, Grid
from attnlab.experiments.lab import Lab
from attnlab.explanation.data import Message, say

# What one run kept of the first sample and head: scores, weights, rows of the output; None where it is not known.
Case: TypeAlias = "tuple[Matrix | None, Matrix | None, Matrix | None]"


def answer(lab: Lab, attention: Attention) -> Answer:
    """The answer.

    `numbers`, for each of "own", "k", "v" and "both" (which share the queries' projection): "asymmetry", the largest
    |S - Sᵀ|; "itself", the mean weight that a token gives itself; "weights" and "output", their largest change.

    Raises `NotAgain` for a program that is too long to be run again.
    """
    bench, told = on_bench(lab, attention)
    blocks: list[Block] = [Title(say("why.qkv.title"))]
    if hidden(bench):
        return Answer("qkv", (*blocks, *told))
    blocks += codes(bench, [bench.step(item) for item in sharing.projections(bench)])
    changes, changed = sharing.changes(bench)
    if not changes:
        return Answer("qkv", (*blocks, text(say("why.qkv.none"))))
    blocks += [
        text(say("why.qkv.three")),
        *told,
        Title(say("why.qkv.experiment" if "v" in changes else "why.qkv.experiment_k")),
        *changed,
    ]
    looking = _looking(bench)
    views = () if looking is None else looking.rewrites
    runs = bench.each([(*rewrites, *views) for rewrites in ((), *changes.values())])
    cases = {name: _case(bench, looking, tried) for name, tried in zip(["own", *changes], runs, strict=True)}
    numbers = {name: _measured(bench, case, cases["own"]) for name, case in cases.items()}
    broken = [tried for tried in runs[1:] if tried.value(bench.attention.result) is None]
    blocks += [_table(bench, numbers)] if len(broken) < len(changes) else []
    blocks += [block for tried in broken[:1] if (block := failed(tried)) is not None]
    says = _says(bench, cases, numbers)
    return Answer("qkv", (*blocks, text(*says)) if says else tuple(blocks), dict(numbers))


def _looking(bench: Bench) -> Looking | None:
    """A look at the output, a row for each query; None where it is no product of weights and values."""
    met = meeting.of_output(bench)
    return (
        None
        if met is None or met.columns is None
        else Looking(bench, [Look(met.step, met.result, met.rows, met.columns)])
    )


def _case(bench: Bench, looking: Looking | None, tried: Tried) -> Case:
    scores, weights = (_seen(bench, tried, grid) for grid in (bench.attention.scores, bench.attention.weights))
    return scores, weights, None if looking is None else looking.seen(tried)[0]


def _seen(bench: Bench, tried: Tried, grid: Grid) -> Matrix | None:
    """The corner of scores or weights that was kept, queries by keys; None where it is of other axes."""
    numbers = None if grid.value is None else tried.numbers(grid.value)
    last = -1 if grid.value is None else len(bench.shape(grid.value)) - 1
    if numbers is None or {grid.query, grid.key} != {last - 1, last}:
        return None
    return numbers.corner if grid.key == last else tuple(zip(*numbers.corner, strict=True))


def _measured(bench: Bench, case: Case, first: Case) -> dict[str, float | None]:
    """What can be measured: a matrix has itself turned only where queries and keys are the same tokens."""
    attention = bench.attention
    scores, weights, _ = case
    same = attention.kind == "self" and scores is not None and len(scores) == len(scores[0])
    found: dict[str, float | None] = dict.fromkeys(("asymmetry", "itself"))
    if same and scores is not None:
        found["asymmetry"] = max(abs(scores[i][j] - scores[j][i]) for i in range(len(scores)) for j in range(i + 1))
    if same and weights is not None and len(weights) == len(weights[0]):
        found["itself"] = sum(weights[i][i] for i in range(len(weights))) / len(weights)
    for name, at in (("weights", 1), ("output", 2)):
        one, other = first[at], case[at]
        found[name] = None if one is None or other is None else largest_difference(one, other)
    return found


def _table(bench: Bench, numbers: Mapping[str, Mapping[str, float | None]]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for kind in ("asymmetry", "itself", "weights", "output"):
        cells = ["—" if cell is None else number(cell) for cell in (numbers[name][kind] for name in numbers)]
        if kind in ("weights", "output"):
            cells[0] = ""  # it is set beside itself
        if set(cells) - {"", "—"}:
            rows.append((say(f"why.qkv.{kind}"), *cells))
    heads = (first_of(bench), *(say(f"why.qkv.case.{name}") for name in numbers))
    return Table(heads, tuple(rows), "<" + ">" * len(numbers))


def _says(bench: Bench, cases: Mapping[str, Case], numbers: Mapping[str, Mapping[str, float | None]]) -> list[Message]:
    """What the numbers show; nothing that they do not."""
    found: list[Message] = []
    before, after = numbers["own"]["asymmetry"], numbers["k"]["asymmetry"]
    if before and after is not None and after <= 1e-5 * before:
        found.append(_symmetric(bench, cases))
    own, shared = numbers["own"]["itself"], numbers["k"]["itself"]
    if own is not None and shared is not None and shared > own:
        found.append(say("why.qkv.alone", own=number(own), shared=number(shared)))
    last = numbers[list(numbers)[-1]]
    if last["weights"] == last["output"] == 0:
        found.append(say("why.qkv.same"))
    if "v" in numbers and numbers["v"]["weights"] == 0 and numbers["v"]["output"]:
        found.append(say("why.qkv.value"))
    if bench.attention.kind == "cross":
        found.append(say("why.qkv.cross"))
    return found


def _symmetric(bench: Bench, cases: Mapping[str, Case]) -> Message:
    """Scores have become symmetric: told with the two cells that were furthest apart."""
    own, shared = cases["own"][0], cases["k"][0]
    assert own is not None  # there is an asymmetry
    assert shared is not None
    cells = ((i, j) for i in range(len(own)) for j in range(i))
    i, j = max(cells, key=lambda cell: abs(own[cell[0]][cell[1]] - own[cell[1]][cell[0]]))
    name = result_name(bench.step(bench.attention.scores.step), "S")
    grid = bench.attention.scores
    shape = bench.shape(grid.value or 0)
    one, other = (name + place(shape, {grid.query or 0: a, grid.key or 0: b}) for a, b in ((j, i), (i, j)))
    values = {"a": number(own[j][i]), "b": number(own[i][j]), "both": number(shared[i][j])}
    return say("why.qkv.symmetric", one=one, other=other, **values)
