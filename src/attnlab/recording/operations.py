"""One name for one operation, however it was called: `a @ b`, `torch.matmul(a, b)`, `a.matmul(b)`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from torch import Tensor

_SAME = {
    "truediv": "div",
    "divide": "div",
    "true_divide": "div",
    "multiply": "mul",
    "subtract": "sub",
    "negative": "neg",
    "getitem": "getitem",
    "setitem": "setitem",
    "swapaxes": "transpose",
    "swapdims": "transpose",
    "moveaxis": "movedim",
    "concat": "cat",
    "concatenate": "cat",
    "clip": "clamp",
    "absolute": "abs",
    "arctan": "atan",
    "special_softmax": "softmax",
    "special_log_softmax": "log_softmax",
    "greater": "gt",
    "greater_equal": "ge",
    "less": "lt",
    "less_equal": "le",
    "not_equal": "ne",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "invert": "bitwise_not",
    "reversed": "flip",
    "conv1d": "conv1d",
}
# The methods that Python calls with the operands exchanged: `1 / x` runs `x.__rtruediv__(1)`.
_REFLECTED = {
    "radd": "add",
    "rsub": "sub",
    "rmul": "mul",
    "rdiv": "div",
    "rtruediv": "div",
    "rmatmul": "matmul",
    "rpow": "pow",
    "rfloordiv": "floor_divide",
    "rmod": "remainder",
}
# Torch's own `rsub(x, y)` is y - x too, but there the person wrote the operands in that order.
_INPLACE = {"iadd": "add", "isub": "sub", "imul": "mul", "idiv": "div", "itruediv": "div", "ipow": "pow"}


class Name(NamedTuple):
    """Canonical name, PyTorch's own, whether it is a tensor's method, whether its operands are exchanged."""

    op: str
    function: str
    method: bool
    swapped: bool


@dataclass(frozen=True)
class Outside:
    """Stands for a call whose inside is not seen, where a step needs a function."""

    op: str
    function: str


@cache
def name(func: Any) -> Name:
    """The names of a function that PyTorch passed to the mode."""
    if isinstance(func, Outside):
        return Name(func.op, func.function, False, False)
    raw: str = getattr(func, "__name__", type(func).__name__)
    if raw in ("__get__", "__set__"):  # a property of a tensor: x.T, x.data = y
        raw = func.__self__.__name__
        return Name(raw, f"torch.Tensor.{raw}", True, False)
    method = getattr(Tensor, raw, None) is func or getattr(func, "__objclass__", None) in Tensor.__mro__
    plain = raw.strip("_")
    swapped = raw.startswith("__") and plain in _REFLECTED
    if raw.startswith("__"):
        plain = _REFLECTED.get(plain) or _INPLACE.get(plain) or plain
    home = "torch.Tensor" if method else _home(func)
    return Name(_SAME.get(plain, plain), f"{home}.{raw}", method, swapped)


def _home(func: Any) -> str:
    module: str = getattr(func, "__module__", None) or ""
    if module in ("", "torch._C", "torch._C._VariableFunctions", "torch.functional"):
        return "torch"
    if module == "torch._tensor":  # methods that are written in Python
        return "torch.Tensor"
    return "torch.nn.functional" if module == "torch._C._nn" else module
