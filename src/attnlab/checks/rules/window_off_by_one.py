"""ATT076: a sliding window lets a query see one key more, or one less, than its size says.

Decided by counting the keys that the queries see when all scores are equal, and by the number that limits them. That
the number is the size of the window is told by its name (`window`, 窗口), which is a hint. A window that reaches to
both sides, or a number with another name (`look_back`), is left alone.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import torch
from torch import Tensor

from attnlab.checks.case import Case
from attnlab.checks.causality import grid_steps
from attnlab.checks.editing import code
from attnlab.checks.found import Found, Rule, Said
from attnlab.checks.masking import sight
from attnlab.run import Step

_NAMED = re.compile(r"[\w.]*(?:window|win_size|窗)[\w.]*", re.IGNORECASE)


def _look(case: Case) -> Iterator[Found]:
    view = sight(case)
    if view is None or not view.square:
        return
    count = _width(view.any)
    if count is None:
        return
    for step in grid_steps(case):
        named = _window(step)
        if named is None or abs(named[1] - count) != 1:
            continue
        name, size = named
        yield Found(
            step,
            Said("check.window-off-by-one.message", {"code": code(step), "name": name, "size": size}),
            Said("check.window-off-by-one.evidence", {"count": count, "size": size}),
            Said("check.window-off-by-one.mend", {"name": name}),
        )
        return


def _width(seen: Tensor) -> int | None:
    """How many keys a query sees where that is the same for all but the first: those up to its own."""
    size = seen.shape[-1]
    count = int(seen[-1].sum())
    wanted = torch.ones(size, size, dtype=torch.bool).tril() & torch.ones(size, size, dtype=torch.bool).triu(1 - count)
    return count if 0 < count < size and bool((seen == wanted).all()) else None


def _window(step: Step) -> tuple[str, int] | None:
    """The name in a step that speaks of a window, and the number that it has there."""
    for operand in step.operands:
        names = set(_NAMED.findall(operand.text))
        if isinstance(operand.arg, bool) or not isinstance(operand.arg, int) or len(names) != 1:
            continue
        name = names.pop()
        for size in range(1, abs(operand.arg) + 4):
            if _worth(operand.text.replace(name, str(size))) == operand.arg:
                return name, size
    return None


def _worth(text: str) -> int | None:
    """The number that an expression of numbers is; None for anything else."""
    try:
        tree = ast.parse(text, mode="eval")
    except SyntaxError:
        return None
    allowed = (ast.Expression, ast.BinOp, ast.UnaryOp, ast.Constant, ast.Add, ast.Sub, ast.USub, ast.Mult, ast.FloorDiv)
    if not all(isinstance(node, allowed) for node in ast.walk(tree)):
        return None
    return _value(tree.body)


def _value(node: ast.expr) -> int | None:
    match node:
        case ast.Constant(value=int() as value):
            return value
        case ast.UnaryOp(operand=inner):
            found = _value(inner)
            return None if found is None else -found
        case ast.BinOp(left=left, op=op, right=right):
            a, b = _value(left), _value(right)
            if a is None or b is None:
                return None
            return a + b if isinstance(op, ast.Add) else a - b if isinstance(op, ast.Sub) else None
        case _:
            return None


RULE = Rule("ATT076", "window-off-by-one", attention=_look)
