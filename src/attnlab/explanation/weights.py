"""The weights of the first sample and the first head, as far as they were kept."""

from __future__ import annotations

from attnlab.attention import Attention
from attnlab.explanation.data import Message, Weights, say
from attnlab.explanation.sight import Sight


def weights(sight: Sight, attention: Attention) -> Weights | None:
    """The corner of the weights, queries in rows; None where they were not kept, or are not a grid."""
    grid = attention.weights
    if grid.value is None or grid.key is None or attention.blocks > 1:  # a block's weights are not normalised yet
        return None
    value = sight.run.values[grid.value]
    rank = len(value.shape)
    if value.numbers is None or any(
        axis not in (rank - 2, rank - 1) for axis in (grid.query, grid.key) if axis is not None
    ):
        return None
    rows = value.numbers.corner
    if grid.key == rank - 2:
        rows = tuple(zip(*rows, strict=True))
    if grid.query is None:
        rows = rows[:1]
    keys = value.shape[grid.key]
    queries = 1 if grid.query is None else value.shape[grid.query]
    sums = tuple(sum(row) for row in rows) if rows and len(rows[0]) == keys else ()
    return Weights(_title(sight, attention, grid.value, (grid.query, grid.key)), rows, sums, queries, keys)


def _title(sight: Sight, attention: Attention, value: int, grid: tuple[int | None, int]) -> Message:
    """Of which sample and head the weights are: those at 0."""
    names = [axis.name for i, axis in enumerate(sight.shape(value)) if i not in grid]
    averaged = attention.style == "mha" and "H" not in names and attention.heads not in (None, 1)
    match names:
        case ["B"] if averaged:
            return say("weights.mean")
        case []:
            return say("weights.only")
        case ["B"]:
            return say("weights.sample")
        case ["B", "H"] | ["B·H"]:
            return say("weights.head")
        case _:
            return say("weights.first", index=", ".join("0" for _ in names))
