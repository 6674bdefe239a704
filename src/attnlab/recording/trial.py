"""Trying operations on empty tensors of the recorded shapes: do they fit, and what shape comes out?

A small trial runs on the CPU, on zeros. A large one runs on the `meta` device, where PyTorch applies
its own shape rules and computes nothing. (A few operations check less there, and its first use takes
a second.) The strides, on which `view` depends, come about by running the layout steps of the record again.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.overrides import get_testing_overrides

from attnlab.run import Arg, Opaque, Ref, Run, Slice, Step, Value

# A trial runs on the CPU at once where it cannot make more elements than this, and after a trial on
# `meta` where it makes no more than that.
HELD = 1 << 24
SMALL = 1 << 20
# How many layout steps are run again behind one value.
DEPTH = 64
# Steps whose result is another view of what they read: they alone change strides.
# fmt: off
LAYOUT = frozenset([
    "transpose", "permute", "T", "mT", "t", "H", "mH", "movedim", "view", "reshape", "view_as", "reshape_as",
    "flatten", "unflatten", "expand", "expand_as", "broadcast_to", "unsqueeze", "squeeze", "getitem", "narrow",
    "select", "chunk", "split", "split_with_sizes", "tensor_split", "unbind", "detach", "contiguous", "diagonal",
])
# fmt: on
# Of these, the ones that make more elements.
GROWING = frozenset(["expand", "expand_as", "broadcast_to"])


class Trials:
    """Tries operations on the values of one Run."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def __call__(self, steps: Sequence[Step]) -> tuple[tuple[tuple[tuple[int, ...], ...], ...], str]:
        """Run `steps` in order, on values of the Run and on results of one another.

        Returns the shapes of the results of each step that ran, and what PyTorch said of the step that
        did not ("" where all ran). Nothing that exists is changed: no tensor, no random state.
        """
        if self._at_most(steps) <= HELD:
            return _Trial(self._run, "cpu").run(steps)
        done = _Trial(self._run, "meta").run(steps)
        if not done[1] and self._elements(steps, done[0]) <= SMALL:
            return _Trial(self._run, "cpu").run(steps)
        return done

    def _at_most(self, steps: Sequence[Step]) -> float:
        """A bound on the elements that the steps can make: each of one operand with each of another."""
        values = self._values(steps)
        if any(value.device != "cpu" for value in values):  # a kernel of another device may know other dtypes
            return math.inf
        sizes = sorted((max(1, math.prod(value.shape)) for value in values), reverse=True)
        crossed = math.prod(sizes if steps[-1].op == "einsum" else sizes[:2])
        growing = [step for step in steps if step.op not in LAYOUT - GROWING]
        asked = [size for step in growing for operand in step.operands for size in _ints(operand.arg)]
        return crossed * math.prod(size for size in asked if size > 1)

    def _elements(self, steps: Sequence[Step], results: Sequence[Sequence[tuple[int, ...]]]) -> float:
        values = self._values(steps)
        if any(value.device != "cpu" for value in values):
            return math.inf
        shapes = [value.shape for value in values] + [shape for made in results for shape in made]
        return sum(map(math.prod, shapes))

    def _values(self, steps: Sequence[Step]) -> list[Value]:
        return [self._run.values[ref] for step in steps for ref in step.refs if ref < len(self._run.values)]


class _Trial:
    def __init__(self, run: Run, device: str) -> None:
        self._run = run
        self._device = torch.device(device)
        self._made: dict[int, Tensor] = {}

    def run(self, steps: Sequence[Step]) -> tuple[tuple[tuple[tuple[int, ...], ...], ...], str]:
        shapes: list[tuple[tuple[int, ...], ...]] = []
        with (
            torch.random.fork_rng(devices=[]),
            torch.no_grad(),
            warnings.catch_warnings(),
            self._device,
        ):
            warnings.simplefilter("ignore")
            for step in steps:
                try:
                    results = _tensors(self._call(step))
                except Exception as error:
                    return tuple(shapes), str(error) or type(error).__name__
                self._made.update(zip(step.results, results, strict=False))
                shapes.append(tuple(tuple(result.shape) for result in results))
        return tuple(shapes), ""

    def _call(self, step: Step, depth: int = DEPTH) -> Any:
        positional = [self._arg(operand.arg, depth) for operand in step.operands if not operand.keyword]
        named = {operand.keyword: self._arg(operand.arg, depth) for operand in step.operands if operand.keyword}
        return _function(step.function)(*positional, **named)

    def _arg(self, arg: Arg, depth: int) -> Any:
        match arg:
            case Ref():
                return self._tensor(arg.id, depth)
            case Slice():
                return slice(*(self._arg(item, depth) for item in (arg.start, arg.stop, arg.step)))
            case Opaque():
                return _opaque(arg.text)
            case tuple():
                return tuple(self._arg(item, depth) for item in arg)
            case _:
                return arg

    def _tensor(self, ref: int, depth: int) -> Tensor:
        tensor = self._made.get(ref)
        if tensor is None:
            value = self._run.values[ref]
            tensor = self._viewed(value, depth) if depth else None
            self._made[ref] = tensor = self._fresh(value) if tensor is None else tensor
        return tensor

    def _viewed(self, value: Value, depth: int) -> Tensor | None:
        """The value as its layout step makes it; None where another step made it."""
        step = None if value.step is None else self._run.steps[value.step]
        if step is None or step.op not in LAYOUT or value.id not in step.results:
            return None
        try:
            result = _tensors(self._call(step, depth - 1))[step.results.index(value.id)]
        except Exception:
            return None
        return result if tuple(result.shape) == value.shape else None

    def _fresh(self, value: Value) -> Tensor:
        dtype: torch.dtype = getattr(torch, value.dtype)
        largest = 0 if value.numbers is None else value.numbers.max
        # Ids are looked up: what matters of them is the largest.
        whole = not dtype.is_floating_point and not dtype.is_complex and dtype is not torch.bool
        return torch.full(value.shape, int(largest or 0) if whole else 0, dtype=dtype)


def _tensors(result: Any) -> list[Tensor]:
    if isinstance(result, Tensor):
        return [result]
    if isinstance(result, (tuple, list)):
        return [tensor for item in result for tensor in _tensors(item)]
    return []


def _ints(arg: Arg) -> list[int]:
    return [item for item in (arg if isinstance(arg, tuple) else (arg,)) if isinstance(item, int)]


def _function(name: str) -> Callable[..., Any]:
    """What PyTorch calls `name`: "torch.Tensor.transpose", "torch.nn.functional.linear"."""
    found: Any = torch
    for part in name.split(".")[1:]:
        found = getattr(found, part)
    function = found if callable(found) else found.__get__  # a property: x.T
    if function not in _operations():
        raise ValueError(f"{name} is not an operation on tensors")
    return function


@cache
def _operations() -> frozenset[Any]:
    """What may be tried. A Run may come from a file, and must not make anything else run, such as `torch.load`."""
    return frozenset([*get_testing_overrides(), Tensor.unflatten, torch.zeros])


def _opaque(text: str) -> Any:
    if text == "Ellipsis":
        return ...
    found: Any = getattr(torch, text.removeprefix("torch."), None)
    if text.startswith("torch.") and found is not None:
        return found
    raise ValueError(f"an argument that was kept as text only: {text}")
