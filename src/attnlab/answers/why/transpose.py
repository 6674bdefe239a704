"""`transpose`: why the last two axes of the keys, shown by writing something else in their place."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from attnlab.answers.data import Answer, Block, Cell, Literally, Table, Title
from attnlab.answers.why.bench import Bench, Change, Tried
from attnlab.answers.why.levers import equal
from attnlab.answers.why.opening import hidden, on_bench
from attnlab.answers.why.reading import Probe, probe
from attnlab.answers.why.telling import codes, letters, named, shown, sizes, text
from attnlab.answers.why.turning import Turning, Way, turning
from attnlab.attention import Attention
from attnlab.experiments.changes import Nudge
from attnlab.experiments.lab import Lab
from attnlab.explanation.data import Message, say
from attnlab.run import CORNER, Step


def answer(lab: Lab, attention: Attention) -> Answer:
    """The answer.

    `numbers`: by the text of each way to write it, "shape" or "error"; "set", what made the sizes equal, and under
    "equal TEXT" the "shape" with these, and which columns of the first scores moved when "key" 1, another "sample" or
    another "head" did.

    Raises `NotAgain` for a program that is too long to be run again.
    """
    bench, told = on_bench(lab, attention)
    found = turning(bench)
    einsum = found is not None and found.kind == "einsum"
    blocks: list[Block] = [Title(say("why.transpose.letters" if einsum else "why.transpose.title"))]
    if hidden(bench):
        return Answer("transpose", (*blocks, *told))
    step = bench.step(bench.attention.scores.step)
    if found is None:
        kind = "additive" if bench.attention.additive else "none"
        return Answer("transpose", (*blocks, *(told or codes(bench, [step])), text(say(f"why.transpose.{kind}"))))
    laid = bench.attention.k.layout[-1:] if found.kind == "laid" else ()
    blocks += told or [*codes(bench, [bench.step(index) for index in laid]), shown(bench, found.source)]
    blocks.append(text(*_legal(bench, found, step)))
    numbers: dict[str, object] = {}
    blocks += _tried(bench, found, numbers)
    blocks += _by_chance(bench, found, numbers)
    return Answer("transpose", tuple(blocks), numbers)


def _legal(bench: Bench, found: Turning, step: Step) -> list[Message]:
    """Why what the user wrote is legal."""
    inner = named(bench, found.value, found.summed)
    kept = [named(bench, step.results[0], axis) for axis in _kept(bench)]
    says: list[Message] = []
    if found.kind == "turned":
        turned = bench.step(_turned_step(bench))
        before, after = letters(bench, found.value), letters(bench, turned.results[0])
        says.append(say("why.transpose.turned", text=found.ways[0].text, before=before, after=after))
    elif found.kind == "laid":
        says.append(say("why.transpose.laid", text=found.ways[0].text, shape=letters(bench, found.value)))
    else:
        says.append(say("why.transpose.einsum", equation=found.ways[0].text, letter=found.letter, inner=inner))
    if found.kind != "einsum":
        says.append(say("why.transpose.meet", inner=inner, kept=" × ".join(kept)))
    return says


def _turned_step(bench: Bench) -> int:
    q, k = bench.attention.q.turned, bench.attention.k.turned
    found = q if k is None else k
    assert found is not None
    return found


def _kept(bench: Bench) -> list[int]:
    grid = bench.attention.scores
    return [axis for axis in (grid.query, grid.key) if axis is not None]


def _tried(bench: Bench, found: Turning, numbers: dict[str, object]) -> list[Block]:
    """The other ways, run on the user's own sizes."""
    runs = bench.each([_rewrite(way) for way in found.ways])
    rows: list[tuple[Cell, ...]] = []
    errors: list[str] = []
    made = bench.step(bench.attention.scores.step).results[0]
    for way, tried in zip(found.ways, runs, strict=True):
        shape = tried.shape(made)
        numbers[way.text] = {"shape": shape} if shape is not None else {"error": tried.failure}
        rows.append((way.text, _operands(bench, tried), say("why.failed") if shape is None else sizes(shape)))
        if shape is None and tried.failure:
            errors += [way.text, tried.failure]
    heads = (say("why.transpose.way"), say("why.transpose.operands"), say("why.transpose.result"))
    told: list[Block] = [text(say("why.transpose.errors")), Literally("\n".join(errors))] if errors else []
    if errors and _evaluated_before(bench):
        told.append(text(say("why.transpose.earlier")))
    return [Title(say("why.transpose.experiment")), Table(heads, tuple(rows), "<<<", frozenset({0})), *told]


