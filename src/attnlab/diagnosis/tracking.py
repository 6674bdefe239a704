"""Which axis is which: each axis of each value gets a mark, which goes with it through the program.

Two axes with equal marks are the same thing: the words of one sentence, the features of a layer. It
is used to choose between changes that all fit, and never to tell that something does not fit.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from attnlab.diagnosis.data import Shape
from attnlab.diagnosis.moves import ONE, REARRANGING, UNKNOWN, Mark, Marks, in_pieces, ints
from attnlab.run import Run, Step

_FACTORIES = frozenset(["randn", "rand", "zeros", "ones", "empty", "full", "randint"])
# fmt: off
REDUCTIONS = frozenset([
    "sum", "mean", "prod", "amax", "amin", "max", "min", "argmax", "argmin", "norm", "std", "var", "logsumexp",
    "all", "any", "median",
])
# fmt: on


class Tracking:
    """The marks of all values of a Run."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._marks: dict[int, Marks] = {}
        self._shapes: dict[int, Shape] = {value.id: value.shape for value in run.values}
        for step in run.steps:
            for ref in step.results:
                self._marks[ref] = self._made(step, ref)

    def marks(self, ref: int) -> Marks:
        """The marks of a value."""
        if ref not in self._marks:
            self._marks[ref] = tuple(_mark(("axis", ref, i), size) for i, size in enumerate(self._shapes[ref]))
        return self._marks[ref]

    def tried(self, steps: Sequence[Step], shapes: Sequence[Sequence[Shape]]) -> Callable[[int], Marks]:
        """The marks of values, and of what `steps` that were tried made; `shapes` of the results."""
        other = Tracking.__new__(Tracking)
        other._run, other._marks, other._shapes = self._run, dict(self._marks), dict(self._shapes)
        for step, made in zip(steps, shapes, strict=False):
            for ref, shape in zip(step.results, made, strict=False):
                other._shapes[ref] = shape
                other._marks[ref] = other._made(step, ref)
        return other.marks

    def _made(self, step: Step, ref: int) -> Marks:
        shape = self._shapes[ref]
        try:
            found = self._follow(step, shape)
        except (IndexError, KeyError, ValueError):  # called in a way that is not foreseen here: nothing is known
            found = None
        if found is None or len(found) != len(shape):
            found = (UNKNOWN,) * len(shape)
        kind = "axis" if step.op in _FACTORIES else "fresh"
        marks = [(kind, ref, i) if mark == UNKNOWN else mark for i, mark in enumerate(found)]
        return tuple(_mark(mark, size) for mark, size in zip(marks, shape, strict=True))

    def _follow(self, step: Step, shape: Shape) -> Marks | None:
        if step.op in _FACTORIES:
            return _named(step, shape)
        refs = step.refs
        if not refs:
            return None
        first = self.marks(refs[0])
        if step.op in REARRANGING:
            return REARRANGING[step.op](step, first, self._shapes[refs[0]], shape)
        if step.op in ("matmul", "mm", "bmm") and len(refs) == 2:
            if self._is_weight(refs[1]) and first and first[-1][0] != "keys":
                return (*first[:-1], ("features", shape[-1]))
            return _product(first, self.marks(refs[1]), shape)
        if step.op == "einsum":
            return self._summed_over(step)
        if step.op == "linear":
            return (*first[:-1], ("features", shape[-1])) if shape else None
        if step.op == "div" and len(refs) == 2 and (axis := self._summed(*refs)) is not None:
            return tuple(("keys", mark) if i == axis else mark for i, mark in enumerate(first))
        if step.op == "embedding":
            return (*first, ("features", shape[-1]))
        if step.op == "softmax":
            return _softmaxed(step, first)
        if step.op in REDUCTIONS:
            return _reduced(step, first, shape)
        return self._broadcast(refs, shape)

    def _summed_over(self, step: Step) -> Marks | None:
        equation = str(step.operands[0].arg).replace(" ", "")
        inputs, _, output = equation.partition("->")
        if "." in equation or not output:
            return None
        letters: dict[str, Mark] = {}
        for term, ref in zip(inputs.split(","), step.refs, strict=True):
            letters |= dict(zip(term, self.marks(ref), strict=True))
        return tuple(letters[letter] for letter in output)

    def _is_weight(self, ref: int) -> bool:
        """Whether a matrix is what a layer is made of, and not what a step has made."""
        value = self._run.values[ref] if ref < len(self._run.values) else None
        if value is None or len(value.shape) != 2:
            return False
        maker = None if value.step is None else self._run.steps[value.step]
        return value.kind in ("parameter", "buffer") or (maker is not None and maker.op in _FACTORIES)

    def _summed(self, whole: int, part: int) -> int | None:
        """The axis over which `part` is the sum of `whole`, as in a softmax written out."""
        if max(whole, part) >= len(self._run.values):
            return None
        above, below = (self._run.values[ref].step for ref in (whole, part))
        step = None if below is None else self._run.steps[below]
        if step is None or step.op != "sum" or not step.refs:
            return None
        inner = self._run.values[step.refs[0]].step
        again = above is not None and inner is not None and self._same(above, inner)
        dims = ints(step, 1, "dim", "axis")
        return dims[0] % len(self._shapes[whole]) if len(dims) == 1 and (step.refs[0] == whole or again) else None

    def _same(self, one: int, other: int) -> bool:
        a, b = self._run.steps[one], self._run.steps[other]
        return a.op == b.op and a.refs == b.refs

    def _broadcast(self, refs: Sequence[int], shape: Shape) -> Marks | None:
        found: list[Mark] = []
        for back in range(1, len(shape) + 1):
            for ref in refs:
                other = self._shapes[ref]
                if len(other) >= back and other[-back] == shape[-back]:
                    found.insert(0, self.marks(ref)[-back])
                    break
            else:
                return None
        return tuple(found)


