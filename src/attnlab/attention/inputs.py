"""What q, k and v are, seen from the products that they enter: without the scaling, and without the transposition."""

from __future__ import annotations

from attnlab.attention.attention import Input
from attnlab.attention.axes import Roots
from attnlab.attention.graph import CASTS, DROPOUT, VIEWS, Graph, refs
from attnlab.attention.layout import carry
from attnlab.attention.origins import Origins
from attnlab.attention.products import value_of
from attnlab.run import Step


def number_of(step: Step, tensor: int, graph: Graph) -> float | None:
    """The number by which a step multiplies a tensor; NaN where it is one that was not noted. None: it does not."""
    if step.op not in ("mul", "div") or len(step.operands) < 2:
        return None
    first, second = step.operands[0].arg, step.operands[1].arg
    other = second if refs(first) == (tensor,) else first
    if isinstance(other, (int, float)):
        number: float | None = float(other)
    elif refs(other) and _is_single(refs(other)[0], graph):
        number = value_of(refs(other)[0], graph)
    else:
        return None
    if number is None:
        return float("nan")
    if step.op == "mul":
        return number
    if refs(first) != (tensor,):
        return None  # divided by it, which is no scaling
    return 1 / number if number else float("nan")


def _is_single(number: int, graph: Graph) -> bool:
    """Whether a tensor holds a single element."""
    return all(size == 1 for size in graph.shape(number))


def scaled(step: Step, graph: Graph) -> int | None:
    """The tensor that a step does nothing to but scale it."""
    for number in dict.fromkeys(step.refs):
        if number_of(step, number, graph) is not None and graph.shape(number) == graph.shape(step.results[0]):
            return number
    return None


def exchanges_last_two(step: Step, graph: Graph) -> bool:
    """Whether a step exchanges the last two axes, and does nothing else."""
    if step.op not in ("transpose", "permute", "mT", "mH", "T", "t", "H", "adjoint", "movedim") or not step.refs:
        return False
    old = Roots().fresh(graph.shape(step.refs[0]))
    (new,) = carry(step, graph, {step.refs[0]: old}, Roots())
    return len(old) > 1 and new == (*old[:-2], old[-1], old[-2])


def plain(entered: int, graph: Graph, origins: Origins) -> Input:
    """A value that enters a product as it is: v."""
    return _described(entered, entered, [], None, graph, origins)


def unscaled(entered: int, turnable: bool, graph: Graph, origins: Origins) -> Input:
    """A value that enters the product of q and k, as it was before it was scaled.

    With `turnable` also as it was before its last two axes were exchanged for the product.
    """
    number, scale, turned = entered, list[int](), None
    while True:
        step = _past_casts(number, graph)
        if step is None:
            break
        tensor = scaled(step, graph)
        if tensor is not None:
            scale.append(step.index)
            number = tensor
        elif turnable and turned is None and exchanges_last_two(step, graph):
            turned = step.index
            number = step.refs[0]
        else:
            break
    return _described(number, entered, scale, turned, graph, origins)


def _past_casts(number: int, graph: Graph) -> Step | None:
    step = graph.maker(number)
    while step is not None and step.op in CASTS and step.refs[0] < number:
        number = step.refs[0]
        step = graph.maker(number)
    return step


def _described(
    number: int, entered: int, scale: list[int], turned: int | None, graph: Graph, origins: Origins
) -> Input:
    found = origins.projection(number)
    # q may have been scaled before its heads were split
    step = graph.maker(number)
    while step is not None and step.refs and (found is None or step.index != found.step):
        tensor = scaled(step, graph)
        if tensor is not None and found is not None:
            scale.append(step.index)
        elif step.op not in CASTS | DROPOUT | VIEWS or len(step.refs) != 1:
            break
        before = step.refs[0] if tensor is None else tensor
        step = graph.maker(before) if before < step.results[0] else None
    made = graph.maker(number)
    return Input(
        value=number,
        step=None if made is None else made.index,
        entered=entered,
        x=None if found is None else found.x,
        project=None if found is None else found.step,
        layout=() if found is None else found.layout,
        scale=tuple(sorted(scale)),
        turned=turned,
    )
