"""What each operation says about axes: one small rule an operation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attnlab.axes.axis import Axis, Hidden, Link, Same
from attnlab.axes.here import Here, Shape, each, leading, stretched
from attnlab.axes.layout import LAYOUTS, Rule
from attnlab.run import Run, Step


def links(run: Run, step: Step) -> Iterator[Link]:
    """What a step says about axes: which are the same, and which holds which."""
    if not step.results or not step.refs:
        return
    here = Here(run, step)
    # A state that an operation overwrote has the axes of the state before it.
    for old in step.inplace:
        yield from each(old, here.out, here.shape(old), here.shape(here.out))
    rule = _RULES.get(step.op)
    if rule is None:
        return
    try:
        yield from rule(here)
    except (IndexError, ValueError):  # called in a form that the rule does not know
        return


def _elementwise(here: Here) -> Iterator[Link]:
    """Aligned from the right; an axis of size 1 that was stretched is none of the result's."""
    result = here.shape(here.out)
    if here.is_complex(here.out):
        yield Hidden(_pair(here.out), 2)
        yield from (Same(_pair(value), _pair(here.out)) for value in here.tensors if here.is_complex(value))
    for value in here.tensors:
        shape = here.shape(value)
        for back in range(1, min(len(shape), len(result)) + 1):
            if shape[-back] == result[-back]:
                yield Same(Axis(value, len(shape) - back), Axis(here.out, len(result) - back))


def _pair(value: int) -> Axis:
    """The axis of real and imaginary parts, which a complex tensor holds within."""
    return Axis(value, -1)


def _as_complex(here: Here) -> Iterator[Link]:
    x = here.tensors[0]
    yield from leading(x, here.out, here.rank(here.out))
    yield Hidden(_pair(here.out), 2)
    yield Same(Axis(x, here.rank(x) - 1), _pair(here.out))


def _as_real(here: Here) -> Iterator[Link]:
    x = here.tensors[0]
    yield from leading(x, here.out, here.rank(x))
    yield Same(_pair(x), Axis(here.out, here.rank(here.out) - 1))


def _same(here: Here) -> Iterator[Link]:
    value = here.tensors[0]
    for out in here.results:
        yield from each(value, out, here.shape(value), here.shape(out))


def _linear(here: Here) -> Iterator[Link]:
    x, weight = here.tensors[:2]
    yield from leading(x, here.out, here.rank(x) - 1)
    yield Same(Axis(x, here.rank(x) - 1), Axis(weight, 1))
    yield Same(Axis(here.out, here.rank(here.out) - 1), Axis(weight, 0))
    if len(here.tensors) == 3:
        yield Same(Axis(here.tensors[2], 0), Axis(weight, 0))


def _matmul(here: Here) -> Iterator[Link]:
    left, right = here.tensors[-2:]  # baddbmm adds its first operand
    left_rank, right_rank, rank = here.rank(left), here.rank(right), here.rank(here.out)
    yield Same(Axis(left, left_rank - 1), Axis(right, max(right_rank - 2, 0)))
    rows, columns = left_rank > 1, right_rank > 1
    if rows:
        yield Same(Axis(left, left_rank - 2), Axis(here.out, rank - 1 - columns))
    if columns:
        yield Same(Axis(right, right_rank - 1), Axis(here.out, rank - 1))
    for value, own in ((left, left_rank - 2), (right, right_rank - 2)):
        for back in range(1, own + 1):
            yield from stretched(here, Axis(value, own - back), Axis(here.out, rank - rows - columns - back))


def einsum_terms(step: Step, shapes: Sequence[Shape]) -> tuple[list[str], str] | None:
    """The letters of each operand and of the result of an einsum; None where it has no equation or an ellipsis."""
    equation = step.operands[0].arg if step.operands else None
    if not isinstance(equation, str) or "." in equation:
        return None
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if [len(term) for term in terms] != [len(shape) for shape in shapes]:
        return None
    if not arrow:
        right = "".join(sorted(letter for letter in set(left) - {","} if left.count(letter) == 1))
    return terms, right


def _einsum(here: Here) -> Iterator[Link]:
    found = einsum_terms(here.step, [here.shape(value) for value in here.tensors])
    if found is None:
        return
    terms, right = found
    first: dict[str, Axis] = {letter: Axis(here.out, i) for i, letter in enumerate(right)}
    for value, term in zip(here.tensors, terms, strict=True):
        for i, letter in enumerate(term):
            yield Same(first.setdefault(letter, Axis(value, i)), Axis(value, i))


def _outer(here: Here) -> Iterator[Link]:
    yield Same(Axis(here.tensors[0], 0), Axis(here.out, 0))
    yield Same(Axis(here.tensors[1], 0), Axis(here.out, 1))


def _without(here: Here) -> Iterator[Link]:
    """Reductions: the axes named by `dim` are gone, or 1 with `keepdim`."""
    x = here.tensors[0]
    if len(here.tensors) == 2:  # torch.max(a, b)
        yield from _elementwise(here)
        return
    rank = here.rank(x)
    gone = {axis % rank for axis in here.integers("dim", 1)} if rank else set[int]()
    keep = here.rank(here.out) == rank
    if keep or here.rank(here.out) == rank - len(gone):
        left = [axis for axis in range(rank) if axis not in gone]
        for out in here.results:
            yield from (Same(Axis(x, axis), Axis(out, axis if keep else i)) for i, axis in enumerate(left))