def plain(mark: Mark) -> Mark:
    """The mark without that of a softmax."""
    inner = mark[1] if mark[0] == "keys" else mark
    return inner if isinstance(inner, tuple) else mark  # pyright: ignore[reportUnknownVariableType]


def agree(one: Mark, other: Mark) -> int:
    """1 where two axes are the same thing, -1 where they are surely not, 0 where it is not known."""
    one, other = plain(one), plain(other)
    if ONE in (one, other):
        return 0
    if one == other:
        return 1
    if one[0] == other[0]:
        # Two axes of one tensor, two parts of one whole, two sizes of different names.
        return -1 if one[0] == "named" or (one[0] in ("axis", "fresh", "part") and one[1] == other[1]) else 0
    kinds = {one[0], other[0]}
    return -1 if kinds <= {"named", "axis", "part"} and "part" in kinds else 0


def is_feature(mark: Mark) -> bool:
    """Whether the axis holds what a layer put out, or a part of it."""
    return plain(mark)[0] == "features" or in_pieces(plain(mark))


def _mark(mark: Mark, size: int) -> Mark:
    return ONE if size == 1 else mark


def _named(step: Step, shape: Shape) -> Marks | None:
    texts: list[str] = []
    for operand in step.operands:
        if operand.keyword in ("", "size") and isinstance(operand.arg, int):
            texts.append(operand.text)
        elif operand.keyword in ("", "size") and isinstance(operand.arg, tuple):
            texts = _items(operand.text)
            break
    if len(texts) != len(shape) or not all(text and not text.isdigit() for text in texts):
        return None
    return tuple(("named", text) for text in texts)


def _items(text: str) -> list[str]:
    try:
        node = ast.parse(text, mode="eval").body
    except SyntaxError:
        return []
    return [ast.unparse(item) for item in node.elts] if isinstance(node, (ast.Tuple, ast.List)) else []


def _product(left: Marks, right: Marks, shape: Shape) -> Marks | None:
    if len(left) < 2 or len(right) < 2:
        return None
    batch: list[Mark] = []
    for back in range(3, len(shape) + 1):
        found = [marks[-back] for marks in (left, right) if len(marks) >= back and marks[-back] != ONE]
        batch.insert(0, found[0] if found else ONE)
    return (*batch, left[-2], right[-1])


def _softmaxed(step: Step, marks: Marks) -> Marks | None:
    dims = ints(step, 1, "dim")
    if not dims or not marks:
        return marks
    axis = dims[0] % len(marks)
    return tuple(("keys", mark) if i == axis else mark for i, mark in enumerate(marks))


def _reduced(step: Step, marks: Marks, shape: Shape) -> Marks | None:
    dims = {dim % len(marks) for dim in ints(step, 1, "dim", "axis", "dims") if -len(marks) <= dim < len(marks)}
    if len(shape) == len(marks):
        return tuple(ONE if i in dims else mark for i, mark in enumerate(marks))
    return tuple(mark for i, mark in enumerate(marks) if i not in dims)
