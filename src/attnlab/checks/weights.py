"""The layers behind q, k, v and the output: which weight each one multiplies with, and what feeds it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch

from attnlab.attention.graph import CASTS, DROPOUT, NORMS, POINTWISE, VIEWS, Graph
from attnlab.checks.case import Case, Name
from attnlab.checks.whole import Whole
from attnlab.run import Step

ROLES: tuple[Name, ...] = ("q", "k", "v")
_STREAM = POINTWISE | VIEWS | CASTS | DROPOUT | NORMS
_FAR = 40
FILLS = frozenset(
    [
        *("uniform", "kaiming_uniform", "kaiming_normal", "xavier_uniform", "xavier_normal", "trunc_normal", "normal"),
        *("fill", "zero", "ones", "zeros", "constant", "orthogonal", "eye", "empty"),
    ]
)


class Projected(NamedTuple):
    """The projection of one role: its step, the weight's value, what names the weight has, and the input."""

    step: Step
    weight: int
    label: str
    x: int


def projected(case: Case, name: Name) -> Projected | None:
    """The projection of q, k or v; None where none was seen."""
    role = case.input(name)
    if role.project is None or role.x is None:
        return None
    return projection(case.whole, case.step(role.project), role.x)


def projection(whole: Whole, step: Step, x: int) -> Projected | None:
    """A step that multiplies `x` with a weight, with that weight."""
    graph = whole.graph
    others = [number for number in step.refs if number != x and graph.weight(number)]
    if not others:
        return None
    weight = max(others, key=lambda number: len(graph.shape(number)))
    text = next((o.text for o in step.operands if getattr(o.arg, "id", None) == weight), "")
    return Projected(step, weight, graph.values[weight].name or text, x)


def memory(whole: Whole, number: int) -> tuple[object, ...]:
    """What tells a tensor from others through all its states: its memory, where in it, and its shape."""
    tensor = whole.replay.value(number)
    if tensor is None:
        return (number,)
    try:
        return (owner(tensor), tensor.storage_offset(), tuple(tensor.shape))
    except (RuntimeError, NotImplementedError):
        return (number,)


def owner(tensor: torch.Tensor) -> int:
    """The memory of a tensor."""
    return tensor.untyped_storage().data_ptr()


def stream(graph: Graph, number: int) -> set[int]:
    """The values that a value was made of without a projection or an attention between: sums, norms, layouts."""
    found: set[int] = set()
    waiting = [(number, 0)]
    while waiting:
        item, depth = waiting.pop()
        if item in found or depth > _FAR:
            continue
        found.add(item)
        step = graph.maker(item)
        if step is not None and step.op in _STREAM and step.op not in ("softmax", "log_softmax"):
            waiting += [(ref, depth + 1) for ref in step.refs if ref < item and not graph.constant(ref)]
    return found


def plain(graph: Graph, number: int) -> int:
    """A value before changes of layout and type."""
    step = graph.maker(number)
    while step is not None and step.op in VIEWS | CASTS | DROPOUT and len(step.refs) == 1 and step.refs[0] < number:
        number = step.refs[0]
        step = graph.maker(number)
    return number


def initialised(step: Step) -> bool:
    """Whether a step only fills a tensor with its first numbers, or makes it."""
    name = step.function.rpartition(".")[2]
    written = name.endswith("_") and not name.endswith("__")
    return not step.refs or written or step.function.startswith("torch.nn.init") or step.op in FILLS


def modules(whole: Whole) -> Iterator[tuple[str, torch.nn.Module]]:
    """All modules that ran, with their paths as in `Step.module`."""
    for root in whole.roots:
        yield from root.named_modules()


def repeated_containers(whole: Whole) -> list[tuple[torch.nn.Module, str, torch.nn.Module, int]]:
    """Containers that list one and the same layer several times: container, its path, the layer, how often."""
    found: list[tuple[torch.nn.Module, str, torch.nn.Module, int]] = []
    for path, module in modules(whole):
        if not isinstance(module, (torch.nn.ModuleList, torch.nn.Sequential, torch.nn.ModuleDict)):
            continue
        items = list(module.values()) if isinstance(module, torch.nn.ModuleDict) else list(module)
        bearing = [(item, frozenset(id(p) for p in item.parameters())) for item in items]
        bearing = [(item, ids) for item, ids in bearing if ids]
        if len(bearing) > 1 and len({ids for _, ids in bearing}) == 1:
            found.append((module, path, bearing[0][0], len(bearing)))
    return found


def repeated_memory(whole: Whole) -> set[int]:
    """The memory of all parameters of layers that are listed several times."""
    return {owner(p) for _, _, layer, _ in repeated_containers(whole) for p in layer.parameters()}
