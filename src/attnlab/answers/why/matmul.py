"""`matmul`: every product of a program, and why each is legal."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from attnlab.answers.data import Answer, Block, Cell, Table, Title
from attnlab.answers.why.bench import trials
from attnlab.answers.why.levers import name_of
from attnlab.answers.why.places import stands
from attnlab.answers.why.telling import text
from attnlab.attention import Attention
from attnlab.attention.graph import Graph
from attnlab.attention.products import Product, product
from attnlab.axes import Axes, by_flow
from attnlab.experiments.lab import Lab
from attnlab.experiments.sizes import Trial
from attnlab.explanation.data import Message, say
from attnlab.run import Run, Source, Step

FUSED = frozenset(["scaled_dot_product_attention", "multi_head_attention_forward", "transformer_encoder_layer_fwd"])


@dataclass(frozen=True, slots=True)
class Row:
    """One product, and how often it was computed alike. `meeting`: of each size that cancels, its axis in both."""

    step: Step
    source: Source
    product: Product
    meeting: tuple[tuple[int, int], ...]
    times: int


def answer(lab: Lab, attention: Attention | None, line: int | None = None) -> Answer:  # noqa: ARG001 - all are told
    """All products of the program, or those on `line`; it may have no attention.

    `numbers`: "products", of each its line, expression, shapes and what cancels; "checked", by each number in the
    source that was changed, how many of the products were "seen" again, and in how many the sizes that cancel "moved",
    and "met".
    """
    rows = [row for row in _rows(lab.run) if line is None or stands(lab, row.source, line)]
    blocks: list[Block] = [Title(say("why.matmul.title") if line is None else say("why.matmul.line_title", line=line))]
    if not rows:
        return Answer("matmul", (*blocks, text(say("why.matmul.none"))))
    axes = by_flow(lab.run, lab.attentions)
    blocks += [text(*_rules(rows)), _table(lab, axes, rows)]
    numbers: dict[str, object] = {"products": tuple(_numbers(lab, row) for row in rows)}
    found = trials(lab, lab.run, {})
    checked = {name_of(lab, trial.constants): _checked(lab.run, trial, rows) for trial in found}
    numbers["checked"] = checked
    blocks += _experiment(lab, found, checked)
    inside = [step for step in lab.run.steps if step.op in FUSED and step.source is not None and line is None]
    if inside:
        lines = ", ".join(dict.fromkeys(str(step.source.span.line) for step in inside if step.source is not None))
        blocks.append(text(say("why.matmul.fused", lines=lines)))
    return Answer("matmul", tuple(blocks), numbers)


def _rows(run: Run) -> list[Row]:
    """The products, those of one expression and the same shapes once."""
    graph = Graph(run)
    found: dict[tuple[object, ...], Row] = {}
    for step in run.steps:
        made = product(step, graph) if step.op != "sum" else None
        if made is None or step.source is None or not step.source.text:
            continue
        shapes = tuple(run.values[value].shape for value in (made.left, made.right))
        key = (step.source.span, shapes)
        times = found[key].times + 1 if key in found else 1
        letters = made.gone(made.left_letters)
        meeting = tuple((made.left_letters.index(item), made.right_letters.index(item)) for item in letters)
        first = found[key] if key in found else Row(step, step.source, made, meeting, 1)
        found[key] = Row(first.step, first.source, first.product, first.meeting, times)
    return list(found.values())


def _rules(rows: Sequence[Row]) -> list[Message]:
    """What is asked of the operands, by the ways to multiply that the program uses."""
    ops = {row.step.op for row in rows}
    found = [say("why.matmul.rule.matmul")] if ops - {"einsum", "linear"} else []
    found += [say("why.matmul.rule.linear")] if "linear" in ops else []
    return [*found, say("why.matmul.rule.einsum")] if "einsum" in ops else found


def _table(lab: Lab, axes: Axes, rows: Sequence[Row]) -> Table:
    cells: list[tuple[Cell, ...]] = []
    for row in rows:
        span = row.source.span
        place = str(span.line) if span.file == lab.main else f"{os.path.basename(span.file)}:{span.line}"
        expression = " ".join(row.source.text.split())
        shapes, cancels = _shapes(lab, axes, row)
        times = "" if row.times == 1 else f" ×{row.times}"
        cells.append((place, expression + times, shapes, cancels))
    heads = (say("why.matmul.line"), say("why.matmul.expression"), say("why.matmul.shapes"), say("why.matmul.cancels"))
    return Table(heads, tuple(cells), "><<<")


def _shapes(lab: Lab, axes: Axes, row: Row) -> tuple[str, str]:
    """[B,L,D]·[D,d_k]→[B,L,d_k], and what cancels: D=8. A weight of `linear` as it is multiplied, turned."""
    within = next((item.index for item in lab.attentions if row.step.index in item.steps), None)
    made = row.product

    def named(value: int) -> list[str]:
        names, shape = axes.names(value, within), lab.run.values[value].shape
        return [name or str(size) for name, size in zip(names, shape, strict=True)]

    left, right, result = named(made.left), named(made.right), named(row.step.results[0])
    sizes = lab.run.values[made.left].shape
    cancels = [left[at] if left[at] == str(sizes[at]) else f"{left[at]}={sizes[at]}" for at, _ in row.meeting]
    if row.step.op == "linear":
        right.reverse()
    shapes = "·".join(f"[{','.join(names)}]" for names in (left, right)) + f"→[{','.join(result)}]"
    return shapes, ", ".join(cancels) or "—"


def _checked(run: Run, trial: Trial, rows: Sequence[Row]) -> dict[str, int]:
    """Of one number that was changed: how many products were seen again; in how many what cancels moved, and met."""
    found = {"seen": 0, "moved": 0, "met": 0}
    for row in rows:
        made = row.product
        left, right = trial.shapes[made.left], trial.shapes[made.right]
        if left is not None and right is not None:
            found["seen"] += 1
            found["moved"] += any(left[a] != run.values[made.left].shape[a] for a, _ in row.meeting)
            found["met"] += all(left[a] == right[b] for a, b in row.meeting)
    return found


def _experiment(lab: Lab, found: Sequence[Trial], checked: Mapping[str, Mapping[str, int]]) -> list[Block]:
    """The sizes changed one at a time: the two that cancel are equal because they are one, and not by chance."""
    if not found:
        return [text(say("why.matmul.unchanged"))]
    rows: list[tuple[Cell, ...]] = []
    for trial in found:
        name = name_of(lab, trial.constants)
        count = checked[name]
        rows.append((f"{name} = {trial.new}", str(count["moved"]), f"{count['met']} / {count['seen']}"))
    heads = (say("why.matmul.setting"), say("why.matmul.moved"), say("why.matmul.met"))
    together = all(count["met"] == count["seen"] for count in checked.values())
    says = [say("why.matmul.together")] if together else []
    agreeing = [name_of(lab, trial.constants) for trial in found if len(trial.constants) > 1]
    says += [say("why.matmul.agree", names=name) for name in agreeing]
    return [Title(say("why.matmul.experiment")), Table(heads, tuple(rows), "<>>"), *([text(*says)] if says else [])]


def _numbers(lab: Lab, row: Row) -> dict[str, object]:
    values = lab.run.values
    return {
        "line": row.source.span.line,
        "expression": row.source.text,
        "left": values[row.product.left].shape,
        "right": values[row.product.right].shape,
        "result": values[row.step.results[0]].shape,
        "cancels": tuple(values[row.product.left].shape[at] for at, _ in row.meeting),
        "times": row.times,
    }
