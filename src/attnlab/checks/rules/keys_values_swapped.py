"""ATT033: keys and values change places in a call, or where a tuple is unpacked.

Which of two layers is the key's can be told by nothing but what they are called: names are the evidence here, both
of them crossed, and that is said.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from attnlab.attention import Attention
from attnlab.checks.calls import Passed, passed
from attnlab.checks.case import Case
from attnlab.checks.found import Edit, Found, Rule, Said
from attnlab.checks.text import role_of, span_of, trees
from attnlab.checks.weights import projected
from attnlab.checks.whole import Whole
from attnlab.run import Span


def _look(whole: Whole) -> Iterator[Found]:
    told = False
    for call in passed(whole):
        crossed = _crossed(call)
        if crossed is None or not _attends(whole, call):
            continue
        told = True
        key, value = crossed
        first, second = call.arguments[key], call.arguments[value]
        edits = (
            Edit(span_of(first, call.file, whole.run), ast.unparse(second)),
            Edit(span_of(second, call.file, whole.run), ast.unparse(first)),
        )
        what = {"first": ast.unparse(first), "second": ast.unparse(second)}
        yield Found(
            span_of(call.node, call.file, whole.run),
            Said("check.keys-values-swapped.message", {**what, "key": key, "value": value}),
            Said("check.keys-values-swapped.evidence", {**what, "key": key, "value": value}),
            Said("check.keys-values-swapped.mend", {**what, "key": key, "value": value}),
            edits,
        )
    if not told:
        yield from _by_layers(whole)


def _crossed(call: Passed) -> tuple[str, str] | None:
    """The parameters for key and value, where each takes what is named as the other."""
    by_role = {role_of(name): name for name in call.arguments}
    key, value = by_role.get("k"), by_role.get("v")
    if key is None or value is None:
        return None
    names = [_name(call.arguments[item]) for item in (key, value)]
    roles = [None if name is None else role_of(name) for name in names]
    return (key, value) if roles == ["v", "k"] else None


def _name(node: ast.expr) -> str | None:
    """What an argument is called: a variable, an attribute, or the layer that is called for it."""
    match node:
        case ast.Name() | ast.Attribute():
            return ast.unparse(node)
        case ast.Call(func=ast.Name() | ast.Attribute() as func):
            own = role_of(ast.unparse(func))
            return ast.unparse(func) if own else _name(node.args[0]) if node.args else None
        case ast.Subscript():
            return _name(node.value)
        case _:
            return None


def _attends(whole: Whole, call: Passed) -> bool:
    """Whether the call led to an attention."""
    if call.callee == "scaled_dot_product_attention":
        return any(_is_at(whole, attention, call) for attention in whole.attentions)
    if call.callee.startswith("MultiheadAttention."):
        return any(_is_at(whole, attention, call) for attention in whole.attentions)
    return any(
        f".{attention.function}".endswith(f".{call.callee}") or _helps(call, attention)
        for attention in whole.attentions
    )


def _helps(call: Passed, attention: Attention) -> bool:
    owner, _, method = call.callee.rpartition(".")
    return method == "forward" and attention.module_type == owner


def _is_at(whole: Whole, attention: Attention, call: Passed) -> bool:
    source = whole.run.steps[attention.scores.step].source
    return (
        source is not None
        and source.span.file == call.file
        and source.span.line <= call.node.lineno <= source.span.end_line
    )


def _by_layers(whole: Whole) -> Iterator[Found]:
    """K made by a layer that is named as the value's, and v by one that is named as the key's."""
    for group in whole.groups:
        case = Case(whole, group[0], group)
        key, value = projected(case, "k"), projected(case, "v")
        if key is None or value is None or role_of(key.label) != "v" or role_of(value.label) != "k":
            continue
        what = {"key": key.label.removesuffix(".weight"), "value": value.label.removesuffix(".weight")}
        place = _unpacking(whole)
        yield Found(
            case.step(case.attention.scores.step) if place is None else place,
            Said("check.keys-values-swapped.layers", what),
            Said("check.keys-values-swapped.made", what),
            Said("check.keys-values-swapped.order"),
        )


def _unpacking(whole: Whole) -> Span | None:
    """Where a tuple is unpacked into q, v, k, in this order."""
    for file, tree in trees(whole.run):
        for node in ast.walk(tree):
            if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Tuple):
                continue
            roles = [role_of(ast.unparse(item)) for item in node.targets[0].elts]
            if "k" in roles and "v" in roles and roles.index("v") < roles.index("k"):
                return span_of(node, file, whole.run)
    return None


RULE = Rule("ATT033", "keys-values-swapped", whole=_look)
