"""From a trail to an Attention: the sides of the product are told apart, and the axes, sizes and kind read off."""

from __future__ import annotations

from dataclasses import replace
from math import isnan, prod

from attnlab.attention.after import after
from attnlab.attention.attention import Attention, Grid, Mask, Role
from attnlab.attention.graph import POINTWISE, VIEWS, Graph
from attnlab.attention.heads import Heads, Sides, count_heads
from attnlab.attention.inputs import number_of, plain, scaled, unscaled
from attnlab.attention.kind import kind_of
from attnlab.attention.masks import corner, is_triangular
from attnlab.attention.origins import Origins
from attnlab.attention.products import MATRIX, Letters, Product
from attnlab.attention.trails import SOFTMAX, Found, Trail, Trails
from attnlab.attention.way import Surveyor


class Written:
    """Reads the attentions that are written out from the trails of a Run."""

    def __init__(self, graph: Graph, origins: Origins) -> None:
        self._graph = graph
        self._origins = origins
        self._trails = Trails(graph, origins)

    def attentions(self) -> list[tuple[Attention, tuple[int, ...]]]:
        """Each attention, with the steps from q and k to the product with v."""
        grouped: list[list[Found]] = []
        for found in self._trails.found:
            before = next((group for group in grouped if self._goes_on(group[-1], found)), None)
            if before is None:
                grouped.append([found])
            else:
                before.append(found)
        return [(self._attention(group[0], group), _path(group[0])) for group in grouped]

    def _goes_on(self, block: Found, further: Found) -> bool:
        """Whether `further` is the next block of the same attention: the same queries, the results added up."""
        graph = self._graph
        if block.trail.state != "powers" or further.trail.state != "powers":
            return False
        own, other = block.trail.product, further.trail.product
        if graph.steps[own.step].source != graph.steps[other.step].source:
            return False
        if not {own.left, own.right} & {other.left, other.right}:
            return False
        end = graph.steps[further.output.step].results[0]
        reached = [graph.steps[block.output.step].results[0]]
        for number in reached:  # grows while it is walked
            for step in graph.consumers(number):
                if step.op in ("add", "sub") and end in step.refs:
                    return True
                if step.index <= further.output.step and step.op in POINTWISE | VIEWS:
                    reached += [result for result in step.results if result not in reached]
        return False

    def _attention(self, found: Found, blocks: list[Found]) -> Attention:
        graph, origins, trail = self._graph, self._origins, found.trail
        sides = self._sides(found)
        heads = count_heads(sides, graph, origins)
        roles = self._roles(trail, sides, heads)
        step = graph.steps[trail.product.step]
        turned = trail.product.right if step.op in MATRIX - {"linear"} else None
        q = unscaled(sides.q, sides.q == turned, graph, origins)
        k = unscaled(sides.k, sides.k == turned, graph, origins)
        weights_step = self._weights_step(trail)
        surveyor = Surveyor(trail, roles, weights_step, graph, self._trails)
        way = surveyor.way()
        scores, weights = (self._grid(index, surveyor) for index in (step.index, weights_step))
        weights = replace(weights, parts=self._parts(weights.value, trail, roles, heads))
        result = graph.steps[found.output.step].results[0]
        merge, project_out, divided = after(result, trail.state == "powers", graph, origins)
        queries = self._size([seed for seed, role in roles.items() if role == "query"], trail)
        keys = sum(self._size(self._keys(block), block.trail) for block in blocks)
        return Attention(
            index=0,
            style="written",
            module=step.module,
            module_type=step.module_type,
            function="" if step.source is None else step.source.function,
            q=q,
            k=k,
            v=plain(found.v, graph, origins),
            additive=trail.product.additive,
            scores=scores,
            scale=tuple(sorted({*q.scale, *k.scale, *way.scale})),
            factor=self._factor(trail.product, (*q.scale, *k.scale), way.factors),
            cap=tuple(way.cap),
            bias=tuple(way.bias),
            masks=tuple(way.masks),
            softmax=(*trail.softmax, *divided),
            normalised=_role(trail.over, roles),
            summed=_role(found.summed, roles),
            weights=weights,
            dropout=tuple(way.dropout),
            output=found.output.step,
            result=result,
            merge=merge,
            project_out=project_out,
            blocks=len(blocks),
            queries=queries,
            keys=keys,
            d_k=self._d_k(trail.product, sides),
            d_v=self._d_v(found),
            heads=heads.heads,
            kv_heads=heads.kv_heads,
            kind=kind_of(sides, heads.queries, (queries, keys), graph, origins),
            causal=self._causal(way.masks, weights, queries, keys),
            steps=(),
        )

    def _keys(self, found: Found) -> list[int]:
        """The seeds that stand for keys: of one operand alone, and normalised or summed over."""
        trail = found.trail
        side = "left" if self._k_is_left(found) else "right"
        own = [seed for seed in trail.seeds if self._side(trail, seed) == side]
        return [seed for seed in own if seed in trail.over | found.summed] or own

    def _side(self, trail: Trail, seed: int) -> str:
        return trail.product.side(trail.product.letters[trail.seeds.index(seed)])

    def _k_is_left(self, found: Found) -> bool:
        """Which operand is k: the one whose axis is normalised and summed over.

        Where these disagree one of them is at fault; the operand on the right is k then, as people write it.
        """
        trail = found.trail
        product = trail.product
        if self._graph.constant(product.left) != self._graph.constant(product.right):
            return self._graph.constant(product.right)  # a learned query
        sides = [
            {self._side(trail, seed) for seed in seeds} & {"left", "right"} for seeds in (trail.over, found.summed)
        ]
        told = [side for side in sides if len(side) == 1]
        return bool(told) and all(side == {"left"} for side in told)

    def _sides(self, found: Found) -> Sides:
        trail = found.trail
        product = trail.product
        left = (product.left, product.left_letters)
        right = (product.right, product.right_letters)
        (k, k_letters), (q, q_letters) = (left, right) if self._k_is_left(found) else (right, left)
        keys = frozenset(product.letters[trail.seeds.index(seed)] for seed in self._keys(found))
        return Sides(product, q, k, q_letters, k_letters, keys)

    def _roles(self, trail: Trail, sides: Sides, heads: Heads) -> dict[int, Role]:
        """What each axis of the scores stands for."""
        roles: dict[int, Role] = {}
        for seed, letter in zip(trail.seeds, trail.product.letters, strict=True):
            if letter in sides.keys:
                roles[seed] = "key"
            elif letter in heads.queries:
                roles[seed] = "query"
            else:
                roles[seed] = "head" if letter in heads.letters else "batch"
        return roles

    def _weights_step(self, trail: Trail) -> int:
        """The softmax; or of one that is written out the division, or exp where the division comes after v."""
        steps = self._graph.steps
        whole = [index for index in trail.softmax if steps[index].op in SOFTMAX]
        if whole:
            return whole[0]
        return trail.softmax[0] if trail.state == "powers" else trail.softmax[-1]

    def _grid(self, index: int, surveyor: Surveyor) -> Grid:
        value = self._graph.steps[index].results[0]
        return Grid(index, value, *surveyor.axes(value))

    def _parts(
        self, number: int | None, trail: Trail, roles: dict[int, Role], heads: Heads
    ) -> tuple[tuple[tuple[Role, int], ...], ...]:
        """What each axis of a tensor on the trail holds; see `Grid`."""
        here = next((t for t in self._trails.trails(number or 0) if t.product.step == trail.product.step), None)
        found: list[tuple[tuple[Role, int], ...]] = []
        for axis in () if here is None else here.labels:
            parts: list[tuple[Role, int]] = []
            for part in axis:
                seeds = self._trails.seeds(trail, (part,))
                role = _role(seeds, roles)
                letters = [trail.product.letters[trail.seeds.index(seed)] for seed in seeds]
                folded = heads.folded.get(letters[0], ()) if len(letters) == 1 else ()
                if role != "query" and prod(size for _, size in folded) == part.size > 1:
                    for is_heads, size in folded:
                        parts.append(("head" if is_heads else "batch", size))
                elif part.size > 1 or role != "unknown":
                    parts.append((role, part.size))
            found.append(tuple(part for part in parts if part[1] > 1) or tuple(parts[:1]))
        return tuple(found)

    def _size(self, seeds: list[int], trail: Trail) -> int:
        shape = self._graph.shape(self._graph.steps[trail.product.step].results[0])
        return prod(shape[trail.seeds.index(seed)] for seed in seeds)

    def _factor(self, product: Product, before: tuple[int, ...], factors: list[float]) -> float | None:
        """All scaling as one number; None where a part of it is not known."""
        numbers = [*factors, 1.0 if product.factor is None else product.factor]
        for index in before:
            step = self._graph.steps[index]
            tensor = scaled(step, self._graph)
            number = None if tensor is None else number_of(step, tensor, self._graph)
            numbers.append(float("nan") if number is None else number)
        factor = prod(numbers)
        return None if isnan(factor) else factor

    def _sizes(self, letters: Letters, number: int) -> dict[int, int]:
        return dict(zip(letters, self._graph.shape(number), strict=True))

    def _d_k(self, product: Product, sides: Sides) -> int:
        sizes = self._sizes(sides.q_letters, sides.q)
        return prod(sizes[letter] for letter in product.gone(sides.q_letters))

    def _d_v(self, found: Found) -> int:
        output = found.output
        on_right = found.v == output.right
        own, other = output.left_letters, output.right_letters
        if on_right:
            own, other = other, own
        sizes = self._sizes(own, found.v)
        return prod(sizes[letter] for letter in own if letter in output.letters and letter not in other)

    def _causal(self, masks: list[Mask], weights: Grid, queries: int, keys: int) -> bool | None:
        if not masks:
            return False
        if any(mask.causal for mask in masks):
            return True
        seen = None
        if weights.value is not None and weights.query is not None and weights.key is not None and queries > 1:
            rows = corner(weights.value, weights.query, weights.key, self._graph)
            seen = None if rows is None else is_triangular(rows, queries, keys)
        if seen or all(mask.causal is False for mask in masks):
            return bool(seen)
        return seen


def _path(found: Found) -> tuple[int, ...]:
    return (*found.trail.product.inner, *found.trail.path)


def _role(seeds: frozenset[int], roles: dict[int, Role]) -> Role:
    """The one role of some axes; "unknown" where they have several."""
    found: set[Role] = {roles[seed] for seed in seeds}
    return found.pop() if len(found) == 1 else "unknown"
