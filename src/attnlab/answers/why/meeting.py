"""The two products of an attention, Q Kᵀ and weights · V: which axes of their operands meet, and which remain."""

from __future__ import annotations

from dataclasses import dataclass

from attnlab.answers.why.bench import Bench


@dataclass(frozen=True, slots=True)
class Side:
    """One operand of a product: its value, the axis that is summed over, and the one that remains, if one does."""

    value: int
    summed: int
    own: int | None


@dataclass(frozen=True, slots=True)
class Meeting:
    """A product: its step, its operands, its result, and where in the result the axis that each keeps of its own is.

    `plain`: the result is the product alone, with no factor and nothing added.
    """

    step: int
    first: Side
    second: Side
    result: int
    rows: int | None
    columns: int | None
    plain: bool


def of_scores(bench: Bench) -> Meeting | None:
    """Queries and keys; None where the scores are no such product."""
    grid, q, k = bench.attention.scores, bench.attention.q.entered, bench.attention.k.entered
    return None if grid.value is None else _meeting(bench, grid.step, q, k, grid.query, grid.key)


def of_output(bench: Bench) -> Meeting | None:
    """Weights and values; None where the output is no such product."""
    attention = bench.attention
    found = bench.product(attention.output)
    v = attention.v.entered
    if found is None or v not in (found.left, found.right) or found.additive:
        return None
    left = found.right == v
    weights = found.left if left else found.right
    w_letters, v_letters = (
        (found.left_letters, found.right_letters) if left else (found.right_letters, found.left_letters)
    )
    grid = attention.weights
    own = [letter for letter in w_letters if letter in found.letters and letter not in v_letters]
    if grid.value is not None and grid.query is not None and bench.shape(grid.value) == bench.shape(weights):
        own = [letter for letter in own if letter == w_letters[grid.query]]
    features = [letter for letter in v_letters if letter in found.letters and letter not in w_letters]
    if len(own) > 1 or len(features) != 1:
        return None
    rows = found.letters.index(own[0]) if own else None
    return _meeting(bench, attention.output, weights, v, rows, found.letters.index(features[0]))


def _meeting(bench: Bench, step: int, one: int, other: int, rows: int | None, columns: int | None) -> Meeting | None:
    """The product of `one` and `other`, whose own axes are at `rows` and `columns` of its result."""
    found = bench.product(step)
    if found is None or found.additive or {found.left, found.right} != {one, other}:
        return None
    summed = found.gone(found.left_letters)
    if len(summed) != 1:
        return None
    letters = {found.left: found.left_letters, found.right: found.right_letters}
    a, b = letters[one], letters[other] if one != other else found.right_letters

    def side(value: int, own: int | None, mine: tuple[int, ...]) -> Side:
        letter = None if own is None else found.letters[own]
        return Side(value, mine.index(summed[0]), mine.index(letter) if letter in mine else None)

    plain = found.factor is None and found.added is None
    first, second = side(one, rows, a), side(other, columns, b)
    return Meeting(step, first, second, bench.step(step).results[0], rows, columns, plain)
