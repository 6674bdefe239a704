"""Calls in the user's text, joined to the modules and functions that they call."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from typing import NamedTuple

import torch

from attnlab.checks.text import called_attribute, function, trees
from attnlab.checks.weights import modules
from attnlab.checks.whole import Whole

_SDPA = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal")


class Passed(NamedTuple):
    """A call in the text with its arguments by the names of the parameters that take them.

    `callee` is the qualified name of the function that is called, such as "Attention.forward".
    """

    file: str
    node: ast.Call
    arguments: dict[str, ast.expr]
    callee: str


def passed(whole: Whole) -> Iterator[Passed]:
    """All calls of the user's whose parameters are known: of SDPA, of modules, of functions in the same files."""
    attributes = _attributes(whole)
    for file, tree in trees(whole.run):
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            name = called_attribute(node)
            for callee, parameters in _known(name, attributes, tree):
                arguments = dict(zip(parameters, node.args, strict=False))
                arguments |= {item.arg: item.value for item in node.keywords if item.arg is not None}
                if not any(isinstance(item, ast.Starred) for item in node.args):
                    yield Passed(file, node, arguments, callee)


def _known(
    name: str | None, attributes: dict[str, tuple[str, tuple[str, ...]]], tree: ast.AST
) -> Iterator[tuple[str, tuple[str, ...]]]:
    if name is None:
        return
    if name == "scaled_dot_product_attention":
        yield name, _SDPA
    elif name in attributes:
        yield attributes[name]
    else:
        found = function(tree, name)
        if isinstance(found, (ast.FunctionDef, ast.AsyncFunctionDef)):
            names = tuple(item.arg for item in found.args.args)
            yield name, names[1:] if names[:1] == ("self",) else names


def _attributes(whole: Whole) -> dict[str, tuple[str, tuple[str, ...]]]:
    """By the name of a module's attribute: the function that a call of it runs, and its parameters."""
    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    kinds: dict[str, tuple[str, tuple[str, ...]]] = {}
    for path, module in modules(whole):
        name = path.rpartition(".")[2]
        kinds[type(module).__name__] = (f"{type(module).__name__}.forward", parameters(module))
        if name.isidentifier():
            found[name] = kinds[type(module).__name__]
    for _, tree in trees(whole.run):  # modules of a script: by the names that their making was given
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Assign)
                and isinstance(node.value, ast.Call)
                and isinstance(node.targets[0], ast.Name)
            ):
                kind = kinds.get(called_attribute(node.value) or "")
                if kind is not None:
                    found.setdefault(node.targets[0].id, kind)
    return found


def parameters(module: torch.nn.Module) -> tuple[str, ...]:
    """The names of what a module's forward takes."""
    try:
        return tuple(inspect.signature(module.forward).parameters)
    except (TypeError, ValueError):
        return ()
