"""Products that contract axes, in one notation for all ways to write them: letters, as in `einsum`.

`torch.matmul(q, k.transpose(-2, -1))`, `einsum("bqd,bkd->bqk", q, k)` and `(q[:, :, None] * k[:, None]).sum(-1)`
are all a Product of two tensors in which a letter that stands on both sides is gone from the result.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Literal, NamedTuple, TypeAlias

from attnlab.attention.graph import CASTS, DROPOUT, Graph, axes_of, axis_of, refs
from attnlab.run import Step

Letters: TypeAlias = "tuple[int, ...]"

# What may stand between the sum of query and key and the vector that makes it a score, in additive attention.
_BENDS = frozenset(["tanh", "relu", "leaky_relu", "gelu", "silu", "elu", "sigmoid"])
# Operations whose right operand is a plain matrix, rows first: a matrix there that nothing was done to is a weight.
MATRIX = frozenset(["matmul", "bmm", "mm", "mv", "addmm", "addmv", "baddbmm", "linear"])


class Product(NamedTuple):
    """A contraction of two tensors. A letter is a number; the letters of each tensor stand for its axes in order.

    `factor` is a number that the operation itself multiplies by, None where there is none; `added` a tensor that
    it adds (`baddbmm`). `additive`: the operands were added, not multiplied (Bahdanau); `inner` are the steps of it
    before `step`.
    """

    step: int
    left: int
    right: int
    left_letters: Letters
    right_letters: Letters
    letters: Letters
    factor: float | None = None
    added: int | None = None
    additive: bool = False
    inner: tuple[int, ...] = ()

    def side(self, letter: int) -> Literal["left", "right", "both", "none"]:
        """Which operand a letter comes from."""
        left, right = letter in self.left_letters, letter in self.right_letters
        if left and right:
            return "both"
        return "left" if left else "right" if right else "none"

    def gone(self, letters: Letters) -> Letters:
        """Those of an operand's letters over which the products are summed."""
        return tuple(letter for letter in letters if letter not in self.letters and self.side(letter) == "both")


def product(step: Step, graph: Graph) -> Product | None:
    """The contraction that a step performs; None where it performs none, or one of more than two tensors."""
    rule = _RULES.get(step.op)
    found = rule(step, graph) if rule is not None and len(step.results) == 1 else None
    if found is None:
        return None
    ranks = tuple(len(graph.shape(number)) for number in (found.left, found.right, step.results[0]))
    if ranks != (len(found.left_letters), len(found.right_letters), len(found.letters)):
        return None
    return _without_stretched(found, graph)


def _without_stretched(found: Product, graph: Graph) -> Product:
    """An axis of size 1 that is stretched to meet another's is no part of the meeting: it gets a letter of its own."""
    left = dict(zip(found.left_letters, graph.shape(found.left), strict=True))
    right = dict(zip(found.right_letters, graph.shape(found.right), strict=True))

    def own(sizes: dict[int, int], other: dict[int, int]) -> Letters:
        return tuple(
            -1 - letter if size == 1 and other.get(letter, 1) > 1 else letter for letter, size in sizes.items()
        )

    return found._replace(left_letters=own(left, right), right_letters=own(right, left))


def additive(found: Product, graph: Graph) -> Product | None:
    """The product that additive scores stand for: `w · tanh(q + k)`, or `w · tanh(W [q; k])`.

    `found` is the product of the bent sum (left) with the vector. None where it is no such thing.
    """
    bend = _behind(found.left, graph)
    if bend is None or bend.op not in _BENDS or not bend.refs:
        return None
    summed = _summed(bend.refs[0], graph)
    if summed is None:
        return None
    first, second, steps = summed
    rank = len(found.left_letters)
    a, b = (found.left_letters[rank - len(graph.shape(number)) :] for number in (first, second))
    if len(a) != len(graph.shape(first)) or len(b) != len(graph.shape(second)):
        return None
    inner = (*steps, bend.index)
    return _without_stretched(
        Product(found.step, first, second, a, b, found.letters, additive=True, inner=inner), graph
    )


def outer_sum(step: Step, graph: Graph) -> Product | None:
    """The sum of a column and a row, as additive scores (graph attention); None where both have the same axes."""
    pair = _pair(step, "input", "other")
    if step.op != "add" or pair is None:
        return None
    found = _by_broadcast(step, *pair, (), graph)._replace(additive=True)
    found = _without_stretched(found, graph)
    sides = {found.side(letter) for letter in found.letters}
    return found if {"left", "right"} <= sides else None


def _behind(number: int, graph: Graph) -> Step | None:
    """The step that made a value, casts and dropout passed over."""
    step = graph.maker(number)
    while step is not None and step.op in CASTS | DROPOUT and step.refs:
        step = graph.maker(step.refs[0])
    return step


