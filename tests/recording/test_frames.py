"""Whose expression it was, in which module it ran, and which steps belong together."""

import threading

import torch
from recorded import only, ops, source, texts
from torch import nn

import attnlab


def x() -> torch.Tensor:
    return torch.arange(120.0).view(2, 5, 12)


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.proj = nn.Linear(12, 12)

    def forward(self, x: torch.Tensor, *, bias: torch.Tensor) -> torch.Tensor:
        return self.helper(self.proj(x)) + bias

    def helper(self, t: torch.Tensor) -> torch.Tensor:
        return t.neg()


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([Layer(), Layer()])
        self.heads = nn.ModuleDict({"out": nn.Sequential(nn.LayerNorm(12), nn.Linear(12, 7))})

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x, bias=x)
        return self.heads["out"](x)


def modules(run: attnlab.Run) -> list[tuple[str, str | None, str | None]]:
    return [(step.op, step.module, step.module_type) for step in run.steps]


def test_each_step_has_the_path_and_class_of_the_innermost_module(recorded) -> None:
    run = recorded("y = net(x)\nz = y + 1", x=x(), net=Net())
    layer = [("linear", "proj", "Linear"), ("neg", "", "Layer"), ("add", "", "Layer")]
    expected = [(op, f"layers.{i}.{path}".rstrip("."), kind) for i in range(2) for op, path, kind in layer]
    expected += [("layer_norm", "heads.out.0", "LayerNorm"), ("linear", "heads.out.1", "Linear"), ("add", None, None)]
    assert modules(run) == expected


def test_the_root_has_the_empty_path(recorded) -> None:
    run = recorded("y = layer(x, bias=x)", x=x(), layer=Layer())
    assert [(step.op, step.module) for step in run.steps] == [("linear", "proj"), ("neg", ""), ("add", "")]


def test_a_part_called_alone_is_a_root_until_the_whole_has_run(recorded) -> None:
    run = recorded("a = net.layers[1](x, bias=x)\nb = net(x)\nc = net.layers[1](x, bias=x)", x=x(), net=Net())
    assert [step.module for step in run.steps[:3]] == ["proj", "", ""]
    assert [step.module for step in run.steps[-3:]] == ["layers.1.proj", "layers.1", "layers.1"]


def test_a_module_used_twice_has_its_first_path(recorded) -> None:
    shared = nn.Linear(12, 12)
    run = recorded("y = net(x)", x=x(), net=nn.Sequential(shared, nn.ReLU(), shared))
    assert [step.module for step in run.steps] == ["0", "1", "0"]


def test_hooks_run_in_the_module_that_they_hang_on(recorded) -> None:
    net = Layer()
    handle = net.register_forward_hook(lambda module, args, output: output * 2)
    run = recorded("y = net(x, bias=x)", x=x(), net=net)
    handle.remove()
    assert [(step.op, step.module) for step in run.steps][-2:] == [("add", ""), ("mul", "")]


def test_library_frames_are_passed_over(recorded) -> None:
    run = recorded("Q = project(x)", x=x(), project=nn.Linear(12, 12))
    (linear,) = run.steps
    assert (linear.function, source(linear).text, source(linear).targets) == (
        "torch.nn.functional.linear",
        "project(x)",
        ("Q",),
    )
    assert linear.via is not None
    assert linear.via.text == "F.linear(input, self.weight, self.bias)"
    assert linear.via.function == "Linear.forward"


def test_a_function_of_pytorch_in_python_is_one_step(recorded) -> None:
    run = recorded(
        "y = F.multi_head_attention_forward(x, x, x, 12, 3, w, b, None, None, False, 0.0, w[:12], b[:12])[0]",
        x=x(),
        w=torch.ones(36, 12),
        b=torch.ones(36),
    )
    assert ops(run) == ["getitem", "getitem", "multi_head_attention_forward"]
    assert run.steps[-1].via is None


def test_every_operation_of_a_transformer_is_the_users_one_call(recorded) -> None:
    encoder = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(12, 3, 7, batch_first=True), 2, enable_nested_tensor=False
    )
    run = recorded("y = encoder(x)", x=x(), encoder=encoder)
    assert {source(step).text for step in run.steps} == {"encoder(x)"}
    assert len({step.call for step in run.steps}) == 1
    assert len({step.frame for step in run.steps}) == 1
    attention = [step.module for step in run.steps if step.op == "multi_head_attention_forward"]
    assert attention == ["layers.0.self_attn", "layers.1.self_attn"]


def test_each_evaluation_of_an_expression_has_its_call(recorded) -> None:
    run = recorded(
        "for _ in range(3):\n    y = norm(x)\n    z = y + 1", x=x(), norm=nn.Sequential(nn.LayerNorm(12), nn.ReLU())
    )
    assert ops(run) == ["layer_norm", "relu", "add"] * 3
    calls = [step.call for step in run.steps]
    rounds = [calls[i : i + 3] for i in (0, 3, 6)]
    assert [a == b for a, b, _ in rounds] == [True] * 3
    assert len({call for a, _, b in rounds for call in (a, b)}) == 6


