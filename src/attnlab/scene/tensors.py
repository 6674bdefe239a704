"""The tensors of an attention by their roles, each as a stack of matrices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

import torch
from torch import Tensor

from attnlab.attention import Attention, Grid, Mask
from attnlab.checks.case import Case
from attnlab.explanation.data import Size
from attnlab.explanation.inputs import source_letters
from attnlab.explanation.sight import Sight
from attnlab.scene.data import Counted, Role
from attnlab.scene.inside import Inside, inside
from attnlab.scene.layout import Batch, by_names, order_of, stacked

# Nothing that is learned comes near it; what a mask fills in is beyond.
FILL = 9_999.0
# What is added to a score to hide it: shifted windows add -100.
_BELOW = 20.0


_Inner: TypeAlias = Literal["q", "k", "v", "scores", "scaled", "masked", "weights", "output"]


class Made(NamedTuple):
    """A tensor in its role. `value`: its number, None where the program kept it to itself and it was worked out.

    `place`: the value that was made where it was, where it is none of its own.
    """

    stack: Tensor
    value: int | None
    rows: Counted
    cols: Counted
    place: int | None = None


class Roles:
    """The tensors of one attention. Each is worked out when it is asked for, and not kept."""

    def __init__(self, case: Case, sight: Sight) -> None:
        self._case = case
        self._sight = sight
        self.faults: dict[Role, str] = {}
        self.attention: Attention = case.attention
        self._makers: dict[Role, Callable[[], Made | None]] = {
            "x": lambda: self._source(0),
            "memory": lambda: self._source(1),
            "q": lambda: self._rows("q"),
            "k": lambda: self._rows("k"),
            "v": self._v,
            "kt": self._kt,
            "scores": self._scores,
            "scaled": self._scaled,
            "mask": self._mask,
            "masked": self._masked,
            "weights": self._weights,
            "output": self._output,
            "merged": self._merged,
            "projected": self._projected,
        }

    def made(self) -> Iterator[tuple[Role, Made]]:
        """All that there are, in reading order."""
        for role, make in self._makers.items():
            try:
                found = make()
            except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError) as fault:
                self.faults[role] = f"{type(fault).__name__}: {fault}"
                continue
            if found is not None and _is_shown(found.stack):
                stack = found.stack.as_subclass(Tensor)
                plain = stack if stack.dtype in (torch.float32, torch.float64) else stack.float()
                yield role, found._replace(stack=plain)

    @property
    def divisor(self) -> float | None:
        """What the scores are divided by; None where they are not, or not by one number."""
        attention = self.attention
        before = {*attention.q.scale, *attention.k.scale}
        after = [step for step in attention.scale if step not in before]
        if attention.factor is None or (attention.style == "written" and (before or not after)):
            return None
        return 1 / attention.factor if attention.factor else None

    @property
    def factor(self) -> float | None:
        """What the product of q and k itself multiplies by; None where it only multiplies them."""
        found, attention = self._case.scores_product, self.attention
        if found is None or found.factor is not None:
            return None if found is None else found.factor
        return attention.factor if attention.scale == (attention.scores.step,) else None

    # -- what goes in and comes out --------------------------------------------------------------------

    def _value(self, number: int) -> Tensor | None:
        return self._case.replay.value(number)

    def _source(self, which: int) -> Made | None:
        values = list(source_letters(self.attention))
        return self._named(values[which]) if which < len(values) else None

    def _named(self, number: int) -> Made | None:
        """A value by the names of its axes: tokens and features."""
        tensor = self._value(number)
        if tensor is None or not tensor.dim():
            return None
        stack = by_names(tensor, self._sight.shape(number))
        rows: Counted = "" if stack.rows is None else "token"
        cols: Counted = "" if stack.columns is None else "feature"
        return Made(stack.tensor, number, rows, cols)

    def _merged(self) -> Made | None:
        merge = () if self._apart else self.attention.merge
        return self._named(self._case.step(merge[-1]).results[0]) if merge else None

    def _projected(self) -> Made | None:
        attention = self.attention
        if attention.style in ("mha", "layer"):
            return self._named([attention.result, *self._inside()][-1])
        out = attention.project_out
        return None if out is None else self._named(self._case.step(out).results[0])

    def _inside(self) -> list[int]:
        """What the call that is the attention made of its result before it gave it back."""
        steps = [self._case.step(index) for index in self.attention.merge]
        return [number for step in steps if step.call == self._case.softmax.call for number in step.results]

    # -- q, k and v ------------------------------------------------------------------------------------

    def _batch(self) -> Batch:
        """The axes over which the scores are one matrix of several."""
        case, attention = self._case, self.attention
        found = case.scores_product
        if found is not None:
            shape = self._sight.shape(case.step(found.step).results[0])
            known = zip(found.letters, shape, strict=True)
            return [axis for letter, axis in known if letter not in (case.query_letter, case.key_letter)]
        if attention.style in ("sdpa", "flex"):
            return self._sight.shape(attention.q.entered)[:-2]
        grid = attention.scores
        return [] if grid.value is None else self._beside(grid.value, grid)

    def _beside(self, value: int, grid: Grid) -> Batch:
        return [axis for at, axis in enumerate(self._sight.shape(value)) if at not in (grid.query, grid.key)]

    def _stacked(self, tensor: Tensor | None, batch: Batch) -> Tensor | None:
        found = stacked(tensor, batch, self.attention.heads)
        return None if found is None else found.tensor

    def _rows(self, name: Literal["q", "k"]) -> Made | None:
        case = self._case
        if self._apart:
            return self._worked_out(name, "query" if name == "q" else "key", "feature")
        tensor = case.q if name == "q" else case.k
        item = self.attention.q if name == "q" else self.attention.k
        number = item.entered if item.scale or item.turned is None else item.value
        stack = self._stacked(tensor, self._batch())
        if stack is None:
            return self._as_named(number, "query" if name == "q" else "key")
        return Made(stack, number, "query" if name == "q" else "key", "feature")

    def _as_named(self, number: int, rows: Counted) -> Made | None:
        """By the names of the axes, where the product of the code is none that has rows of queries and keys."""
        found = self._named(number)
        return found if found is None or not found.rows else found._replace(rows=rows)

    def _v(self) -> Made | None:
        if self._apart:
            return self._worked_out("v", "key", "feature")
        return self._probed("v", self.attention.v.entered, self._case.v, "key")

    def _output(self) -> Made | None:
        if self._apart:
            return self._worked_out("output", "query", "feature")
        return self._probed("output", self.attention.result, self._case.output, "query")

    def _probed(self, name: str, number: int, tensor: Tensor | None, rows: Counted) -> Made | None:
        """V or the output, whose axes before the last two stand in an order of their own."""
        case = self._case

        def arrange(other: Tensor) -> Tensor | None:
            return case.arranged("v", other) if name == "v" else case.arranged_output(other)

        batch: Batch | None = None
        if tensor is not None:
            shape = self._sight.shape(number)
            batch = order_of(arrange, shape) if case.written else self._batch() if name == "v" else shape[:-2]
        stack = None if batch is None else self._stacked(tensor, batch)
        return self._as_named(number, rows) if stack is None else Made(stack, number, rows, "feature")

    def _kt(self) -> Made | None:
        turned = self.attention.k.turned
        found = None if turned is None else self._rows("k")
        if turned is None or found is None:
            return None
        return Made(found.stack.mT, self._case.step(turned).results[0], "feature", found.rows)

    # -- what one call makes within ---------------------------------------------------------------------

    @property
    def _apart(self) -> bool:
        """Whether even q, k and v are made within the call that is the attention."""
        return self.attention.style in ("mha", "layer")

    @cached_property
    def _inner(self) -> Inside | None:
        return None if self._case.written else inside(self._case)

    def _worked_out(self, name: _Inner, rows: Counted, cols: Counted) -> Made | None:
        tensor: Tensor | None = None if self._inner is None else getattr(self._inner, name)
        stack = self._stacked(tensor, self._fused_batch())
        return None if stack is None else Made(stack, None, rows, cols)

    # -- scores and weights ----------------------------------------------------------------------------

    def _grid(self, value: int, grid: Grid) -> Made | None:
        """Scores or weights as they were recorded; `grid` has the axes of the queries and the keys."""
        tensor = self._value(value)
        if tensor is None or self.attention.blocks > 1:
            return None
        stack = self._stacked(self._case.arranged_grid(tensor, grid.query, grid.key), self._beside(value, grid))
        return None if stack is None else Made(stack, value, "query", "key")

    def _scores(self) -> Made | None:
        grid = self.attention.scores
        if not self._case.written:
            return self._worked_out("scores", "query", "key")
        return None if grid.value is None else self._grid(grid.value, grid)

    def _scaled(self) -> Made | None:
        attention = self.attention
        scores = attention.scores.value
        if not self._case.written:
            return self._worked_out("scaled", "query", "key")
        if scores is None:
            return None
        steps = [index for index in attention.scale if attention.scores.step < index < attention.softmax[0]]
        values = [self._case.step(index).results[0] for index in steps]
        shape = self._case.graph.shape(scores)
        if not values or self._case.graph.shape(values[-1]) != shape:
            return None
        return self._grid(values[-1], attention.scores)

    def _masked(self) -> Made | None:
        attention = self.attention
        entered = self.entered
        if not self._case.written:
            return self._worked_out("masked", "query", "key")
        before = [mask for mask in attention.masks if not self._is_late(mask)]
        if entered is None or not (attention.cap or attention.bias or before):
            return None
        return self._grid(entered, attention.weights)

    @property
    def entered(self) -> int | None:
        """The number of the value that enters the softmax, laid out as the weights are; None where it is not known."""
        attention = self.attention
        weights = attention.weights.value
        read = self._case.softmax.refs
        if not self._case.written or weights is None or not read:
            return None
        return read[0] if self._case.graph.shape(read[0]) == self._case.graph.shape(weights) else None

    def _weights(self) -> Made | None:
        attention = self.attention
        grid = attention.weights
        if self._case.written:
            return None if grid.value is None else self._grid(grid.value, grid)
        if self._inner is not None:
            return self._worked_out("weights", "query", "key")
        stack = self._stacked(self._case.weights, self._fused_batch())
        return None if stack is None else Made(stack, None, "query", "key")

    def _fused_batch(self) -> Batch:
        attention = self.attention
        if attention.style in ("sdpa", "flex"):
            return self._batch()
        q = self._sight.shape(attention.q.entered)
        tokens = 1 if attention.style == "layer" else 0
        batch = [q[1 - tokens]] if len(q) == 3 else []
        return [*batch, Size("H", attention.heads or 1)]

    # -- what is hidden --------------------------------------------------------------------------------

    def _mask(self) -> Made | None:
        """1 where a key is hidden from a query, else 0, whatever form the code's own mask has."""
        attention = self.attention
        if not attention.masks:
            return None
        number = next((mask.value for mask in attention.masks if mask.value is not None), None)
        hidden: Tensor | None
        if self._case.written:
            found = [hidden for mask in attention.masks if (hidden := self._hidden(mask)) is not None]
            if len(found) < len(attention.masks) or len({item.shape for item in found}) > 1:
                return None
            hidden = torch.stack(found).any(0)
        else:
            inner = self._inner
            allowed = self._case.allowed if inner is None else None
            hidden = inner.hidden if inner is not None else None if allowed is None else ~allowed
            hidden = self._stacked(hidden, self._fused_batch())
            if hidden is None:
                return None
        return Made(_once(hidden).float(), number, "query", "key", self._case.step(attention.masks[0].step).results[0])

    def _is_late(self, mask: Mask) -> bool:
        """Whether a mask meets weights, or the powers of a softmax written out, where it leaves 0."""
        return mask.late or mask.step > self.attention.softmax[0]

    def _hidden(self, mask: Mask) -> Tensor | None:
        attention = self.attention
        result = self._case.step(mask.step).results[0]
        shape = self._case.graph.shape(result)
        grid = attention.weights if mask.late or attention.weights.value is not None else attention.scores
        if grid.value is None or self._case.graph.shape(grid.value) != shape:
            return None
        if mask.kind == "add" and mask.value is not None:
            added = self._value(mask.value)
            tensor = None if added is None else added.expand(shape) if added.dim() <= len(shape) else None
            hidden = None if tensor is None else ~(tensor > -_BELOW)
        else:
            tensor = self._value(result)
            hidden = None if tensor is None else (tensor == 0) if self._is_late(mask) else ~(tensor > -FILL)
        if hidden is None:
            return None
        return self._stacked(self._case.arranged_grid(hidden, grid.query, grid.key), self._beside(grid.value, grid))


def _is_shown(stack: Tensor) -> bool:
    """Whether a tensor has numbers that can be drawn: a fake one has none, whatever device it names."""
    try:
        memory = stack.untyped_storage().device.type
    except (RuntimeError, NotImplementedError):  # sparse ones have none of their own
        return False
    return bool(stack.numel()) and not stack.is_complex() and memory != "meta"


def _once(stack: Tensor) -> Tensor:
    """The stack without the samples and the heads that only repeat the first."""
    for axis in (0, 1):
        first = stack.narrow(axis, 0, 1)
        if bool((stack == first).all()):
            stack = first
    return stack
