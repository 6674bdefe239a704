"""Which tensor is which: every state of a tensor is a value of its own, and none is kept alive."""

import gc
import weakref

import pytest
import torch
from recorded import made, makers, only, ops

import attnlab
from attnlab.run import Opaque, Ref


def x() -> torch.Tensor:
    return torch.arange(120.0).view(2, 5, 12)


def test_a_value_has_shape_dtype_and_device(recorded) -> None:
    run = recorded("y = (x[:, 1:] > 3).to(torch.float64)", x=x())
    assert [(value.shape, value.dtype, value.device, value.step, value.kind) for value in run.values] == [
        ((2, 5, 12), "float32", "cpu", None, "input"),
        ((2, 4, 12), "float32", "cpu", 0, "result"),
        ((2, 4, 12), "bool", "cpu", 1, "result"),
        ((2, 4, 12), "float64", "cpu", 2, "result"),
    ]


def test_an_inplace_operation_makes_a_new_value_of_the_same_tensor(recorded) -> None:
    run = recorded("y = x + 1\ny.mul_(2)\nz = y - 3\ny -= 1\nw = y / 2", x=x())
    add, mul, sub, isub, div = run.steps
    assert (mul.refs, mul.inplace) == (add.results, add.results)
    assert mul.results != add.results
    assert sub.refs == mul.results
    assert (isub.refs, isub.inplace, div.refs) == (mul.results, mul.results, isub.results)
    assert (add.inplace, sub.inplace, div.inplace) == ((), (), ())


def test_a_write_into_a_view_changes_what_it_is_a_view_of(recorded) -> None:
    run = recorded("y = x + 1\nv = y[0]\nv.zero_()\nz = y * 2", x=x())
    add, getitem, zero, mul = run.steps
    assert getitem.refs == add.results
    assert (zero.refs, zero.inplace) == (getitem.results, getitem.results)
    assert mul.refs != add.results
    assert makers(run, mul) == [zero.index]


def test_a_write_into_a_tensor_changes_the_views_of_it(recorded) -> None:
    run = recorded("v = x.view(10, 12)\nx.zero_()\ny = v * 2", x=x())
    view, zero, mul = run.steps
    assert zero.refs == view.refs
    assert mul.refs != view.results
    assert makers(run, mul) == [zero.index]


def test_a_store_changes_the_tensor(recorded) -> None:
    run = recorded("y = x + 1\ny[0] = 7\nz = y * 2", x=x())
    add, setitem, mul = run.steps
    assert (setitem.inplace, mul.refs) == (add.results, setitem.results)


def test_out_is_overwritten(recorded) -> None:
    run = recorded("y = torch.empty(2, 5, 12)\ntorch.add(x, 1, out=y)\nz = y * 2", x=x())
    empty, add, mul = run.steps
    assert (add.inplace, mul.refs) == (empty.results, add.results)
    assert add.arg("out") == Ref(empty.results[0])


def test_a_write_past_the_bound_is_not_ascribed_to_the_last_one_within_it(recorded) -> None:
    run = recorded("for _ in range(100):\n    x.add_(1)\ny = x * 2", x=x())
    mul = only(run, "mul")
    last = run.steps[mul.index - 1]
    assert last.op == "add"
    assert mul.refs != last.results
    assert makers(run, mul) == [None]


def test_an_operation_that_hands_its_argument_back_makes_no_new_value(recorded) -> None:
    run = recorded("y = x.contiguous()\nz = x.to(torch.float32)\nw = y + z", x=x())
    contiguous, to, add = run.steps
    assert contiguous.results == to.results == (0,)
    assert add.refs == (0, 0)


def test_a_new_tensor_at_the_address_of_a_dead_one_is_another(recorded) -> None:
    run = recorded("for i in range(20):\n    y = x + i\n    z = y * 2\n    del y, z", x=x())
    adds, muls = run.steps[::2], run.steps[1::2]
    assert len({step.results for step in adds}) == 20
    assert [step.refs for step in muls] == [step.results for step in adds]


def test_tuples_lists_and_dicts_in_and_out(recorded) -> None:
    run = recorded(
        """
        parts = {"left": x.unbind(0), "right": [x + 1]}
        s = torch.stack(list(parts["left"]))
        c = torch.cat([s, parts["right"][0]], dim=-1)
        values, indices = c.topk(3)
        top = c.max(dim=1)
        y = top.values + top[1]
        """,
        x=x(),
    )
    unbind, add, stack, cat, topk, largest, last = run.steps
    assert [run.values[number].shape for number in unbind.results] == [(5, 12), (5, 12)]
    assert stack.operands[0].arg == (Ref(unbind.results[0]), Ref(unbind.results[1]))
    assert cat.refs == stack.results + add.results
    assert [run.values[number].dtype for number in topk.results] == ["float32", "int64"]
    assert last.refs == largest.results


