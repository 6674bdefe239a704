"""ATT038: in cross attention the memory asks and the other side answers; or the values come from the asking side."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from attnlab.attention.graph import CASTS, DROPOUT, NORMS, VIEWS
from attnlab.checks.calls import passed
from attnlab.checks.case import Case, Name
from attnlab.checks.found import Found, Rule, Said
from attnlab.checks.text import function, is_memory, is_target, parsed
from attnlab.checks.weights import plain, stream
from attnlab.run import Span, Step

_ONWARD = VIEWS | CASTS | DROPOUT | NORMS | {"mul", "linear"}
_FAR = 30


def _look(case: Case) -> Iterator[Found]:
    if case.attention.kind != "cross":
        return
    sources = {name: _source(case, name) for name in ("q", "k", "v")}
    q, k, v = (sources[name] for name in ("q", "k", "v"))
    streams = [stream(case.graph, number) for number in (q, k)]
    if streams[0] & streams[1] or case.graph.constant(q) or case.graph.constant(k):
        return
    if v == q:
        yield from _values(case, q, k)
        return
    if v != k and not stream(case.graph, v) & streams[1]:
        return
    residual, step = _residual(case)
    if step is not None and residual is not None:
        if residual in streams[1] and residual not in streams[0]:
            yield _told(case, q, k, step)
        return
    yield from _by_names(case)


def _source(case: Case, name: Name) -> int:
    """What q, k or v was made of."""
    role = case.input(name)
    return plain(case.graph, role.value if role.x is None else role.x)


def _residual(case: Case) -> tuple[int | None, Step | None]:
    """What the attention's output is added to, and the step that adds it."""
    number = case.attention.result
    for _ in range(_FAR):
        users = [step for step in case.graph.consumers(number) if step.op in _ONWARD | {"add"} and step.results]
        if not users:
            return None, None
        step = users[0]
        if step.op == "add" and len(step.refs) == 2:
            other = next((ref for ref in step.refs if ref != number), None)
            if (
                other is not None
                and case.graph.shape(other) == case.graph.shape(number)
                and not case.graph.constant(other)
            ):
                return other, step
        number = step.results[0]
    return None, None


def _values(case: Case, q: int, k: int) -> Iterator[Found]:
    """Values that were made of what the queries were made of, while the keys were not."""
    step = case.step(case.input("v").project or case.attention.output)
    shapes = {"q": str(list(case.graph.shape(q))), "k": str(list(case.graph.shape(k)))}
    yield Found(
        step,
        Said("check.cross-exchanged.values"),
        Said("check.cross-exchanged.sides", shapes),
        Said("check.cross-exchanged.value-mend"),
    )


def _told(case: Case, q: int, k: int, added: Step) -> Found:
    text = _text(case, "q")
    inside = case.attention.style in ("mha", "layer") or (text is not None and is_memory(text))
    at = case.step(case.attention.q.project if case.attention.q.project is not None else case.attention.scores.step)
    return Found(
        at if inside or added.source is None else added,
        Said("check.cross-exchanged.message"),
        Said(
            "check.cross-exchanged.residual", {"q": str(list(case.graph.shape(q))), "k": str(list(case.graph.shape(k)))}
        ),
        Said("check.cross-exchanged.mend"),
    )


def _by_names(case: Case) -> Iterator[Found]:
    """Where nothing is added to the output, names are hints: of an encoder's side that asks a decoder's."""
    asks, answers = _text(case, "q"), _text(case, "k")
    at: Step | Span = case.step(
        case.attention.q.project if case.attention.q.project is not None else case.attention.scores.step
    )
    if asks is None or answers is None or not is_memory(asks) or is_memory(answers):
        return
    if not is_target(answers) and not _comes_first(case, at, answers, asks):
        return
    shape = {"rows": case.attention.queries or 0, "others": case.attention.keys or 0}
    yield Found(
        at,
        Said("check.cross-exchanged.message"),
        Said("check.cross-exchanged.names", {"asks": asks, "answers": answers, **shape}),
        Said("check.cross-exchanged.mend"),
    )


def _comes_first(case: Case, step: Step, first: str, second: str) -> bool:
    """Whether the function takes `first` before `second`: the one that is worked on comes first, by custom."""
    if step.source is None:
        return False
    tree = parsed(case.run.sources.get(step.source.span.file, ""))
    found = None if tree is None else function(tree, step.source.function)
    if not isinstance(found, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    names = [item.arg for item in found.args.args]
    return first in names and second in names and names.index(first) < names.index(second)


def _text(case: Case, name: Name) -> str | None:
    """What the user calls that of which q or k was made."""
    role = case.input(name)
    if case.attention.style in ("mha", "layer"):
        return _argument(case, name)
    if role.project is None:
        return None
    step = case.step(role.project)
    return next((item.text for item in step.operands if getattr(item.arg, "id", None) == role.x and item.text), None)


def _argument(case: Case, name: Name) -> str | None:
    step = case.step(case.attention.scores.step)
    wanted = {"q": "query", "k": "key", "v": "value"}[name]
    for call in passed(case.whole):
        if step.source is not None and call.file == step.source.span.file and call.node.lineno == step.source.span.line:
            node = call.arguments.get(wanted)
            if node is not None:
                return ast.unparse(node)
    return None


RULE = Rule("ATT038", "cross-exchanged", attention=_look, unless=frozenset({"ATT001", "ATT022", "ATT031", "ATT033"}))