def _embedding(here: Here) -> Iterator[Link]:
    ids, weight = sorted(here.tensors[:2], key=here.floating)  # `torch.embedding` takes them the other way round
    if here.rank(weight) == 2:
        yield from leading(ids, here.out, here.rank(ids))
        yield Same(Axis(weight, 1), Axis(here.out, here.rank(here.out) - 1))


def _sdpa(here: Here) -> Iterator[Link]:
    query, key, value = here.tensors[:3]
    q, k, v, out = here.rank(query), here.rank(key), here.rank(value), here.rank(here.out)
    yield Same(Axis(query, q - 1), Axis(key, k - 1))
    yield Same(Axis(key, k - 2), Axis(value, v - 2))
    yield Same(Axis(query, q - 2), Axis(here.out, out - 2))
    yield Same(Axis(value, v - 1), Axis(here.out, out - 1))
    for operand, rank in ((query, q), (key, k), (value, v)):
        for back in range(3, min(rank, out) + 1):
            yield from stretched(here, Axis(operand, rank - back), Axis(here.out, out - back))
    mask = here.value("attn_mask", 3)
    if mask is not None:
        rank = here.rank(mask)
        yield from stretched(here, Axis(mask, rank - 1), Axis(key, k - 2))
        yield from stretched(here, Axis(mask, rank - 2), Axis(query, q - 2))
        for back in range(3, min(rank, out) + 1):
            yield from stretched(here, Axis(mask, rank - back), Axis(here.out, out - back))


def _multi_head(here: Here) -> Iterator[Link]:
    """`F.multi_head_attention_forward`: [L, B, E] (or [L, E]) in and out, weights [B, (H,) L, S]."""
    query, key, value = (here.value(name, i) for i, name in enumerate(("query", "key", "value")))
    if query is None or key is None or value is None:
        return
    yield from each(query, here.out, here.shape(query), here.shape(here.out))
    yield Same(Axis(key, 0), Axis(value, 0))
    batched = here.rank(query) == 3
    if batched:
        yield from (Same(Axis(query, 1), Axis(other, 1)) for other in (key, value))
    packed = here.value("in_proj_weight", 5)
    if packed is not None:
        yield from (Same(Axis(value, here.rank(value) - 1), Axis(packed, 1)) for value in (query, key, value))
    if len(here.results) > 1:
        weights = here.results[1]
        rank = here.rank(weights)
        yield Same(Axis(query, 0), Axis(weights, rank - 2))
        yield Same(Axis(key, 0), Axis(weights, rank - 1))
        if batched:
            yield Same(Axis(query, 1), Axis(weights, 0))


def _convolved(here: Here) -> Iterator[Link]:
    x, weight = here.tensors[:2]
    shape, result, kernel = here.shape(x), here.shape(here.out), here.shape(weight)
    if len(shape) != len(kernel):
        return
    yield Same(Axis(x, 0), Axis(here.out, 0))
    yield Same(Axis(here.out, 1), Axis(weight, 0))
    yield from stretched(here, Axis(x, 1), Axis(weight, 1))
    if set(kernel[2:]) == {1} and shape[2:] == result[2:]:  # each place is its own
        yield from (Same(Axis(x, i), Axis(here.out, i)) for i in range(2, len(shape)))


def _recurrent(here: Here) -> Iterator[Link]:
    x = here.tensors[0]
    if here.rank(x) == here.rank(here.out):
        yield from leading(x, here.out, here.rank(x) - 1)


_ELEMENTWISE = [
    *("abs", "add", "addcdiv", "addcmul", "bfloat16", "bitwise_and", "bitwise_not", "bitwise_or", "bool", "ceil"),
    *("celu", "clamp", "clone", "contiguous", "cos", "cumprod", "cumsum", "data", "detach", "div", "double", "dropout"),
    *("elu", "eq", "erf", "exp", "expand", "expand_as", "flip", "float", "floor", "ge", "gelu", "gt", "half"),
    *("hardswish", "int", "isfinite", "isinf", "isnan", "le", "leaky_relu", "lerp", "log", "log_softmax"),
    *("logical_and", "logical_not", "logical_or", "logit", "long", "lt", "masked_fill", "maximum", "minimum", "mish"),
    *("mul", "nan_to_num", "ne", "neg", "normalize", "pow", "reciprocal", "relu", "relu6", "requires_grad", "round"),
    *("rsqrt", "rsub", "selu", "sigmoid", "sign", "silu", "sin", "softmax", "softplus", "sqrt", "square", "sub"),
    *("tanh", "tril", "triu", "where"),
]
_UNCHANGED = [
    *("alpha_dropout", "batch_norm", "cpu", "cuda", "feature_dropout", "layer_norm", "ones_like", "rms_norm", "to"),
    *("transformer_encoder_layer_fwd", "type", "type_as", "zeros_like"),
]
_REDUCING = ["amax", "amin", "argmax", "logsumexp", "max", "mean", "min", "norm", "std", "sum", "var"]

_RULES: dict[str, Rule] = {
    **LAYOUTS,
    **dict.fromkeys(_ELEMENTWISE, _elementwise),
    **dict.fromkeys(_UNCHANGED, _same),
    **dict.fromkeys(_REDUCING, _without),
    **dict.fromkeys(["matmul", "bmm", "mm", "mv", "baddbmm"], _matmul),
    **dict.fromkeys(["gru", "lstm"], _recurrent),
    **dict.fromkeys(["conv1d", "conv2d"], _convolved),
    "einsum": _einsum,
    "embedding": _embedding,
    "linear": _linear,
    "multi_head_attention_forward": _multi_head,
    "outer": _outer,
    "scaled_dot_product_attention": _sdpa,
    "view_as_complex": _as_complex,
    "view_as_real": _as_real,
}