def test_other_arguments(recorded) -> None:
    run = recorded(
        """
        a = x.masked_fill(x > 0, float("-inf"))
        b = x.to(torch.float64)
        c = torch.zeros(2, 3, device="cpu")
        d = torch.rand(2, generator=torch.Generator())
        e = torch.tensor([[1.0, 2.0], [3.0, float("nan")]])
        f = x.view((10, 12))
        g = x.new_ones(x.shape)
        h = torch.einsum("bld,bmd->blm", x, x)
        """,
        x=x(),
    )
    by_op = {step.op: step for step in run.steps}
    assert by_op["masked_fill"].operands[2].arg == float("-inf")
    assert by_op["zeros"].arg("device") == "cpu"
    assert by_op["to"].operands[1].arg == Opaque("torch.float64")
    assert by_op["rand"].arg("generator") == Opaque("Generator")
    assert by_op["tensor"].operands[0].arg[0] == (1.0, 2.0)
    assert by_op["view"].operands[1].arg == (10, 12)
    assert by_op["new_ones"].operands[1].arg == (2, 5, 12)
    assert by_op["einsum"].operands[0].arg == "bld,bmd->blm"
    assert by_op["einsum"].refs == (0, 0)


def test_einops_makes_one_call_of_the_users_many_steps(recorded) -> None:
    run = recorded(
        """
        from einops import rearrange, reduce, einsum
        h = rearrange(x, "b l (h d) -> b h l d", h=3)
        m = reduce(x, "b l d -> b l", "mean")
        s = einsum(x, x, "b l d, b m d -> b l m")
        """,
        x=x(),
    )
    assert ops(run) == ["reshape", "permute", "mean", "einsum"]
    reshape, permute, mean, einsum = run.steps
    assert reshape.call == permute.call
    assert len({reshape.call, mean.call, einsum.call}) == 3
    assert reshape.source == permute.source
    assert reshape.via != permute.via
    assert permute.refs == reshape.results
    assert made(run, permute).shape == (2, 3, 5, 4)


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.project = torch.nn.Linear(12, 12, bias=False)
        self.scale = torch.nn.Parameter(torch.ones(1))
        self.register_buffer("mask", torch.ones(5, 5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q = self.project(x)
        return q @ x.mT * self.scale + self.mask


def test_parameters_and_buffers_have_their_qualified_names(recorded) -> None:
    run = recorded("y = net(x)\nz = net[0].project.weight * 2", x=x(), net=torch.nn.Sequential(Block()))
    outside = {(value.kind, value.name) for value in run.values if value.step is None}
    assert outside == {
        ("input", ""),
        ("parameter", "0.project.weight"),
        ("parameter", "0.scale"),
        ("buffer", "0.mask"),
    }


def test_parameters_seen_before_their_module_ran_are_named_too(recorded) -> None:
    run = recorded("a = net[0].scale * 2\nb = net[0].mask + 1\nc = net(x)", x=x(), net=torch.nn.Sequential(Block()))
    assert [run.values[step.refs[0]].name for step in run.steps[:2]] == ["0.scale", "0.mask"]


def test_a_parameter_that_the_optimizer_changed_keeps_its_name(recorded) -> None:
    run = recorded(
        """
        net(x)
        with torch.no_grad():
            net[0].scale.add_(1)
        net(x)
        """,
        x=x(),
        net=torch.nn.Sequential(Block()),
    )
    states = [value for value in run.values if value.name == "0.scale"]
    assert [value.kind for value in states] == ["parameter", "parameter"]
    assert states[1].step is not None


@pytest.mark.parametrize("numbers", [True, False])
def test_no_activation_is_kept_alive(numbers: bool) -> None:
    kept: list[weakref.ref[torch.Tensor]] = []
    alive: list[bool] = []
    start = x().requires_grad_()
    with attnlab.record(numbers=numbers) as run:
        for _ in range(3):
            hidden = start * 2
            kept.append(weakref.ref(hidden))
            total = torch.stack([hidden, hidden.exp()]).sum()
            total.backward()
            kept.append(weakref.ref(total))
            del hidden, total
            gc.collect()
            alive += [ref() is not None for ref in kept]
    assert ops(run)[:5] == ["mul", "exp", "stack", "sum", "backward"]
    assert alive == [False] * 12


def test_neither_program_nor_tensor_is_kept_alive_by_the_run() -> None:
    model, start = Block(), x()
    with attnlab.record() as run:
        result = model(start)
    refs = [weakref.ref(model), weakref.ref(start), weakref.ref(result)]
    del model, start, result
    gc.collect()
    assert [ref() for ref in refs] == [None] * 3
    assert ops(run) == ["linear", "mT", "matmul", "mul", "add"]


def test_a_failed_operation_keeps_nothing_alive_and_makes_nothing(recorded) -> None:
    run = recorded(
        """
        y = x + 1
        try:
            y @ y
        except RuntimeError:
            pass
        z = y * 2
        """,
        x=x(),
    )
    assert ops(run) == ["add", "mul"]
    assert run.error is None
