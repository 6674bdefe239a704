"""Every script in which attention is found: weights of which each row sums to one, and that are those recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from runs import SCRIPTS
from scene.reading import numbers
from scene.reading import recorded as run_and_tape

from attnlab import looking
from attnlab.attention import Attention, alike, find
from attnlab.run import Run

# In blocks of keys; what is recorded of each is not normalised yet.
BLOCKS = {"a_online_softmax.py"}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_weights_sum_to_one_and_are_those_recorded(script: Path) -> None:
    run, tape = run_and_tape(script)
    scene = json.loads(looking.examined(run, tape))
    groups = alike(find(run), run)
    assert len(scene["told"]) == len(groups)
    for told, group in zip(scene["told"], groups, strict=True):
        assert len(told["layers"]) == len(group)
        for layer, attention in zip(told["layers"], group, strict=True):
            if attention.blocks > 1:
                assert script.name in BLOCKS
                assert "weights" not in layer["tensors"]
                continue
            weights = numbers(layer["tensors"]["weights"])
            sums = weights.sum(-1)
            assert torch.allclose(sums, torch.ones_like(sums), atol=1e-5)
            agrees(weights, attention, run)


def agrees(weights: Any, attention: Attention, run: Run) -> None:
    """The corner that the record keeps, of the first sample and head, is that of the first matrix."""
    grid = attention.weights
    value = None if grid.value is None else run.values[grid.value]
    if value is None or value.numbers is None or attention.style == "mha":  # that may be a mean of heads
        return
    rank = len(value.shape)
    if (grid.query, grid.key) == (rank - 2, rank - 1):
        corner = torch.tensor(value.numbers.corner).double()
        assert torch.allclose(weights[0, 0, : corner.shape[0], : corner.shape[1]], corner, atol=1e-6)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_every_part_ties_to_tensors_and_code(script: Path) -> None:
    run, tape = run_and_tape(script)
    scene = json.loads(looking.examined(run, tape))
    lines = [file["text"].split("\n") for file in scene["files"]]
    assert "itself failed" not in json.dumps(scene)
    for told in scene["told"]:
        there = set().union(*(layer["tensors"] for layer in told["layers"]))
        made = [role for part in told["parts"] for role in part["makes"]]
        assert there - set(made) <= {"memory"}
        assert set(made) | {role for part in told["parts"] for role in part["reads"]} <= there
        codes = [code for part in told["parts"] for item in part["items"] for code in item["codes"]]
        for code in codes:
            assert len(code["lines"]) == len(code["spans"])
            for span in code["spans"]:
                assert stands(lines[code["file"]], span)


def stands(lines: list[str], span: list[int]) -> bool:
    """Whether a span, with columns in UTF-16 units, lies within its lines and holds something."""
    first, column, last, end = span
    length = [len(line.encode("utf-16-le")) // 2 for line in lines]
    return column <= length[first - 1] and end <= length[last - 1] and (first, column) < (last, end)
