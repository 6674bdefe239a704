"""The data flow of a Run: which step made a value, which steps read it, and what kind of value it is."""

from __future__ import annotations

from attnlab.run import Arg, Ref, Run, Step, Value

# Operations that may be undone by looking at the same elements in another arrangement: none changes a number.
VIEWS = frozenset(
    [
        *("view", "reshape", "unsafe_view", "view_as", "reshape_as", "flatten", "unflatten", "ravel"),
        *("transpose", "permute", "movedim", "t", "T", "mT", "H", "mH", "adjoint", "unsqueeze", "squeeze"),
        *("expand", "expand_as", "broadcast_to", "repeat", "tile", "repeat_interleave"),
        *("getitem", "select", "narrow", "index_select", "unbind"),
        *("split", "split_with_sizes", "chunk", "tensor_split"),
        *("cat", "stack", "hstack", "vstack", "view_as_complex", "view_as_real", "roll", "flip", "pad"),
    ]
)
# Operations after which a value is the same one, in another type or another place of memory.
CASTS = frozenset(
    [
        *("to", "type", "type_as", "float", "double", "half", "bfloat16", "contiguous", "clone", "detach", "data"),
        *("cpu", "cuda", "alias", "requires_grad", "lift_fresh"),
    ]
)
# Operations that take a part of something, or several, and change nothing in it.
PIECES = frozenset(["getitem", "select", "narrow", "unbind", "split", "split_with_sizes", "chunk", "tensor_split"])
DROPOUT = frozenset(["dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_dropout"])
NORMS = frozenset(["layer_norm", "rms_norm", "normalize", "group_norm", "batch_norm", "instance_norm"])
# Operations on each element by itself, tensors meeting by broadcasting.
POINTWISE = frozenset(
    [
        *("add", "sub", "rsub", "mul", "div", "pow", "neg", "reciprocal", "remainder", "fmod", "lerp", "addcmul"),
        *("exp", "exp2", "expm1", "log", "log2", "log1p", "sqrt", "rsqrt", "square", "sin", "cos", "abs", "sign"),
        *("tanh", "sigmoid", "relu", "relu6", "gelu", "silu", "elu", "selu", "celu", "leaky_relu", "softplus", "mish"),
        *("hardtanh", "hardsigmoid", "hardswish", "logsigmoid", "softsign", "erf", "hardshrink", "prelu", "threshold"),
        *("clamp", "clamp_min", "clamp_max", "maximum", "minimum", "nan_to_num"),
        *("where", "masked_fill", "tril", "triu"),
        *(
            "softmax",
            "log_softmax",
            "masked_scatter",
            "index_fill",
            "index_copy",
            "setitem",
            "copy",
            "fill",
            "zero",
            "fill_diagonal",
        ),
        *("eq", "ne", "lt", "le", "gt", "ge", "logical_not", "logical_and", "logical_or", "bitwise_not"),
        *("bitwise_and", "bitwise_or", "bitwise_xor", "bool", "int", "long", "isnan", "isinf", "real"),
        *("floor", "ceil", "round", "trunc"),
    ]
) | (CASTS | DROPOUT | NORMS)
# Of these only the first operand's axes count: the others give a type, a size, or a vector for the last axis.
FIRST_ONLY = CASTS | DROPOUT | NORMS | frozenset(["prelu", "setitem", "masked_scatter", "index_fill", "index_copy"])


def refs(arg: Arg) -> tuple[int, ...]:
    """Ids of the values in one argument."""
    if isinstance(arg, Ref):
        return (arg.id,)
    if isinstance(arg, tuple):
        return tuple(number for item in arg for number in refs(item))
    return ()


def axis_of(arg: Arg, rank: int) -> int | None:
    """An axis as it was passed, counted from the front; None where it is none of a tensor with `rank` axes."""
    if isinstance(arg, bool) or not isinstance(arg, int) or not -rank <= arg < rank:
        return None
    return arg % rank


def axes_of(step: Step, rank: int, position: int = 1) -> tuple[int, ...] | None:
    """The axes that `dim` names, all where it is not passed; None where it can't be read."""
    dim = step.arg("dim", position)
    if dim is None:
        dim = step.arg("axis")
    if dim is None:
        return tuple(range(rank))
    found = [axis_of(item, rank) for item in (dim if isinstance(dim, tuple) else (dim,))]
    axes = tuple(axis for axis in found if axis is not None)
    return axes if len(axes) == len(found) else None


class Graph:
    """A Run's steps and values with the way from one to the other."""

    def __init__(self, run: Run) -> None:
        self.steps = run.steps
        self.values = run.values
        self._consumers: dict[int, list[Step]] = {}
        for step in run.steps:
            for number in dict.fromkeys(step.refs):
                self._consumers.setdefault(number, []).append(step)
        self._constant: dict[int, bool] = {}
        self._given: dict[int, bool] = {}
        for value in run.values:  # makers come before what they make, so each looks at what is known already
            self._constant[value.id] = self._is_constant(value)
            self._given[value.id] = self._is_given(value)

    def shape(self, number: int) -> tuple[int, ...]:
        """The shape of a value."""
        return self.values[number].shape

    def maker(self, number: int) -> Step | None:
        """The step that made a value; None for a parameter, and for what came from outside."""
        value = self.values[number]
        if value.step is None or value.kind == "parameter":
            return None
        return self.steps[value.step]

    def consumers(self, number: int) -> list[Step]:
        """The steps that read a value, in order."""
        return self._consumers.get(number, [])

    def constant(self, number: int) -> bool:
        """Whether a value was made of parameters and buffers alone, whatever the input."""
        return self._constant[number]

    def given(self, number: int) -> bool:
        """Whether a value was written down or drawn, at most scaled and cut up since: `torch.randn(3, 8, 8)[0] / 3`."""
        return self._given[number]

    def weight(self, number: int) -> bool:
        """Whether a value serves as the matrix of a projection: a parameter, or a plain matrix of a script."""
        return self.constant(number) or (self.given(number) and len(self.shape(number)) <= 2)

    def earlier(self, number: int) -> int | None:
        """The state that a value had before it was changed through another view of its memory.

        `a = scores[0]; a.zero_()` makes a new state of `scores`, though the step was told of `a` alone.
        """
        step = self.maker(number)
        if step is None or number in step.results or not step.inplace:
            return None
        seen = list(step.inplace)
        for near in seen:  # grows while it is walked: all views of the memory that was written
            if self.shape(near) == self.shape(number) and near not in step.inplace and near != number:
                return near
            made = self.maker(near)
            if made is not None and made.op in VIEWS and made.refs[0] not in seen:
                seen.append(made.refs[0])
            for user in self.consumers(near):
                if user.op in VIEWS and user.index < step.index:
                    seen += [result for result in user.results if result not in seen]
        return None

    def _is_constant(self, value: Value) -> bool:
        step = None if value.step is None else self.steps[value.step]
        if value.kind == "parameter" or step is None:
            return value.kind in ("parameter", "buffer")
        read = [number for number in step.refs if number < value.id]
        return all(self._constant[number] for number in read) if read else value.kind == "buffer"

    def _is_given(self, value: Value) -> bool:
        step = None if value.step is None else self.steps[value.step]
        if value.kind in ("parameter", "buffer"):
            return False
        if step is None or not step.refs:
            return True
        read = [number for number in step.refs if number < value.id]
        return step.op in POINTWISE | PIECES and all(self._given[number] for number in read)
