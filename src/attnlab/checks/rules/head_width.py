"""ATT045: the width does not divide into the heads, so that features are left out or heads are of several widths."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from attnlab.checks.case import Case
from attnlab.checks.found import Found, Rule, Said
from attnlab.checks.rows import made
from attnlab.checks.text import span_of, trees
from attnlab.checks.weights import ROLES, projected
from attnlab.run import Span, Step


def _look(case: Case) -> Iterator[Found]:
    uneven = _uneven(case)
    if uneven is not None:
        step, sizes = uneven
        yield Found(
            step,
            Said(
                "check.head-width.uneven",
                {"width": sum(sizes), "heads": len(sizes), "sizes": ", ".join(map(str, sizes))},
            ),
            Said("check.head-width.widths", {"sizes": ", ".join(map(str, sizes))}),
            Said("check.head-width.mend", {"heads": len(sizes)}),
        )
        return
    for width, heads, own in (*_cut(case), *_narrow(case)):
        if own < 1 or heads < 2 or width // heads != own or width % heads == 0:
            continue
        place = _division(case)
        if place is None:
            continue
        what = {"width": width, "heads": heads, "own": own, "whole": heads * own, "left": width - heads * own}
        yield Found(
            place,
            Said("check.head-width.message", {"width": width, "heads": heads}),
            Said("check.head-width.evidence", what),
            Said("check.head-width.mend", {"heads": heads}),
        )
        return


def _uneven(case: Case) -> tuple[Step, list[int]] | None:
    """A chunk into heads whose pieces are not of one width."""
    for name in ROLES:
        source = made(case, name)
        for step in source.steps if source is not None else ():
            shapes = [case.graph.shape(number) for number in step.results]
            if step.op not in ("chunk", "tensor_split") or len(shapes) < 2 or not all(shapes):
                continue
            sizes = [shape[-1] for shape in shapes]
            if len(set(sizes)) > 1 and len({shape[:-1] for shape in shapes}) == 1:
                return step, sizes
    return None


def _cut(case: Case) -> Iterator[tuple[int, int, int]]:
    """Heads that are slices of one projection: its width, how many there are, the width of each."""
    if len(case.group) < 2:
        return
    own = case.attention.q.project
    heads = [item for item in case.group if item.q.project == own]
    source = made(case, "q")
    if own is None or source is None or len(heads) < 2:
        return
    pieces = {item.q.value for item in heads}
    yield case.graph.shape(source.value)[-1], len(pieces), case.attention.d_k or 0


def _narrow(case: Case) -> Iterator[tuple[int, int, int]]:
    """A projection to heads that together are narrower than what was projected."""
    found = projected(case, "q")
    heads, own = case.attention.heads, case.attention.d_k
    if found is None or heads is None or own is None or not case.graph.shape(found.x):
        return
    width = case.graph.shape(found.x)[-1]
    made_of = case.graph.shape(found.step.results[0])
    if made_of and made_of[-1] == heads * own < width:
        yield width, heads, own


def _division(case: Case) -> Span | None:
    """Where a width is divided by a number of heads without its rest, in the user's text."""
    names = {case.attention.module_type, case.attention.function.partition(".")[0]}
    met: list[tuple[bool, Span]] = []
    for file, tree in trees(case.run):
        for node in ast.walk(tree):
            if not isinstance(node, (ast.ClassDef, ast.Module)):
                continue
            for item in _divisions(node):
                own = isinstance(node, ast.ClassDef) and node.name in names
                met.append((own, span_of(item, file, case.run)))
    own = [span for inside, span in met if inside]
    return (own or [span for _, span in met] or [None])[0]


def _divisions(node: ast.AST) -> Iterator[ast.AST]:
    for item in ast.walk(node):
        if (
            isinstance(item, ast.BinOp)
            and isinstance(item.op, ast.FloorDiv)
            and not isinstance(item.right, ast.Constant)
        ):
            yield item
        elif isinstance(item, ast.Call) and isinstance(item.func, ast.Name) and item.func.id == "int" and item.args:
            inner = item.args[0]
            if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Div):
                yield item


RULE = Rule("ATT045", "head-width", attention=_look)
