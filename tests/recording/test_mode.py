"""The recorder itself: its bounds, its faults, and what it leaves alone."""

import sys
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest
import torch
from recorded import ops, sound, source, texts
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

import attnlab
from attnlab.recording import mode as recorder
from attnlab.recording.mode import SITE_LIMIT, STEP_LIMIT


def x() -> torch.Tensor:
    return torch.arange(120.0).view(2, 5, 12)


def total(run: attnlab.Run) -> int:
    return len(run.steps) + sum(count.times for count in run.counted)


def test_the_first_rounds_of_a_loop_are_recorded_and_the_rest_is_counted() -> None:
    start = x()
    with attnlab.record() as run:
        for _ in range(10_000):
            start.add_(1)
        result = start * 2
    assert result[0, 0, 0] == 20_000
    assert ops(run) == ["add"] * SITE_LIMIT + ["mul"]
    (count,) = run.counted
    assert (count.op, count.times) == ("add", 10_000 - SITE_LIMIT)
    assert count.source == source(run.steps[0])
    assert len(run.values) == SITE_LIMIT + 3, "the start, each recorded state, the state that mul read, its result"
    sound(run)


def test_a_training_loop_is_bounded_and_counted_exactly() -> None:
    model = nn.Sequential(nn.Linear(12, 7), nn.ReLU(), nn.Linear(7, 3))
    start, rounds = x(), 200
    with attnlab.record() as run:
        for _ in range(rounds):
            loss = model(start).square().sum()
            loss.backward()
            for parameter in model.parameters():
                parameter.grad = None
    per_round = ["linear", "relu", "linear", "square", "sum", "backward"]
    assert [op for op in ops(run) if op in per_round] == per_round * SITE_LIMIT
    counted = {op: sum(count.times for count in run.counted if count.op == op) for op in per_round}
    assert counted == {op: per_round.count(op) * (rounds - SITE_LIMIT) for op in per_round}
    sound(run)


def test_the_bound_holds_for_each_module_at_one_place_apart() -> None:
    model = nn.Sequential(nn.ReLU(), nn.ReLU())
    with attnlab.record() as run:
        for _ in range(SITE_LIMIT + 3):
            model(x())
    relu = [step.module for step in run.steps if step.op == "relu"]
    assert relu == ["0", "1"] * SITE_LIMIT
    assert sum(count.times for count in run.counted if count.op == "relu") == 2 * 3


def test_a_run_has_at_most_so_many_steps(recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    assert STEP_LIMIT == 10_000
    monkeypatch.setattr(recorder, "STEP_LIMIT", 500)
    lines = 500 // SITE_LIMIT + 5
    body = "\n".join("    x + 1" for _ in range(lines))
    run = recorded(f"for _ in range({SITE_LIMIT}):\n{body}\ny = x * 2", x=x())
    assert len(run.steps) == 500
    assert total(run) == lines * SITE_LIMIT + 1
    assert {count.op for count in run.counted} == {"add", "mul"}


def test_code_that_is_made_anew_each_round_counts_towards_the_bound_of_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recorder, "STEP_LIMIT", 200)
    names = {"start": x()}
    with attnlab.record() as run:
        for _ in range(300):
            eval("start + 1", names)
    assert (len(run.steps), total(run)) == (200, 300)


def test_sizes_are_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "STEP_LIMIT", 200)
    start = x()
    with attnlab.record() as run:
        for _ in range(300):
            start.size(0)
    assert len(run.sizes) == 200


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (recorder.Recorder, "_before"),
        (recorder.Recorder, "_after"),
        (recorder.Frames, "tag"),
        (recorder.Tensors, "read"),
        (recorder.Tensors, "made"),
        (recorder.Steps, "add"),
    ],
)
def test_a_fault_of_ours_is_lost_and_not_the_programs(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> None:
    def broken(*args: Any, **kwargs: Any) -> Any:
        raise ZeroDivisionError("a fault of ours")

    model = nn.Linear(12, 7)
    expected = model(x().add_(1))
    monkeypatch.setattr(owner, name, broken)
    with attnlab.record() as run:
        result = model(x().add_(1))
    assert torch.equal(result, expected)
    assert run.lost
    assert set(run.lost) == {"ZeroDivisionError: a fault of ours"}
    assert run.error is None


def test_the_faults_that_are_kept_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: Any, **kwargs: Any) -> Any:
        raise ZeroDivisionError("a fault of ours")

    monkeypatch.setattr(recorder.Recorder, "_before", broken)
    monkeypatch.setattr(recorder, "STEP_LIMIT", 200)
    start = x()
    with attnlab.record() as run:
        for _ in range(300):
            start.add_(1)
    assert 0 < len(run.lost) <= 200


