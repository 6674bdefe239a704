"""Which topics belong to a line: those of the parts of an attention whose expressions stand on it."""

from __future__ import annotations

from collections.abc import Iterator

from attnlab.attention import Attention
from attnlab.attention.graph import Graph
from attnlab.attention.products import product
from attnlab.experiments.lab import Lab
from attnlab.run import Source, Step

# At most so many lines are named in the place of one that nothing is asked about.
NAMED = 4


def on_line(lab: Lab, line: int) -> list[Step]:
    """The tensor operations whose expressions stand on a line of the program's own file."""
    return [step for step in lab.run.steps if step.source is not None and stands(lab, step.source, line)]


def stands(lab: Lab, source: Source, line: int) -> bool:
    """Whether an expression stands on a line of the program's own file."""
    span = source.span
    return span.file == lab.main and span.line <= line <= span.end_line


def topics(lab: Lab, line: int) -> dict[str, Attention | None]:
    """The topics of a line, and for each the attention that it is about (None: all of the program)."""
    steps = {step.index: step for step in on_line(lab, line)}
    found: dict[str, Attention | None] = {}
    for attention in lab.attentions:
        for name, index in _parts(lab, attention):
            if index in steps:
                found.setdefault(name, attention)
    graph = Graph(lab.run)
    products = any(step.op != "sum" and product(step, graph) is not None for step in steps.values())
    if ("scores" in found or products) and not {"output", "qkv"} & found.keys():
        found["matmul"] = None
    return found


def _parts(lab: Lab, attention: Attention) -> Iterator[tuple[str, int]]:
    """The topics and the steps that they are about."""
    for item in (attention.q, attention.k, attention.v):
        if item.project is not None:
            yield "qkv", item.project
            weights = [lab.run.values[value].step for value in lab.run.steps[item.project].refs[1:]]
            yield from (("qkv", step) for step in weights if step is not None)
        if item.turned is not None:
            yield "transpose", item.turned
    laid = attention.k.turned is None and attention.q.turned is None and attention.k.layout
    if laid and attention.style == "written" and lab.run.steps[attention.scores.step].op != "einsum":
        yield "transpose", attention.k.layout[-1]
    yield "scores", attention.scores.step
    yield from (("scale", step) for step in attention.scale)
    if attention.style != "written":
        yield "scale", attention.scores.step
    yield from (("softmax", step) for step in attention.softmax)
    yield "output", attention.output


def lines(lab: Lab) -> dict[int, list[str]]:
    """The lines of the program that there are topics for, with these."""
    found: dict[int, list[str]] = {}
    for attention in lab.attentions:
        for name, index in _parts(lab, attention):
            source = lab.run.steps[index].source
            if source is not None and source.span.file == lab.main:
                names = found.setdefault(source.span.line, [])
                names += [] if name in names else [name]
    return dict(sorted(found.items()))
