"""Attention that is written out: its weights are those of the program, wherever and however it made them."""

from __future__ import annotations

import io
import sys
import tomllib
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from attnlab import capture
from attnlab.attention import Attention, find
from attnlab.capturing import Capturing, written
from attnlab.recording.program import Conditions, run_program
from attnlab.run import Program, Run

B, H, L, S, D = 2, 3, 5, 7, 12
CORPUS = Path(__file__).parents[1] / "corpus"
SCRIPTS = sorted(CORPUS.glob("a_*.py"))

torch.manual_seed(0)
Q, K, V = (torch.randn(B, H, n, 4, dtype=torch.float64) for n in (L, S, S))
WANTED = (Q @ K.mT / 2).softmax(-1)


def whole() -> Tensor:
    return torch.softmax(Q @ K.mT / 2, dim=-1) @ V


def by_hand() -> Tensor:
    scores = Q @ K.mT / 2
    powers = torch.exp(scores - scores.amax(-1, keepdim=True))
    return (powers / powers.sum(-1, keepdim=True)) @ V


def in_place() -> Tensor:
    scores = (Q @ K.mT).div_(2)
    scores -= scores.max(dim=-1, keepdim=True).values
    scores.exp_()
    scores /= scores.sum(-1, keepdim=True)
    return scores @ V


def by_logarithm() -> Tensor:
    return torch.log_softmax(Q @ K.mT / 2, -1).exp() @ V


def divided_after_v() -> Tensor:
    powers = torch.exp(Q @ K.mT / 2)
    return (powers @ V) / powers.sum(-1, keepdim=True)


def changed_after() -> Tensor:
    weights = torch.softmax(Q @ K.mT / 2, dim=-1)
    nn.functional.dropout(weights, 0.5, inplace=True)
    return weights @ V


def keys_first() -> Tensor:
    return torch.einsum("kqbh,bhkd->bhqd", torch.einsum("bhkd,bhqd->kqbh", K, Q / 2).softmax(0), V)


def folded() -> Tensor:
    q, k, v = (item.transpose(1, 2).flatten(2) for item in (Q, K, V))  # [B, L, H·4], as they come
    q, k, v = (item.view(B, -1, H, 4).transpose(1, 2).reshape(B * H, -1, 4) for item in (q, k, v))
    return torch.bmm(torch.bmm(q, k.mT).mul(0.5).softmax(-1), v)


@pytest.mark.parametrize(
    "program", [whole, by_hand, in_place, by_logarithm, divided_after_v, changed_after, keys_first, folded]
)
@pytest.mark.parametrize("each", [False, True], ids=["kept", "each"])
def test_the_weights_in_whatever_way_they_are_made(program: Callable[[], Tensor], each: bool) -> None:
    with torch.no_grad():
        torch.manual_seed(1)
        plain = program()
        torch.manual_seed(1)
        with Capturing(each=lambda captured: captured.weights.clone()) if each else capture() as found:
            output = program()
    assert torch.equal(output, plain)
    assert [(captured.name, captured.style) for captured in found] == [(program.__name__, "written")]
    weights = found[0].result if each else found[0].weights
    assert (weights.reshape(WANTED.shape) - WANTED).abs().max() <= 1e-15
    assert found.missed == ()


def online() -> Tensor:
    top = torch.full((B, H, L, 1), -torch.inf, dtype=torch.float64)
    total, out = torch.zeros_like(top), torch.zeros(B, H, L, 4, dtype=torch.float64)
    for k, v in zip(K.split(3, 2), V.split(3, 2), strict=True):
        scores = Q @ k.mT / 2
        highest = torch.maximum(top, scores.amax(-1, keepdim=True))
        powers = torch.exp(scores - highest)
        shrunk = torch.exp(top - highest)
        total = total * shrunk + powers.sum(-1, keepdim=True)
        out = out * shrunk + powers @ v
        top = highest
    return out / total


