"""Why a single step is legal and what it does to the axes, from the step alone: operation → message."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TypeAlias

from attnlab.axes.links import einsum_terms
from attnlab.explanation.data import Equation, Message, Param, Shape, say
from attnlab.explanation.sight import TRIVIAL, Sight, number
from attnlab.run import Ref, Step

Reason: TypeAlias = "tuple[Message, ...]"


def reason(sight: Sight, step: Step) -> Reason:
    """Why the step is legal, and what it does; nothing where no rule is known for it."""
    rule = _RULES.get(step.op)
    if rule is None:
        return ()
    try:
        return rule(sight, step)
    except (IndexError, StopIteration, ValueError):  # called in a form that the rule does not know
        return ()


def equation(sight: Sight, step: Step) -> Equation:
    """The shapes that a step read and made; a product stands between those of `matmul` and its kin."""
    operands = [sight.shape(value) for value in step.refs]
    results = tuple(sight.shape(value) for value in step.results)
    if step.op == "linear":
        operands = [operands[0], tuple(reversed(operands[1]))]  # stored as [out, in], and multiplied transposed
    elif step.op == "conv2d":
        operands = operands[:2]
    product = step.op in ("linear", "matmul", "bmm", "mm", "mv", "einsum", "outer", "conv2d")
    if step.op not in _ALL_OPERANDS and not product:
        operands = operands[:1]
    return Equation(tuple(operands), results, "·" if product else ",")


def across(sight: Sight, group: Sequence[Step]) -> Equation:
    """The shapes before and after several steps that follow each other."""
    if len(group) == 1:
        return equation(sight, group[0])
    return Equation((sight.shape(group[0].refs[0]),), tuple(sight.shape(value) for value in group[-1].results))


_ALL_OPERANDS = frozenset(
    ["add", "sub", "mul", "div", "masked_fill", "where", "cat", "stack", "maximum", "minimum", "embedding"]
)


def _linear(sight: Sight, step: Step) -> Reason:
    x, weight = (sight.shape(value) for value in step.refs[:2])
    if len(weight) != 2:
        return ()
    found = [say("step.linear", inner=str(x[-1]), out=str(weight[0]))]
    if len(x) > 2:
        found.append(say("step.linear_each", kept=_list(x[:-1])))
    if len(step.refs) == 3:
        found.append(say("step.linear_bias"))
    return tuple(found)


def _list(axes: Shape) -> tuple[str, ...]:
    return tuple(map(str, axes))


def _matmul(sight: Sight, step: Step) -> Reason:
    left, right = (sight.shape(value) for value in step.refs[-2:])
    if len(left) == len(right) == 1:
        return (say("step.dot", inner=str(left[-1])),)
    if len(right) == 1:
        return (say("step.vector", inner=str(left[-1]), kept=_list(left[:-1])),)
    if len(left) == 1:
        return (say("step.row", inner=str(left[-1]), kept=_list((*right[:-2], right[-1]))),)
    found = [say("step.matmul", inner=str(left[-1]), rows=str(left[-2]), columns=str(right[-1]))]
    return (*found, *batch(left[:-2], right[:-2]))


def batch(left: Shape, right: Shape) -> Reason:
    """What becomes of the axes before the last two of a product."""
    if [axis.size for axis in left] == [axis.size for axis in right]:
        return (say("step.matmul_batch", batch=_list(left)),) if left else ()
    if not left or not right:
        return (say("step.matmul_shared", batch=_list(left or right)),)
    return (say("step.matmul_stretch"),)


def _einsum(sight: Sight, step: Step) -> Reason:
    shapes = [sight.shape(value) for value in step.refs]
    found = einsum_terms(step, [tuple(axis.size for axis in shape) for shape in shapes])
    if found is None:
        return ()
    terms, right = found
    sizes = {
        letter: axis
        for term, shape in zip(terms, shapes, strict=True)
        for letter, axis in zip(term, shape, strict=True)
    }
    gone = [letter for letter in sizes if letter not in right]
    said = (
        [say("step.einsum_sum", letters=tuple(gone), sizes=_list(tuple(sizes[letter] for letter in gone)))]
        if gone
        else []
    )
    return (*said, say("step.einsum_keep", letters=tuple(right))) if right else tuple(said)


def _transpose(sight: Sight, step: Step) -> Reason:
    shape = sight.shape(step.refs[0])
    one, other = step.arg("dim0", 1), step.arg("dim1", 2)
    if not isinstance(one, int) or not isinstance(other, int):
        return ()
    return (say("step.transpose", one=str(shape[one]), other=str(shape[other])),)


def _last_two(sight: Sight, step: Step) -> Reason:
    shape = sight.shape(step.refs[0])
    return (say("step.transpose", one=str(shape[-2]), other=str(shape[-1])),)


def _permute(sight: Sight, step: Step) -> Reason:
    return (say("step.permute", order=_bracketed(sight.shape(step.results[0]))),)


def _view(sight: Sight, step: Step) -> Reason:
    before, after = sight.shape(step.refs[0]), sight.shape(step.results[0])
    sizes = [tuple(axis.size for axis in shape) for shape in (before, after)]
    if sizes[0] == sizes[1]:
        return (say("step.same"),)
    start = next((i for i, pair in enumerate(zip(*sizes, strict=False)) if pair[0] != pair[1]), min(map(len, sizes)))
    end = next((i for i, pair in enumerate(zip(*map(reversed, sizes), strict=False)) if pair[0] != pair[1]), 0)
    end = min(end, *(len(size) - start for size in sizes))
    one, other = before[start : len(before) - end], after[start : len(after) - end]
    if len(one) == 1 and len(other) > 1 and prod(axis.size for axis in other) == one[0].size:
        return (say("step.view_split", whole=str(one[0]), parts=_times(other)),)
    if len(other) == 1 and len(one) > 1 and prod(axis.size for axis in one) == other[0].size:
        return (say("step.view_merge", whole=str(other[0]), parts=_times(one)),)
    return (say("step.view", before=_factors(sizes[0]), after=_factors(sizes[1]), count=prod(sizes[0])),)


def _times(axes: Shape) -> str:
    return " × ".join(map(str, axes))


def _factors(sizes: tuple[int, ...]) -> str:
    return "×".join(map(str, sizes)) or "1"


def _unsqueeze(sight: Sight, step: Step) -> Reason:
    at = step.arg("dim", 1)
    rank = len(sight.shape(step.results[0]))
    return (say("step.unsqueeze", at=at % rank),) if isinstance(at, int) else ()


def _elementwise(sight: Sight, step: Step) -> Reason:
    if len(step.refs) == 1:
        found = next((operand.arg for operand in step.operands if isinstance(operand.arg, (int, float))), None)
        if step.op in _SIGNS and found is not None:
            return (say("step.scalar", sign=_SIGNS[step.op], number=number(found)),)
        return (say("step.same"),)
    return broadcast(sight, step) or (say("step.pairs"),)


def broadcast(sight: Sight, step: Step) -> Reason:
    """Which operands are stretched to the result's shape; nothing where none is."""
    result = sight.shape(step.results[0])
    shapes = dict.fromkeys(sight.shape(value) for value in step.refs)
    sizes = [axis.size for axis in result]
    stretched = [_bracketed(shape) for shape in shapes if shape and [axis.size for axis in shape] != sizes]
    return (say("step.broadcast", shapes=tuple(stretched), result=_bracketed(result)),) if stretched else ()


