"""How many heads there are. A head axis is no name and no place: it was cut out of the axis of features.

`view(B, L, h, d)` cuts features into heads and what is left to sum over; a batch axis comes from elsewhere. So heads
are found where they are folded into the batch (`(b h) n d`), and windows or rows of an image are not taken for heads.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from types import MappingProxyType
from typing import NamedTuple

from attnlab.attention.axes import Axis, roots_of, size_of
from attnlab.attention.graph import Graph
from attnlab.attention.origins import Origins
from attnlab.attention.products import Letters, Product


class Sides(NamedTuple):
    """The product of q and k with its operands told apart. `keys`: its letters that stand for keys."""

    product: Product
    q: int
    k: int
    q_letters: Letters
    k_letters: Letters
    keys: frozenset[int]


class Heads(NamedTuple):
    """`letters` stand for head axes alone, `queries` for the axes of queries: none for a single query without one.

    `folded`: of a letter that stands for heads and samples in one axis its parts, whether each is heads, and sizes.
    """

    heads: int
    kv_heads: int | None
    letters: frozenset[int]
    queries: tuple[int, ...]
    folded: Mapping[int, tuple[tuple[bool, int], ...]] = MappingProxyType({})


def count_heads(sides: Sides, graph: Graph, origins: Origins) -> Heads:
    """The heads of an attention, and the letters of its queries, from where the axes of q and k come from."""
    return _Counter(sides, graph, origins).heads()


class _Counter:
    """The axes of q and k by their letters, and the roots of the features that are summed over."""

    def __init__(self, sides: Sides, graph: Graph, origins: Origins) -> None:
        self._sides = sides
        self._graph = graph
        self._origins = origins
        self._q = dict(zip(sides.q_letters, origins.axes(sides.q), strict=True))
        self._k = dict(zip(sides.k_letters, origins.axes(sides.k), strict=True))
        gone = sides.product.gone(sides.q_letters)
        self._q_features = {root for letter in gone for root in roots_of(self._q[letter])}
        self._k_features = {root for letter in gone for root in roots_of(self._k[letter])}
        self._free = [letter for letter in sides.product.letters if letter in self._q and letter not in self._k]
        for letter in self._free:  # a head split that cut across tokens: then what was tokens and features are one
            if 1 < self._cut(self._q[letter], self._q_features) < size_of(self._q[letter]):
                self._q_features |= roots_of(self._q[letter])

    def heads(self) -> Heads:
        """The axes that were cut from features; where there are none, an axis that stands where heads stand."""
        queries = self._queries()
        heads, kv_heads = 1, 1
        alone: set[int] = set()
        folded: dict[int, tuple[tuple[bool, int], ...]] = {}
        for letter in self._sides.product.letters:
            if letter in self._sides.keys or letter in queries:
                continue
            q_axis, k_axis = self._q.get(letter, ()), self._k.get(letter, ())
            of_q, of_k = self._cut(q_axis, self._q_features), self._cut(k_axis, self._k_features)
            here = max(of_q, of_k * (size_of(k_axis) // self._origins.distinct(k_axis)) if of_k > 1 else 1)
            if here == 1:
                continue
            whole = here == max(size_of(q_axis), size_of(k_axis))
            own = of_k if of_k > 1 else self._origins.distinct(k_axis) if whole else None
            heads *= here
            kv_heads = None if kv_heads is None or own is None else kv_heads * own
            if whole:
                alone.add(letter)
            else:
                axis, features = (q_axis, self._q_features) if of_q == here else (k_axis, self._k_features)
                folded[letter] = tuple((self._origins.is_cut(part, features), part.size) for part in axis)
        return Heads(heads, kv_heads, frozenset(alone), queries, folded) if heads > 1 else self._by_place(queries)

    def _cut(self, axis: Axis, features: set[int]) -> int:
        """The size of the part of an axis that was cut out of the features."""
        return prod(part.size for part in axis if self._origins.is_cut(part, features))

    def _queries(self) -> tuple[int, ...]:
        """Which letters that only q has stand for queries and not for heads.

        In `q @ kᵀ` the rows do. They may all seem to be cut from features: where a split cut across tokens, and in
        attention between channels; then the axis next to the features is taken.
        """
        if 0 in self._free:
            return (0,)
        cuts = {letter: self._cut(self._q[letter], self._q_features) for letter in self._free}
        found = [letter for letter in self._free if cuts[letter] == 1 or cuts[letter] < size_of(self._q[letter])]
        found = found or sorted(self._free, key=list(self._q).index)[-1:]
        sizes = dict(zip(self._sides.q_letters, self._graph.shape(self._sides.q), strict=True))
        return tuple(letter for letter in found if sizes[letter] > 1) or tuple(found[:1])

    def _by_place(self, queries: tuple[int, ...]) -> Heads:
        """Where no head was seen to be cut: the last of several batch axes, as `F.scaled_dot_product_attention` has it.

        A projection that is learned speaks against it: it was applied to each slice along that axis alike.
        """
        apart = {*self._sides.keys, *queries}
        batch = [letter for letter in self._sides.product.letters if letter not in apart]
        if len(batch) < 2 or any(self._is_learned(number) for number in (self._sides.q, self._sides.k)):
            return Heads(1, 1, frozenset(), queries)
        q_axis, k_axis = self._q.get(batch[-1], ()), self._k.get(batch[-1], ())
        heads = max(size_of(q_axis), size_of(k_axis))
        return Heads(heads, self._origins.distinct(k_axis), frozenset(batch[-1:]), queries)

    def _is_learned(self, number: int) -> bool:
        found = self._origins.projection(number)
        return found is not None and any(map(self._graph.constant, self._graph.steps[found.step].refs))