def test_a_softmax_over_blocks_of_keys_is_said_to_be_missed() -> None:
    found = capture(online)
    assert (found.output - whole()).abs().max() < 1e-12
    assert len(found) == 0
    assert found.missed == (("online", "capture.missed.blocks"),)


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(D, D) for _ in range(3))
        self.softmax = nn.Softmax(-1)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (f(x).view(len(x), -1, H, D // H).transpose(1, 2) for f in (self.q, self.k, self.v))
        return (self.softmax(q @ k.mT / 2) @ v).transpose(1, 2).flatten(2)


class Classifier(nn.Module):
    """As many attentions as softmaxes that are none, by modules of one class."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer() for _ in range(3))
        self.gate, self.last, self.softmax = nn.Linear(D, D), nn.Linear(D, 4), nn.Softmax(-1)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = x + layer(x) * self.softmax(self.gate(x))
        return self.softmax(self.last(x))


def test_a_softmax_that_is_no_attention_is_none_whichever_pass_it_is() -> None:
    model, x = Classifier(), torch.randn(B, L, D)
    names = [f"layers.{number}" for number in range(3)]
    with capture() as found:
        for _ in range(4):
            model(x)
    assert [captured.name for captured in found] == names * 4
    assert [captured.index for captured in found] == [0, 1, 2] * 4
    assert {captured.shape for captured in found} == {(B, H, L, L)}
    for captured in found:
        assert (captured.weights.sum(-1) - 1).abs().max() < 1e-6


def test_only_what_was_chosen_is_taken() -> None:
    asked: list[tuple[str, int]] = []

    def choose(name: str, index: int) -> bool:
        asked.append((name, index))
        return index == 1

    with Capturing(choose=choose) as found:
        Classifier()(torch.randn(B, L, D))
    assert [captured.name for captured in found] == ["layers.1"]
    assert asked == [("layers.0", 0), ("layers.1", 1), ("layers.2", 2)]


def test_the_finder_is_asked_once_for_all_layers_and_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Run] = []

    def counted(run: Run) -> tuple[Attention, ...]:
        asked.append(run)
        return find(run)

    monkeypatch.setattr(written, "find", counted)
    layers = nn.Sequential(*(Layer() for _ in range(3)))
    with capture() as found:
        for length in (1, L, 1, S):
            layers(torch.randn(1, length, D))
    assert [captured.shape[2:] for captured in found] == [(n, n) for n in (1, L, 1, S) for _ in range(3)]
    assert len(asked) == 1


def test_weights_that_are_read_within_the_block_are_no_attention_of_the_programs() -> None:
    layer = Layer()
    with capture() as found:
        for _ in range(2):
            layer(torch.randn(B, L, D))
            found[0].weights @ torch.randn(B, H, L, 4)
    assert len(found) == 2


def test_a_place_serves_lengths_of_any_size() -> None:
    module = Layer()
    with capture() as found:
        for length in (1, 5, 3):
            module(torch.randn(B, length, D))
    assert [captured.shape[2:] for captured in found] == [(1, 1), (5, 5), (3, 3)]


@pytest.mark.parametrize("script", SCRIPTS, ids=[path.stem for path in SCRIPTS])
def test_every_attention_of_the_corpus_is_captured(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = tomllib.loads(script.with_suffix(".toml").read_text(encoding="utf-8"))
    program = Program("script", str(script), tuple(case.get("args", [])))
    run, found = ran(program, case.get("stdin", ""), monkeypatch)
    wanted = [attention for attention in find(run) if attention.blocks == 1]
    captured = [one for one in found if one.calls == 1]  # those over a cache are joined
    joined = sum(one.calls for one in found)
    assert joined == len(wanted)
    assert len(found.missed) == len(find(run)) - len(wanted)
    for one in captured:
        rows = one.weights.sum(-1)
        assert ((rows - 1).abs() < 1e-5).logical_or(rows == 0).all()
    if len(captured) == len(found):
        for one, attention in zip(found, wanted, strict=True):
            assert one.style == attention.style
            assert one.shape[1:] == (attention.heads, attention.queries, attention.keys)
            value = None if attention.weights.value is None else run.values[attention.weights.value]
            if one.style == "written" and value is not None and value.numbers is not None:
                assert value.numbers.max == pytest.approx(float(one.weights.max()))
                assert value.numbers.min == pytest.approx(float(one.weights.min()))


def ran(program: Program, stdin: str, monkeypatch: pytest.MonkeyPatch) -> tuple[object, object]:
    """The Run of a script, and what is captured of it; what it prints is dropped."""
    made: list[object] = []
    for watch in (False, True):
        for name, stream in (("stdin", io.StringIO(stdin)), ("stdout", io.StringIO()), ("stderr", io.StringIO())):
            monkeypatch.setattr(sys, name, stream)
        with warnings.catch_warnings():  # the script's own
            warnings.simplefilter("ignore")
            if watch:
                with capture() as found:
                    run_unwatched(program)
                made.append(found)
            else:
                made.append(run_program(program, Conditions())[0])
        monkeypatch.undo()
    return made[0], made[1]


def run_unwatched(program: Program) -> None:
    main = {"__name__": "__main__", "__file__": program.name}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [program.name, *program.argv])
        patch.syspath_prepend(str(CORPUS))
        try:
            exec(compile(Path(program.name).read_bytes(), program.name, "exec", dont_inherit=True), main)
        except SystemExit:
            pass
