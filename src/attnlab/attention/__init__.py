"""Finding the attentions of a Run, from the data flow: never from the names of variables.

`find(run)` gives every attention; `alike(attentions, run)` puts those of the same lines and shapes together, so
that twelve equal layers are told once.

    graph     who made and who reads a value        axes      an axis as a product of parts that are followed
    products  contractions, in letters              layout    how each operation moves axes
    origins   the axes of all values, projections   inputs    q, k, v without scaling and transposition
    scores    which products are scores             heads     a head axis is cut from features
    trails    from scores to weights to v           masks     what is a mask, and what is causal
    written   a trail, read as an attention         way       what each step of it does
    fused     operations that are an attention      kind, after, order, alike
"""

from __future__ import annotations

from dataclasses import replace

from attnlab.attention.alike import alike
from attnlab.attention.attention import Attention, Grid, Input, Mask
from attnlab.attention.fused import Fused
from attnlab.attention.graph import Graph
from attnlab.attention.order import reading_order
from attnlab.attention.origins import Origins
from attnlab.attention.written import Written
from attnlab.run import Run

__all__ = ["Attention", "Grid", "Input", "Mask", "alike", "find"]


def find(run: Run) -> tuple[Attention, ...]:
    """Every attention of a Run, in the order in which their scores were made."""
    graph = Graph(run)
    origins = Origins(graph)
    fused = Fused(graph, origins)
    found = Written(graph, origins).attentions()
    found += [(attention, ()) for attention in map(fused.attention, run.steps) if attention is not None]
    found.sort(key=lambda item: item[0].scores.step)
    # what projects q, k or v of one attention is no projection of what another one made
    taken = {role.project for attention, _ in found for role in (attention.q, attention.k, attention.v)}
    return tuple(
        reading_order(_numbered(attention, index, taken), path, graph) for index, (attention, path) in enumerate(found)
    )


def _numbered(attention: Attention, index: int, taken: set[int | None]) -> Attention:
    own = None if attention.project_out in taken else attention.project_out
    return replace(attention, index=index, project_out=own)
