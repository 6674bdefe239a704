"""ATT037: one small layer serves all heads, so that heads differ by nothing that was learned."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import torch

from attnlab.attention import Attention
from attnlab.attention.graph import CASTS, DROPOUT, VIEWS, axis_of
from attnlab.attention.products import product
from attnlab.checks.case import Case, Name
from attnlab.checks.found import Found, Rule, Said
from attnlab.checks.rows import distinct, elements, made, numbered, table
from attnlab.checks.text import called_attribute, calls, span_of, trees
from attnlab.checks.weights import ROLES, Projected, memory, owner, projected, repeated_memory
from attnlab.run import Span, Step

_LAYOUT = VIEWS | CASTS | DROPOUT


def _look(case: Case) -> Iterator[Found]:
    if (repeated := _again(case)) is not None:
        yield repeated
        return
    if (copied := _copied(case)) is not None:
        yield copied
        return
    met: set[int] = set()
    for name in ROLES:
        found = projected(case, name)
        heads = 0 if found is None else _heads_in(case, found) or _slices(case, name, found)
        if found is None or heads < 2 or found.step.index in met:
            continue
        met.add(found.step.index)
        shape = str(list(case.graph.shape(found.weight)))
        what = {"layer": found.label.removesuffix(".weight") or "?", "heads": heads}
        yield Found(
            found.step,
            Said("check.projection-shared-by-heads.message", {**what, "role": name}),
            Said("check.projection-shared-by-heads.evidence", {"shape": shape, "heads": heads}),
            Said("check.projection-shared-by-heads.mend", {"heads": heads}),
        )


def _heads_in(case: Case, found: Projected) -> int:
    """How many pieces of one axis of features a layer was applied to alike; 0 where x was not cut for it."""
    base, steps = _base(case, found.x)
    if not steps or _was_projected(case, base, found):
        return 0
    index = numbered(case, base, found.x)
    shape = case.graph.shape(found.x)
    if index is None or len(shape) < 3 or len(case.graph.shape(base)) < 2:
        return 0
    width = case.graph.shape(base)[-1]
    _, feature = table(case.graph.shape(base), (len(case.graph.shape(base)) - 1,))
    features = feature.reshape(-1)[index.reshape(-1)].reshape(shape)
    own = _own_axes(case, found)
    for axis in range(len(shape) - 1):
        if axis in own:
            continue
        line = tuple(slice(None) if other == axis else 0 for other in range(len(shape)))
        starts = features[line]
        if len(distinct(starts)) == len(starts) == shape[axis] > 1 and shape[axis] * shape[-1] == width:
            return shape[axis] if _is_heads(case, shape[axis]) else 0
    return 0


def _own_axes(case: Case, found: Projected) -> set[int]:
    """The axes of x for which the weight has an axis too: there each index has weights of its own."""
    letters = product(found.step, case.graph)
    if letters is None:
        return set()
    own, other = letters.left_letters, letters.right_letters
    if letters.left != found.x:
        own, other = other, own
    return {axis for axis, letter in enumerate(own) if letter in other}


def _is_heads(case: Case, size: int) -> bool:
    heads = case.attention.heads
    return heads is not None and heads > 1 and heads % size == 0


def _base(case: Case, number: int) -> tuple[int, list[Step]]:
    """A value before the changes of layout that lead to `number`, and these."""
    steps: list[Step] = []
    step = case.graph.maker(number)
    while step is not None and step.op in _LAYOUT and len(step.refs) == 1 and step.refs[0] < number:
        steps.append(step)
        number = step.refs[0]
        step = case.graph.maker(number)
    return number, steps


def _was_projected(case: Case, base: int, found: Projected) -> bool:
    """Whether what was cut into heads is what a projection made in the same call: each head had its own weights."""
    maker = case.graph.maker(base)
    return (
        maker is not None
        and maker.frame == found.step.frame
        and any(map(case.graph.weight, maker.refs))
        and maker.op
        in (
            "linear",
            "matmul",
            "einsum",
            "conv1d",
            "conv2d",
            "addmm",
        )
    )


def _slices(case: Case, name: Name, found: Projected) -> int:
    """In how many attentions of the same lines the layer was applied to another slice of one and the same input."""
    weight, base = memory(case.whole, found.weight), _base(case, found.x)[0]
    inputs: set[int] = set()
    for attention in case.group:
        other = projected(Case(case.whole, attention, (attention,)), name)
        if other is None or memory(case.whole, other.weight) != weight or _base(case, other.x)[0] != base:
            continue
        inputs.add(other.x)
    width = case.graph.shape(base)[-1]
    return len(inputs) if len(inputs) > 1 and case.graph.shape(found.x)[-1] * len(inputs) == width else 0


def _again(case: Case) -> Found | None:
    """One head that was called several times with the same input, and put beside itself."""
    first = case.attention
    same = [a for a in case.group if _key(case, a) == _key(case, first)]
    if len({a.q.project for a in same}) < 2 or any(item is None for item in _key(case, first)):
        return None
    tensor = projected(case, "q")
    value = None if tensor is None else case.replay.value(tensor.weight)
    if value is None or owner(value) in repeated_memory(case.whole):
        return None
    step = _join(case, first, same[1])
    if step is None:
        return None
    at: Step | Span = _call(case, first) or step
    one, two = (case.replay.double(item.q.entered) for item in same[:2])
    if one is None or two is None or one.shape != two.shape or not bool(((one - two).abs() < 1e-5).all()):
        return None
    apart = float((one - two).abs().max())
    return Found(
        at,
        Said("check.projection-shared-by-heads.again", {"count": len(same)}),
        Said("check.projection-shared-by-heads.equal", {"count": len(same), "apart": apart}),
        Said("check.projection-shared-by-heads.list"),
    )


def _key(case: Case, attention: Attention) -> tuple[object, ...]:
    """The inputs and weights of q, k and v."""
    found: list[object] = []
    for name in ROLES:
        item = projected(Case(case.whole, attention, (attention,)), name)
        found += [None, None] if item is None else [item.x, memory(case.whole, item.weight)]
    return tuple(found)


def _join(case: Case, first: Attention, second: Attention) -> Step | None:
    """The step that puts the results of two attentions beside each other."""
    reached = [_after(case, item.result) for item in (first, second)]
    common = [index for index in reached[0] if index in reached[1]]
    steps = [case.step(index) for index in sorted(common)]
    return next((step for step in steps if step.op in ("cat", "concat") and _along_features(case, step)), None)


def _along_features(case: Case, step: Step) -> bool:
    """Whether tensors are put together along their last axis, as heads are, and not as several tries of one thing."""
    rank = len(case.graph.shape(step.results[0]))
    return axis_of(step.arg("dim", 1, step.arg("axis", None, 0)), rank) == rank - 1


def _after(case: Case, number: int) -> list[int]:
    found: list[int] = []
    waiting = [number]
    while waiting and len(found) < 60:
        for step in case.graph.consumers(waiting.pop()):
            if step.index not in found and step.op in _LAYOUT | {"add", "hstack", "concat"}:
                found.append(step.index)
                waiting += step.results
    return found


def _call(case: Case, attention: Attention) -> Span | None:
    """Where the head is called: the one call of its attribute in the text."""
    name = (attention.module or "").rpartition(".")[2]
    if not name.isidentifier():
        return None
    places = [
        span_of(node, file, case.run)
        for file, tree in trees(case.run)
        for node in calls(tree)
        if called_attribute(node) == name and isinstance(node.func, ast.Attribute)
    ]
    return places[0] if len(places) == 1 else None


def _copied(case: Case) -> Found | None:
    """Heads whose q, k and v are all copies of one."""
    whole = [elements(case, name) for name in ROLES]
    found, source = projected(case, "q"), made(case, "q")
    counts = {0 if item is None else len(item.place) for item in whole}
    if found is None or source is None or len(counts) > 1 or counts <= {0, 1}:
        return None
    rows = [torch.cat([item.place[:, 0], item.feature[:, 0]], dim=-1) for item in whole if item is not None]
    joined = torch.cat(rows, dim=-1)
    count = int((joined == joined[0]).all(-1).sum())
    if count < 2:
        return None
    return Found(
        found.step,
        Said("check.projection-shared-by-heads.copies", {"count": count}),
        Said(
            "check.projection-shared-by-heads.identical",
            {"count": count, "shape": str(list(case.graph.shape(found.weight)))},
        ),
        Said("check.projection-shared-by-heads.mend", {"heads": count}),
    )


RULE = Rule("ATT037", "projection-shared-by-heads", attention=_look)
