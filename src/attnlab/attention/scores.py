"""Which products make scores: those of two activations, and few others.

A product with a weight is a projection, and a softmax after it weighs classes or experts. Only where the weight
stands as a query stands, or where the product ends additive scores, are its results scores.
"""

from __future__ import annotations

from attnlab.attention.graph import Graph
from attnlab.attention.origins import Origins
from attnlab.attention.products import MATRIX, Product, additive


def scores(found: Product, graph: Graph, origins: Origins) -> Product | None:
    """The product of q and k, if its results are scores of one for the other."""
    if graph.constant(found.left) and graph.constant(found.right):
        return None
    by_sum = graph.steps[found.step].op == "sum"
    if _is_weighted(found, graph):
        summed = additive(found, graph)
        if summed is None and not _is_learned_query(found, graph):
            return None
        found, by_sum = (found, by_sum) if summed is None else (summed, True)
    if by_sum:
        found = _unrepeated(found, origins)
    paired = any(found.side(letter) in ("left", "right") for letter in found.letters)
    return found if paired else None


def _is_weighted(found: Product, graph: Graph) -> bool:
    """Whether a product multiplies an activation with a weight: a parameter, or a matrix as a script writes it."""
    if graph.constant(found.left) or graph.constant(found.right):
        return True
    matrix = graph.steps[found.step].op in MATRIX and len(graph.shape(found.right)) <= 2
    return matrix and graph.given(found.right)


def _is_learned_query(found: Product, graph: Graph) -> bool:
    """Whether the weight stands where queries stand: on the left, turned, or as one single vector."""
    if graph.constant(found.left):
        return graph.steps[found.step].op != "linear"
    sizes = zip(found.right_letters, graph.shape(found.right), strict=True)
    if all(size == 1 or letter not in found.letters or found.side(letter) == "both" for letter, size in sizes):
        return True
    maker = graph.maker(found.right)
    return maker is not None and maker.op in ("transpose", "t", "T", "mT", "permute")


def _unrepeated(found: Product, origins: Origins) -> Product:
    """An operand that was repeated along an axis to meet the other there has no part in that axis."""
    shared = {letter for letter in found.letters if found.side(letter) == "both"}

    def clean(number: int, letters: tuple[int, ...]) -> tuple[int, ...]:
        pairs = zip(letters, origins.axes(number), strict=True)
        return tuple(-1 - letter if letter in shared and origins.repeated(axis) else letter for letter, axis in pairs)

    return found._replace(
        left_letters=clean(found.left, found.left_letters), right_letters=clean(found.right, found.right_letters)
    )