def test_two_calls_on_one_line_are_two_calls(recorded) -> None:
    run = recorded("y = net(x) + net(x)", x=x(), net=nn.Sequential(nn.ReLU(), nn.Tanh()))
    assert ops(run) == ["relu", "tanh", "relu", "tanh", "add"]
    first, _, second, _, add = [step.call for step in run.steps]
    assert [step.call for step in run.steps] == [first, first, second, second, add]
    assert len({first, second, add}) == 3


def test_each_activation_of_a_function_has_its_frame(recorded) -> None:
    run = recorded(
        """
        def attend(t, depth):
            if depth:
                attend(t, depth - 1)
            return t * depth
        for i in range(2):
            attend(x, 1)
        """,
        x=x(),
    )
    assert [step.operands[1].arg for step in run.steps] == [0, 1, 0, 1]
    assert len({step.frame for step in run.steps}) == 4


def test_steps_of_one_activation_share_its_frame(recorded) -> None:
    run = recorded(
        "def f(t):\n    u = t + 1\n    v = other(u)\n    return v * 2\ndef other(t):\n    return t.neg()\nf(x)", x=x()
    )
    add, neg, mul = run.steps
    assert add.frame == mul.frame != neg.frame


def test_a_generator_goes_on_in_its_own_frame(recorded) -> None:
    run = recorded(
        """
        def heads(t):
            for i in range(2):
                yield t[i] + 1
        g = heads(x)
        a = next(g) * 2
        def later():
            return next(g)
        b = later() / 2
        """,
        x=x(),
    )
    assert texts(run) == [
        ("getitem", "t[i]"),
        ("add", "t[i] + 1"),
        ("mul", "next(g) * 2"),
        ("getitem", "t[i]"),
        ("add", "t[i] + 1"),
        ("div", "later() / 2"),
    ]
    frames = [step.frame for step in run.steps]
    assert frames[0] == frames[1] == frames[3] == frames[4] != frames[2] == frames[5]


def test_a_generator_that_outlives_a_recording_can_go_on_in_the_next() -> None:
    def heads(t: torch.Tensor):
        for i in range(3):
            yield t[i % 2]

    generator = heads(x())
    runs = []
    for _ in range(2):
        with attnlab.record() as run:
            next(generator)
        runs.append(run)
    assert next(generator).shape == (5, 12)
    assert [ops(run) for run in runs] == [["getitem"], ["getitem"]]
    assert [run.lost for run in runs] == [(), ()]


def test_a_coroutine(recorded) -> None:
    run = recorded(
        """
        import asyncio
        async def half(t):
            await asyncio.sleep(0)
            return t / 2
        async def main():
            a, b = await asyncio.gather(half(x), half(x))
            return a + b
        asyncio.run(main())
        """,
        x=x(),
    )
    assert [(step.op, source(step).function) for step in run.steps] == [
        ("div", "half"),
        ("div", "half"),
        ("add", "main"),
    ]
    assert len({step.frame for step in run.steps}) == 3


def test_a_pytest_assertion_and_a_lambda_in_this_file() -> None:
    start = x()
    with attnlab.record() as run:
        assert (start + 1).sum() > 0
        result = max([start], key=lambda t: t @ t.mT)
    assert result is start
    assert texts(run) == [
        ("add", "start + 1"),
        ("sum", "(start + 1).sum()"),
        ("gt", "(start + 1).sum() > 0"),
        ("mT", "t.mT"),
        ("matmul", "t @ t.mT"),
    ]
    assert {source(step).span.file for step in run.steps} == {__file__}


def test_other_threads_are_passed_over() -> None:
    start = x()
    seen: list[torch.Tensor] = []
    with attnlab.record() as run:
        thread = threading.Thread(target=lambda: seen.append(start.exp()))
        thread.start()
        thread.join()
        result = start * 2
    assert torch.equal(seen[0], start.exp())
    assert result.shape == (2, 5, 12)
    assert texts(run) == [("mul", "start * 2")]
    assert run.lost == ()


def test_two_threads_record_each_their_own() -> None:
    runs: dict[str, attnlab.Run] = {}
    ready = threading.Barrier(2)

    def work(name: str) -> None:
        start = x()
        ready.wait()
        with attnlab.record() as run:
            ready.wait()
            for _ in range(20):
                start = getattr(start, name)()
            ready.wait()
        runs[name] = run

    threads = [threading.Thread(target=work, args=(name,)) for name in ("sin", "cos")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {name: ops(run) for name, run in runs.items()} == {"sin": ["sin"] * 20, "cos": ["cos"] * 20}
    assert {run.lost for run in runs.values()} == {()}


def test_autograd_functions_and_vmap_are_recorded_or_passed_over(recorded) -> None:
    run = recorded(
        """
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, t):
                return t * 2
            @staticmethod
            def backward(ctx, grad):
                return grad * 2
        y = Double.apply(x.requires_grad_())
        y.sum().backward()
        z = torch.vmap(lambda t: t.cos())(x.detach())
        w = torch.func.grad(lambda t: t.tan().sum())(x.detach())
        last = x.exp()
        """,
        x=x(),
    )
    assert ops(run)[-1] == "exp"
    assert {"sum", "backward"} <= set(ops(run))
    assert source(only(run, "cos")).text == "t.cos()"
