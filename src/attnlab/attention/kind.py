"""Self attention or cross attention: whether queries and keys come from one sequence."""

from __future__ import annotations

from typing import Literal

from attnlab.attention.graph import Graph
from attnlab.attention.heads import Sides
from attnlab.attention.origins import Origins


def kind_of(
    sides: Sides, queries: tuple[int, ...], lengths: tuple[int, int], graph: Graph, origins: Origins
) -> Literal["self", "cross"] | None:
    """The kind, from what q and k were made of. `queries`: the letters of the queries; `lengths`: of queries and keys.

    None where it can't be told: q and k were drawn, or made by an operation that is not known, and are of one length.
    """
    q_sources, k_sources = origins.sources(sides.q), origins.sources(sides.k)
    if q_sources & k_sources:
        return "self"
    akin: bool | None = False
    if len(queries) == len(sides.keys) == 1:
        (query,), (key,) = queries, sides.keys
        q_axes = dict(zip(sides.q_letters, origins.axes(sides.q), strict=True))
        k_axes = dict(zip(sides.k_letters, origins.axes(sides.k), strict=True))
        akin = origins.akin(q_axes[query], k_axes[key])
    if akin:
        return "self"
    if lengths[0] != lengths[1]:
        return "cross"
    projected = origins.projection(sides.q) or origins.projection(sides.k)
    drawn = not projected and all(graph.given(number) for number in (*q_sources, *k_sources))
    return None if akin is None or drawn else "cross"
