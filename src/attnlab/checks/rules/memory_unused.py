"""ATT039: a function takes the memory of another sequence, and no attention in it reads it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from attnlab.attention import Attention
from attnlab.checks.calls import passed
from attnlab.checks.found import Found, Rule, Said
from attnlab.checks.text import called_attribute, calls, is_memory, span_of, trees
from attnlab.checks.unused import complete
from attnlab.checks.weights import modules
from attnlab.checks.whole import Whole
from attnlab.run import Span, Step, Value

_SHAPE = frozenset(["shape", "size", "dtype", "device", "dim", "ndim"])


def _look(whole: Whole) -> Iterator[Found]:
    if not complete(whole):
        return
    for file, tree in trees(whole.run):
        for owner in [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]:
            for node in owner.body:
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name != "__init__":
                    yield from _in_function(whole, file, owner.name, node)
        for node in tree.body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield from _in_function(whole, file, None, node)


def _in_function(
    whole: Whole, file: str, owner: str | None, node: ast.FunctionDef | ast.AsyncFunctionDef
) -> Iterator[Found]:
    for name in _ignored(whole, node, owner):
        found = _attention(whole, owner, node)
        if found is None:
            continue
        attention, attribute = found
        unread = _unread(whole, attention)
        if unread is None:
            continue
        at = _place(whole, file, node, attention, attribute)
        if at is None:
            continue
        what = {"name": name, "function": node.name if owner is None else f"{owner}.{node.name}"}
        yield Found(
            at,
            Said("check.memory-unused.message", what),
            Said("check.memory-unused.evidence", {"name": name, "shape": str(list(unread.shape))}),
            Said("check.memory-unused.mend", {"name": name}),
        )


def _ignored(whole: Whole, node: ast.FunctionDef | ast.AsyncFunctionDef, owner: str | None) -> Iterator[str]:
    """The parameters that are named as a memory, are passed, and of which the body reads at most a shape."""
    parameters = node.args.args
    free = len(parameters) - len(node.args.defaults)
    callee = node.name if owner is None else f"{owner}.{node.name}"
    for place, item in enumerate(parameters):
        if not is_memory(item.arg) or _is_read(node, item.arg):
            continue
        if place < free or any(call.callee == callee and item.arg in call.arguments for call in passed(whole)):
            yield item.arg


def _is_read(node: ast.AST, name: str) -> bool:
    shapes = {
        id(item.value)
        for item in ast.walk(node)
        if isinstance(item, ast.Attribute) and item.attr in _SHAPE and isinstance(item.value, ast.Name)
    }
    return any(
        isinstance(item, ast.Name) and item.id == name and id(item) not in shapes and isinstance(item.ctx, ast.Load)
        for item in ast.walk(node)
    )


def _attention(
    whole: Whole, owner: str | None, node: ast.FunctionDef | ast.AsyncFunctionDef
) -> tuple[Attention, str | None] | None:
    """The attention that should have read the memory, and the attribute of the module that it is in."""
    own = node.name if owner is None else f"{owner}.{node.name}"
    met: list[tuple[Attention, str | None]] = []
    paths = [path for path, module in modules(whole) if owner is not None and type(module).__name__ == owner]
    for attention in whole.attentions:
        if attention.kind == "cross":
            continue
        attribute = _attribute(attention, paths)
        mine = attention.function == own or f".{attention.function}".endswith(f".{own}") or attention.module in paths
        if attribute is not None or mine:
            met.append((attention, attribute))
    if not met:
        return None
    named = [item for item in met if item[1] is not None and (is_memory(item[1]) or "cross" in item[1].lower())]
    if named:
        return named[0]
    first = met[0]
    beside = [item for item in met if item[0].index < first[0].index + len({other for _, other in met})]
    return beside[-1]


def _attribute(attention: Attention, paths: list[str]) -> str | None:
    """The attribute of a module at one of the paths that an attention is in; None where it is in the module itself."""
    for path in paths:
        inside = f"{path}." if path else ""
        if attention.module and attention.module != path and attention.module.startswith(inside):
            return attention.module[len(inside) :].partition(".")[0]
    return None


def _unread(whole: Whole, attention: Attention) -> Value | None:
    """A tensor of two axes or more, made before the attention, that no step reads: what the memory can be."""
    first = whole.run.steps[attention.scores.step]
    x = attention.k.x if attention.k.x is not None else attention.k.value
    width, rank = whole.graph.shape(x)[-1:], len(whole.graph.shape(x))
    for value in whole.run.values:
        if value.kind not in ("result", "input") or len(value.shape) != max(rank, 2) or value.shape[-1:] != width:
            continue
        made = -1 if value.step is None else value.step
        if made < first.index and not whole.graph.consumers(value.id) and "float" in value.dtype:
            return value
    return None


def _place(whole: Whole, file: str, node: ast.AST, attention: Attention, attribute: str | None) -> Step | Span | None:
    if attribute:
        found = [call for call in calls(node) if called_attribute(call) == attribute]
        if found:
            return span_of(found[-1], file, whole.run)
    step = attention.scores.step if attention.k.project is None else attention.k.project
    return whole.run.steps[step]


RULE = Rule("ATT039", "memory-unused", whole=_look)
