"""Where PyTorch would behave otherwise under a mode, or would not tell one anything; and leaving it all as it was."""

import threading
import warnings
from typing import Any

import pytest
import torch
import torch.overrides
from recorded import made, only, ops, sound, source
from torch import nn
from torch.overrides import BaseTorchFunctionMode

import attnlab


def x() -> torch.Tensor:
    return torch.arange(120.0).view(2, 5, 12)


def modes() -> int:
    return torch._C._len_torch_function_stack()


def test_pytorch_is_as_it_was_when_the_block_has_ended(patched) -> None:
    before = patched()
    with attnlab.record():
        assert modes() == 1
        assert patched() != before
    assert (patched(), modes()) == (before, 0)


def test_pytorch_is_as_it_was_when_the_block_has_raised(patched) -> None:
    before = patched()
    with pytest.raises(KeyError), attnlab.record():
        {}["no such key"]
    assert (patched(), modes()) == (before, 0)
    with pytest.raises(RuntimeError):
        attnlab.record(lambda t: t @ t, x())
    assert (patched(), modes()) == (before, 0)


def test_nested_recordings_leave_it_as_it_was(patched) -> None:
    before = patched()
    with attnlab.record(), attnlab.record():
        assert modes() == 2
    assert (patched(), modes()) == (before, 0)


def test_recordings_that_overlap_in_two_threads_leave_it_as_it_was(patched) -> None:
    before = patched()
    begun, ended = threading.Event(), threading.Event()

    def other() -> None:
        with attnlab.record():
            begun.set()
            ended.wait(60)

    thread = threading.Thread(target=other)
    with attnlab.record():
        thread.start()
        begun.wait(60)
    ended.set()
    thread.join()
    assert (patched(), modes()) == (before, 0)


def test_a_mode_that_the_program_entered_and_did_not_leave_stays() -> None:
    class Mine(BaseTorchFunctionMode):
        pass

    mine = Mine()
    with attnlab.record() as run:
        mine.__enter__()
        result = x() + 1
    try:
        assert modes() == 1
        assert torch._C._get_function_stack_at(0) is mine
    finally:
        mine.__exit__(None, None, None)
    assert result.shape == (2, 5, 12)
    assert run.lost == ()


def test_a_mode_from_before_stays() -> None:
    class Mine(BaseTorchFunctionMode):
        pass

    with Mine() as mine:
        with attnlab.record():
            pass
        assert torch._C._get_function_stack_at(0) is mine
    assert modes() == 0


def test_nobody_is_told_that_there_is_a_mode() -> None:
    answers = []
    with attnlab.record():
        answers.append(torch.overrides.has_torch_function((x(),)))
        with BaseTorchFunctionMode():
            answers.append(torch.overrides.has_torch_function((x(),)))
    assert answers == [False, True]


