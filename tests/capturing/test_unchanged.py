"""Capturing changes nothing: results, random numbers, kernels, exceptions, modes and memory are the program's."""

from __future__ import annotations

import gc
import traceback
import weakref
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.profiler import ProfilerActivity, profile
from torch.utils._python_dispatch import TorchDispatchMode

from attnlab import capture
from attnlab.capturing import Capturing, gathering
from attnlab.words import LANGUAGES, Words

B, H, L, D = 2, 4, 5, 12


class Written(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(D, D) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (f(x).view(B, -1, H, D // H).transpose(1, 2) for f in (self.q, self.k, self.v))
        weights = F.dropout((q @ k.mT / 3**0.5).softmax(-1), 0.2, self.training)
        return (weights @ v).transpose(1, 2).flatten(2)


class Fused(Written):
    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (f(x).view(B, -1, H, D // H).transpose(1, 2) for f in (self.q, self.k, self.v))
        dropout = 0.2 if self.training else 0.0
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=dropout).transpose(1, 2).flatten(2)


def encoder() -> nn.Module:
    return nn.TransformerEncoder(nn.TransformerEncoderLayer(D, H, 16, batch_first=True), 2)


CONTEXTS: dict[str, Callable[[], Any]] = {
    "grad": torch.enable_grad,
    "no grad": torch.no_grad,
    "inference": torch.inference_mode,
    "autocast": lambda: torch.autocast("cpu", torch.bfloat16),
}


@pytest.mark.parametrize("context", CONTEXTS.values(), ids=CONTEXTS.keys())
@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("make", [Written, Fused, encoder])
@pytest.mark.parametrize("each", [None, lambda captured: captured.window(slice(0, 1)).sum()], ids=["kept", "each"])
def test_results_random_numbers_and_gradients_are_bit_identical(
    make: Callable[[], nn.Module], training: bool, context: Callable[[], Any], each: Callable[..., Any] | None
) -> None:
    torch.manual_seed(0)
    module, x = make().train(training), torch.randn(B, L, D)

    def run() -> list[Tensor]:
        torch.manual_seed(1)
        module.zero_grad()
        with context():
            made = module(x)
            modes = (torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.is_autocast_enabled("cpu"))
        if made.requires_grad:
            made.float().pow(2).sum().backward()
        grads = [parameter.grad for parameter in module.parameters() if parameter.grad is not None]
        return [made.detach().clone(), torch.tensor(modes), torch.get_rng_state(), *(grad.clone() for grad in grads)]

    plain = run()
    with Capturing(each=each) as found:
        watched = run()
    assert len(plain) == len(watched)
    assert all(torch.equal(one, other) for one, other in zip(plain, watched, strict=True))
    assert len(found) == (2 if make is encoder else 1)
    assert found.missed == ()
    if each is None:
        assert not found[0].weights.is_inference()
        assert not found[0].weights.requires_grad


def kernels(work: Callable[[], object]) -> list[str]:
    """The attention kernels that ran."""
    with profile(activities=[ProfilerActivity.CPU]) as seen:
        work()
    names = [event.name for event in seen.events()]
    return [name for name in names if "attention" in name or "encoder" in name]


@pytest.mark.parametrize("make", [Fused, encoder])
def test_the_programs_own_kernels_stay_in_use(make: Callable[[], nn.Module]) -> None:
    module, x = make().eval(), torch.randn(B, L, D)
    with torch.no_grad():
        plain, watched = kernels(lambda: module(x)), kernels(lambda: capture(module, x))
    assert plain == watched
    assert any("flash" in name or "encoder_layer_fwd" in name for name in plain)


def fails() -> Tensor:
    x = torch.randn(B, L, D)
    F.scaled_dot_product_attention(x, x, x)
    raise LookupError("the user's own") from KeyError("why")


def test_an_exception_of_the_programs_reaches_it_unchanged() -> None:
    with capture() as found, pytest.raises(LookupError, match="the user's own") as caught:
        fails()
    assert len(found) == 1
    assert isinstance(caught.value.__cause__, KeyError)
    assert [frame.name for frame in traceback.extract_tb(caught.tb)][1:] == ["fails"]
    with pytest.raises(RuntimeError, match="Expected size for first two dimensions"):
        capture(F.scaled_dot_product_attention, torch.randn(3, 4, 5), torch.randn(3, 4, 6), torch.randn(3, 4, 5))
    with pytest.raises(TypeError, match="capture expects a module or a function"):
        capture(torch.zeros(1))  # pyright: ignore[reportArgumentType, reportCallIssue]


def test_an_exception_of_each_ends_the_program_and_leaves_the_block() -> None:
    went_on: list[int] = []
    own = OSError("the disk is full")
    own.__context__ = KeyError("before")

    def each(captured: object) -> None:
        raise own

    def program() -> None:
        x = torch.randn(B, L, D)
        try:
            F.scaled_dot_product_attention(x, x, x)
        except Exception:  # noqa: BLE001 - as programs do
            went_on.append(1)
        went_on.append(2)

    with pytest.raises(OSError, match="the disk is full") as caught, Capturing(each=each):
        program()
    assert caught.value is own
    assert isinstance(own.__context__, KeyError)
    assert went_on == []
    assert torch._C._len_torch_function_stack() == 0


def test_what_is_captured_stays_as_it_was_when_the_program_writes_into_its_tensors() -> None:
    mask = torch.zeros(L, L)

    def program() -> None:
        q, k = torch.ones(B, H, L, 3), torch.randn(B, H, L, 3)
        for _ in range(2):
            F.scaled_dot_product_attention(q, k, k, mask)
        mask.fill_(-5.0)
        mask[0, 0] = 7.0
        q.zero_()
        k.zero_()

    torch.manual_seed(0)
    found = capture(program)
    torch.manual_seed(0)
    mask = mask.zero_()  # after the block too
    wanted = (torch.ones(B, H, L, 3) @ torch.randn(B, H, L, 3).mT / 3**0.5).softmax(-1)
    for captured in found:
        assert (captured.weights - wanted).abs().max() < 1e-6


def test_each_keeps_nothing_alive() -> None:
    seen: list[weakref.ref[Tensor]] = []

    def each(captured: Any) -> tuple[int, ...]:
        source = captured.source
        seen.append(weakref.ref(source.given if hasattr(source, "given") else source.q))
        return captured.shape

    gc.disable()  # nothing may wait for it
    try:
        with torch.no_grad(), Capturing(each=each) as found:
            for module in (Written(), Fused()):
                module.eval()(torch.randn(B, L, D))
                module(torch.randn(B, L, D))
        assert [ref() for ref in seen] == [None] * 4
    finally:
        gc.enable()
    assert [captured.result for captured in found] == [(B, H, L, L)] * 4
    with pytest.raises(RuntimeError, match="only the result of each"):
        _ = found[0].weights


class Counting(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


def test_a_mode_of_the_programs_sees_its_own_operations_alone() -> None:
    module, x = Written().eval(), torch.randn(B, L, D)

    def seen(each: Any) -> list[str]:
        with Capturing(each=each) if each else nullcontext(), Counting() as counting:
            module(x)
        return counting.seen

    assert seen(lambda captured: captured.weights.sum()) == seen(None)


@pytest.mark.filterwarnings("ignore:.*torch.jit")
def test_compiled_scripted_and_unknown_attention_is_said_to_be_missed() -> None:
    x = torch.randn(B, L, D)

    def attend(x: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(x, x, x)

    compiled = torch.compile(attend, backend="eager")
    assert capture(compiled, x).missed == (("attend", "capture.missed.compiled"),)
    traced = torch.jit.trace(attend, x, check_trace=False)
    assert [reason for _, reason in capture(traced, x).missed] == ["capture.missed.scripted"]
    unknown = capture(torch._scaled_dot_product_attention_math, x, x, x)
    assert [reason for _, reason in unknown.missed] == ["capture.missed.unknown"]


def test_meta_tensors_and_transforms_have_no_weights() -> None:
    x = torch.randn(B, L, D, device="meta")
    found = capture(F.scaled_dot_product_attention, x, x, x)
    assert (len(found), [reason for _, reason in found.missed]) == (0, ["capture.missed.numbers"])
    x = torch.randn(B, 3, L, D)
    found = capture(torch.vmap(lambda x: F.scaled_dot_product_attention(x, x, x)), x)
    assert (len(found), [reason for _, reason in found.missed]) == (0, ["capture.missed.numbers"])


def test_a_fault_of_ours_is_said_and_never_becomes_the_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(source: object) -> int:
        raise ZeroDivisionError

    monkeypatch.setattr(gathering, "position", fail)
    found = capture(Fused().eval(), torch.randn(B, L, D))
    assert found.output.shape == (B, L, D)
    assert found.missed == (("Fused", "capture.missed.fault"),)


def test_each_reason_has_its_sentence() -> None:
    for language in LANGUAGES:
        for reason in ("blocks", "compiled", "scripted", "numbers", "axes", "unknown", "fault"):
            assert Words(language).say(f"capture.missed.{reason}")
