"""ATT032: the weights meet the keys (or the queries), while the values were made and are read by nothing."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from attnlab.attention.graph import Graph
from attnlab.attention.inputs import scaled
from attnlab.checks.case import Case, Name
from attnlab.checks.found import Edit, Found, Rule, Said
from attnlab.checks.rows import made
from attnlab.checks.unused import LAYOUT, complete, left_over, spares
from attnlab.checks.weights import projected
from attnlab.run import Step


def _look(case: Case) -> Iterator[Found]:
    if not complete(case.whole):
        return
    same: list[Name] = [name for name in ("k", "q") if _same(case, name)]
    if len(same) != 1:
        return
    other = same[0]
    left = _left(case, other)
    if left is None:
        return
    step = case.step(case.attention.output)
    what = {"other": other, "left": left}
    code, edits = _mended(case, step, left)
    yield Found(
        step,
        Said("check.keys-as-values.message", what),
        Said("check.keys-as-values.evidence", what),
        Said("check.keys-as-values.mend", {"left": left, "code": code or left}),
        edits,
    )


def _same(case: Case, name: Name) -> bool:
    """Whether v is the tensor that k (or q) is, but for layout and scale."""
    role, v = case.input(name), case.attention.v
    if role.value == v.value:
        return True
    if role.project != v.project:
        return False
    if role.project is None:
        return bool({*_way(case.graph, role.value)} & {*_way(case.graph, v.value)})
    return _branch(case, name) == _branch(case, "v")


def _way(graph: Graph, number: int) -> Iterator[int]:
    """A value, and what it was before changes of layout, type and scale, as far as it is one whole."""
    yield number
    step = graph.maker(number)
    while step is not None and step.results[:1] == (number,):
        before = step.refs[0] if step.op in LAYOUT and len(step.refs) == 1 else scaled(step, graph)
        if before is None or before >= number or prod(graph.shape(before)) > prod(graph.shape(number)):
            return
        number = before
        yield number
        step = graph.maker(number)


def _branch(case: Case, name: Name) -> int:
    """The last value, from the projection on, before the paths of two roles can part by layout alone."""
    source = made(case, name)
    if source is None:
        return case.input(name).value
    shape_of = case.graph.shape
    number = source.value
    for step, after in zip(source.steps, source.path, strict=True):
        if step.op in (
            "split",
            "chunk",
            "unbind",
            "getitem",
            "select",
            "narrow",
            "split_with_sizes",
            "tensor_split",
            "index_select",
        ):
            number = after
        elif step.op not in LAYOUT:
            break
    return number if shape_of(number) else source.value


def _left(case: Case, other: Name) -> str | None:
    """What was made to be the values and is read by nothing: its name in the user's text."""
    return _piece(case, other) or _result(case, other) or _given(case, other) or _layer(case, other)


def _piece(case: Case, other: Name) -> str | None:
    """A piece that was cut off beside k and is left over."""
    source = made(case, other)
    for step in source.steps if source is not None else ():
        if len(step.results) < 2 or step.source is None:
            continue
        left = _uncut(case.graph, step)
        if left is not None:
            return left
    return None


def _uncut(graph: Graph, step: Step) -> str | None:
    """Of what a step cut into pieces, the one that goes nowhere."""
    unread = [place for place, number in enumerate(step.results) if _goes_nowhere(graph, number)]
    if not unread or step.source is None:
        return None
    one_each = len(step.source.targets) == len(step.results)
    return step.source.targets[unread[-1]] if one_each else step.source.text


def _goes_nowhere(graph: Graph, number: int) -> bool:
    """Whether a value is read by nothing, or laid out otherwise at most."""
    users = graph.consumers(number)
    return all(
        user.op in LAYOUT and all(_goes_nowhere(graph, made) for made in user.results if made > number)
        for user in users
    )


def _result(case: Case, other: Name) -> str | None:
    """A projection of the same input, of another weight, whose result goes nowhere."""
    own = projected(case, other)
    if own is None:
        return None
    for step in case.graph.consumers(own.x):
        if step.index == own.step.index or step.op != own.step.op or step.index > case.attention.output:
            continue
        end = left_over(case.graph, step)
        if end is not None and end.source is not None:
            return (end.source.targets or (end.source.text,))[0]
    return None


def _given(case: Case, other: Name) -> str | None:
    """A tensor that was drawn or written beside k, of its shape, and is read by nothing."""
    role = case.input(other)
    *_, base = _way(case.graph, role.value)
    if role.project is not None or not case.graph.given(base):
        return None
    cut = case.graph.maker(base)
    if cut is not None and len(cut.results) > 1:
        return _uncut(case.graph, cut)
    for value in case.run.values:
        step = None if value.step is None else case.step(value.step)
        if step is None or step.source is None or step.index > case.attention.output or value.id == base:
            continue
        if value.shape == case.graph.shape(base) and case.graph.given(value.id) and not case.graph.consumers(value.id):
            return (step.source.targets or (step.source.text,))[0]
    return None


def _layer(case: Case, other: Name) -> str | None:
    """A layer of the shape of the key's that was built and never called."""
    own = projected(case, other)
    if own is None:
        return None
    shape = case.graph.shape(own.weight)
    return next((spare.name for spare in spares(case.whole) if spare.shape == shape), None)


def _mended(case: Case, step: Step, left: str) -> tuple[str, tuple[Edit, ...]]:
    """The product with the values in it."""
    if step.source is None or not left.isidentifier():
        return "", ()
    number = case.attention.v.entered
    places = [place for place, operand in enumerate(step.operands) if getattr(operand.arg, "id", None) == number]
    old = step.operands[places[-1]].text if places else ""
    text = step.source.text
    head, found, tail = text.rpartition(old) if old.isidentifier() else ("", "", "")
    if not found:
        return "", ()
    code = head + left + tail
    return code, (Edit(step.source.span, code),)


RULE = Rule("ATT032", "keys-as-values", attention=_look)