_SIGNS = {"add": "+", "sub": "-", "mul": "×", "div": "÷", "pow": "^"}


def _bracketed(shape: Shape) -> str:
    return f"[{', '.join(axis.name or str(axis.size) for axis in shape)}]"


def _softmax(sight: Sight, step: Step) -> Reason:
    dim = step.arg("dim", 1)
    shape = sight.shape(step.refs[0])
    what = "step.log_softmax" if step.op == "log_softmax" else "step.softmax"
    return (say(what, dim=dim, axis=str(shape[dim])),) if isinstance(dim, int) else ()


def _dropout(_sight: Sight, step: Step) -> Reason:
    p = step.arg("p", 1, 0.5)
    if not isinstance(p, (int, float)):
        return ()
    if step.arg("training", 2, True) is not True or p == 0:
        return (say("step.dropout_off"),)
    return (say("step.dropout", p=number(p)),)


def _reduced(sight: Sight, step: Step) -> Reason:
    before = sight.shape(step.refs[0])
    dim = step.arg("dim", 1)
    if len(step.refs) > 1:
        return _elementwise(sight, step)
    if dim is None:
        return (say("step.reduce_all", count=prod(axis.size for axis in before)),)
    dims = dim if isinstance(dim, tuple) else (dim,)
    axes = tuple(before[item] for item in dims if isinstance(item, int))
    kept = len(sight.shape(step.results[0])) == len(before)
    return (say("step.reduce_kept" if kept else "step.reduce", axes=_list(axes)),)


def _cat(sight: Sight, step: Step) -> Reason:
    dim = step.arg("dim", 1, 0)
    if not isinstance(dim, int):
        return ()
    sizes = [sight.shape(value)[dim].size for value in step.refs]
    if len(sizes) == 1:
        return (say("step.copy"),)
    rank = len(sight.shape(step.results[0]))
    return (say("step.cat", dim=dim % rank, sizes=" + ".join(map(str, sizes)), total=sum(sizes)),)


