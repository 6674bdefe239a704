"""Elementwise operations and `expand`: sizes are compared from the right, and must be equal or 1."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator, Sequence
from itertools import combinations, permutations

from attnlab.diagnosis.case import Case, Tried, bracket, count
from attnlab.diagnosis.changes import ALL, Chain, Change, Link, Plain, index, method
from attnlab.diagnosis.data import Diagnosis, Message, Shape
from attnlab.diagnosis.expression import Expression
from attnlab.diagnosis.moves import ints
from attnlab.diagnosis.tracking import REDUCTIONS, agree
from attnlab.run import Ref, Slice

# fmt: off
_ELEMENTWISE = frozenset([
    "add", "sub", "rsub", "mul", "div", "floor_divide", "remainder", "fmod", "pow", "maximum", "minimum", "fmax",
    "fmin", "where", "masked_fill", "lerp", "atan2", "eq", "ne", "lt", "le", "gt", "ge", "bitwise_and",
    "bitwise_or", "bitwise_xor", "logical_and", "logical_or", "logical_xor", "addcmul", "addcdiv", "hypot",
    "copysign", "xlogy", "masked_scatter", "copy",
])
# fmt: on


def diagnose(case: Case) -> Diagnosis | None:
    """A diagnosis of an elementwise operation; None where it is none, or its shapes do not explain the failure."""
    if case.step.op not in _ELEMENTWISE:
        return None
    keys = [key for key in case.tensors() if isinstance(key, int)]
    shapes = [case.shape(key) for key in keys]
    target = keys[0] if case.step.function.endswith("_") and not case.step.function.endswith("__") else None
    backs = collisions(shapes)
    whole = together(shapes)
    if not backs and (target is None or whole is None or case.shape(target) == whole):
        return None
    if not backs:
        return _inplace(case, keys, whole or ())
    one, other = _pair(case, keys, backs[0])
    params = {"left": case.name(one), "right": case.name(other)}
    sizes = {"left_size": case.size(one, -backs[0]), "right_size": case.size(other, -backs[0])}
    rows = [
        case.row(key, [-back for back in backs if len(case.shape(key)) >= back and case.shape(key)[-back] != 1])
        for key in keys
    ]
    changes = [change for key in keys if key != target for change in _changes(case, key, keys)]
    fits = case.best(changes, lambda tried: _agreement(case, tried)) if case.fails_again else []
    fails = case.failing(_tempting(case, keys)) if fits else []
    notes = [] if fits else [note for key in (one, other) if (note := case.widened(key, -backs[0]))]
    return case.diagnosis(
        rows, Message("diagnosis.broadcast.sizes", {**params, **sizes}), fits + fails, notes, aligned=True
    )


def expand(case: Case) -> Diagnosis | None:
    """A diagnosis of `expand`; None where it is none, or its shapes do not explain the failure."""
    if case.step.op not in ("expand", "expand_as", "broadcast_to") or not case.shape(0):
        return None
    asked = case.shape(1) if case.step.op == "expand_as" else ints(case.step, 1, "size")
    shape = case.shape(0)
    if len(asked) < len(shape):
        rows = [case.row(0), case.asked(case.step.op, asked)]
        params = {"input": case.name(0), "shape": bracket(shape), "asked": bracket(asked)}
        return case.diagnosis(rows, Message("diagnosis.expand.rank", params), aligned=True)
    backs = [b for b in range(1, len(shape) + 1) if shape[-b] not in (1, asked[-b]) and asked[-b] != -1]
    if not backs:
        return None
    chain = case.chain(0)
    changes = (
        [] if chain is None else [Change({0: chain.then(link)}, cost=cost) for cost, link in inserted(shape, asked)]
    )
    changes += _kept(case, asked, backs)
    fits = case.best(changes) if case.fails_again else []
    marks = [-back for back in backs]
    sizes = {"input": case.name(0), "size": case.size(0, marks[0]), "asked_size": asked[marks[0]]}
    rows = [case.row(0, marks), case.asked(case.step.op, asked, marks)]
    return case.diagnosis(rows, Message("diagnosis.expand.size", sizes), fits, aligned=True)


def collisions(shapes: Sequence[Shape]) -> list[int]:
    """The axes, counted from the right, on which the shapes do not go together."""
    found: list[int] = []
    for back in range(1, max(map(len, shapes), default=0) + 1):
        sizes = {shape[-back] for shape in shapes if len(shape) >= back} - {1}
        if len(sizes) > 1:
            found.append(back)
    return found


def together(shapes: Sequence[Shape]) -> Shape | None:
    """The shape to which broadcasting brings all of them; None where they do not go together."""
    if collisions(shapes):
        return None
    sizes: list[int] = []
    for back in range(1, max(map(len, shapes), default=0) + 1):
        here = [shape[-back] for shape in shapes if len(shape) >= back]
        sizes.insert(0, next((size for size in here if size != 1), 1))
    return tuple(sizes)


def inserted(shape: Shape, target: Shape, grow: bool = False) -> Iterator[tuple[float, Link]]:
    """The ways to put new axes into `shape` so that it goes with `target`, and what each asks of the reader.

    The first axis is most often the batch, and the last one the keys: those ways come first. `grow`: the
    other side may have 1 where `shape` has more, so that the result is larger than both.
    """
    if not 0 < len(shape) < len(target):
        return
    for places in combinations(range(len(target)), len(shape)):
        if places[0] == len(target) - len(shape):  # that is where they stand already
            continue
        pairs = [(size, target[place]) for size, place in zip(shape, places, strict=True)]
        if all(size == other or size == 1 or (grow and other == 1) for size, other in pairs):
            items = [ALL if axis in places else None for axis in range(places[0], len(target))]
            if items[-2:] == [ALL, ALL]:  # whole axes at the end go without saying
                while items[-1] is ALL:
                    items.pop()
            grown = any(other == 1 != size for size, other in pairs)
            yield 1 + 0.3 * (places[-1] != len(target) - 1) + 0.3 * (places[0] != 0) + 0.5 * grown, index(*items)


def turned(shape: Shape, target: Shape) -> Iterator[tuple[float, Link]]:
    """The ways to change the order of the axes so that it goes with the end of `target`."""
    rank = len(shape)
    # A mask with axes of size 1 was put in order by hand; what does not fit then is something else.
    if not 1 < rank <= min(len(target), 4) or (rank > 3 and 1 in shape):
        return
    for order in permutations(range(rank)):
        moved = [i for i in range(rank) if order[i] != i]
        if moved and all(shape[order[i]] in (1, target[i - rank]) for i in range(rank)):
            if len(moved) == 2:
                one, other = moved
                yield 2.0, method("transpose", *((-2, -1) if moved == [rank - 2, rank - 1] else (one, other)))
            else:
                yield 2.5, method("permute", *order)


def _pair(case: Case, keys: Sequence[int], back: int) -> tuple[int, int]:
    """The two operands that do not go together on an axis."""
    here = [key for key in keys if len(case.shape(key)) >= back and case.shape(key)[-back] != 1]
    other = next(key for key in here if case.shape(key)[-back] != case.shape(here[0])[-back])
    return here[0], other


def _changes(case: Case, key: int, keys: Sequence[int]) -> Iterator[Change]:
    chain = case.core(key)
    target = together([case.shape(other) for other in keys if other != key])
    if target is None:
        return
    shape = case.shape(key)
    # It is the smaller one that is brought to the other's form: the mask, the bias, the table; else the later one.
    small = count(shape) <= count(target)
    cost_of_it = 0.5 * (not small) + 0.1 * (key == keys[0])
    yield from _kept_axis(case, key)
    if chain is None:
        return
    for cost, link in (*inserted(shape, target, grow=small), *turned(shape, target)):
        yield Change({key: chain.then(link)}, cost=cost + cost_of_it)
    link = _cut(case, key, keys, target)
    if link is not None:
        yield Change({key: chain.then(link)})


def _kept_axis(case: Case, key: int) -> Iterator[Change]:
    """`keepdim=True` in the sum, the mean or the like that took the axis away."""
    value = case.value(key)
    maker = None if value is None else case.maker(value.id)
    if value is None or maker is None or maker.source is None or maker.op not in REDUCTIONS:
        return
    dims, expression = ints(maker, 1, "dim", "axis"), Expression(maker.source.text)
    if len(dims) != 1 or maker.via is not None or not isinstance(expression.node, ast.Call):
        return
    passed = maker.operand("keepdim", 2)
    said = None if passed is None else expression.operand(maker, maker.operands.index(passed))
    if passed is not None and said is None:
        return
    text = expression.replaced([(said, "True")]) if said else expression.replaced([], "keepdim=True")
    rank = len(value.shape) + 1
    link = dataclasses.replace(method("unsqueeze", dims[0] % rank), text="")
    part = case.chain(key)
    if part is not None and part.text == maker.source.text:
        yield Change({key: Chain(value.id, text, (link,))}, cost=0.7)
    elif maker.source.targets:
        yield Change({key: Chain(value.id, "", (link,))}, elsewhere=(maker.source, text), cost=0.7)


def _cut(case: Case, key: int, keys: Sequence[int], target: Shape) -> Link | None:
    """A table that is longer than the input, cut to its length."""
    value, shape = case.value(key), case.shape(key)
    if value is None or len(shape) > len(target):
        return None
    if value.kind not in ("parameter", "buffer") and not case.name(key).startswith("self."):
        return None
    if "[" in case.name(key):  # it has been cut already: what does not fit is the other one
        return None
    items: list[Slice] = []
    texts: list[str] = []
    for axis in range(-len(shape), 0):
        # A length is cut, and of a mask both of its lengths; never the heads, nor the features of a table.
        square = shape[-2:-1] in ((1,), shape[-1:])
        longer = shape[axis] > target[axis] and shape[axis] != 1 and (axis == -2 or (axis == -1 and square))
        other = _named(case, key, keys, axis, target[axis]) if longer else None
        if shape[axis] not in (1, target[axis]) and other is None:
            return None
        items.append(Slice(None, target[axis], None) if other else ALL)
        texts.append(f":{other.text}.size({_axis(axis, len(target))})" if other else ":")
    while items and items[-1] is ALL:
        items.pop()
        texts.pop()
    return index(*items, text=", ".join(texts)) if items else None


def _axis(back: int, rank: int) -> int:
    """An axis as one writes it: from the end where it is the last, or one of the last two beside heads."""
    return back if back == -1 or rank > 3 else back + rank


def _named(case: Case, key: int, keys: Sequence[int], axis: int, size: int) -> Chain | None:
    for other in keys:
        shape = case.shape(other)
        if other != key and len(shape) >= -axis and shape[axis] == size:
            return case.chain(other)
    return None


def _kept(case: Case, asked: Shape, backs: Sequence[int]) -> list[Change]:
    """The sizes that are there already, kept: -1 in an `expand`."""
    if case.step.op == "expand_as":
        return []
    passed = case.step.operands[1].arg
    operands = {
        ((1, len(asked) - back) if isinstance(passed, tuple) else 1 + len(asked) - back): Plain(-1, "-1")
        for back in backs
    }
    return [Change(operands, cost=2)]


def _agreement(case: Case, tried: Tried) -> int:
    """How many of the axes that lie one over the other are known to be the same thing; -1 where some are not."""
    marks = case.marks(tried)
    ids = [operand.arg.id for operand in tried.steps[-1].operands if isinstance(operand.arg, Ref)]
    found = [
        agree(a, b)
        for one, other in combinations(ids, 2)
        for a, b in zip(marks(one)[::-1], marks(other)[::-1], strict=False)
    ]
    return -1 if -1 in found else sum(found)


def _tempting(case: Case, keys: Sequence[int]) -> Iterator[Change]:
    """One new axis is often thought to be enough."""
    ranks = [len(case.shape(key)) for key in keys]
    for key, rank in zip(keys, ranks, strict=True):
        chain = case.core(key)
        if chain is not None and rank > 1 and max(ranks) - rank > 1:
            yield Change({key: chain.then(method("unsqueeze", 1))})


def _inplace(case: Case, keys: Sequence[int], whole: Shape) -> Diagnosis:
    target = keys[0]
    params = {"target": case.name(target), "shape": bracket(case.shape(target)), "whole": bracket(whole)}
    reason = Message("diagnosis.broadcast.inplace", params)
    node = case.expression.node
    fits = []
    if isinstance(node, ast.AugAssign) and case.step.function.endswith("_"):
        name = ast.unparse(node.target)
        plain = ast.unparse(ast.Assign([node.target], ast.BinOp(ast.Name(name), node.op, node.value), lineno=1))
        fits = case.best([Change(function=case.step.function.rstrip("_"), elsewhere=(case.source, plain))])
    back = next(
        b
        for b in range(1, len(whole) + 1)
        if (1, *case.shape(target))[-min(b, len(case.shape(target)) + 1)] != whole[-b]
    )
    marks = [-back] if back <= len(case.shape(target)) else []
    return case.diagnosis([case.row(key, marks if key == target else ()) for key in keys], reason, fits, aligned=True)
