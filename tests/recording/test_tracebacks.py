"""An exception and a warning look just as they do without a recording."""

import contextlib
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from recorded import ops
from torch import nn

import attnlab

X = torch.arange(120.0).view(2, 5, 12)

FAILING = {
    "operator": "x @ x",
    "function": "torch.matmul(x, x)",
    "method": "x.view(7, 7)",
    "property": "x.mH.H",
    "python function": "F.softmax(x, dim=7)",
    "python function inside": "F.cross_entropy(x, x[0])",
    "einsum": "torch.einsum('bld,bmd->blm', x, x[0])",
    "module": "nn.Linear(7, 3)(x)",
    "nested module": "nn.Sequential(nn.ReLU(), nn.Sequential(nn.Linear(7, 3)))(x)",
    "attention": "nn.MultiheadAttention(12, 3)(x, x, x[:, :, :7])",
    "store": "x[0] = torch.ones(7)",
    "in place": "x.add_(torch.ones(7))",
    "index": "x[9]",
    "wrong type": "x + 'text'",
    "wrong argument": "torch.softmax(x)",
    "helper": "helper(x)",
    "comprehension": "[t @ t for t in x.unbind(0)]",
    "lambda": "(lambda t: t @ x)(x)",
    "generator": "next(t @ t for t in [x])",
    "recursion": "deep(x, 3)",
    "einops": "einops.rearrange(x, 'b l (h d) -> b h l d', h=5)",
    "backward": "x.sum().backward()",
    "autograd": "Failing.apply(x)",
    "hook": "hooked(x)",
    "item": "x.item()",
    "bool": "bool(x)",
    "size": "x.size(7)",
    "numpy": "x.requires_grad_().numpy()",
    "the program's own": "raise_(x)",
    "chained": "chained(x)",
    "no grad": "quiet(x)",
    "traced": "torch.jit.trace(lambda t: t @ t, (x,))",
    "scripted": "scripted(x)",
    "stop": "stop(x)",
}
PRELUDE = """
import einops
import torch
from torch import nn
from torch.nn import functional as F

def helper(t):
    kept = t + 1
    return (kept
            @ t)

def deep(t, n):
    return t @ t if n == 0 else deep(t, n - 1)

def raise_(t):
    raise ValueError(t.sum().item())

def chained(t):
    try:
        t @ t
    except RuntimeError as error:
        raise KeyError("own") from error

@torch.no_grad()
def quiet(t):
    return t.exp() @ t

def stop(t):
    (t * 2).sum()
    raise SystemExit(3)

class Failing(torch.autograd.Function):
    @staticmethod
    def forward(ctx, t):
        return t @ t

class Hooked(nn.Module):
    def forward(self, t):
        return t * 2

hooked = Hooked()
hooked.register_forward_hook(lambda module, args, output: output @ output)
scripted = torch.jit.trace(lambda t: t.view(7, -1), torch.ones(7, 2))
"""


@pytest.fixture
def program(tmp_path: Path) -> Callable[[str], Callable[[torch.Tensor], str]]:
    """Makes the program that runs a line in a file of its own; it returns how the exception would be printed."""

    def make(line: str) -> Callable[[torch.Tensor], str]:
        file = tmp_path / "program.py"
        text = f"{PRELUDE}\ndef main(x):\n    before = x * 2\n    {line}\n"
        file.write_text(text, encoding="utf-8")
        names: dict[str, Any] = {"__name__": "program"}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(text, str(file), "exec"), names)

        def told(x: torch.Tensor) -> str:
            try:
                names["main"](x)
            except BaseException:  # noqa: BLE001 - whatever the program raises
                return traceback.format_exc()
            return "nothing was raised"

        return told

    return make


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("line", FAILING.values(), ids=FAILING.keys())
def test_a_traceback_is_unchanged(program, line: str) -> None:
    told = program(line)
    plain = told(X.clone())
    with attnlab.record() as run:
        watched = told(X.clone())
    again = told(X.clone())
    assert "Traceback (most recent call last):" in plain
    assert watched == plain
    assert again == plain
    assert run.lost == ()
    assert "mul" in ops(run)