def test_random_state_is_left_alone() -> None:
    def drawn(recording: bool) -> tuple[Any, ...]:
        torch.manual_seed(3)
        np.random.seed(3)
        if recording:
            with attnlab.record():
                noise = torch.randn(2, 5, 12)
                kept = nn.functional.dropout(noise, 0.5)
                layer = nn.Linear(12, 7)
        else:
            noise = torch.randn(2, 5, 12)
            kept = nn.functional.dropout(noise, 0.5)
            layer = nn.Linear(12, 7)
        return noise, kept, layer.weight, torch.get_rng_state(), torch.rand(3), torch.tensor(np.random.rand(3))

    assert all(torch.equal(a, b) for a, b in zip(drawn(False), drawn(True), strict=True))


def test_results_are_bit_identical_and_grads_too() -> None:
    def worked() -> list[torch.Tensor]:
        torch.manual_seed(3)
        layer = nn.TransformerEncoderLayer(12, 3, 7, batch_first=True)
        result = layer(torch.randn(2, 5, 12))
        result.sum().backward()
        return [result, *(parameter.grad for parameter in layer.parameters())]

    plain = worked()
    with attnlab.record():
        watched = worked()
    assert len(plain) == 13
    assert all(torch.equal(a, b) for a, b in zip(plain, watched, strict=True))


class Counting(TorchFunctionMode):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen.append(func.__name__)
        return func(*args, **(kwargs or {}))


class Dispatched(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


class Tagged(torch.Tensor):
    seen: list[str] = []  # noqa: RUF012 - the test reads what all of them saw

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.seen.append(func.__name__)
        return super().__torch_function__(func, types, args, kwargs or {})


def work(start: torch.Tensor) -> torch.Tensor:
    scores = start @ start.mT / start.shape[-1] ** 0.5
    scores[:, 0] += 1
    weights = nn.functional.softmax(scores, dim=-1)
    return torch.einsum("blm,bmd->bld", weights, start).add_(1)


@pytest.mark.parametrize("outside", [True, False])
@pytest.mark.parametrize("kind", [Counting, Dispatched])
def test_a_mode_of_the_programs_own_sees_just_what_it_saw(kind: Any, outside: bool) -> None:
    with kind() as plain:
        expected = work(x())
    with ExitStack() as stack:
        watched = stack.enter_context(kind()) if outside else kind()
        run = stack.enter_context(attnlab.record())
        if not outside:
            stack.enter_context(watched)
        result = work(x())
    assert watched.seen == plain.seen
    assert torch.equal(result, expected)
    assert "softmax" in ops(run)
    assert run.lost == ()


def test_a_subclass_of_the_programs_own_sees_just_what_it_saw() -> None:
    start = x().as_subclass(Tagged)
    Tagged.seen = []
    expected = work(start)
    plain, Tagged.seen = Tagged.seen, []
    with attnlab.record() as run:
        result = work(start)
    watched, Tagged.seen = Tagged.seen, []
    assert watched == plain
    assert type(result) is type(expected) is Tagged
    assert torch.equal(result.as_subclass(torch.Tensor), expected.as_subclass(torch.Tensor))
    assert "einsum" in ops(run)
    assert run.lost == ()


def test_a_tracing_function_of_the_programs_own_is_told_the_same() -> None:
    def lines(recording: bool) -> list[tuple[str, str, int]]:
        seen: list[tuple[str, str, int]] = []

        def trace(frame: Any, event: str, arg: Any) -> Any:
            if frame.f_code.co_filename == __file__ and frame.f_code.co_name == "work":
                seen.append((event, frame.f_code.co_name, frame.f_lineno))
            return trace

        before = sys.gettrace()
        start = x()
        if recording:
            with attnlab.record():
                sys.settrace(trace)
                work(start)
                sys.settrace(before)
        else:
            sys.settrace(trace)
            work(start)
            sys.settrace(before)
        return seen

    plain = lines(False)
    assert ("call", "work", plain[0][2]) == plain[0]
    assert lines(True) == plain


def test_a_profiling_function_of_the_programs_own_sees_none_of_our_calls_as_the_users() -> None:
    def calls(recording: bool) -> list[str]:
        seen: list[str] = []

        def profile(frame: Any, event: str, arg: Any) -> None:
            if event == "call" and frame.f_code.co_filename == __file__:
                seen.append(frame.f_code.co_name)

        start = x()
        if recording:
            with attnlab.record():
                sys.setprofile(profile)
                work(start)
                sys.setprofile(None)
        else:
            sys.setprofile(profile)
            work(start)
            sys.setprofile(None)
        return seen

    assert calls(False) == calls(True) == ["work"]


def test_frames_get_their_trace_slot_back() -> None:
    start = x()
    frame = sys._getframe()
    with attnlab.record() as run:
        result = start + 1
    assert result.shape == (2, 5, 12)
    assert texts(run) == [("add", "start + 1")]
    assert frame.f_trace is None
