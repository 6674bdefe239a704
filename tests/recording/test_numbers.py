"""What is kept of a tensor's values, and when nothing is."""

import math
from typing import Any

import pytest
import torch
from recorded import made
from torch.utils._python_dispatch import TorchDispatchMode

import attnlab
from attnlab.recording.numbers import CHUNK, take
from attnlab.run import CORNER, STATISTICS, Numbers


def kept(tensor: torch.Tensor) -> Numbers | None:
    """The numbers of a tensor that an operation made."""
    run = attnlab.record(lambda: tensor.detach().clone())
    assert run.lost == ()
    return made(run, run.steps[-1]).numbers


@pytest.mark.parametrize(
    ("tensor", "corner"),
    [
        (torch.tensor(3.5), ((3.5,),)),
        (torch.arange(3), ((0.0, 1.0, 2.0),)),
        (torch.arange(6.0).view(2, 3), ((0.0, 1.0, 2.0), (3.0, 4.0, 5.0))),
        (torch.arange(24.0).view(2, 2, 2, 3), ((0.0, 1.0, 2.0), (3.0, 4.0, 5.0))),
        (torch.tensor([True, False]), ((1.0, 0.0),)),
        (torch.arange(40.0), (tuple(map(float, range(CORNER))),)),
        (
            torch.arange(800.0).view(1, 20, 40),
            tuple(tuple(float(40 * row + column) for column in range(CORNER)) for row in range(CORNER)),
        ),
        (torch.tensor([[1.5]], dtype=torch.bfloat16), ((1.5,),)),
        (torch.arange(6.0).view(2, 3).t(), ((0.0, 3.0), (1.0, 4.0), (2.0, 5.0))),
    ],
)
def test_the_corner_is_of_the_last_two_axes(tensor: torch.Tensor, corner: tuple[tuple[float, ...], ...]) -> None:
    numbers = kept(tensor)
    assert numbers is not None
    assert numbers.corner == corner


def test_statistics_are_over_all_elements_in_float64() -> None:
    torch.manual_seed(0)
    tensor = torch.randn(3, 40, 50) * 1e-3 + 1e3
    numbers = kept(tensor)
    assert numbers is not None
    exact = tensor.double()
    assert numbers.mean == pytest.approx(exact.mean().item(), rel=1e-12)
    assert numbers.std == pytest.approx(exact.std(correction=0).item(), rel=1e-9)
    assert (numbers.min, numbers.max, numbers.nonfinite) == (exact.min().item(), exact.max().item(), 0)


def test_statistics_pass_over_what_is_not_finite() -> None:
    numbers = kept(torch.tensor([[1.0, math.inf, -math.inf], [math.nan, 2.0, 3.0]]))
    assert numbers is not None
    assert (numbers.mean, numbers.min, numbers.max, numbers.nonfinite) == (2.0, 1.0, 3.0, 3)
    assert numbers.std == pytest.approx(math.sqrt(2 / 3))
    assert numbers.corner[0] == (1.0, math.inf, -math.inf)
    assert math.isnan(numbers.corner[1][0])


@pytest.mark.parametrize("laid", ["flat", "transposed", "sliced", "expanded"])
def test_statistics_of_more_than_is_held_at_a_time_are_as_exact(laid: str) -> None:
    torch.manual_seed(0)
    tensor = (torch.randn(3, 200, 300, dtype=torch.float64) + torch.arange(3.0).view(3, 1, 1) * 1e4).float()
    tensor[1, 7, 11] = math.inf
    tensor = {
        "flat": tensor,
        "transposed": tensor.transpose(0, 2),
        "sliced": tensor[:, 5:, ::2],
        "expanded": tensor[:, :1].expand(3, 200, 300),
    }[laid]
    assert tensor.numel() > CHUNK
    taken = take(tensor)
    assert taken is not None
    mean, std, low, high, missing = taken.statistics or ()
    exact = tensor.double()[tensor.isfinite()]
    assert mean == pytest.approx(exact.mean().item(), rel=1e-12)
    assert std == pytest.approx(exact.std(correction=0).item(), rel=1e-12)
    assert (low, high, missing) == (exact.min().item(), exact.max().item(), tensor.numel() - exact.numel())


def test_taking_them_leaves_the_tensor_as_it_is() -> None:
    tensor = torch.randn(3, 4, dtype=torch.float64)
    before = tensor.clone()
    take(tensor)
    assert torch.equal(tensor, before)


def test_without_a_finite_element_only_their_number_is_known() -> None:
    numbers = kept(torch.full((2, 5), math.nan))
    assert numbers is not None
    assert (numbers.mean, numbers.std, numbers.min, numbers.max, numbers.nonfinite) == (None, None, None, None, 10)


def test_a_tensor_past_the_bound_has_a_corner_only() -> None:
    large = torch.zeros(1, dtype=torch.uint8).expand(STATISTICS + 1)
    run = attnlab.record(lambda: large[1:] if large.numel() == STATISTICS else large.view(-1))
    numbers = made(run, run.steps[-1]).numbers
    assert numbers is not None
    assert numbers.corner == ((0.0,) * CORNER,)
    assert (numbers.mean, numbers.std, numbers.min, numbers.max, numbers.nonfinite) == (None,) * 5


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.ones(2, 3, dtype=torch.complex64) * 1,
        lambda: torch.eye(3).to_sparse(),
        lambda: torch.ones(2, 3, device="meta") * 2,
        lambda: torch.ones(0, 3) * 2,
        lambda: torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.quint8),
    ],
    ids=["complex", "sparse", "meta", "empty", "quantized"],
)
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
def test_what_has_no_numbers_to_show_has_none(make: Any) -> None:
    run = attnlab.record(make)
    assert run.lost == ()
    assert made(run, run.steps[-1]).numbers is None


def test_the_numbers_are_of_the_state_and_not_of_a_later_one() -> None:
    start = torch.ones(2, 3)
    with attnlab.record() as run:
        start.mul_(2)
        start.mul_(5)
    assert [value.numbers.max for value in run.values if value.numbers] == [1.0, 2.0, 10.0]


def test_taking_them_is_no_operation_that_a_profiler_or_a_mode_sees() -> None:
    class Seeing(TorchDispatchMode):
        def __init__(self) -> None:
            super().__init__()
            self.seen: list[str] = []

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            self.seen.append(str(func))
            return func(*args, **(kwargs or {}))

    def seen(start: torch.Tensor) -> tuple[list[str], list[str]]:
        with Seeing() as mode:
            start * 2
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
            start * 3
        return mode.seen, [event.key for event in profile.key_averages() if event.key.startswith("aten::")]

    start = torch.ones(2, 3)
    plain = seen(start)
    with attnlab.record() as run:
        watched = seen(start)
    assert plain[0] == ["aten.mul.Tensor"]
    assert watched == plain
    assert [run.values[step.results[0]].numbers for step in run.steps] == [None, None]


def test_taking_them_changes_neither_gradients_nor_versions() -> None:
    start = torch.ones(2, 3, requires_grad=True)
    with attnlab.record():
        result = (start * 2).sum()
        assert (start._version, result._version) == (0, 0)
        assert result.grad_fn is not None
        result.backward()
    assert torch.equal(start.grad, torch.full((2, 3), 2.0))
