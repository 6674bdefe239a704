"""`attnlab.record`, as a block and as a call."""

import pytest
import torch
from recorded import ops, sound, source
from torch import nn

import attnlab
from attnlab.run import Program


def x() -> torch.Tensor:
    return torch.arange(120.0).view(2, 5, 12)


def test_a_block_is_read_after_its_end() -> None:
    start = x()
    with attnlab.record() as run:
        result = start + 1
        with pytest.raises(
            AttributeError, match=r"the recording is not finished: read run\.steps after the `with` block"
        ):
            _ = run.steps
    assert result.shape == (2, 5, 12)
    assert ops(run) == ["add"]
    assert (run.program, run.exit_code, run.error) == (Program("block", "", ()), None, None)
    assert run.torch == torch.__version__
    assert 0 < run.seconds < 60
    sound(run)


def test_nothing_is_recorded_outside_the_block() -> None:
    start = x()
    recording = attnlab.record()
    before = start + 1
    with recording as run:
        inside = start * 2
    after = inside - before
    assert after.shape == (2, 5, 12)
    assert ops(run) == ["mul"]


def test_a_block_that_raises_has_its_error_and_the_operation_that_failed() -> None:
    def fail(start: torch.Tensor) -> None:
        K = start * 2
        torch.matmul(start, K)

    with pytest.raises(RuntimeError) as raised, attnlab.record() as run:
        fail(x())
    assert run.error is not None
    failed = run.error.failed
    assert failed is not None
    assert (run.error.type, run.error.message) == ("RuntimeError", str(raised.value))
    assert (failed.op, failed.refs, failed.results) == ("matmul", run.steps[-1].refs + run.steps[-1].results, ())
    assert source(failed).text == "torch.matmul(start, K)"
    assert (run.error.file, run.error.line) == (__file__, source(failed).span.line)
    sound(run)


def test_a_failure_inside_a_module_names_the_users_line(recorded) -> None:
    wrong = nn.Sequential(nn.ReLU(), nn.Linear(7, 3))
    start = x()
    with pytest.raises(RuntimeError), attnlab.record() as run:
        wrong(start)
    assert run.error is not None
    assert run.error.failed is not None
    assert source(run.error.failed).text == "wrong(start)"
    assert run.error.failed.module == "1"
    assert run.error.file == __file__
    sound(run)


def test_a_failure_of_the_programs_own_has_no_failed_operation() -> None:
    def fail(start: torch.Tensor) -> None:
        try:
            start @ start
        except RuntimeError:
            pass
        {}["no such key"]

    with pytest.raises(KeyError), attnlab.record() as run:
        fail(x())
    assert run.error is not None
    assert (run.error.type, run.error.message, run.error.failed) == ("KeyError", "'no such key'", None)
    sound(run)


def test_an_error_raised_again_from_another_is_told_as_it_ended() -> None:
    def fail(start: torch.Tensor) -> None:
        try:
            start @ start
        except RuntimeError as error:
            raise ValueError("own words") from error

    with pytest.raises(ValueError, match="own words") as raised, attnlab.record() as run:
        fail(x())
    assert isinstance(raised.value.__cause__, RuntimeError)
    assert run.error is not None
    assert (run.error.type, run.error.message) == ("ValueError", "own words")
    sound(run)


def test_a_module_is_called_once() -> None:
    calls: list[int] = []

    class Twice(nn.Module):
        def forward(self, t: torch.Tensor, *, times: int = 2) -> torch.Tensor:
            calls.append(times)
            return t * times

    run = attnlab.record(Twice(), x(), times=3)
    assert calls == [3]
    assert ops(run) == ["mul"]
    assert run.steps[0].operands[1].arg == 3
    assert (run.steps[0].module, run.steps[0].module_type) == ("", "Twice")
    assert run.program == Program("call", Twice.__qualname__, ())
    sound(run)


def test_a_function_is_called_once() -> None:
    def attend(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        return q @ k.mT

    run = attnlab.record(attend, x(), x())
    assert ops(run) == ["mT", "matmul"]
    assert run.program.name == attend.__qualname__
    transposed, product = run.steps
    assert product.refs == (2, *transposed.results)
    sound(run)


def test_a_call_raises_what_it_raises_unchanged() -> None:
    with pytest.raises(RuntimeError, match="Expected size for first two dimensions"):
        attnlab.record(lambda t: t @ t, x())
    assert (x() + 1).shape == (2, 5, 12)


def test_what_cannot_be_called_is_told() -> None:
    with pytest.raises(TypeError, match="record expects a module or a function and its inputs; got Tensor"):
        attnlab.record(x())  # pyright: ignore[reportCallIssue, reportArgumentType]


def test_a_library_function_is_the_users_own_when_it_is_what_is_recorded() -> None:
    from einops.layers.torch import Rearrange

    run = attnlab.record(Rearrange("b l (h d) -> b h l d", h=3), x())
    assert ops(run) == ["reshape", "permute"]
    assert [source(step).text for step in run.steps] == ["x.reshape(shape)", "x.permute(axes)"]
    sound(run)


def test_a_module_of_pytorch_itself() -> None:
    run = attnlab.record(nn.Linear(12, 7), x())
    (linear,) = run.steps
    assert (linear.op, linear.module, linear.module_type) == ("linear", "", "Linear")
    assert linear.source is None
    assert linear.via is not None
    sound(run)


@pytest.mark.parametrize("numbers", [True, False])
def test_numbers_are_kept_unless_they_are_not_wanted(numbers: bool) -> None:
    run = attnlab.record(lambda t: t * 2, x(), numbers=numbers)
    assert [value.numbers is not None for value in run.values] == [numbers] * 2


def test_a_recording_within_a_recording() -> None:
    start = x()
    with attnlab.record() as outer:
        a = start + 1
        with attnlab.record() as inner:
            b = a * 2
        c = b - 3
    assert c.shape == (2, 5, 12)
    assert ops(inner) == ["mul"]
    assert ops(outer) == ["add", "mul", "sub"]
    assert [source(step).text for step in outer.steps] == ["start + 1", "a * 2", "b - 3"]
    assert outer.steps[2].refs == outer.steps[1].results
    sound(outer)
    sound(inner)


def test_a_second_recording_begins_anew() -> None:
    start = x()
    runs = [attnlab.record(lambda t: t.exp().log(), start) for _ in range(2)]
    assert runs[0].steps == runs[1].steps
    assert runs[0].values == runs[1].values
