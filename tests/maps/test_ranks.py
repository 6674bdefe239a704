"""Rows shared out over two processes, against one."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from attnlab.maps.ranks import parts, ranks, shared
from attnlab.maps.store import read
from attnlab.maps.streaming import summarise

PROGRAM = Path(__file__).with_name("ranks_program.py")


def program() -> ModuleType:
    spec = importlib.util.spec_from_file_location("ranks_program", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("sizes", [(301, 307), (5, 7)], ids=["many rows", "less than a part for each"])
def test_two_ranks_give_the_numbers_of_one(tmp_path: Path, sizes: tuple[int, int]) -> None:
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2"]
    done = subprocess.run(
        [*launcher, str(PROGRAM), str(tmp_path / "map"), *map(str, sizes)],
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    together = read(tmp_path / "map").layers[0].summary
    alone = summarise(program().source(*sizes), top=3, near=4, cells=32)
    for field in fields(alone):
        ours, theirs = getattr(together, field.name), getattr(alone, field.name)
        if isinstance(theirs, Tensor):
            torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=1e-7, equal_nan=True)
        else:
            assert ours == theirs


def test_without_torchrun_it_is_summarise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    source = program().source(5, 7)
    with ranks() as rank:
        assert rank == 0
        summary = shared(source, top=3)
    assert summary is not None
    assert torch.equal(summary.top_keys, summarise(source, top=3).top_keys)


@given(st.integers(1, 999), st.sampled_from([1, 2, 4, 8, 64]), st.integers(1, 9))
def test_every_row_is_in_one_part_that_begins_at_a_cell(queries: int, side: int, count: int) -> None:
    every = sorted(part for rank in range(count) for part in parts(queries, side, count, rank))
    assert every[0][0] == 0
    assert every[-1][1] == queries
    assert all(one[1] == other[0] for one, other in pairwise(every))
    assert all(start % side == 0 for start, _ in every)


@given(st.integers(2000, 9000), st.integers(1, 9))
def test_each_rank_has_as_much_of_a_causal_triangle(queries: int, count: int) -> None:
    work = [
        sum(stop * (stop + 1) - start * (start + 1) for start, stop in parts(queries, 8, count, rank))
        for rank in range(count)
    ]
    assert max(work) <= 1.1 * min(work)
