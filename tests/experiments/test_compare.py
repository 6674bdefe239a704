"""Two runs of one file set side by side."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest
import torch

import attnlab
from attnlab.experiments.compare import Comparison, compare
from attnlab.run import Run

Both = Callable[[str, str], tuple[Run, Run]]


@pytest.fixture
def both(tmp_path: Path) -> Both:
    """Records two texts, one after the other, as the same file."""

    def record(text: str) -> Run:
        file = tmp_path / "program.py"
        text = dedent(text).lstrip("\n")
        file.write_text(text, encoding="utf-8")
        torch.manual_seed(0)
        with attnlab.record() as run:
            exec(compile(text, str(file), "exec"), {"torch": torch})
        return run

    return lambda one, other: (record(one), record(other))


def moved(found: Comparison, run: Run) -> list[tuple[str, tuple[int, ...], tuple[int, ...]]]:
    return [(run.steps[item.step.a].op, *item.shapes) for item in found.moved]


SCORES = """
x = torch.randn(2, N, 8)
s = x @ x.transpose(-2, -1)
w = s.softmax(-1)
"""


def test_a_run_and_itself(both: Both) -> None:
    a, b = both(SCORES.replace("N", "4"), SCORES.replace("N", "4"))
    found = compare(a, b, ("one\n", "one\n"))
    assert found.same
    assert [(pair.a, pair.b) for pair in found.pairs] == [(i, i) for i in range(4)]


def test_shapes_that_moved(both: Both) -> None:
    a, b = both(SCORES.replace("N", "4"), SCORES.replace("N", "6"))
    found = compare(a, b)
    assert moved(found, a) == [
        ("randn", (2, 4, 8), (2, 6, 8)),
        ("transpose", (2, 8, 4), (2, 8, 6)),
        ("matmul", (2, 4, 4), (2, 6, 6)),
        ("softmax", (2, 4, 4), (2, 6, 6)),
    ]
    assert all(item.shape_moved and item.difference is None for item in found.moved)
    assert not found.same


def test_values_that_moved_and_how_far(both: Both) -> None:
    text = "x = torch.tensor([1.0, 2.0, 3.0, 4.0])\ny = x * C\nz = y * 0\n"
    a, b = both(text.replace("C", "1.0"), text.replace("C", "2.0"))
    (item,) = compare(a, b).moved
    assert a.steps[item.step.a].op == "mul"
    assert not item.shape_moved
    assert item.difference == pytest.approx(4.0)
    assert item.share == pytest.approx(4.0 / math.sqrt(1.25))


def test_rounding_is_no_move(both: Both) -> None:
    text = "x = torch.tensor([1.0, 2.0, 3.0])\ny = x * (1 + E)\n"
    assert not compare(*both(text.replace("E", "0.0"), text.replace("E", "1e-7"))).moved
    assert compare(*both(text.replace("E", "0.0"), text.replace("E", "1e-3"))).moved


@pytest.mark.parametrize(("one", "other"), [("0.0", "float('nan')"), ("float('inf')", "float('-inf')")])
def test_what_is_not_finite_any_more_moved_without_bound(both: Both, one: str, other: str) -> None:
    text = "x = torch.tensor([1.0, 2.0])\ny = x + C\n"
    (item,) = compare(*both(text.replace("C", one), text.replace("C", other))).moved
    assert item.difference == math.inf


def test_nan_and_nan_are_alike(both: Both) -> None:
    text = "x = torch.tensor([1.0, float('nan')])\ny = x + 1\n"
    assert compare(*both(text, text)).same


def test_what_is_left_over_in_memory_says_nothing(both: Both) -> None:
    text = "x = torch.empty(3)\nx.fill_(C)\ny = torch.empty_like(x)\ny.fill_(1)\n"
    a, b = both(text.replace("C", "1"), text.replace("C", "2"))
    assert moved(compare(a, b), a) == [("fill", (3,), (3,))]


def test_steps_that_only_one_run_has(both: Both) -> None:
    a, b = both("x = torch.ones(3)\ny = x / 2\nz = y + 1\n", "x = torch.ones(3)\ny = x\nz = y + 1\n")
    found = compare(a, b)
    assert [a.steps[index].op for index in found.only_a] == ["div"]
    assert found.only_b == ()
    assert moved(found, a) == [("add", (3,), (3,))]


def test_another_operation_on_a_line_is_another_step(both: Both) -> None:
    a, b = both("x = torch.ones(2, 3)\ny = x.mT + 1\n", "x = torch.ones(2, 3)\ny = x.transpose(0, 1) + 1\n")
    found = compare(a, b)
    assert ([a.steps[i].op for i in found.only_a], [b.steps[i].op for i in found.only_b]) == (["mT"], ["transpose"])
    assert not found.moved


def test_what_stands_to_the_right_of_a_change_stays_the_same_step(both: Both) -> None:
    a, b = both("y = torch.ones(3); z = y + 1\n", "y = torch.ones(100000)[:3]; z = y + 1\n")
    found = compare(a, b)
    assert [a.steps[pair.a].op for pair in found.pairs] == ["ones", "add"]
    assert moved(found, a) == [("ones", (3,), (100000,))]


def test_of_a_loop_the_first_rounds_are_the_same_ones(both: Both) -> None:
    text = "x = torch.ones(2)\nfor i in range(C):\n    x = x + 1\ny = x * 2\n"
    a, b = both(text.replace("C", "2"), text.replace("C", "3"))
    found = compare(a, b)
    assert [(pair.a, pair.b) for pair in found.pairs] == [(0, 0), (1, 1), (2, 2), (3, 4)]
    assert (found.only_a, found.only_b) == ((), (3,))
    assert moved(found, a) == [("mul", (2,), (2,))]


def test_the_same_line_in_two_modules_is_two_steps(both: Both) -> None:
    text = """
    class Layer(torch.nn.Module):
        def forward(self, x):
            return x + 1
    net = torch.nn.Sequential(Layer(), Layer())
    net.pop(C)
    y = net(torch.zeros(2))
    """
    a, b = both(text.replace("net.pop(C)", "pass"), text.replace("C", "0"))
    found = compare(a, b)
    assert [a.steps[pair.a].module for pair in found.pairs] == [None, "0"]
    assert [a.steps[index].module for index in found.only_a] == ["1"]


def test_printed_lines_that_differ(both: Both) -> None:
    a, b = both("", "")
    found = compare(a, b, ("a\nb\nc\nd\n", "a\nB\nd\ne\n"))
    assert found.printed == (("b", "B"), ("c", None), (None, "e"))
    assert not found.same


def test_the_errors_of_both(both: Both) -> None:
    a, _ = both("x = torch.ones(3)\n", "")
    with pytest.raises(RuntimeError) as caught:
        both("x = torch.ones(3) @ torch.ones(4)\n", "")
    assert "size" in str(caught.value)
    assert compare(a, a).errors == (None, None)
