"""One attention on the bench: its tensors in one layout for all styles, and experiments on them.

Whatever the code's own layout, here q is [N, Lq, d], k [N, Lk, d], v [N, Lk, dv], scores and weights
[N, Lq, Lk], output [N, Lq, dv], in float64; N are all other axes (batch, heads), flattened in the code's order.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from math import prod
from typing import Literal, TypeAlias

import torch
from torch import Tensor

from attnlab.attention import Attention, Input
from attnlab.attention.products import Letters, Product, product
from attnlab.checks.whole import Whole
from attnlab.run import Step

Name: TypeAlias = Literal["q", "k", "v"]
# At how many places of x it is tried what feels them.
PLACES = 24


class Case:
    """One attention of a run. Everything is None where it is not known: not kept, or not to be run again."""

    def __init__(self, whole: Whole, attention: Attention, group: tuple[Attention, ...]) -> None:
        """`group`: all the attentions of the same lines and shapes, this one first."""
        self.whole = whole
        self.run = whole.run
        self.graph = whole.graph
        self.replay = whole.replay
        self.attention = attention
        self.group = group

    # -- steps -------------------------------------------------------------------------------------

    def step(self, index: int) -> Step:
        """A step of the run."""
        return self.run.steps[index]

    def input(self, name: Name) -> Input:
        """Which of q, k, v."""
        return {"q": self.attention.q, "k": self.attention.k, "v": self.attention.v}[name]

    @property
    def softmax(self) -> Step:
        """The (first) step of the softmax; of a fused attention, its one step."""
        return self.step(self.attention.softmax[0])

    @property
    def written(self) -> bool:
        """Whether product, softmax and product are steps of the user's own."""
        return self.attention.style == "written"

    # -- products in letters -----------------------------------------------------------------------

    @cached_property
    def scores_product(self) -> Product | None:
        """The product of q and k in letters; None for a fused attention and for additive scores."""
        if not self.written or self.attention.additive:
            return None
        return product(self.step(self.attention.scores.step), self.graph)

    @cached_property
    def output_product(self) -> Product | None:
        """The product of weights and v in letters; None for a fused attention."""
        return product(self.step(self.attention.output), self.graph) if self.written else None

    @cached_property
    def query_letter(self) -> int | None:
        """The letter of the queries' axis in `scores_product`."""
        return self._letter(self.attention.scores.query)

    @cached_property
    def key_letter(self) -> int | None:
        """The letter of the keys' axis in `scores_product`."""
        return self._letter(self.attention.scores.key)

    def _letter(self, axis: int | None) -> int | None:
        found = self.scores_product
        return None if found is None or axis is None or axis >= len(found.letters) else found.letters[axis]

    # -- tensors in one layout ----------------------------------------------------------------------

    @cached_property
    def q(self) -> Tensor | None:
        """[N, Lq, d] as it enters the product: a scaling of q is in it."""
        return self.arranged("q", self._tensor("q"))

    @cached_property
    def k(self) -> Tensor | None:
        """[N, Lk, d] as it enters the product."""
        return self.arranged("k", self._tensor("k"))

    @cached_property
    def v(self) -> Tensor | None:
        """[N, Lk, dv]."""
        return self.arranged("v", self._tensor("v"))

    @cached_property
    def weights(self) -> Tensor | None:
        """[N, Lq, Lk] as recorded (written), or as the fused call makes them. Dropout is not in them."""
        if self.written:
            return self.grid(self.attention.weights.value)
        return self.weights_where({})

    @cached_property
    def output(self) -> Tensor | None:
        """[N, Lq, dv] as recorded: what the product with v made."""
        return self.arranged_output(self.replay.double(self.attention.result))

    def _tensor(self, name: Name) -> Tensor | None:
        return self.replay.double(self.input(name).entered)

    def arranged(self, name: Name, tensor: Tensor | None) -> Tensor | None:
        """A tensor in the code's layout of q, k or v (as entered) in the layout of this class."""
        if tensor is None:
            return None
        if not self.written:
            return self._fused(name, tensor)
        found = self.output_product if name == "v" else self.scores_product
        if found is None:
            return None
        if name == "v":
            own, other = self._sides_of_v(found)
            gone = tuple(letter for letter in own if letter not in found.letters)
            free = tuple(letter for letter in own if letter in found.letters and letter not in other)
            batch = tuple(letter for letter in found.letters if letter in other and letter in own)
            return _in_order(tensor, own, batch, gone, free)
        row = self.query_letter if name == "q" else self.key_letter
        away = self.key_letter if name == "q" else self.query_letter
        left = self._is_left(name, found)
        own = found.left_letters if left else found.right_letters
        batch = tuple(letter for letter in found.letters if letter not in (row, away))
        inner = tuple(letter for letter in own if letter not in found.letters)
        return _in_order(tensor, own, batch, () if row is None else (row,), inner, self._sizes(found))

    def _is_left(self, name: Name, found: Product) -> bool:
        row = self.query_letter if name == "q" else self.key_letter
        if row is not None and (row in found.left_letters) != (row in found.right_letters):
            return row in found.left_letters
        return found.left == self.input(name).entered

    def _sides_of_v(self, found: Product) -> tuple[Letters, Letters]:
        """The letters of v, and of the weights, in the product of both."""
        if found.left == self.attention.v.entered:
            return found.left_letters, found.right_letters
        return found.right_letters, found.left_letters

    def _sizes(self, found: Product) -> dict[int, int]:
        return dict(zip(found.letters, self.graph.shape(self.step(found.step).results[0]), strict=True))

    def _fused(self, name: Name, tensor: Tensor) -> Tensor | None:
        if self.attention.style not in ("sdpa", "flex"):
            return None
        q_shape = self.graph.shape(self.attention.q.entered)
        if name != "q" and tensor.dim() >= 3 and self.softmax.arg("enable_gqa", 7, False) is True:
            tensor = tensor.repeat_interleave(q_shape[-3] // tensor.shape[-3], -3)
        rank = max(len(q_shape), tensor.dim()) - 2
        one, other = ((1,) * (rank + 2 - len(shape)) + tuple(shape[:-2]) for shape in (q_shape, tensor.shape))
        lead = tuple(max(pair) for pair in zip(one, other, strict=True))
        return tensor.expand(*lead, *tensor.shape[-2:]).reshape(-1, *tensor.shape[-2:])

    def grid(self, number: int | None) -> Tensor | None:
        """[N, Lq, Lk]: scores or weights, by the number of their value, which is laid out as the weights are."""
        if number is None:
            return None
        weights, scores = self.attention.weights, self.attention.scores
        where = weights if number == weights.value else scores
        return self.arranged_grid(self.replay.double(number), where.query, where.key)

    def arranged_grid(self, tensor: Tensor | None, query: int | None, key: int | None) -> Tensor | None:
        """[N, Lq, Lk] from a tensor whose axes of queries and keys are these."""
        if tensor is None or key is None or key >= tensor.dim():
            return None
        if query is None:
            tensor, query = tensor.unsqueeze(-1), tensor.dim()
        if query >= tensor.dim():
            return None
        turned = tensor.movedim((query, key), (-2, -1))
        return turned.reshape(-1, *turned.shape[-2:])

    def arranged_output(self, tensor: Tensor | None) -> Tensor | None:
        """[N, Lq, dv] from a tensor in the layout of the product with v."""
        if tensor is None:
            return None
        if not self.written:
            return tensor.reshape(-1, *tensor.shape[-2:]) if self.attention.style in ("sdpa", "flex") else None
        found = self.output_product
        if found is None or tensor.dim() != len(found.letters):
            return None
        own, other = self._sides_of_v(found)
        free = tuple(letter for letter in found.letters if letter in own and letter not in other)
        rows = tuple(letter for letter in found.letters if letter in other and letter not in own)
        batch = tuple(letter for letter in found.letters if letter not in free and letter not in rows)
        # Of the axes that only weights have, one is the queries' (else the last); the others are batch and heads.
        axis = self.attention.weights.query
        known = other[axis] if axis is not None and len(other) == len(self._shape_of_weights()) else None
        query = (known,) if known in rows else rows[-1:]
        rest = tuple(letter for letter in rows if letter not in query)
        return _in_order(tensor, found.letters, (*batch, *rest), query, free)

    def _shape_of_weights(self) -> tuple[int, ...]:
        number = self.attention.weights.value
        return () if number is None else self.graph.shape(number)

    # -- experiments -------------------------------------------------------------------------------

    def weights_where(self, given: Mapping[int, Tensor]) -> Tensor | None:
        """[N, Lq, Lk]: the weights where values (by number, in the code's own layout) are these."""
        if self.written:
            number, grid = self.attention.weights.value, self.attention.weights
            found = None if number is None else self.replay.again(given, [number])
            return None if found is None or number is None else self.arranged_grid(found[number], grid.query, grid.key)
        return self._fused_weights(given)

    def _fused_weights(self, given: Mapping[int, Tensor]) -> Tensor | None:
        """The weights of a fused call: what comes out where v is the identity."""
        step = self.softmax
        if self.attention.style in ("sdpa", "flex"):
            v, keys = self.attention.v.entered, self.graph.shape(self.attention.k.entered)[-2]
            shape = self.graph.shape(v)
            eye = torch.eye(keys, dtype=torch.float64).expand(*shape[:-2], keys, keys)
            found = self.replay.play(step, {**given, v: eye})
            return None if found is None else found[0].reshape(-1, *found[0].shape[-2:])
        if step.op == "multi_head_attention_forward":
            found = self.replay.play(step, given, need_weights=True, average_attn_weights=False)
            return None if found is None or len(found) < 2 else found[1].reshape(-1, *found[1].shape[-2:])
        return None

    @cached_property
    def allowed(self) -> Tensor | None:
        """[N, Lq, Lk], bool: the keys that a query may see at all: those with weight where every q is zero."""
        q = self.replay.double(self.attention.q.entered)
        if q is None:
            return None
        even = self.weights_where({self.attention.q.entered: torch.zeros_like(q)})
        return None if even is None else even > 0

    def felt(self, source: int, index: tuple[int | slice, ...], target: int) -> Tensor | None:
        """Which elements of `target` move (bool, its shape) where `source` is nudged at `index`; both by number."""
        before = self.replay.double(source)
        if before is None:
            return None
        nudged = before.clone()
        noise = torch.Generator().manual_seed(7)
        part = nudged[index]
        nudged[index] = part + 0.5 + torch.rand(part.shape, generator=noise, dtype=torch.float64)
        return self.moved({source: nudged}, target)

    def moved(self, given: Mapping[int, Tensor], target: int) -> Tensor | None:
        """Which elements of `target` move (bool, its shape) where values are these instead of what they were."""
        recorded = {number: self.replay.double(number) for number in given}
        before = {number: value for number, value in recorded.items() if value is not None}
        if len(before) < len(given):
            return None
        one, other = self.replay.again(before, [target]), self.replay.again(given, [target])
        if one is None or other is None:
            return None
        a, b = one[target], other[target]
        scale = float(a[a.isfinite()].abs().max()) if a.isfinite().any() else 1.0
        return ~torch.isclose(a, b, rtol=1e-9, atol=1e-12 * max(scale, 1.0), equal_nan=True)


def _in_order(
    tensor: Tensor,
    own: Letters,
    batch: Letters,
    row: Letters,
    inner: Letters,
    sizes: Mapping[int, int] | None = None,
) -> Tensor | None:
    """[N, rows, inner] from a tensor whose axes have the letters `own`; a batch axis that it lacks is stretched."""
    if tensor.dim() != len(own):
        return None
    have = [letter for letter in batch if letter in own]
    order = [*have, *row, *inner]
    rest = [letter for letter in own if letter not in order]
    if any(tensor.shape[own.index(letter)] != 1 for letter in rest):
        return None
    if any(letter not in own for letter in (*row, *inner)):
        return None
    turned = tensor.permute(*[own.index(letter) for letter in (*rest, *order)]).reshape(
        *[tensor.shape[own.index(letter)] for letter in order]
    )
    lead = turned.shape[: len(have)]
    rows = prod(turned.shape[len(have) : len(have) + len(row)])
    turned = turned.reshape(*lead, rows, -1)
    if sizes is not None:
        for place, letter in enumerate(batch):
            if letter not in own:
                turned = turned.unsqueeze(place)
        turned = turned.expand(*[sizes[letter] for letter in batch], *turned.shape[-2:])
    return turned.reshape(-1, *turned.shape[-2:])
