"""Axes are followed to where their elements really went, for every operation that moves them."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import given
from torch import Tensor

from attnlab import record
from attnlab.attention.axes import Axes, Part, Roots
from attnlab.attention.graph import Graph
from attnlab.attention.layout import carry

# Every operation that moves axes, on a tensor of this shape.
SHAPE = (2, 6, 4, 3)
ALL = (0, 1, 2, 3)
# What is done, and which of the tensor's axes are still known in each result.
MOVES: dict[str, tuple[Callable[[Tensor], Any], tuple[int, ...]]] = {
    "transpose": (lambda t: t.transpose(-1, 1), ALL),
    "swapaxes": (lambda t: torch.swapaxes(t, axis0=0, axis1=2), ALL),
    "permute": (lambda t: t.permute(2, 0, 3, 1), ALL),
    "permute by tuple": (lambda t: torch.permute(t, (-1, 0, 2, 1)), ALL),
    "movedim": (lambda t: t.movedim((0, 1), (-1, 0)), ALL),
    "mT": (lambda t: t.mT, ALL),
    "T": (lambda t: t[0, 0].T, (2, 3)),
    "t": (lambda t: t[0, 0].t(), (2, 3)),
    "view": (lambda t: t.view(12, 2, 2, 3), ALL),
    "view across": (lambda t: t.view(2, 8, 3, 3), (0,)),
    "flatten": (lambda t: t.flatten(1, 2), ALL),
    "unflatten": (lambda t: t.unflatten(1, (3, -1)), ALL),
    "unsqueeze": (lambda t: t.unsqueeze(-2), ALL),
    "squeeze": (lambda t: t.unsqueeze(1).squeeze(1), ALL),
    "squeeze all": (lambda t: t[:, None, :, None].squeeze(), ALL),
    "expand": (lambda t: t.unsqueeze(1).expand(-1, 5, -1, -1, -1), ALL),
    "expand at the front": (lambda t: t.expand(5, 2, 6, 4, 3), ALL),
    "repeat": (lambda t: t.repeat(3, 1, 1, 2, 1), ALL),
    "repeat_interleave": (lambda t: t.repeat_interleave(2, dim=1), ALL),
    "split": (lambda t: t.split(2, dim=1), (0, 2, 3)),
    "chunk": (lambda t: t.chunk(2, -2), (0, 1, 3)),
    "unbind": (lambda t: t.unbind(1), (0, 2, 3)),
    "select": (lambda t: t.select(1, 2), (0, 2, 3)),
    "narrow": (lambda t: t.narrow(1, 2, 3), (0, 2, 3)),
    "index": (lambda t: t[..., None, 1], (0, 1, 2)),
    "index with slices": (lambda t: t[1, :, None, 1:3], (1, 3)),
    "index by a list": (lambda t: t[:, torch.tensor([4, 1])], (0, 2, 3)),
    "cat": (lambda t: torch.cat((t, t), dim=-1), ALL),
    "cat of pieces": (lambda t: torch.cat(t.split(3, 1), dim=2), (0, 2, 3)),
    "stack": (lambda t: torch.stack((t, t), dim=1), ALL),
    "add": (lambda t: t + torch.zeros(5, 1, 1, 1, 1), ALL),
}


def digits(place: tuple[int, ...], axes: Axes) -> dict[Part, int]:
    """What the place of an element says of where it comes from: for each part of an axis a digit."""
    found: dict[Part, int] = {}
    for axis, index in zip(axes, place, strict=True):
        size = 1
        for part in reversed(axis):
            found[part] = index // size % part.size
            size *= part.size
    return found


def agree(result: Tensor, axes: Axes, begun: Axes, shape: tuple[int, ...]) -> None:
    """Every element of a result comes from where its axes say. Its value is the place in `shape` where it began."""
    home = {axis[0].root: index for index, axis in enumerate(begun)}
    assert tuple(math.prod(part.size for part in axis) for axis in axes) == tuple(result.shape)
    for place in product(*map(range, result.shape)):
        number = int(result[place])
        origin = [number // math.prod(shape[axis + 1 :]) % shape[axis] for axis in range(len(shape))]
        for part, digit in digits(place, axes).items():
            if part.root in home:
                assert origin[home[part.root]] // part.stride % part.size == digit


@pytest.mark.parametrize("name", MOVES)
def test_axes_are_followed_to_where_the_elements_went(name: str) -> None:
    move, kept = MOVES[name]
    numbered = torch.arange(math.prod(SHAPE)).view(SHAPE)
    run = record(move, numbered)
    graph, roots = Graph(run), Roots()
    begun = roots.fresh(SHAPE)
    known = {next(number for step in run.steps for number in step.refs): begun}
    for step in run.steps:
        carried = zip(step.results, carry(step, graph, known, roots), strict=True)
        known |= {number: axes for number, axes in carried if axes is not None}
    results = move(numbered)
    for number, result in zip(
        run.steps[-1].results, results if isinstance(results, tuple) else (results,), strict=True
    ):
        agree(result, known[number], begun, SHAPE)
        own = {axis[0].root for axis in begun}
        assert {part.root for axis in known[number] for part in axis if part.root in own} == {
            begun[i][0].root for i in kept
        }


@given(st.lists(st.sampled_from([1, 2, 3, 4, 6]), min_size=1, max_size=4), st.data())
def test_a_view_keeps_every_element_at_its_digits(shape: list[int], data: st.DataObject) -> None:
    size = left = math.prod(shape)
    target: list[int] = []
    while left > 1:
        target.append(data.draw(st.sampled_from([n for n in range(2, left + 1) if left % n == 0])))
        left //= target[-1]
    roots = Roots()
    begun = roots.fresh(tuple(shape))
    agree(torch.arange(size).view(target), roots.reshape(begun, tuple(target)), begun, tuple(shape))
