"""`softmax`: why over the keys, shown by running it over the queries and over the samples."""

from __future__ import annotations

from dataclasses import dataclass

from attnlab.answers.data import Answer, Block, Cell, Table, Title
from attnlab.answers.why import normalising
from attnlab.answers.why.bench import Bench, Changes, Tried
from attnlab.answers.why.opening import hidden, on_bench
from attnlab.answers.why.reading import Matrix, Probe, largest_difference, probe
from attnlab.answers.why.telling import codes, failed, first_of, fixed, named, number, text
from attnlab.attention import Attention
from attnlab.experiments.changes import Nudge
from attnlab.experiments.lab import Lab
from attnlab.explanation.data import Message, say
from attnlab.run import Numbers

# A matrix with more rows or columns than this is not shown.
WIDE = 6


@dataclass(frozen=True, slots=True)
class _Axis:
    """An axis of the weights, and what it counts: "key", "query", or "sample", "head", "other" for the first one."""

    at: int
    role: str
    name: str


@dataclass(frozen=True)
class _Case:
    """The softmax over one axis. `sums`: of the weights along each axis; `leak`: what sample 1 does to sample 0."""

    axis: _Axis
    dim: str
    failure: list[Block]
    weights: Matrix | None
    sums: dict[str, Numbers]
    leak: float | None


def answer(lab: Lab, attention: Attention) -> Answer:
    """The answer.

    `numbers`: by dim, "over" (what its axis counts); by role of an axis the "sums" along it, least and largest; and
    "leak", the largest change in the weights of sample 0 where 1 is added to the scores of sample 1.

    Raises `NotAgain` for a program that is too long to be run again.
    """
    bench, told = on_bench(lab, attention)
    dim = normalising.dim_text(bench.step(bench.attention.softmax[0]))
    blocks: list[Block] = [Title(say("why.softmax.title") if dim is None else say("why.softmax.dim", dim=dim))]
    if hidden(bench):
        return Answer("softmax", (*blocks, *told))
    blocks += told or codes(bench, [bench.step(index) for index in bench.attention.softmax])
    axes = _axes(bench)
    own = next((axis for axis in axes if axis.role == bench.attention.normalised), None)
    rewrites = {axis: normalising.over(bench, axis.at) for axis in axes}
    if own is None or any(item is None for item in rewrites.values()):
        return Answer("softmax", (*blocks, text(say("why.softmax.form"))))
    cases = _cases(bench, {axis: item or () for axis, item in rewrites.items()}, own)
    blocks.append(Title(say("why.softmax.experiment")))
    blocks += [_table(cases, own), *(text(*says) for case in cases if (says := _means(bench, case, cases)))]
    blocks += [block for case in cases for block in _shown(bench, case)]
    return Answer("softmax", tuple(blocks), {case.dim: _numbers(case) for case in cases})


def _axes(bench: Bench) -> list[_Axis]:
    """Keys, queries, and samples; where no axis is known for these, the first one if it is neither."""
    grid = bench.attention.weights
    if grid.value is None or grid.key is None:
        return []
    names = bench.axes.names(grid.value, bench.attention.index)
    roles = {grid.key: "key"} | ({} if grid.query is None else {grid.query: "query"})
    third = names.index("B") if "B" in names else 0
    roles.setdefault(third, {"B": "sample", "H": "head"}.get(names[third] or "", "other"))
    return [_Axis(at, role, named(bench, grid.value, at)) for at, role in roles.items()]


def _cases(bench: Bench, rewrites: dict[_Axis, Changes], own: _Axis) -> list[_Case]:
    """Each axis tried; the user's own as it is written."""
    views = _views(bench, list(rewrites))
    probing = () if views is None else views.rewrites
    changes = {axis: (*(() if axis == own else rewrite), *probing) for axis, rewrite in rewrites.items()}
    plain = dict(zip(changes, bench.each(list(changes.values())), strict=True))
    nudge = _nudge(bench)
    there = {
        axis: plain[axis].nudge(nudge)
        for axis in changes
        if nudge is not None and (axis == own or axis.role == "sample")
    }
    several = {axis: (*changes[axis], item) for axis, item in there.items() if item is not None}
    nudged = dict(zip(several, bench.each(list(several.values())), strict=True))
    return [_case(bench, axis, own, tried, nudged.get(axis), views) for axis, tried in plain.items()]


