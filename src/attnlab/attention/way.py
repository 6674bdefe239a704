"""What each step between the product of q and k and the product with v is for: scale, bias, mask, dropout."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from attnlab.attention.attention import Mask, Role
from attnlab.attention.graph import DROPOUT, Graph, refs
from attnlab.attention.inputs import number_of
from attnlab.attention.layout import REDUCTIONS
from attnlab.attention.masks import (
    hides_when_added,
    hides_when_multiplied,
    index_mask,
    is_causal,
    is_far_below,
    is_triangle,
    leads,
)
from attnlab.attention.trails import Trail, Trails
from attnlab.run import Step

_FILLS = frozenset(["masked_fill", "where", "masked_scatter", "index_fill"])
_TRIANGLES = frozenset(["tril", "triu"])
_Hides: TypeAlias = "Callable[[float], bool]"
_Kind: TypeAlias = Literal["fill", "add", "multiply", "write", "argument"]


@dataclass
class Way:
    """The steps, by what they do. `factors`: the numbers of `scale`, NaN where one is not known."""

    scale: list[int] = field(default_factory=list[int])
    factors: list[float] = field(default_factory=list[float])
    cap: list[int] = field(default_factory=list[int])
    bias: list[int] = field(default_factory=list[int])
    masks: list[Mask] = field(default_factory=list[Mask])
    dropout: list[int] = field(default_factory=list[int])


class Surveyor:
    """Walks the way of one trail. `roles`: what each of its seeds stands for; `weights`: the step that made them."""

    def __init__(self, trail: Trail, roles: dict[int, Role], weights: int, graph: Graph, trails: Trails) -> None:
        self._trail = trail
        self._roles = roles
        self._weights = weights
        self._graph = graph
        self._trails = trails
        self._way = Way()

    def way(self) -> Way:
        """What the steps do, in their order."""
        product = self._trail.product
        made = self._graph.steps[product.step]
        if product.added is not None:
            self._add(made, product.added, 1)
        for index in self._trail.path:
            step = self._graph.steps[index]
            if index in self._trail.softmax:
                continue
            if step.op in ("mul", "div"):
                self._multiply(step)
            elif step.op in ("add", "sub"):
                other = self._other(step)
                if other is not None:
                    self._add(step, other, 1 if step.op == "add" else -1)
            elif step.op in _FILLS | _TRIANGLES | {"setitem"}:
                self._fill(step)
            elif step.op == "tanh":
                self._way.cap.append(index)
            elif step.op in DROPOUT:
                self._way.dropout.append(index)
        self._find_cap()
        return self._way

    def axes(self, number: int) -> tuple[int | None, int | None]:
        """The query axis and the key axis of a tensor on the way."""
        trail = next((t for t in self._trails.trails(number) if t.product.step == self._trail.product.step), None)
        if trail is None:
            return None, None
        found: list[int | None] = []
        for role in ("query", "key"):
            seeds = {seed for seed, own in self._roles.items() if own == role}
            axes = [axis for axis in range(len(trail.labels)) if self._trails.seeds(trail, axis) & seeds]
            found.append(axes[0] if len(axes) == 1 else None)
        return found[0], found[1]

    def _holds(self, number: int) -> bool:
        return self._trails.holds(number, self._trail.product)

    def _other(self, step: Step) -> int | None:
        """The tensor that meets the scores in a step; None for a number, or what was made of the scores themselves."""
        others = [number for number in step.refs if not self._holds(number)]
        return None if not others or self._is_peak(others[0]) else others[0]

    def _is_peak(self, number: int) -> bool:
        """Whether a tensor is the maximum of the scores, taken away for the sake of exp."""
        graph, seen = self._graph, [number]
        for near in seen:
            step = graph.maker(near)
            if step is None or len(seen) > 8:
                continue
            if step.op in REDUCTIONS and any(self._holds(item) for item in step.refs):
                return True
            if step.op in REDUCTIONS | {"maximum", "unsqueeze", "detach", "clamp", "where"}:
                seen += step.refs
        return False

    def _spans(self, number: int, step: Step) -> bool:
        """Whether a tensor differs from query to query, or from key to key."""
        axes = [axis for axis in self.axes(step.results[0]) if axis is not None]
        shape, own = self._graph.shape(step.results[0]), self._graph.shape(number)
        lead = len(shape) - len(own)
        return any(axis >= lead and own[axis - lead] > 1 for axis in axes)

    def _multiply(self, step: Step) -> None:
        tensor = next((number for number in step.refs if self._holds(number)), None)
        number = None if tensor is None else number_of(step, tensor, self._graph)
        other = self._other(step)
        if number is None and (other is None or self._spans(other, step)):
            if other is not None and step.op == "mul" and hides_when_multiplied(other, self._graph):
                self._mask(step, "multiply", other, lambda cell: cell == 0)
            elif other is not None:
                self._way.bias.append(step.index)
            return
        self._way.scale.append(step.index)
        self._way.factors.append(float("nan") if number is None else number)

    def _add(self, step: Step, other: int, sign: int) -> None:
        if hides_when_added(other, sign, self._graph) and self._spans(other, step):
            self._mask(step, "add", other, lambda cell: is_far_below(sign * cell))
        else:
            self._way.bias.append(step.index)

    def _fill(self, step: Step) -> None:
        """`masked_fill`, `where`, `tril`, and `scores[mask] = x`."""
        if step.op == "setitem":
            if refs(step.operands[-1].arg):
                return  # scores that are written, not hidden
            index = step.operands[1].arg
            self._mask(step, "write", index_mask(index), bool, leads(index))
        elif step.op in _TRIANGLES:
            self._mask(step, "fill", None, bool)
        elif step.op == "where":
            kept = any(self._holds(number) for number in refs(step.arg("input", 1)))
            condition = refs(step.arg("condition", 0))
            self._mask(step, "fill", condition[0] if condition else None, lambda cell: bool(cell) != kept)
        else:
            mask = refs(step.arg("mask", 1))
            self._mask(step, "fill", mask[0] if mask else None, bool)

    def _mask(self, step: Step, kind: _Kind, value: int | None, hidden: _Hides, lead: bool = False) -> None:
        late = step.index > self._weights
        self._way.masks.append(Mask(step.index, kind, value, self._causal(step, value, hidden, lead), late))

    def _causal(self, step: Step, value: int | None, hidden: _Hides, lead: bool) -> bool | None:
        query, key = self.axes(step.results[0])
        shape = self._graph.shape(step.results[0])
        if query is None or key is None:
            return False if key is not None and shape[key] > 1 else None
        if step.op in _TRIANGLES:
            return self._is_triangle(step, query, key, shape)
        if value is None:
            return None
        return is_causal(value, hidden, (query, key), shape, self._graph, lead)

    def _is_triangle(self, step: Step, query: int, key: int, shape: tuple[int, ...]) -> bool | None:
        """`scores.tril()` keeps what is on and under the diagonal of its last two axes."""
        shift = step.arg("diagonal", 1, 0)
        if {query, key} != {len(shape) - 2, len(shape) - 1} or not isinstance(shift, int):
            return None
        lower = step.op == "tril"
        rows, columns = range(shape[-2]), range(shape[-1])
        hidden = [[(j > i + shift) if lower else (j < i + shift) for j in columns] for i in rows]
        if query > key:
            hidden = [list(column) for column in zip(*hidden, strict=True)]
        return is_triangle(hidden, shape[query], shape[key])

    def _find_cap(self) -> None:
        """A soft cap divides, bends and multiplies: its two numbers are no scale of the attention."""
        way = self._way
        for bend in list(way.cap):
            before = [index for index in way.scale if index < bend]
            after = [index for index in way.scale if bend < index < self._weights]
            if before and after:
                for index in (before[-1], after[0]):
                    del way.factors[way.scale.index(index)]
                    way.scale.remove(index)
                    way.cap.append(index)
        way.cap.sort()
