"""One name for one operation, however it was called; and only operations on tensors are steps."""

from typing import Any

import pytest
import torch
from recorded import only, ops

X = torch.arange(120.0).view(2, 5, 12)


@pytest.mark.parametrize(
    ("op", "ways"),
    [
        ("matmul", ["x @ y", "torch.matmul(x, y)", "x.matmul(y)", "x.__matmul__(y)", "torch.matmul(input=x, other=y)"]),
        ("div", ["x / 2", "x.div(2)", "torch.div(x, 2)", "torch.true_divide(x, 2)", "2 / x", "x.divide(2)"]),
        ("mul", ["x * 2", "2 * x", "x.mul(2)", "torch.multiply(x, 2)", "x.mul_(2)", "x.__imul__(2)"]),
        ("add", ["x + x", "1 + x", "torch.add(x, x)", "x.add_(1)"]),
        ("sub", ["x - 1", "1 - x", "torch.subtract(x, 1)", "x.sub_(1)"]),
        ("pow", ["x ** 2", "2 ** x", "x.pow(2)", "torch.pow(x, 2)", "x.pow_(2)"]),
        ("neg", ["-x", "x.neg()", "torch.negative(x)"]),
        ("transpose", ["x.transpose(1, 2)", "torch.swapaxes(x, 1, 2)", "x.swapdims(1, 2)"]),
        ("cat", ["torch.cat([x, x])", "torch.concat([x, x])", "torch.concatenate((x, x))"]),
        ("softmax", ["x.softmax(-1)", "torch.softmax(x, -1)", "F.softmax(x, dim=-1)", "torch.special.softmax(x, -1)"]),
        ("masked_fill", ["x.masked_fill(x > 0, 0)", "torch.masked_fill(x, x > 0, 0)", "x.masked_fill_(x > 0, 0)"]),
        ("getitem", ["x[0]", "x[:, 1:]", "x[x > 0]"]),
        ("gt", ["x > 0", "x.gt(0)", "torch.greater(x, 0)"]),
        ("bitwise_not", ["~(x > 0)", "(x > 0).bitwise_not()"]),
        ("bitwise_and", ["(x > 0) & (x > 1)", "torch.bitwise_and(x > 0, x > 1)"]),
        ("einsum", ["torch.einsum('bld,bmd->blm', x, x)", "torch.einsum('bld,bmd->blm', [x, x])"]),
        ("linear", ["F.linear(x, w)", "nn.functional.linear(x, weight=w)"]),
    ],
)
def test_one_operation_has_one_name(recorded, op: str, ways: list[str]) -> None:
    for way in ways:
        run = recorded(f"r = {way}", x=X.clone(), y=torch.ones(12, 7), w=torch.ones(7, 12))
        assert run.steps[-1].op == op, way


def found(function: str) -> Any:
    value: Any = torch
    for part in function.removeprefix("torch.").split("."):
        value = getattr(value, part)
    return value


@pytest.mark.parametrize(
    "text",
    [
        "x ** 2",
        "2 - x",
        "x @ x.mT",
        "x.T",
        "x[0]",
        "-x",
        "x.split(2, dim=1)",
        "x.norm(dim=-1)",
        "torch.split(x, 2, dim=1)",
        "torch.einsum('bld->b', x)",
        "torch.norm(x, dim=-1)",
        "torch.special.softmax(x, -1)",
        "torch.linalg.norm(x)",
        "torch.fft.fft(x)",
        "torch.where(x > 0, x, 0)",
        "F.softmax(x, dim=-1)",
        "F.gelu(x)",
        "F.dropout(x, 0.5)",
        "F.max_pool1d(x, 2)",
        "F.scaled_dot_product_attention(x, x, x)",
    ],
)
@pytest.mark.filterwarnings("ignore:The use of `x.T`")
def test_the_function_is_where_pytorch_has_it(recorded, text: str) -> None:
    step = recorded(f"y = {text}", x=X.clone()).steps[-1]
    assert found(step.function) is not None


@pytest.mark.parametrize(
    "text",
    [
        "x.dim(), x.numel(), x.dtype, x.device, x.is_contiguous(), x.stride(), x.requires_grad, x.grad_fn, x.is_leaf",
        "x.is_mkldnn, x.grad",
        "x.data_ptr(), x.is_floating_point(), torch.is_tensor(x), torch.numel(x)",
        "x.sum().item(), x.tolist(), float(x.sum()), int(x.sum()), bool(x.sum())",
        "repr(x), str(x), f'{x}', hash(x)",
        "torch.device('cpu')",
        "torch.manual_seed(3), torch.initial_seed(), torch.get_default_dtype()",
        "torch.is_grad_enabled(), torch.set_grad_enabled(True)",
    ],
)
def test_a_question_is_no_step(recorded, text: str) -> None:
    assert [op for op in ops(recorded(f"y = {text}", x=X.clone())) if op != "sum"] == []


def test_a_mode_that_is_switched_is_no_step(recorded) -> None:
    run = recorded(
        """
        with torch.no_grad():
            a = x + 1
        with torch.enable_grad(), torch.autocast("cpu", enabled=False):
            b = x - 1
        @torch.no_grad()
        def f(t): return t * 2
        c = f(x)
        with torch.inference_mode():
            d = x / 2
        """,
        x=X.clone(),
    )
    assert [(step.op, step.grad) for step in run.steps] == [
        ("add", False),
        ("sub", True),
        ("mul", False),
        ("div", False),
    ]


def test_inference_tensors_are_recorded_too(recorded) -> None:
    run = recorded(
        """
        with torch.inference_mode():
            b = x.exp()
            b.add_(1)
            c = b * 2
        d = c.clone()
        """,
        x=X.clone(),
    )
    assert ops(run) == ["exp", "add", "mul", "clone"]
    assert only(run, "clone").refs == only(run, "mul").results


def test_backward_and_the_optimizer(recorded) -> None:
    run = recorded(
        """
        w = torch.ones(12, requires_grad=True)
        optimizer = torch.optim.SGD([w], lr=0.1)
        loss = (x * w).sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        y = w * 2
        """,
        x=X.clone(),
    )
    (backward,) = [step for step in run.steps if step.op == "backward"]
    (update,) = [step for step in run.steps if step.op == "add" and step.inplace]
    assert backward.refs == only(run, "sum").results
    assert backward.results == ()
    assert run.steps[-1].refs == update.results
    assert update.inplace == only(run, "ones").results
    assert not [step for step in run.steps if not step.refs and not step.results], "a step reads or makes a tensor"