def _case(bench: Bench, axis: _Axis, own: _Axis, tried: Tried, nudged: Tried | None, views: Probe | None) -> _Case:
    found = None if views is None or tried.run is None else views.numbers(tried.run)
    roles = [item.role for item in _axes(bench)]
    sums = {} if found is None else dict(zip(roles, found[1:], strict=True))
    leak = None
    value = bench.attention.weights.value
    if nudged is not None and value is not None:
        one, other = (item.numbers(value) for item in (tried, nudged))
        leak = None if one is None or other is None else largest_difference(one.corner, other.corner)
    rank = len(bench.shape(value or 0))
    step = bench.step(bench.attention.softmax[0])
    written = normalising.dim_text(step) if axis == own else None
    dim = written or str(axis.at - rank if axis.at >= rank - 2 and rank > 2 else axis.at)
    failure = failed(tried) if found is None else None
    return _Case(axis, dim, [] if failure is None else [failure], found[0].corner if found else None, sums, leak)


def _views(bench: Bench, axes: list[_Axis]) -> Probe | None:
    """The weights of the first sample, queries by keys, and the sums of all along each axis."""
    grid = bench.attention.weights
    if grid.value is None or grid.key is None:
        return None
    laid = f"attnlab.movedim({grid.key}, -1).unsqueeze(-2)"
    if grid.query is not None:
        laid = f"attnlab.movedim(({grid.query}, {grid.key}), (-2, -1))"
    views = [f"{laid}[...]", *(f"attnlab.sum({axis.at})" for axis in axes)]
    return probe(bench.run, bench.step(grid.step), grid.value, "attnlab", views)


def _nudge(bench: Bench) -> Nudge | None:
    """1 added to the scores of sample 1; None where there is no other sample, or no step makes the scores."""
    grid = bench.attention.weights
    value = bench.run.values[bench.step(bench.attention.softmax[0]).refs[0]]
    names = bench.axes.names(value.id, bench.attention.index)
    if value.step is None or "B" not in names or value.shape[names.index("B")] < 2 or grid.value is None:
        return None
    index = tuple(1 if name == "B" else None for name in names)
    return Nudge(value.step, index, by=1.0, result=bench.step(value.step).results.index(value.id))


def _spread(numbers: Numbers | None, missing: bool = True) -> str:
    """The least and the largest of some sums; `missing`: and whether there are some that are no number."""
    if numbers is None or numbers.min is None or numbers.max is None:
        return "—"
    least, largest = fixed(numbers.min), fixed(numbers.max)
    return (least if least == largest else f"{least} – {largest}") + (", NaN" if missing and numbers.nonfinite else "")


def _table(cases: list[_Case], own: _Axis) -> Table:
    roles = [case.axis.role for case in cases]
    rows = [
        (
            case.dim,
            say(f"why.softmax.axis.{case.axis.role}", name=case.axis.name),
            *(_spread(case.sums.get(role)) for role in roles),
        )
        for case in cases
    ]
    heads = ("dim", say("why.softmax.over"), *(say(f"why.softmax.sum.{role}") for role in roles))
    return Table(
        heads, tuple(rows), "<<" + ">" * len(roles), frozenset(at for at, case in enumerate(cases) if case.axis == own)
    )


def _means(bench: Bench, case: _Case, cases: list[_Case]) -> list[Message]:
    """What it means that these sums are one, and those are not."""
    rows = case.sums.get("key")
    if rows is None or rows.min is None or rows.max is None:
        return []
    if case.axis.role == "key":
        return [say("why.softmax.means.key", dim=case.dim)]
    found = [say(f"why.softmax.means.{case.axis.role}", dim=case.dim, sums=_spread(rows, False))]
    if rows.nonfinite and bench.attention.masks:
        found.append(say("why.softmax.nan", count=rows.nonfinite, dim=case.dim))
    if case.leak:
        found.append(say("why.softmax.leak", leak=number(case.leak)))
        found += [say("why.softmax.noleak") for other in cases if other.axis.role == "key" and other.leak == 0]
    return found


def _shown(bench: Bench, case: _Case) -> list[Block]:
    """The weights of the first sample with their sums, where they are not too many."""
    weights = case.weights
    if weights is None:
        return [text(say("why.softmax.failed", dim=case.dim)), *case.failure] if case.failure else []
    if len(weights) > WIDE or len(weights[0]) > WIDE or case.axis.role not in ("key", "query"):
        return []
    rows: list[tuple[Cell, ...]] = [
        (say("why.query", at=at), *map(fixed, row), fixed(sum(row))) for at, row in enumerate(weights)
    ]
    columns = [fixed(sum(row[at] for row in weights)) for at in range(len(weights[0]))]
    rows.append((say("why.softmax.columns"), *columns, ""))
    heads = ("", *(say("why.key", at=at) for at in range(len(columns))), say("why.softmax.rows"))
    title = Title(say("why.softmax.weights", dim=case.dim, of=first_of(bench)))
    return [title, Table(heads, tuple(rows), "<" + ">" * (len(columns) + 1))]


def _numbers(case: _Case) -> dict[str, object]:
    return {
        "over": case.axis.role,
        "sums": {role: (numbers.min, numbers.max) for role, numbers in case.sums.items()},
        "leak": case.leak,
    }
