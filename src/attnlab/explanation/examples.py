"""Examples in the run's own numbers: one score as a dot product, one row of weights, one output as a weighted sum.

Only the corner that was kept of each value is known. Where it does not hold all that an example
needs, or its numbers do not agree with what would be said, there is no example.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isclose, isfinite

from attnlab.attention import Attention
from attnlab.explanation.data import Message, say
from attnlab.explanation.sight import Sight, number
from attnlab.run import CORNER

_TERMS = 4  # a longer sum is begun, and left at three dots
_ROW = 6  # keys, in a row that is shown whole
_TOLERANCE = 1e-2  # half precision rounds each term


@dataclass(frozen=True)
class _Vector:
    """One vector of a tensor: how it is written (`Q[0,0]`) and its numbers."""

    text: str
    numbers: tuple[float, ...]


def score(sight: Sight, attention: Attention) -> Iterator[Message]:
    """One score, as the dot product that it is: of the first query and the second key, if both are kept."""
    made, query, key, d_k = attention.scores.value, attention.scores.query, attention.scores.key, attention.d_k
    if made is None or query is None or key is None or d_k is None:
        return
    for row, column in ((1, 0), (0, 0)) if attention.causal else ((0, 1), (0, 0)):
        q = _vector(sight, attention, "Q", row)
        k = _vector(sight, attention, "K", column)
        at = {query: row, key: column}
        value = _cell(sight, made, at)
        if q is None or k is None or value is None:
            continue
        total = sum(a * b for a, b in zip(q.numbers, k.numbers, strict=True))
        if d_k <= CORNER and not isclose(total, value, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE):
            return
        products = [
            f"{_term(a, first=not i)}×{_term(b)}" for i, (a, b) in enumerate(zip(q.numbers, k.numbers, strict=True))
        ]
        cell = _written(sight, made, "scores", at)
        yield say("example.score", cell=cell, q=q.text, k=k.text, sum=_sum(products, d_k), value=number(value))
        return


def spread(sight: Sight, attention: Attention) -> Iterator[Message]:
    """The standard deviation of the scores before and after the scaling, where it is the scores that are scaled."""
    step = sight.run.steps[attention.scale[-1]]
    made = attention.scores.value
    if made is None or made not in step.refs or not step.results:
        return
    before, after = (
        None if (found := sight.run.values[value].numbers) is None else found.std for value in (made, step.results[0])
    )
    if before is not None and after is not None:
        yield say("example.spread", before=number(before), after=number(after))


def row(sight: Sight, attention: Attention) -> Iterator[Message]:
    """The scores of one query, and the weights that softmax made of them."""
    grid = attention.weights
    if grid.value is None or grid.key is None or attention.keys is None or not 1 < attention.keys <= _ROW:
        return
    softmax = sight.run.steps[attention.softmax[0]]
    query = _query(attention)
    places = {} if grid.query is None else {grid.query: query}
    rows = [
        [_cell(sight, value, {**places, grid.key: index}) for index in range(attention.keys)]
        for value in (softmax.refs[0], grid.value)
    ]
    scores, weights = ([cell for cell in found if cell is not None] for found in rows)
    if len(scores) == len(weights) == attention.keys and len(attention.softmax) == 1:
        yield say("example.row", query=query, scores=_list(scores), weights=_list(weights))


def mixture(sight: Sight, attention: Attention) -> Iterator[Message]:
    """One output as the sum of the values, each times its weight."""
    grid, keys = attention.weights, attention.keys
    if grid.value is None or grid.query is None or grid.key is None or keys is None or keys > CORNER:
        return
    query = _query(attention)
    weights = [_cell(sight, grid.value, {grid.query: query, grid.key: index}) for index in range(keys)]
    values = [_vector(sight, attention, "V", index) for index in range(keys)]
    output = _tokens(sight, attention.result)
    if output is None or output.feature is None or None in weights or None in values:
        return
    made = _cell(sight, attention.result, {output.token: query})
    pairs = [
        (weight, value)
        for weight, value in zip(weights, values, strict=True)
        if weight is not None and value is not None
    ]
    total = sum(weight * value.numbers[0] for weight, value in pairs)
    if made is None or not isclose(total, made, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE):
        return
    terms = [f"{weight:.4f}×{value.text}" for weight, value in pairs if weight != 0]
    cell = _written(sight, attention.result, "output", {output.token: query}, output.feature)
    yield say("example.mixture", cell=cell, sum=_sum(terms, len(terms)))


def _query(attention: Attention) -> int:
    """The query of the examples. The first of a causal attention sees itself alone, so the next one is taken."""
    return 1 if attention.causal and attention.queries is not None and attention.queries > 1 else 0


@dataclass(frozen=True)
class _Places:
    token: int
    feature: int | None


def _tokens(sight: Sight, value: int) -> _Places | None:
    """Which axes of q, k, v or the output are tokens and features; None where that is not known."""
    names = [axis.name for axis in sight.shape(value)]
    tokens = [i for i, name in enumerate(names) if name in ("L", "L_q", "L_k")]
    features = [i for i, name in enumerate(names) if name in ("d_k", "d_v", "D", "D_kv")]
    if len(tokens) != 1 or len(features) != 1:
        return None
    return _Places(tokens[0], features[0])


def _vector(sight: Sight, attention: Attention, letter: str, index: int) -> _Vector | None:
    """The vector of one token, as it enters its product; before it was turned, where it was turned for that."""
    item = {"Q": attention.q, "K": attention.k, "V": attention.v}[letter]
    value = item.value if item.turned is not None and not item.scale else item.entered
    places = _tokens(sight, value)
    numbers = sight.run.values[value].numbers
    if places is None or places.feature is None or numbers is None:
        return None
    size = sight.run.values[value].shape[places.feature]
    cells = [_cell(sight, value, {places.token: index, places.feature: i}) for i in range(min(size, CORNER))]
    found = tuple(cell for cell in cells if cell is not None)
    if len(found) != len(cells):
        return None
    return _Vector(_written(sight, value, letter, {places.token: index}, places.feature), found)


def _cell(sight: Sight, value: int, at: Mapping[int, int]) -> float | None:
    """One element, at 0 on every axis that `at` does not name; None where it lies outside the corner."""
    found = sight.run.values[value]
    rank = len(found.shape)
    index = [at.get(axis, 0) for axis in range(rank)]
    if found.numbers is None or any(index[:-2]):
        return None
    row, column = [0, 0, *index][-2:]
    rows = found.numbers.corner
    return rows[row][column] if row < len(rows) and column < len(rows[row]) else None


def _written(sight: Sight, value: int, otherwise: str, at: Mapping[int, int], left: int | None = None) -> str:
    """How an element is written: `scores[0,0,1]`; a whole vector along the axis `left`: `Q[0,0]`."""
    rank = len(sight.run.values[value].shape)
    index = [":" if axis == left else str(at.get(axis, 0)) for axis in range(rank)]
    if index and index[-1] == ":":
        index.pop()
    name = sight.name(value)
    return f"{name if name and name.isidentifier() else otherwise}[{','.join(index)}]"


def _term(value: float, first: bool = False) -> str:
    text = f"{value:.3g}"
    return text if first or value >= 0 else f"({text})"


def _sum(terms: list[str], count: int) -> str:
    return " + ".join(terms) if count <= _TERMS else " + ".join([*terms[:2], "…"])


def _list(numbers: list[float]) -> str:
    return f"[{', '.join(number(item) if item == 0 or not isfinite(item) else f'{item:.4f}' for item in numbers)}]"