def _evaluated_before(bench: Bench) -> bool:
    """Whether the expression was evaluated for other shapes before: then it fails there already."""
    step = bench.step(bench.attention.scores.step)
    shapes = [bench.shape(value) for value in step.refs]
    return any(
        item.source is not None
        and step.source is not None
        and item.source.span == step.source.span
        and [bench.shape(value) for value in item.refs] != shapes
        for item in bench.run.steps[: step.index]
        if item.op == step.op
    )


def _rewrite(way: Way) -> tuple[Change, ...]:
    return () if way.rewrite is None else (way.rewrite,)


def _operands(bench: Bench, tried: Tried) -> str:
    """The shapes that were to be multiplied, whether they could be or not."""
    step = tried.step(bench.attention.scores.step)
    if step is None and tried.run is not None and tried.run.error is not None:
        failed = tried.run.error.failed
        step = failed if failed is not None and failed.op == bench.step(bench.attention.scores.step).op else None
    if step is None or tried.run is None:
        return "—"
    return " · ".join(sizes(tried.run.values[value].shape) for value in step.refs)


def _by_chance(bench: Bench, found: Turning, numbers: dict[str, object]) -> list[Block]:
    """The same ways with sizes made equal, all or at least two: what then runs, and what it means."""
    size = bench.shape(found.value)[found.summed]
    for axes in (range(len(bench.shape(found.value))), (found.own, found.summed)):
        settings = equal(bench, found.value, axes, size)
        if settings is None:
            continue
        changes = tuple(change for lever, value in settings.items() for change in lever.set(value))
        blocks = _equal(bench, found, changes, numbers)
        if blocks:
            numbers["set"] = {lever.name: value for lever, value in settings.items()}
            names = ", ".join(f"{lever.name} = {value}" for lever, value in settings.items())
            title = say("why.transpose.chance", settings=names) if names else say("why.transpose.equal")
            return [Title(title), *blocks]
    return [text(say("why.transpose.nochance"))]


def _equal(bench: Bench, found: Turning, changes: tuple[Change, ...], numbers: dict[str, object]) -> list[Block]:
    """What runs under the changes, and how far one key, another sample and another head reach in it."""
    block = _block(bench)
    nudges = _nudges(bench, found) if block is not None else {}
    views = () if block is None else block.rewrites
    several = [(*_rewrite(way), *changes, *views) for way in found.ways]
    plain = bench.each(several)
    made = bench.step(bench.attention.scores.step).results[0]
    shapes = [tried.shape(made) for tried in plain]
    if shapes[0] is None or not any(shapes[1:]):
        return []
    rows: list[tuple[Cell, ...]] = []
    says: list[Message] = []
    for way, shape, tried, asked in zip(found.ways, shapes, plain, several, strict=True):
        if shape is None:
            rows.append((way.text, say("why.failed"), *[""] * len(nudges)))
            continue
        there = {name: item for name, nudge in nudges.items() if (item := tried.nudge(nudge)) is not None}
        nudged = bench.each([(*asked, item) for item in there.values()])
        moved = {name: _moved(block, tried, other) for name, other in zip(there, nudged, strict=True)}
        numbers[f"equal {way.text}"] = {"shape": shape} | moved
        rows.append((way.text, sizes(shape), *(_cell(name, columns, shape) for name, columns in moved.items())))
        says += _means(way, moved)
    heads = [say(f"why.transpose.reach.{name}") for name in nudges]
    table = Table((say("why.transpose.way"), say("why.transpose.result"), *heads), tuple(rows), "<" * (2 + len(heads)))
    seen = next((name for name in ("head", "sample", "key") if name in nudges), None)
    note = [text(say(f"why.transpose.nudge.{seen}"))] if seen is not None else []
    return [*note, dataclasses.replace(table, marked=frozenset({0})), *([text(*says)] if says else [])]


