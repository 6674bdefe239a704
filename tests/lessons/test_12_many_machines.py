"""Lesson 12: run in two processes and in one, against the result of one; its model is lesson 7's."""

import os
import re
import subprocess
import sys

import pytest
import torch
from hypothesis import given
from lesson_files import CLOSE, FEW, different, file_of, lesson


@pytest.mark.parametrize("ranks", [1, 2])
def test_all_ranks_come_to_the_result_of_one_process(ranks: int) -> None:
    launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={ranks}"] if ranks > 1 else []
    done = subprocess.run(
        [sys.executable, *launcher, str(file_of(12))],
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rings = re.findall(
        r"^rank (\d) of (\d) .*tokens (\d+) to (\d+) of \d+, differs .* by (\S+)$", done.stdout, re.MULTILINE
    )
    trained = re.findall(r"^rank (\d) of (\d) .*loss (\S+), weights differ .* by (\S+)$", done.stdout, re.MULTILINE)
    assert sorted(rank[:4] for rank in rings) == [
        (f"{i}", f"{ranks}", f"{8 * i}", f"{8 * i + 7}") for i in range(ranks)
    ]
    assert sorted(rank[:2] for rank in trained) == [(f"{i}", f"{ranks}") for i in range(ranks)]
    assert all(float(rank[4]) < 1e-12 for rank in rings)
    assert all(float(rank[3]) < 1e-9 for rank in trained)
    assert all(float(rank[2]) < 0.1 for rank in trained)  # guessing evenly: ln 8 = 2.1


@FEW
@given(different((1, 7), (1, 7), (1, 7), (1, 7)))
def test_its_model_is_lesson_7s(sizes: tuple[int, ...]) -> None:
    batch, length, heads, size = sizes
    before = lesson(7).Reverser(10, heads * size, length, heads).double()
    ours = lesson(12).Reverser(10, heads * size, length, heads).double()
    ours.load_state_dict(before.state_dict())
    ids = torch.randint(10, (batch, length))
    torch.testing.assert_close(ours(ids), before(ids)[0], **CLOSE)
