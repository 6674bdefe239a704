"""ATT035: the same layer object is listed several times, so that a stack of layers has the weights of one.

Decided by the entries of a container of modules. Of a plain list, which no module knows of, by its text,
`[Layer()] * n`, and by the run: one object of that class ran, and several times over.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import torch

from attnlab.attention import Attention
from attnlab.checks.found import Edit, Found, Rule, Said
from attnlab.checks.text import called_attribute, names_several, span_of, trees
from attnlab.checks.weights import modules, repeated_containers
from attnlab.checks.whole import Whole
from attnlab.run import Span

_CONTAINERS = frozenset(["ModuleList", "Sequential", "ModuleDict"])


def _look(whole: Whole) -> Iterator[Found]:
    told: set[Span] = set()
    types: set[str] = set()
    for container, path, layer, count in repeated_containers(whole):
        place = _place(whole, container, path)
        if place is None or place[0] in told:
            continue
        span, node = place
        told.add(span)
        types.add(type(layer).__name__)
        weights = sum(item.numel() for item in layer.parameters())
        what = {"layer": type(layer).__name__, "count": count}
        yield Found(
            span,
            Said("check.layer-repeated.message", what),
            Said("check.layer-repeated.evidence", {"count": count, "weights": weights, "whole": count * weights}),
            Said("check.layer-repeated.mend"),
            _edits(node, whole, span),
            note=names_several(ast.unparse(node)),
        )
    yield from _in_plain_lists(whole, types)


def _in_plain_lists(whole: Whole, told: set[str]) -> Iterator[Found]:
    """`[Layer()] * n`, of a class of which one object ran `n` times."""
    ran: dict[str, dict[int, torch.nn.Module]] = {}
    for _, module in modules(whole):
        ran.setdefault(type(module).__name__, {})[id(module)] = module
    for file, tree in trees(whole.run):
        for node in ast.walk(tree):
            match node:
                case ast.BinOp(left=ast.List(elts=[ast.Call() as made]), op=ast.Mult()):
                    name = called_attribute(made) or ""
                case _:
                    continue
            objects, count = list(ran.get(name, {}).values()), _rounds(whole, name)
            if name in told or len(objects) != 1 or count < 2 or names_several(ast.unparse(node)):
                continue
            weights = sum(item.numel() for item in objects[0].parameters())
            span = span_of(node, file, whole.run)
            yield Found(
                span,
                Said("check.layer-repeated.message", {"layer": name, "count": count}),
                Said("check.layer-repeated.evidence", {"count": count, "weights": weights, "whole": count * weights}),
                Said("check.layer-repeated.mend"),
                _edits(node, whole, span),
            )


def _rounds(whole: Whole, name: str) -> int:
    """How often the attention inside a class was computed."""
    inside = [group for group in whole.groups if _is_inside(whole, group[0], name)]
    return max(map(len, inside), default=0)


def _is_inside(whole: Whole, attention: Attention, name: str) -> bool:
    paths = [path for path, module in modules(whole) if type(module).__name__ == name]
    own = attention.module or ""
    return attention.module_type == name or any(path and own.startswith(f"{path}.") for path in paths) or "" in paths


def _place(whole: Whole, container: torch.nn.Module, path: str) -> tuple[Span, ast.AST] | None:
    """Where the list was written: the container's call, or the list that was multiplied."""
    name, attribute = type(container).__name__, path.rpartition(".")[2]
    owner = _owner(whole, container)
    found: list[tuple[int, Span, ast.AST]] = []
    for file, tree in trees(whole.run):
        for node in ast.walk(tree):
            rank = _rank(node, name, attribute, owner)
            if rank is not None:
                found.append(
                    (rank + (10 if not _inside(tree, node, owner) else 0), span_of(node, file, whole.run), node)
                )
    if not found:
        return None
    _, span, node = min(found, key=lambda item: item[0])
    return span, node


def _owner(whole: Whole, container: torch.nn.Module) -> str | None:
    """The class of the module that holds a container."""
    for _, module in modules(whole):
        if any(child is container for child in module.children()):
            return type(module).__name__
    return None


def _inside(tree: ast.AST, node: ast.AST, owner: str | None) -> bool:
    return any(
        isinstance(item, ast.ClassDef) and item.name == owner and any(inner is node for inner in ast.walk(item))
        for item in ast.walk(tree)
    )


def _rank(node: ast.AST, name: str, attribute: str, owner: str | None) -> int | None:
    """How well a node fits as the place where one layer was listed several times: smaller is better."""
    if isinstance(node, ast.Call) and called_attribute(node) == name:
        return 0 if any(_repeats(item) for arg in node.args for item in ast.walk(arg)) else None
    if isinstance(node, (ast.BinOp, ast.ListComp)) and _repeats(node):
        return 1
    if isinstance(node, ast.Call) and called_attribute(node) in ("append", "extend", "add_module"):
        return 3 if node.args and isinstance(node.args[-1], ast.Name) else None
    del attribute, owner
    return None


def _repeats(node: ast.AST) -> bool:
    """Whether an expression puts one object into a list several times."""
    match node:
        case ast.BinOp(op=ast.Mult()):
            return any(isinstance(side, (ast.List, ast.Tuple)) and side.elts for side in (node.left, node.right))
        case ast.ListComp() | ast.GeneratorExp():
            bound = {n.id for c in node.generators for n in ast.walk(c.target) if isinstance(n, ast.Name)}
            element = node.elt
            if isinstance(element, ast.Call) and called_attribute(element) == "copy" and len(element.args) == 1:
                element = element.args[0]
            names = {n.id for n in ast.walk(element) if isinstance(n, ast.Name)}
            return isinstance(element, (ast.Name, ast.Attribute)) and not names & bound
        case ast.List() | ast.Tuple():
            texts = [ast.dump(item) for item in node.elts if isinstance(item, (ast.Name, ast.Attribute))]
            return len(texts) > len(set(texts))
        case _:
            return False


def _edits(node: ast.AST, whole: Whole, span: Span) -> tuple[Edit, ...]:
    """`[f(x) for _ in range(n)]` for `[f(x)] * n`: certain where the layer is built in the list itself."""
    for item in ast.walk(node):
        match item:
            case ast.BinOp(left=ast.List(elts=[ast.Call() as made]), op=ast.Mult(), right=times):
                place = span_of(item, span.file, whole.run)
                return (Edit(place, f"[{ast.unparse(made)} for _ in range({ast.unparse(times)})]"),)
            case _:
                continue
    return ()


RULE = Rule("ATT035", "layer-repeated", whole=_look)
