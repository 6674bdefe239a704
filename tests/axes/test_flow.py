"""Which axes are one: what each operation does to axes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from runs import SCRIPTS, run_of

import attnlab
from attnlab.axes.flow import Axis, Flow
from attnlab.axes.here import Here
from attnlab.axes.links import _RULES  # pyright: ignore[reportPrivateUsage]
from attnlab.run import Run

Shape = tuple[int, ...]


def flowed(operation: Callable[..., object], *shapes: Shape) -> tuple[Run, Flow]:
    """The flow of one operation on tensors of these shapes."""
    run = attnlab.record(operation, *(torch.randn(shape) for shape in shapes))
    return run, Flow(run)


def traced(operation: Callable[..., object], *shapes: Shape) -> list[str]:
    """Each axis of the last result by where it comes from: "a0" for axis 0 of the first operand; "?" for nowhere."""
    run, flow = flowed(operation, *shapes)
    inputs = [value.id for value in run.values if value.step is None]
    names: dict[Axis, str] = {}
    for letter, value in zip("abcd", inputs, strict=False):
        for axis in range(len(run.values[value].shape)):
            names.setdefault(flow.root(Axis(value, axis)), f"{letter}{axis}")
    last = run.steps[-1].results[0]
    return ["·".join(names.get(part, "?") for part in (flow.parts(root) or (root,))) for root in flow.axes(last)]


CASES: list[tuple[str, Callable[..., object], list[Shape], list[str]]] = [
    ("transpose", lambda a: a.transpose(-2, -1), [(2, 3, 5)], ["a0", "a2", "a1"]),
    ("permute", lambda a: a.permute(2, 0, 1), [(2, 3, 5)], ["a2", "a0", "a1"]),
    ("mT", lambda a: a.mT, [(2, 3, 5)], ["a0", "a2", "a1"]),
    ("t", lambda a: a.t(), [(3, 5)], ["a1", "a0"]),
    ("movedim", lambda a: a.movedim(0, -1), [(2, 3, 5)], ["a1", "a2", "a0"]),
    ("unsqueeze", lambda a: a.unsqueeze(1), [(2, 3)], ["a0", "?", "a1"]),
    ("squeeze", lambda a: a.squeeze(1), [(2, 1, 3)], ["a0", "a2"]),
    ("flatten", lambda a: a.flatten(1), [(2, 3, 5)], ["a0", "a1·a2"]),
    ("merge", lambda a: a.reshape(6, 5), [(2, 3, 5)], ["a0·a1", "a2"]),
    ("view that cuts across", lambda a: a.reshape(3, 10), [(2, 3, 5)], ["?", "?"]),
    ("a 1 that stays", lambda a: a.view(1, 5, 3, 2), [(1, 5, 6)], ["a0", "a1", "?", "?"]),
    ("a 1 that may be either", lambda a: a.view(1, 5), [(1, 1, 5)], ["?", "a2"]),
    ("expand", lambda a: a.expand(2, 3, 4), [(2, 3, 1)], ["a0", "a1", "?"]),
    ("chunk", lambda a: a.chunk(2, dim=1)[0], [(2, 6, 5)], ["a0", "?", "a2"]),
    ("unbind", lambda a: a.unbind(1)[0], [(2, 3, 5)], ["a0", "a2"]),
    ("cat", lambda a, b: torch.cat([a, b], dim=1), [(2, 3, 5), (2, 4, 5)], ["a0", "?", "a2"]),
    ("stack", lambda a, b: torch.stack([a, b], dim=1), [(2, 3), (2, 3)], ["a0", "?", "a1"]),
    ("index", lambda a: a[:, 0], [(2, 3, 5)], ["a0", "a2"]),
    ("slice", lambda a: a[:, 1:], [(2, 3, 5)], ["a0", "?", "a2"]),
    ("new axis", lambda a: a[:, None, :, 0], [(2, 3, 5)], ["a0", "?", "a1"]),
    ("ellipsis", lambda a: a[..., 0], [(2, 3, 5)], ["a0", "a1"]),
    ("index by tensor", lambda a: a[torch.tensor([0, 1])], [(2, 3)], ["?", "?"]),
    ("sum", lambda a: a.sum(dim=1), [(2, 3, 5)], ["a0", "a2"]),
    ("sum kept", lambda a: a.sum(1, keepdim=True), [(2, 3, 5)], ["a0", "?", "a2"]),
    ("matmul", lambda a, b: a @ b, [(2, 3, 5), (2, 5, 7)], ["a0", "a1", "b2"]),
    ("matmul with a matrix", lambda a, b: a @ b, [(2, 3, 5), (5, 7)], ["a0", "a1", "b1"]),
    ("matmul with a vector", lambda a, b: a @ b, [(2, 3, 5), (5,)], ["a0", "a1"]),
    ("vector times matrix", lambda a, b: a @ b, [(5,), (2, 5, 7)], ["b0", "b2"]),
    ("matmul that stretches", lambda a, b: a @ b, [(2, 1, 3, 5), (4, 5, 7)], ["a0", "b0", "a2", "b2"]),
    ("linear", F.linear, [(2, 3, 5), (7, 5), (7,)], ["a0", "a1", "b0"]),
    ("einsum", lambda a, b: torch.einsum("bqd,bkd->bkq", a, b), [(2, 3, 5), (2, 7, 5)], ["a0", "b1", "a1"]),
    ("outer", torch.outer, [(3,), (5,)], ["a0", "b0"]),
    ("add", lambda a, b: a + b, [(2, 3, 5), (3, 1)], ["a0", "a1", "a2"]),
    ("softmax", lambda a: a.softmax(-1), [(2, 3)], ["a0", "a1"]),
    ("sdpa", F.scaled_dot_product_attention, [(2, 3, 4, 5), (2, 3, 6, 5), (2, 3, 6, 7)], ["a0", "a1", "a2", "c3"]),
    ("unknown", torch.cdist, [(2, 3, 5), (2, 4, 5)], ["?", "?", "?"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("operation", "shapes", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_an_operation_carries_axes(operation: Callable[..., object], shapes: list[Shape], expected: list[str]) -> None:
    assert traced(operation, *shapes) == expected


def test_axes_that_meet_are_one() -> None:
    run, flow = flowed(lambda a, b: a @ b, (2, 3, 5), (2, 5, 7))
    left, right = run.steps[0].refs
    assert flow.root(Axis(left, 2)) == flow.root(Axis(right, 1))
    assert flow.root(Axis(left, 0)) == flow.root(Axis(right, 0))
    assert flow.root(Axis(left, 1)) != flow.root(Axis(right, 2))


def test_what_is_split_and_merged_again_is_the_same() -> None:
    run, flow = flowed(lambda a: a.view(2, 5, 3, 4).transpose(1, 2).transpose(1, 2).reshape(2, 5, 12), (2, 5, 12))
    assert flow.axes(run.steps[-1].results[0]) == flow.axes(run.steps[0].refs[0])


def test_heads_folded_into_the_batch_are_seen() -> None:
    """`[L, B, h·d]` viewed as `[L, B·h, d]`, with h an axis of no tensor."""
    run, flow = flowed(lambda a: a.view(5, 2 * 3, 7), (5, 2, 21))
    before, after = flow.axes(run.steps[0].refs[0]), flow.axes(run.steps[0].results[0])
    assert before[0] == after[0]
    batch, heads = flow.parts(after[1])
    assert batch == before[1]
    assert flow.parts(before[2]) == (heads, after[2])
    assert flow.size(heads) == 3


def test_an_overwritten_state_keeps_its_axes() -> None:
    run, flow = flowed(lambda a: a.mul_(2), (2, 3))
    (step,) = run.steps
    assert flow.axes(step.refs[0]) == flow.axes(step.results[0])


SIZES = st.lists(st.integers(min_value=1, max_value=4), min_size=1, max_size=4)


@given(SIZES, st.data())
def test_a_view_never_joins_axes_that_hold_different_elements(shape: list[int], data: st.DataObject) -> None:
    """Axes that are one index the same elements: moving along one by one step is moving along the other."""
    sizes = list(shape)
    if data.draw(st.booleans()):
        at = data.draw(st.integers(0, len(sizes) - 1))
        sizes[at : at + 2] = [torch.Size(sizes[at : at + 2]).numel()]
    if data.draw(st.booleans()):
        sizes.reverse()
    run, flow = flowed(lambda a: a.reshape(sizes), tuple(shape))
    if not run.steps:
        return
    (step,) = run.steps
    before = torch.arange(torch.Size(shape).numel()).reshape(shape)
    after = before.reshape(sizes)
    for i, one in enumerate(flow.axes(step.refs[0])):
        for j, other in enumerate(flow.axes(step.results[0])):
            if one == other and shape[i] > 1:
                assert before.stride(i) == after.stride(j)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_every_rule_reads_every_call_of_the_corpus(script: object) -> None:
    """`links` lets a rule pass that does not know a form of call; here none may raise but `ValueError`."""
    run = run_of(script)  # pyright: ignore[reportArgumentType]
    for step in run.steps:
        if step.op in _RULES and step.refs and step.results:
            try:
                list(_RULES[step.op](Here(run, step)))
            except ValueError:
                pass