def _pieces(sight: Sight, step: Step) -> Reason:
    dim = step.arg("dim", 2, 0)
    if not isinstance(dim, int):
        return ()
    whole = sight.shape(step.refs[0])[dim]
    sizes = tuple(str(sight.shape(value)[dim].size) for value in step.results)
    return (say("step.pieces", whole=str(whole), count=len(step.results), sizes=sizes),)


def _unbind(sight: Sight, step: Step) -> Reason:
    dim = step.arg("dim", 1, 0)
    return (say("step.unbind", whole=str(sight.shape(step.refs[0])[dim])),) if isinstance(dim, int) else ()


def _embedding(sight: Sight, step: Step) -> Reason:
    table = next(sight.shape(value) for value in step.refs if sight.floating(value))
    return (say("step.embedding", rows=str(table[0]), width=str(table[1])),)


def _norm(sight: Sight, step: Step) -> Reason:
    return (say("step.norm", axis=str(sight.shape(step.refs[0])[-1])),)


def _masked(sight: Sight, step: Step) -> Reason:
    value = step.arg("value", 2)
    shown: Param = number(value) if isinstance(value, (int, float)) else "…"
    return (say("step.masked_fill", value=shown), *_elementwise(sight, step)[:1])


def _getitem(sight: Sight, step: Step) -> Reason:
    index = step.operands[1]
    if isinstance(index.arg, Ref):
        return (say("step.getitem_tensor"),)
    if isinstance(index.arg, int):
        return (say("step.getitem_number", axis=str(sight.shape(step.refs[0])[0])),)
    return (say("step.getitem", index=index.text),) if index.text else ()


def _always(what: str) -> Callable[[Sight, Step], Reason]:
    def rule(_sight: Sight, _step: Step) -> Reason:
        return (say(what),)

    return rule


_FUNCTIONS = [
    *("abs", "bitwise_not", "celu", "clamp", "cos", "elu", "erf", "exp", "gelu", "leaky_relu", "log", "logical_not"),
    *("neg", "reciprocal", "relu", "round", "rsqrt", "selu", "sigmoid", "sign", "silu", "sin", "softplus", "sqrt"),
    *("square", "tanh", "tril", "triu"),
]
_CREATED = [
    *(
        "arange",
        "empty",
        "eye",
        "full",
        "linspace",
        "normal",
        "ones",
        "ones_like",
        "rand",
        "randint",
        "randn",
        "tensor",
    ),
    *("zeros", "zeros_like"),
]
_ELEMENTWISE = ["add", "sub", "mul", "div", "pow", "maximum", "minimum", "eq", "ne", "lt", "le", "gt", "ge"]
_REDUCING = ["sum", "mean", "max", "min", "amax", "amin", "std", "var", "norm", "logsumexp", "any", "all"]

_RULES: dict[str, Callable[[Sight, Step], Reason]] = {
    **dict.fromkeys(_ELEMENTWISE, _elementwise),
    **dict.fromkeys(_FUNCTIONS, _always("step.function")),
    **dict.fromkeys([*TRIVIAL, "bool", "long"], _always("step.copy")),
    **dict.fromkeys(_CREATED, _always("step.created")),
    **dict.fromkeys(["matmul", "bmm", "mm", "mv"], _matmul),
    **dict.fromkeys(["view", "reshape", "flatten", "unflatten"], _view),
    **dict.fromkeys(["transpose", "swapaxes", "swapdims"], _transpose),
    **dict.fromkeys(["T", "mT", "t"], _last_two),
    **dict.fromkeys(["softmax", "log_softmax"], _softmax),
    **dict.fromkeys(_REDUCING, _reduced),
    "argmax": _always("step.argmax"),
    "argmin": _always("step.argmax"),
    **dict.fromkeys(["chunk", "split", "tensor_split"], _pieces),
    **dict.fromkeys(["layer_norm", "rms_norm"], _norm),
    **dict.fromkeys(["cross_entropy", "mse_loss", "nll_loss", "binary_cross_entropy", "l1_loss"], _always("step.loss")),
    **dict.fromkeys(["expand", "repeat", "repeat_interleave", "expand_as"], _always("step.repeat")),
    "backward": _always("step.backward"),
    "cat": _cat,
    "conv2d": _always("step.conv"),
    "dropout": _dropout,
    "einsum": _einsum,
    "embedding": _embedding,
    "getitem": _getitem,
    "linear": _linear,
    "masked_fill": _masked,
    "permute": _permute,
    "squeeze": _always("step.squeeze"),
    "stack": _always("step.stack"),
    "unbind": _unbind,
    "unsqueeze": _unsqueeze,
    "where": _always("step.where"),
}