def test_the_traceback_of_an_exception_that_leaves_the_block_is_unchanged() -> None:
    def frames(watch: Callable[[], Any]) -> list[tuple[str, int, str]]:
        def fail() -> torch.Tensor:
            with watch():
                return X @ X

        try:
            fail()
        except RuntimeError as error:
            return [(f.filename, f.lineno or 0, f.name) for f in traceback.extract_tb(error.__traceback__)]
        return []

    plain = frames(contextlib.nullcontext)
    assert [name for _, _, name in plain] == ["frames", "fail"]
    assert frames(attnlab.record) == plain


def test_an_exception_that_is_caught_and_raised_again_keeps_its_traceback(program) -> None:
    line = "\n    ".join(
        [
            "try:",
            "    x @ x",
            "except RuntimeError as error:",
            "    x * 2",
            "    raise error.with_traceback(error.__traceback__)",
        ]
    )
    told = program(line)
    plain = told(X)
    with attnlab.record() as run:
        watched = told(X)
    assert watched == plain
    assert run.lost == ()


WARNING = {
    "operation": "x.T.sum()",
    "implicit dim": "F.softmax(x)",
    "module": "nn.Softmax()(x)",
    "python function": "F.mse_loss(x, x[0])",
    "deprecated": "F.upsample(x, scale_factor=2)",
    "range": "torch.range(0, 3)",
    "scalar": "torch.tensor(x[0, 0, 0])",
    "helper": "warns(x)",
    "meshgrid": "torch.meshgrid(x[0, 0], x[0, 1])",
    "a stack level of its own": "F.softmax(x, _stacklevel=4)",
    "non leaf": "(x.requires_grad_() * 2).grad",
    "encoder": "nn.TransformerEncoder(nn.TransformerEncoderLayer(12, 3), 1)",
    "own": "warnings.warn(str(x.sum().item()), stacklevel=1)",
    "own, further up": "warns_up(x)",
}


@pytest.fixture
def _each_time() -> Iterator[None]:
    """PyTorch tells some of its warnings only once a process, if nobody says otherwise."""
    torch.set_warn_always(True)
    yield
    torch.set_warn_always(False)


@pytest.mark.usefixtures("_each_time")
@pytest.mark.parametrize("line", WARNING.values(), ids=WARNING.keys())
def test_a_warning_is_unchanged(tmp_path: Path, line: str) -> None:
    text = f"""
import warnings, torch
from torch import nn
from torch.nn import functional as F

def warns(t):
    return F.log_softmax(t
                         .exp())

def warns_up(t):
    warnings.warn(str(t.sum().item()), stacklevel=2)

def main(x):
    before = x * 2
    {line}
    after = x * 3
"""
    file = tmp_path / "program.py"
    file.write_text(text, encoding="utf-8")
    names: dict[str, Any] = {"__name__": "program"}
    exec(compile(text, str(file), "exec"), names)

    def told() -> list[tuple[str, str, str, int]]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            names["main"](fresh())
        return [(w.category.__name__, str(w.message), w.filename, w.lineno) for w in caught]

    starts = [X.clone() for _ in range(2)]
    fresh = starts.pop

    plain = told()
    with attnlab.record() as run:
        watched = told()
    assert plain
    assert watched == plain
    assert run.lost == ()
    assert ops(run)[0] == "mul"


@pytest.mark.usefixtures("_each_time")
def test_a_warning_of_an_operation_names_this_line() -> None:
    with warnings.catch_warnings(record=True) as caught, attnlab.record():
        warnings.simplefilter("always")
        here = sys._getframe().f_lineno + 1
        X.T.sum()
    assert [(warning.filename, warning.lineno) for warning in caught] == [(__file__, here)]


def test_warnings_as_errors_are_raised_where_the_user_wrote() -> None:
    with warnings.catch_warnings(), attnlab.record() as run:
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="Implicit dimension choice"):
            nn.functional.softmax(X)
        result = X + 1
    assert result.shape == (2, 5, 12)
    assert ops(run) == ["add"]
    assert run.lost == ()
