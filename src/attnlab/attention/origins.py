"""Where q, k and v come from: the axes of every value of a Run, the projection behind each, and its input."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from attnlab.attention.axes import Axes, Axis, Part, Roots, roots_of, size_of
from attnlab.attention.graph import CASTS, DROPOUT, NORMS, POINTWISE, VIEWS, Graph, refs
from attnlab.attention.layout import carry
from attnlab.attention.products import MATRIX, Product, product
from attnlab.run import Step

CONVOLUTIONS = frozenset(["conv1d", "conv2d", "conv3d"])
# Fused operations whose result has the axes of their first operand, but for the last.
FUSED = frozenset(
    [
        *("scaled_dot_product_attention", "multi_head_attention_forward", "native_multi_head_attention"),
        "transformer_encoder_layer_fwd",
    ]
)
# Far more steps than stand between any projection and its product.
_FAR = 60
_PLAIN = CASTS | DROPOUT | VIEWS


class Projection(NamedTuple):
    """The step that made q, k or v of an input `x`; the layout steps after it, and those that only scale."""

    step: int
    x: int
    layout: tuple[int, ...]


class Origins:
    """The axes of all values, and the projections behind them."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._roots = Roots()
        self._axes: dict[int, Axes] = {}
        self._opaque: set[int] = set()
        self._projections: dict[int, Projection | None] = {}
        for step in graph.steps:
            for number in (*step.refs, *step.inplace):
                if number not in self._axes:
                    self._axes[number] = self._arrived(number)
            for number, axes in zip(step.results, self._made(step), strict=True):
                self._axes[number] = axes

    def axes(self, number: int) -> Axes:
        """The axes of a value that a step read or made."""
        return self._axes[number]

    def repeated(self, axis: Axis) -> bool:
        """Whether an axis holds copies of one thing."""
        return size_of(axis) > 1 and self.distinct(axis) == 1

    def distinct(self, axis: Axis) -> int:
        """How many different things an axis holds, copies of one counted once."""
        return prod(part.size for part in axis if not self._roots.repeats(part))

    def is_cut(self, part: Part, features: set[int]) -> bool:
        """Whether a part was cut out of an axis of features: that of which `features` are left, or a projection's."""
        roots = self._roots
        if roots.partial(part) and part.root in roots.ancestors(features, through_projections=True):
            return True
        if roots.partial(part) and roots.is_projected(part.root):
            return True
        return bool(roots.ancestors([part.root]) & roots.ancestors(features))

    def akin(self, first: Axis, second: Axis) -> bool | None:
        """Whether two axes run over the same tokens, or one over some of the other's; None where it can't be told."""
        one, two = roots_of(first), roots_of(second)
        if one & self._roots.ancestors(two) or two & self._roots.ancestors(one):
            return True
        return None if (one | two) & self._opaque else False

    def projection(self, number: int) -> Projection | None:
        """The projection that a value comes from, where there is just one."""
        return self._project(number, _FAR)

    def sources(self, number: int) -> set[int]:
        """What a value was projected from; itself, as it was before any change of layout, where it was not."""
        found: set[int] = set()
        self._collect(number, found, set(), _FAR)
        return {self.base(x) for x in found} or {self.base(number)}

    def base(self, number: int) -> int:
        """A value as it was before changes of layout and type."""
        step = self._graph.maker(number)
        while step is not None and step.op in _PLAIN and len(step.refs) == 1 and step.refs[0] < number:
            number = step.refs[0]
            step = self._graph.maker(number)
        return number

    def projects(self, step: Step) -> int | None:
        """The input of a step that multiplies it with a weight; None where a step is no projection."""
        graph = self._graph
        if step.op in CONVOLUTIONS:
            return step.refs[0] if len(step.refs) > 1 and graph.constant(step.refs[1]) else None
        found = product(step, graph)
        if found is None or step.op == "sum" or not found.gone(found.left_letters):
            return None
        left, right = graph.constant(found.left), graph.constant(found.right)
        if left or right:
            return None if left and right else found.right if left else found.left
        matrix = step.op in MATRIX or not (set(found.left_letters) & set(found.right_letters) & set(found.letters))
        if matrix and graph.given(found.left) and len(graph.shape(found.left)) == 2 < len(graph.shape(found.right)):
            return found.right  # a weight in front, of one matrix for all samples
        if not matrix:
            return None
        ranks = len(graph.shape(found.left)), len(graph.shape(found.right))
        if graph.given(found.left) and ranks[0] <= 2 < ranks[1]:  # `W @ x`, the weight in front
            return found.right
        return found.left if graph.given(found.right) and ranks[1] <= 3 else None

    def _project(self, number: int, depth: int) -> Projection | None:
        if number not in self._projections:
            self._projections[number] = None  # a value that leads back to itself leads nowhere
            self._projections[number] = self._find_projection(number, depth)
        return self._projections[number]

    def _find_projection(self, number: int, depth: int) -> Projection | None:
        step = self._graph.maker(number)
        if step is None or not depth:
            return None
        x = self.projects(step)
        if x is not None:
            return Projection(step.index, x, ())
        if step.op not in VIEWS | POINTWISE or step.op in ("softmax", "log_softmax"):
            return None
        branches = [item for item in self._branches(step, number) if item < number]
        found = [self._project(item, depth - 1) for item in branches]
        best = self._agreed(step, number, branches, found)
        if best is None or (step.op not in VIEWS and step.op != "contiguous"):
            return best
        return best._replace(layout=(*best.layout, step.index))

    def _branches(self, step: Step, number: int) -> tuple[int, ...]:
        """The values through which a step's result may go back to a projection."""
        if number not in step.results:
            before = self._graph.earlier(number)
            written = refs(step.operands[-1].arg) if step.op == "setitem" else ()
            return written if before is None else (before, *written)
        if step.op in CASTS | DROPOUT | NORMS or (step.op in VIEWS and step.op not in ("cat", "stack")):
            return step.refs[:1]
        return tuple(item for item in dict.fromkeys(step.refs) if not self._graph.constant(item))

    def _agreed(
        self, step: Step, number: int, branches: list[int], found: list[Projection | None]
    ) -> Projection | None:
        """The one projection to which the operands lead; None where they lead to several, or past one."""
        reached = [item for item in found if item is not None]
        if not reached:
            return None
        if step.op in ("cat", "setitem", "index_copy"):  # a cache: what was joined last is what was made now
            return max(reached, key=lambda item: item.step)
        if len({item.step for item in reached}) > 1:
            return None
        if step.op in ("add", "sub") and self._is_residual(number, branches, found):
            return None
        return reached[0]

    def _is_residual(self, number: int, branches: list[int], found: list[Projection | None]) -> bool:
        """Whether a sum adds to a projection something of the same shape that was never projected."""
        shape = self._graph.shape(number)
        return any(
            item is None and self._graph.shape(branch) == shape for branch, item in zip(branches, found, strict=True)
        )

    def _collect(self, number: int, found: set[int], seen: set[int], depth: int) -> None:
        step = self._graph.maker(number)
        if step is None or number in seen or not depth:
            return
        seen.add(number)
        x = self.projects(step)
        if x is not None:
            found.add(x)
        elif step.op in VIEWS | POINTWISE and step.op not in ("softmax", "log_softmax"):
            for item in self._branches(step, number):
                self._collect(item, found, seen, depth - 1)

    def _arrived(self, number: int) -> Axes:
        """The axes of a value that no step was seen to make, or that was changed through another view."""
        before = self._graph.earlier(number)
        if before is not None and before in self._axes:
            return self._axes[before]
        return self._roots.fresh(self._graph.shape(number))

    def _made(self, step: Step) -> list[Axes]:
        """The axes of a step's results."""
        graph, known = self._graph, self._axes
        found = product(step, graph)
        if found is not None:
            return [self._multiplied(step, found)]
        if step.op in CONVOLUTIONS:
            return [self._convolved(step)]
        if step.op in FUSED and step.results:
            return self._attended(step)
        carried = carry(step, graph, known, self._roots)
        if step.op in ("setitem", "index_copy") and len(step.results) == 1:
            carried = (self._written(step),)
        return [
            self._unknown(step, number) if axes is None else axes
            for number, axes in zip(step.results, carried, strict=True)
        ]

    def _unknown(self, step: Step, number: int) -> Axes:
        """Axes of a result of which no rule tells; if it was made of tensors, they may be those of its tensors."""
        axes = self._roots.fresh(self._graph.shape(number))
        if step.refs:
            self._opaque |= {root for axis in axes for root in roots_of(axis)}
        return axes

    def _multiplied(self, step: Step, found: Product) -> Axes:
        """The axes of a contraction: its operands' own; those of a weight are features, made of the input's."""
        shape = self._graph.shape(step.results[0])
        weighted = self.projects(step)
        sides = {
            found.left: dict(zip(found.left_letters, self._axes[found.left], strict=True)),
            found.right: dict(zip(found.right_letters, self._axes[found.right], strict=True)),
        }
        x = found.left if weighted is None else weighted
        first, second = sides[x], sides[found.right if x == found.left else found.left]
        features = [letter for letter in found.letters if letter not in first] if weighted is not None else []
        sizes = dict(zip(found.letters, shape, strict=True))
        contracted = {root for letter, axis in first.items() if letter not in sizes for root in roots_of(axis)}
        shape = tuple(sizes[letter] for letter in features)
        joint = self._roots.new(prod(shape), fed=contracted)
        made = dict(zip(features, self._roots.reshape((joint,), shape), strict=True))
        return tuple(made.get(letter) or first.get(letter) or second.get(letter) or () for letter in found.letters)

    def _convolved(self, step: Step) -> Axes:
        x, shape = self._axes[step.refs[0]], self._graph.shape(step.results[0])
        if len(x) != len(shape) or len(x) < 3:
            return self._roots.fresh(shape)
        channels = self._roots.new(shape[1], fed=roots_of(x[1]))
        places = [
            axis if size_of(axis) == size else self._roots.new(size, parents=roots_of(axis))
            for axis, size in zip(x[2:], shape[2:], strict=True)
        ]
        return (x[0], channels, *places)

    def _attended(self, step: Step) -> list[Axes]:
        shapes = [self._graph.shape(number) for number in step.results]
        query = self._axes[step.refs[0]]
        first = self._roots.fresh(shapes[0])
        if tuple(size_of(axis) for axis in query[:-1]) == shapes[0][:-1]:
            first = (*query[:-1], self._roots.new(shapes[0][-1], fed=roots_of(query[-1])))
        return [first, *(self._roots.fresh(shape) for shape in shapes[1:])]

    def _written(self, step: Step) -> Axes:
        """`cache[:, start:end] = k`: the axes of the cache, which now hold what was written too."""
        old = self._axes[step.refs[0]]
        value = refs(step.operands[-1].arg)
        new = self._axes[value[0]] if value else ()
        if not new or len(new) > len(old):
            return old
        lead = len(old) - len(new)
        return (
            *old[:lead],
            *(
                self._roots.new(size_of(axis), parents=roots_of(axis) | roots_of(other))
                for axis, other in zip(old[lead:], new, strict=True)
            ),
        )
