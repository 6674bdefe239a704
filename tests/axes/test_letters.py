"""The names of axes: right for every attention of the corpus, and never because two sizes happen to be equal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
import torch.nn as nn
import torch.nn.functional as F
from golden_files import assert_golden
from runs import SCRIPTS, attentions_of, run_of

import attnlab
from attnlab.attention import Attention, alike, find
from attnlab.axes import by_flow
from attnlab.run import Run


def named(run: Run, attentions: Sequence[Attention]) -> list[list[tuple[str | None, ...]]]:
    """For each attention the names of the axes of each value that its steps read or made."""
    axes = by_flow(run, attentions)
    return [
        [
            axes.names(value, attention.index)
            for index in attention.steps
            for value in (*run.steps[index].refs, *run.steps[index].results)
        ]
        for attention in attentions
    ]


def table(script: Path) -> str:
    """The named shapes of x, q, k, v, scores, weights, the output and its projection, for each kind of attention."""
    run, attentions = run_of(script), attentions_of(script)
    axes = by_flow(run, attentions)
    lines = [script.stem]
    for group in alike(attentions, run):
        found = group[0]
        out = None if found.project_out is None else run.steps[found.project_out].results[0]
        values = {
            "x": found.q.x, "y": None if found.k.x == found.q.x else found.k.x,
            "q": found.q.entered, "k": found.k.entered, "v": found.v.entered,
            "scores": found.scores.value, "weights": found.weights.value, "output": found.result, "projected": out,
        }  # fmt: skip
        lines.append(f"  {found.style}, {found.kind}, {found.heads} heads")
        for role, value in values.items():
            if value is not None:
                pairs = zip(axes.names(value, found.index), run.values[value].shape, strict=True)
                shape = ", ".join(f"{name}={size}" if name else str(size) for name, size in pairs)
                lines.append(f"    {role:<9} {shape}")
    return "\n".join(lines) + "\n"


def test_the_names_of_the_corpus() -> None:
    """Read by hand once; a name that changes shows here."""
    assert_golden("axes.txt", "\n".join(table(script) for script in SCRIPTS if attentions_of(script)))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_letter_has_one_size_in_an_attention(script: Path) -> None:
    run, attentions = run_of(script), attentions_of(script)
    axes = by_flow(run, attentions)
    for attention in attentions:
        sizes: dict[str, int] = {}
        for index in attention.steps:
            for value in (*run.steps[index].refs, *run.steps[index].results):
                for name, size in zip(axes.names(value, attention.index), run.values[value].shape, strict=True):
                    assert name is None or sizes.setdefault(name, size) == size


class MultiHead(nn.Module):
    def __init__(self, width: int, heads: int, d_k: int, d_v: int) -> None:
        super().__init__()
        self.heads = heads
        self.q, self.k = nn.Linear(width, heads * d_k), nn.Linear(width, heads * d_k)
        self.v, self.out = nn.Linear(width, heads * d_v), nn.Linear(heads * d_v, width)

    def split(self, x: torch.Tensor) -> torch.Tensor:
        return x.view(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2)

    def forward(self, x: torch.Tensor, memory: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        q, k, v = self.split(self.q(x)), self.split(self.k(memory)), self.split(self.v(memory))
        scores = q @ k.transpose(-2, -1) / q.size(-1) ** 0.5
        weights = F.softmax(scores.masked_fill(mask, -1e9), dim=-1)
        return x + self.out((weights @ v).transpose(1, 2).flatten(2))


def multi_head(
    cross: bool, B: int, H: int, L: int, S: int, D: int, d_k: int, d_v: int
) -> list[list[tuple[str | None, ...]]]:
    """The names in a multi-head attention of these sizes."""
    module = MultiHead(D, H, d_k, d_v)
    x = torch.randn(B, L, D)
    memory = torch.randn(B, S, D) if cross else x
    mask = torch.zeros(L, S if cross else L, dtype=torch.bool)
    run = attnlab.record(module, x, memory, mask)
    attentions = find(run)
    assert len(attentions) == 1
    return named(run, attentions)


@pytest.mark.parametrize("cross", [False, True], ids=["self", "cross"])
@pytest.mark.parametrize(
    "sizes",
    [
        {"B": 4, "H": 4, "L": 4, "S": 4, "D": 4, "d_k": 4, "d_v": 4},
        {"B": 5, "H": 3, "L": 5, "S": 5, "D": 15, "d_k": 5, "d_v": 5},
        {"B": 3, "H": 3, "L": 6, "S": 7, "D": 6, "d_k": 2, "d_v": 2},
        {"B": 2, "H": 7, "L": 8, "S": 8, "D": 8, "d_k": 7, "d_v": 8},
        {"B": 1, "H": 2, "L": 3, "S": 4, "D": 6, "d_k": 3, "d_v": 3},
    ],
    ids=lambda sizes: ",".join(map(str, sizes.values())),
)
def test_sizes_that_are_merely_equal_are_not_confused(cross: bool, sizes: dict[str, int]) -> None:
    """The same code on other sizes: every axis of every value has the same name."""
    primes = {"B": 2, "H": 3, "L": 5, "S": 7, "D": 11, "d_k": 13, "d_v": 17}
    assert multi_head(cross, **sizes) == multi_head(cross, **primes)


def test_all_axes_of_a_multi_head_attention_have_names() -> None:
    (values,) = multi_head(True, B=2, H=3, L=5, S=7, D=11, d_k=13, d_v=17)
    assert all(name is not None for names in values for name in names)
    assert {name for names in values for name in names} == {
        *("B", "H", "L_q", "L_k", "D", "D_kv", "d_k", "d_v", "H·d_k", "H·d_v"),
    }


def test_without_an_attention_nothing_has_a_name() -> None:
    run = attnlab.record(lambda: torch.randn(2, 3) @ torch.randn(3, 5))
    axes = by_flow(run, ())
    assert all(axes.names(value.id) == (None, None) for value in run.values)


def test_the_users_names_stand_beside_where_the_program_tells_them() -> None:
    def program() -> None:
        batch, tokens = 2, 3
        x = torch.randn(batch, tokens, 5)
        B, L, _ = x.shape
        assert (B, L) == (2, 3)
        x.view(batch, tokens * 5)

    run = attnlab.record(program)
    axes = by_flow(run, ())
    assert [name.text for name in axes.called(run.steps[0].results[0], 0)] == ["batch", "B"]
    assert [name.text for name in axes.called(run.steps[0].results[0], 1)] == ["tokens", "L"]
    assert [name.text for name in axes.called(run.steps[0].results[0], 2)] == []
    merged = run.steps[1].results[0]
    assert [(name.text, name.simple) for name in axes.called(merged, 1)] == [("tokens * 5", False)]
