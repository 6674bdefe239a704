"""ATT034: a projection is built and never used, or its result is read by nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from attnlab.checks.case import Case
from attnlab.checks.found import Found, Rule, Said
from attnlab.checks.text import assigned, function, parsed, reads
from attnlab.checks.unused import Spare, complete, left_over, spares
from attnlab.checks.weights import FILLS, plain, projected
from attnlab.checks.whole import Whole
from attnlab.run import Step


def _look(whole: Whole) -> Iterator[Found]:
    if not complete(whole) or whole.run.error is not None:
        return
    for spare in spares(whole):
        if _is_forgotten(whole, spare):
            yield Found(
                spare.step,
                Said("check.projection-unused.message", {"name": spare.name}),
                Said(
                    "check.projection-unused.evidence",
                    {"name": spare.name, "shape": str(list(spare.shape)), "steps": len(whole.run.steps)},
                ),
                Said("check.projection-unused.mend", {"name": spare.name}),
            )
    for step in whole.run.steps:
        if _is_lost(whole, step):
            yield _lost(whole, step)


def _lost(whole: Whole, step: Step) -> Found:
    return Found(
        step,
        Said("check.projection-unused.lost", {"text": step.source.text if step.source else ""}),
        Said("check.projection-unused.unread", {"shape": str(list(whole.graph.shape(step.results[0])))}),
        Said("check.projection-unused.take"),
    )


def _is_forgotten(whole: Whole, spare: Spare) -> bool:
    """Whether a weight belongs to a module with an attention, or stands beside one, and its name is read nowhere."""
    if "." in spare.name or "[" in spare.name or "," in spare.name:
        return False
    if spare.function.endswith(".__init__"):
        owner = spare.function.rpartition(".")[0].rpartition(".")[2]
        return _attends(whole, owner) and not reads(whole.run, spare.name)
    if spare.step.source is None or spare.step.op not in FILLS or not spare.name.isidentifier():
        return False  # a matrix of a script is no layer
    tree = parsed(whole.run.sources.get(spare.step.source.span.file, ""))
    return tree is not None and bool(whole.attentions) and not _loads(tree, spare.name)


def _beside(case: Case) -> Iterator[Found]:
    """A projection of x whose result goes nowhere, in an attention that sums up x itself."""
    q, v = projected(case, "q"), case.attention.v
    if (
        q is None
        or v.project is not None
        or not complete(case.whole)
        or plain(case.graph, v.value) != plain(case.graph, q.x)
    ):
        return
    for step in case.graph.consumers(q.x):
        end = left_over(case.whole.graph, step)
        if step.op == q.step.op and end is not None and step.source is not None and step.index < case.attention.output:
            yield _lost(case.whole, step)


def _attends(whole: Whole, owner: str) -> bool:
    """Whether an attention is in a function of a class."""
    return any(f".{owner}." in f".{attention.function}" for attention in whole.attentions) or any(
        attention.module_type == owner for attention in whole.attentions
    )


def _is_lost(whole: Whole, step: Step) -> bool:
    """Whether a projection's result goes nowhere, and nothing in the text reads the name that it was given."""
    graph = whole.graph
    if step.source is None or not step.results or step.op not in ("linear", "matmul", "einsum"):
        return False
    if not any(graph.weight(number) for number in step.refs) or not any(
        not graph.weight(number) for number in step.refs
    ):
        return False
    last = left_over(whole.graph, step)
    if last is None or last.source is None or not whole.attentions:
        return False
    text = whole.run.sources.get(last.source.span.file, "")
    tree = parsed(text)
    scope = None if tree is None else function(tree, last.source.function)
    if scope is None:
        return False
    if _is_statement(scope, last):
        return True
    names = assigned(whole.run, last.source.span)
    return len(names) == 1 and names[0].isidentifier() and names == last.source.targets and not _loads(scope, names[0])


def _is_statement(scope: ast.AST, step: Step) -> bool:
    """Whether a step's expression stands alone as a statement: what it gives is thrown away."""
    span = step.source.span if step.source is not None else None
    return span is not None and any(
        isinstance(node, ast.Expr)
        and (node.value.lineno, node.value.end_lineno) == (span.line, span.end_line)
        and isinstance(node.value, (ast.Call, ast.BinOp))
        and node.value.col_offset == span.col
        and node.value.end_col_offset == span.end_col
        for node in ast.walk(scope)
    )


def _loads(scope: ast.AST, name: str) -> bool:
    return any(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load) for node in ast.walk(scope)
    )


RULE = Rule(
    "ATT034",
    "projection-unused",
    attention=_beside,
    whole=_look,
    unless=frozenset({"ATT031", "ATT032", "ATT036", "ATT039"}),
)
