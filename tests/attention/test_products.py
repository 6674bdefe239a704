"""However a product is written, it is `einsum` with the letters that it is told to have."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from attnlab import record
from attnlab.attention.graph import Graph
from attnlab.attention.products import Product, product

# What is done with two tensors of these shapes.
PRODUCTS: dict[str, tuple[tuple[int, ...], tuple[int, ...], Callable[[Tensor, Tensor], Tensor]]] = {
    "matmul": ((2, 3, 4), (2, 4, 5), torch.matmul),
    "matmul broadcast": ((6, 2, 3, 4), (2, 4, 5), torch.matmul),
    "matmul stretched": ((2, 1, 3, 4), (1, 7, 4, 5), torch.matmul),
    "matmul with a vector": ((2, 3, 4), (4,), torch.matmul),
    "vector with matmul": ((4,), (2, 4, 5), torch.matmul),
    "operator": ((3, 4), (4, 5), lambda a, b: a @ b),
    "operator reflected": ((3, 4), (4, 5), lambda a, b: b.__rmatmul__(a)),
    "keywords": ((2, 3, 4), (2, 4, 5), lambda a, b: torch.bmm(mat2=b, input=a)),
    "mm": ((3, 4), (4, 5), torch.mm),
    "mv": ((3, 4), (4,), torch.mv),
    "dot": ((4,), (4,), torch.dot),
    "inner": ((3, 4), (2, 5, 4), torch.inner),
    "linear": ((2, 3, 4), (5, 4), F.linear),
    "linear with a vector": ((2, 3, 4), (4,), F.linear),
    "tensordot": ((2, 3, 4), (3, 4, 5), lambda a, b: torch.tensordot(a, b, dims=2)),
    "tensordot by axes": ((2, 3, 4), (4, 5, 2), lambda a, b: torch.tensordot(a, b, dims=([0, -1], [2, 0]))),
    "einsum": ((2, 3, 7, 4), (2, 5, 7, 4), lambda a, b: torch.einsum("b q h d, b k h d -> b h q k", a, b)),
    "einsum of a list": ((2, 3), (4, 3), lambda a, b: torch.einsum("ij,kj->ki", [a, b])),
    "einsum of axes": ((2, 3), (4, 3), lambda a, b: torch.einsum(a, [0, 1], b, [2, 1], [2, 0])),
    "einsum without a result": ((2, 3), (3, 4), lambda a, b: torch.einsum("zb,ba", a, b)),
    "einsum with dots": ((6, 2, 3, 4), (2, 5, 4), lambda a, b: torch.einsum("...qd,...kd->...qk", a, b)),
    "einsum with dots and no result": ((2, 3, 4), (2, 4, 5), lambda a, b: torch.einsum("...ij,...jk", a, b)),
    "einsum with a number": ((3, 4), (5, 4), lambda a, b: torch.einsum("ij,,kj->ik", a, torch.tensor(0.5), b)),
    "sum of a product": ((2, 3, 1, 4), (2, 1, 5, 4), lambda a, b: (a * b).sum(-1)),
    "sum of a product by axes": ((2, 3, 4), (3, 4), lambda a, b: torch.sum(a * b, dim=(1, 2))),
    "sum of a product, kept": ((2, 3, 4), (2, 3, 4), lambda a, b: (a * b).sum(1, keepdim=True)),
    "vecdot": ((2, 3, 4), (3, 4), lambda a, b: torch.linalg.vecdot(a, b, dim=1)),
    "cosine": ((2, 3, 4), (3, 4), lambda a, b: F.cosine_similarity(a, b, dim=-1)),
    "baddbmm": ((2, 3, 4), (2, 4, 5), lambda a, b: torch.zeros(2, 3, 5).baddbmm(a, b, alpha=0.5)),
    "addmm": ((3, 4), (4, 5), lambda a, b: torch.addmm(torch.ones(5), mat1=a, mat2=b, beta=0)),
}


def by_letters(found: Product, a: Tensor, b: Tensor) -> Tensor:
    """The product in letters: one that stands on one side alone and is gone is an axis of size 1."""
    names = {letter: i for i, letter in enumerate({*found.left_letters, *found.right_letters, *found.letters})}
    sides = [[names[letter] for letter in letters] for letters in (found.left_letters, found.right_letters)]
    out = [names[letter] for letter in found.letters if found.side(letter) != "none"]
    result = torch.einsum(a, sides[0], b, sides[1], out)
    for axis, letter in enumerate(found.letters):
        if found.side(letter) == "none":
            result = result.unsqueeze(axis)
    return result * (1.0 if found.factor is None else found.factor)


@pytest.mark.parametrize("name", PRODUCTS)
def test_a_product_is_einsum_with_its_letters(name: str) -> None:
    left, right, multiply = PRODUCTS[name]
    a, b = torch.randn(left), torch.randn(right)
    if name == "cosine":
        a, b = F.normalize(a, dim=-1), F.normalize(b, dim=-1)
    run = record(multiply, a, b)
    graph = Graph(run)
    found = product(run.steps[-1], graph)
    assert found is not None
    assert (graph.shape(found.left), graph.shape(found.right)) == (left, right)
    torch.testing.assert_close(by_letters(found, a, b), multiply(a, b))


@pytest.mark.parametrize(
    "multiply",
    [
        lambda a, b: torch.einsum("ij,ij,ij->i", a, b, a),
        lambda a, b: torch.einsum("ii->i", a),
        lambda a, b: torch.einsum("ii,ij->j", a, b),
        lambda a, b: (a + b).sum(-1),
        lambda a, b: a.sum(-1),
        lambda a, b: a * b,
    ],
    ids=["three", "one", "diagonal", "sum of a sum", "plain sum", "no contraction"],
)
def test_what_contracts_no_two_tensors_is_no_product(multiply: Callable[[Tensor, Tensor], Tensor]) -> None:
    run = record(multiply, torch.randn(3, 3), torch.randn(3, 3))
    assert product(run.steps[-1], Graph(run)) is None