# The block of scores that is looked at: of sample 0 and, where there are heads, of head 1. In that of head 0 an
# exchange of samples and heads would change nothing.
_HEAD = 1


def _block(bench: Bench) -> Probe | None:
    """A view of that block, queries by keys, taken of the scores as they are made."""
    grid = bench.attention.scores
    if grid.value is None or grid.query is None or grid.key is None:
        return None
    names = bench.axes.names(grid.value, bench.attention.index)
    index = [_HEAD if name == "H" else 0 for axis, name in enumerate(names) if axis not in (grid.query, grid.key)]
    view = f"attnlab.movedim(({grid.query}, {grid.key}), (-2, -1))[{', '.join([*map(str, index), '...'])}]"
    return probe(bench.run, bench.step(grid.step), grid.value, "attnlab", [view])


def _nudges(bench: Bench, found: Turning) -> dict[str, Nudge]:
    """Key 1 of the block; all keys of sample 1; those of head 0 in sample 0. None where no step makes the keys."""
    value = bench.run.values[found.value]
    if value.step is None:
        return {}
    names = bench.axes.names(found.value, bench.attention.index)
    block = {
        axis: _HEAD if name == "H" else 0 for axis, name in enumerate(names) if axis not in (found.own, found.summed)
    }
    indices = {"key": block | {found.own: 1}}
    if "B" in names:
        indices["sample"] = {names.index("B"): 1}
    if "H" in names:
        indices["head"] = {axis: 0 for axis, name in enumerate(names) if name in ("B", "H")}
    result = bench.step(value.step).results.index(found.value)
    return {
        name: Nudge(value.step, tuple(at.get(axis) for axis in range(len(value.shape))), by=1.0, result=result)
        for name, at in indices.items()
    }


def _moved(block: Probe | None, plain: Tried, nudged: Tried) -> tuple[int, ...] | None:
    """The columns of the block in which something moved; None where it was not recorded."""
    corners = [None if block is None or tried.run is None else block.corners(tried.run) for tried in (plain, nudged)]
    if corners[0] is None or corners[1] is None:
        return None
    rows = list(zip(corners[0][0], corners[1][0], strict=True))
    return tuple(at for at in range(len(rows[0][0])) if any(row[at] != new[at] for row, new in rows))


def _cell(name: str, columns: tuple[int, ...] | None, shape: tuple[int, ...]) -> Cell:
    if columns is None:
        return "—"
    if not columns:
        return say("why.transpose.moved.none")
    if name != "key":
        return say("why.transpose.moved.some")
    if len(columns) == min(shape[-1], CORNER):
        return say("why.transpose.moved.all")
    return say("why.transpose.moved.columns", columns=", ".join(map(str, columns)))


def _means(way: Way, moved: Mapping[str, tuple[int, ...] | None]) -> list[Message]:
    """What the columns that moved say of a way to write it."""
    found: list[Message] = []
    key, sample, head = (moved.get(name) for name in ("key", "sample", "head"))
    if key == (1,) and not sample and not head:
        return [say("why.transpose.means.right", text=way.text)]
    if sample:
        found.append(say("why.transpose.means.samples", text=way.text))
    if head:
        found.append(say("why.transpose.means.heads", text=way.text))
    if key and key != (1,):
        found.append(say("why.transpose.means.too") if found else say("why.transpose.means.tokens", text=way.text))
    return found