def kernels(module: nn.Module, *inputs: torch.Tensor) -> set[str]:
    """The fused kernels that a call ran."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile, torch.no_grad():
        module(*inputs)
    fused = {"aten::_native_multi_head_attention", "aten::_transformer_encoder_layer_fwd"}
    return fused & {event.key for event in profile.key_averages()}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("module", "count", "kernel"),
    [
        (nn.MultiheadAttention(12, 2, batch_first=True), 3, "aten::_native_multi_head_attention"),
        (nn.TransformerEncoderLayer(12, 2, 7, batch_first=True), 1, "aten::_transformer_encoder_layer_fwd"),
    ],
    ids=["MultiheadAttention", "TransformerEncoderLayer"],
)
def test_a_module_keeps_its_fast_path(module: nn.Module, count: int, kernel: str) -> None:
    inputs = [torch.ones(3, 5, 12)] * count
    module.eval()
    assert kernel in kernels(module, *inputs)
    with attnlab.record() as run:
        assert kernel in kernels(module, *inputs)
    assert run.lost == ()


def test_the_fast_path_is_one_step(recorded) -> None:
    attention = nn.MultiheadAttention(12, 2, batch_first=True).eval()
    run = recorded("with torch.no_grad():\n    y, w = attend(x, x, x)", x=torch.ones(3, 5, 12), attend=attention)
    (step,) = [step for step in run.steps if step.results]
    assert [run.values[number].shape for number in step.results] == [(3, 5, 12), (3, 5, 5)]
    assert source(step).targets == ("y", "w")
    assert step.module_type == "MultiheadAttention"


def test_a_compiled_function_is_one_step_and_warns_of_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiled = torch.compile(lambda t: (t + 1) * 2, backend="eager")
        start = x()
        expected = compiled(start)
        with attnlab.record() as run:
            y = compiled(start)
            z = y * 3
    assert torch.equal(y, expected)
    assert ops(run) == ["compiled", "mul"]
    step = run.steps[0]
    assert (source(step).text, source(step).targets) == ("compiled(start)", ("y",))
    assert step.operands[0].text == "start"
    assert run.steps[1].refs == step.results
    assert z.shape == made(run, run.steps[1]).shape
    sound(run)


def test_what_is_compiled_while_recording_is_as_good_as_without() -> None:
    frames: list[int] = []

    def backend(graph: Any, inputs: Any) -> Any:
        frames.append(len([node for node in graph.graph.nodes if node.op in ("call_function", "call_method")]))
        return graph

    def attend(t: torch.Tensor) -> torch.Tensor:
        return torch.softmax(t @ t.mT, -1) @ t

    start = x()
    expected = torch.compile(attend, backend=backend)(start)
    torch._dynamo.reset()
    with attnlab.record() as run:
        compiled = torch.compile(attend, backend=backend)
        result = [compiled(start), compiled(start)]
    plain_again = compiled(start)
    torch._dynamo.reset()
    assert frames == [frames[0]] * 2, "one graph without attnlab, one with it, and no third when it has ended"
    assert all(torch.equal(each, expected) for each in (*result, plain_again))
    assert ops(run) == ["compiled", "compiled"]
    sound(run)


def test_a_compiled_function_that_raises_leaves_the_recording_on() -> None:
    def fail(t: torch.Tensor) -> torch.Tensor:
        raise KeyError("own")

    compiled = torch.compile(fail, backend="eager")
    with attnlab.record() as run:
        with pytest.raises(KeyError):
            compiled(x())
        result = x() + 1
    torch._dynamo.reset()
    assert result.shape == (2, 5, 12)
    assert ops(run)[-1] == "add"
    assert run.lost == ()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_scripted_and_traced_functions_are_one_step_each(recorded) -> None:
    def double(t: torch.Tensor) -> torch.Tensor:
        return t * 2

    class Layer(nn.Module):
        def forward(self, t: torch.Tensor) -> torch.Tensor:
            return t + 1

    run = recorded(
        "a = scripted(x)\nb = traced(a)\nc = layer(b)\nd = c.exp()",
        x=x(),
        scripted=torch.jit.script(double),
        traced=torch.jit.trace(double, (x(),)),
        layer=torch.jit.script(Layer()),
    )
    assert ops(run) == ["scripted", "scripted", "scripted", "exp"]
    assert [source(step).targets for step in run.steps] == [("a",), ("b",), ("c",), ("d",)]
    for before, after in zip(run.steps, run.steps[1:], strict=False):
        assert after.refs[-1:] == before.results


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_tracing_while_recording_gives_the_same_graph() -> None:
    def attend(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        scores = q @ k.mT
        return scores.softmax(-1)

    start = x()
    plain = str(torch.jit.trace(attend, (start, start)).graph)
    with attnlab.record() as run:
        watched = str(torch.jit.trace(attend, (start, start)).graph)
    assert "scores" in plain
    assert watched == plain
    assert run.lost == ()


def test_fx_tracing_while_recording_gives_the_same_graph() -> None:
    model = nn.Sequential(nn.Linear(12, 7), nn.ReLU())
    plain = torch.fx.symbolic_trace(model).code
    with attnlab.record() as run:
        watched = torch.fx.symbolic_trace(model).code
    assert watched == plain
    assert run.lost == ()


def test_sdpa_is_one_step(recorded) -> None:
    step = only(
        recorded("y = F.scaled_dot_product_attention(x, x, x, is_causal=True)", x=x()), "scaled_dot_product_attention"
    )
    assert step.function == "torch.nn.functional.scaled_dot_product_attention"
    assert step.arg("is_causal") is True