def _summed(number: int, graph: Graph) -> tuple[int, int, tuple[int, ...]] | None:
    """The two tensors that were added, or put side by side and projected together, and the steps that did it.

    A bias that is added as well is passed over.
    """
    step = _behind(number, graph)
    moving = () if step is None else tuple(item for item in step.refs if not graph.constant(item))
    if step is None or step.op not in ("add", "linear"):
        return None
    if len(moving) == 2:
        return (*moving, (step.index,)) if step.op == "add" else None
    if len(moving) != 1:
        return None
    if step.op == "add":
        summed = _summed(moving[0], graph)
        return None if summed is None else (*summed[:2], (*summed[2], step.index))
    joined = _behind(moving[0], graph)
    last = len(graph.shape(number)) - 1
    if joined is None or joined.op != "cat" or axis_of(joined.arg("dim", 1, 0), last + 1) != last:
        return None
    return (*joined.refs, (joined.index, step.index)) if len(joined.refs) == 2 else None


def _pair(step: Step, *names: str) -> tuple[int, int] | None:
    """Ids of the two tensors that are multiplied: by keyword, or the first two passed."""
    found = [refs(step.arg(name, place)) for place, name in enumerate(names)]
    if all(len(item) == 1 for item in found):
        return found[0][0], found[1][0]
    return None


def _matmul(step: Step, graph: Graph) -> Product | None:
    second = {"bmm": "mat2", "mm": "mat2", "mv": "vec"}.get(step.op, "other")
    pair = _pair(step, "input", second)
    return None if pair is None else _by_rows(step, *pair, graph)


def _by_rows(step: Step, left: int, right: int, graph: Graph) -> Product | None:
    """Letters of `left @ right`: the last axis of one meets the last but one of the other."""
    a, b = len(graph.shape(left)), len(graph.shape(right))
    if not a or not b:
        return None
    batch = tuple(range(10, 10 + max(a, b, 2) - 2))
    left_letters = (*batch[len(batch) - max(a - 2, 0) :], 0, 1) if a > 1 else (1,)
    right_letters = (*batch[len(batch) - max(b - 2, 0) :], 1, 2) if b > 1 else (1,)
    out = (*batch, *((0,) if a > 1 else ()), *((2,) if b > 1 else ()))
    return Product(step.index, left, right, left_letters, right_letters, out)


def _added(step: Step, graph: Graph) -> Product | None:
    """`baddbmm` and its kin: beta · input + alpha · a @ b."""
    names = {"baddbmm": ("batch1", "batch2"), "addmm": ("mat1", "mat2"), "addmv": ("mat", "vec")}[step.op]
    first, second = refs(step.arg(names[0], 1)), refs(step.arg(names[1], 2))
    found = _by_rows(step, first[0], second[0], graph) if len(first) == len(second) == 1 else None
    if found is None:
        return None
    added = refs(step.arg("input", 0)) if step.arg("beta", None, 1) != 0 else ()
    alpha = step.arg("alpha")
    factor = float(alpha) if isinstance(alpha, (int, float)) and alpha != 1 else None
    return found._replace(factor=factor, added=added[0] if added else None)


def _linear(step: Step, graph: Graph) -> Product | None:
    pair = _pair(step, "input", "weight")
    if pair is None or not graph.shape(pair[0]):
        return None
    rows = tuple(range(10, 10 + len(graph.shape(pair[0])) - 1))
    features = () if len(graph.shape(pair[1])) == 1 else (2,)
    return Product(step.index, *pair, (*rows, 1), (*features, 1), (*rows, *features))


def _inner(step: Step, graph: Graph) -> Product | None:
    pair = _pair(step, "input", "tensor" if step.op == "dot" else "other")
    if pair is None or not (graph.shape(pair[0]) and graph.shape(pair[1])):
        return None
    a, b = (len(graph.shape(number)) - 1 for number in pair)
    rows, columns = tuple(range(10, 10 + a)), tuple(range(30, 30 + b))
    return Product(step.index, *pair, (*rows, 1), (*columns, 1), (*rows, *columns))


def _tensordot(step: Step, graph: Graph) -> Product | None:
    pair, dims = _pair(step, "a", "b"), step.arg("dims", 2, 2)
    if pair is None:
        return None
    a, b = (len(graph.shape(number)) for number in pair)
    if isinstance(dims, int):
        dims = (tuple(range(a - dims, a)), tuple(range(dims)))
    if not isinstance(dims, tuple) or len(dims) != 2:
        return None
    left, right = list(range(10, 10 + a)), list(range(30, 30 + b))
    meeting = zip(*(item if isinstance(item, tuple) else (item,) for item in dims), strict=False)
    for count, (first, second) in enumerate(meeting):
        i, j = axis_of(first, a), axis_of(second, b)
        if i is None or j is None:
            return None
        left[i] = right[j] = 60 + count
    out = tuple(letter for letter in (*left, *right) if letter < 60)
    return Product(step.index, *pair, tuple(left), tuple(right), out)


def _einsum(step: Step, graph: Graph) -> Product | None:
    equation = step.arg("equation", 0)
    tensors = [number for operand in step.operands[1:] for number in refs(operand.arg)]
    if not isinstance(equation, str):
        return None
    inputs, arrow, result = equation.replace(" ", "").partition("->")
    terms = list(zip(inputs.split(","), tensors, strict=False))
    factors = [(term, number) for term, number in terms if graph.shape(number)]
    if len(factors) != 2 or len(terms) != len(tensors):
        return None
    if not arrow:  # then the result has the letters that occur once, in alphabetical order
        once = sorted(letter for letter in set(inputs) - set(",.") if inputs.count(letter) == 1)
        result = ("..." if "..." in inputs else "") + "".join(once)
    hidden = [len(graph.shape(number)) - len(term.replace("...", "")) for term, number in factors]
    (left, right), dots = factors, max(hidden)
    a, b = (_spelled(term, count, dots) for (term, _), count in zip(factors, hidden, strict=True))
    if len(set(a)) != len(a) or len(set(b)) != len(b):  # a diagonal
        return None
    numbers = [value_of(number, graph) for _, number in terms if not graph.shape(number)]
    factor = prod(item for item in numbers if item is not None) if numbers and None not in numbers else None
    return Product(step.index, left[1], right[1], a, b, _spelled(result, dots, dots), factor)


def _spelled(term: str, count: int, dots: int) -> Letters:
    """The letters of an einsum term as numbers; `...` stands for the last `count` of `dots` axes."""
    before, found, after = term.partition("...")
    middle = range(1000 + dots - count, 1000 + dots) if found else ()
    return (*map(ord, before), *middle, *map(ord, after))


def value_of(number: int, graph: Graph) -> float | None:
    """The one number that a tensor holds; None where it holds more, or was not noted."""
    value = graph.values[number]
    if prod(value.shape) != 1 or value.numbers is None or not value.numbers.corner:
        return None
    return value.numbers.corner[0][0]


def _sum(step: Step, graph: Graph) -> Product | None:
    """`(a * b).sum(dim)`."""
    maker = graph.maker(step.refs[0]) if step.refs else None
    pair = _pair(maker, "input", "other") if maker is not None and maker.op == "mul" and not maker.inplace else None
    if maker is None or pair is None:
        return None
    gone = axes_of(step, len(graph.shape(maker.results[0])))
    return None if gone is None else _by_broadcast(step, *pair, gone, graph)


def _along(step: Step, graph: Graph) -> Product | None:
    """`linalg.vecdot(a, b, dim)` and `F.cosine_similarity(a, b, dim)`: a product by broadcasting, and a sum."""
    cosine = step.op == "cosine_similarity"
    pair = _pair(step, *(("x1", "x2") if cosine else ("x", "y")))
    if pair is None:
        return None
    rank = max(len(graph.shape(number)) for number in pair)
    axis = axis_of(step.arg("dim", 2, 1 if cosine else -1), rank)
    return None if axis is None else _by_broadcast(step, *pair, (axis,), graph)


def _by_broadcast(step: Step, left: int, right: int, gone: tuple[int, ...], graph: Graph) -> Product:
    rank = max(len(graph.shape(number)) for number in (left, right))
    a, b = (tuple(range(10 + rank - len(graph.shape(number)), 10 + rank)) for number in (left, right))
    # with `keepdim` an axis of size 1 stays, which stands for nothing any more
    kept = len(graph.shape(step.results[0])) == rank
    out = tuple(500 + axis if axis in gone else 10 + axis for axis in range(rank) if kept or axis not in gone)
    return Product(step.index, left, right, a, b, out)


_RULES: dict[str, Callable[[Step, Graph], Product | None]] = {
    **dict.fromkeys(["matmul", "bmm", "mm", "mv"], _matmul),
    **dict.fromkeys(["baddbmm", "addmm", "addmv"], _added),
    **dict.fromkeys(["inner", "dot"], _inner),
    **dict.fromkeys(["linalg_vecdot", "vecdot", "cosine_similarity"], _along),
    "linear": _linear,
    "tensordot": _tensordot,
    "einsum": _einsum,
    "sum": _sum,
}
