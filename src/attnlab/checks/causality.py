"""Which key is a query's own, what is trained to come next, and where a causal mask was made.

A query's own key is the one that is made of the same token; with a cache before it, it is not the one of the same
number. What a model is trained for is told by what its loss compares its output with: the tokens that were put in,
one place on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from attnlab.attention.graph import VIEWS, refs
from attnlab.checks.case import Case
from attnlab.checks.editing import own
from attnlab.checks.masking import Sight, ancestors, applied, given_masks, makers
from attnlab.run import Step

Trained = Literal["next", "previous"]

_LOSSES = {"cross_entropy": (1, "target"), "nll_loss": (1, "target"), "gather": (2, "index")}
_DISTANCES = frozenset(["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "sub"])
_TRIANGLES = frozenset(["tril", "triu"])
_ORDERS = frozenset(["lt", "le", "gt", "ge"])
_JOINS = frozenset(["cat", "hstack", "stack"])
_IGNORED = -100
_KNOWN: WeakKeyDictionary[Case, dict[str, object]] = WeakKeyDictionary()
_BACKWARDS = re.compile(r"backward|reverse|right_to_left|rtl|bwd|anti", re.IGNORECASE)


# -- own keys ---------------------------------------------------------------------------------------


def offset(case: Case, view: Sight) -> int | None:
    """How many keys stand before that of the first query's own token; None where it can't be told."""
    if view.square:
        return 0
    x, queries = case.attention.q.x, view.seen.shape[-2]
    if x is None:
        return None
    shape = case.graph.shape(x)
    if len(shape) < 2:
        return None
    # The tokens' axis is seldom the first of several: that is the batch, if it has the size of both.
    axes = sorted((place for place in range(len(shape) - 1) if shape[place] == queries), reverse=True)
    if not axes:
        return None
    axis = axes[0]
    places = [_own(case, x, axis, token) for token in {0, queries - 1}]
    found = {None if place is None else place - token for place, token in zip(places, {0, queries - 1}, strict=True)}
    return found.pop() if len(found) == 1 else None


def _own(case: Case, x: int, axis: int, token: int) -> int | None:
    """The number of the key that is made of a token of x; None where it is not one."""
    rank = len(case.graph.shape(x))
    index = tuple(token if place == axis else slice(None) for place in range(rank - 1))
    felt = case.felt(x, index, case.attention.k.entered)
    if felt is None:
        return None
    # What nn.MultiheadAttention is given is [L, B, D], and not projected yet.
    rows = felt.flatten(1)[None] if case.attention.style == "mha" else case.arranged("k", felt)
    if rows is None:
        return None
    keys = rows.any(-1).any(0)
    return int(keys.int().argmax()) if int(keys.sum()) == 1 else None


# -- what is trained --------------------------------------------------------------------------------


def trained(case: Case) -> Trained | None:
    """Whether what is made of an attention's output is trained to be the next token, or the one before."""
    known = _KNOWN.setdefault(case, {})
    if "trained" not in known:
        known["trained"] = _trained(case)
    found = known["trained"]
    return "next" if found == "next" else "previous" if found == "previous" else None


def _trained(case: Case) -> Trained | None:
    result = case.attention.result
    behind: set[int] | None = None
    for step in case.run.steps[case.attention.output :]:
        targets = _targets(step)
        if not targets:
            continue
        if behind is None:
            behind = ancestors([case.attention.k.entered], case.graph)
        for prediction, target in targets:
            tensor = case.replay.value(target)
            if tensor is None or tensor.dim() < 1 or result not in ancestors([prediction], case.graph):
                continue
            for source in _sources(case, behind, tensor):
                found = _shifted(tensor, source)
                if found is not None:
                    return found
    return None


def _targets(step: Step) -> list[tuple[int, int]]:
    """(prediction, target) of a step that may be a loss."""
    if step.op in _LOSSES:
        place, name = _LOSSES[step.op]
        prediction, target = refs(step.arg("input", 0)), refs(step.arg(name, place))
        return [(prediction[0], target[0])] if len(prediction) == len(target) == 1 else []
    if step.op in _DISTANCES and len(step.refs) == 2:
        one, other = step.refs
        return [(one, other), (other, one)]
    return []


def _sources(case: Case, behind: set[int], target: Tensor) -> Iterator[Tensor]:
    """What went into the keys and may be shifted against a target: token ids, or features that nothing was done to."""
    whole = not target.is_floating_point()
    for number in sorted(behind):
        value = case.graph.values[number]
        if value.kind == "parameter" or len(value.shape) < 2:
            continue
        users = case.graph.consumers(number)
        if whole and not any(step.op in ("embedding", "one_hot") for step in users):
            continue
        tensor = case.replay.value(number)
        if tensor is None or tensor.is_floating_point() == whole:
            continue
        if whole or (tensor.dim() == target.dim() and not _is_learned(case, number)):
            yield tensor


def _is_learned(case: Case, number: int) -> bool:
    return any(case.graph.values[near].kind == "parameter" for near in ancestors([number], case.graph))


def _shifted(target: Tensor, source: Tensor) -> Trained | None:
    rows = tuple(source.shape[:2])
    rest = tuple(source.shape[2:])
    for axis in (1, 0):
        for cut in (0, 1):
            size = tuple(length - (cut if place == axis else 0) for place, length in enumerate(rows))
            if target.numel() != torch.Size((*size, *rest)).numel() or 0 in size:
                continue
            found = target.reshape(*size, *rest)
            if _same(found, source, axis, cut, ahead=True):
                return "next"
            if _same(found, source, axis, cut, ahead=False):
                return "previous"
    return None


def _same(target: Tensor, source: Tensor, axis: int, cut: int, *, ahead: bool) -> bool:
    length = source.shape[axis]
    there = target if cut else target.narrow(axis, 0 if ahead else 1, length - 1)
    here = source.narrow(axis, 1 if ahead else 0, length - 1)
    asked = there != _IGNORED
    if not cut and bool(((target == source) | (target == _IGNORED)).all()):
        return False
    if int(asked.sum()) < 3 or bool((here[asked] == here[asked][0]).all()):
        return False
    return bool((there == here)[asked].all())


def generates(case: Case) -> bool:
    """Whether what is made of an attention's output chooses a token that is then put in behind the others."""
    result, graph = case.attention.result, case.graph
    for step in case.run.steps[case.attention.output :]:
        if step.op not in _JOINS or not step.results or "int" not in graph.values[step.results[0]].dtype:
            continue
        if len(step.refs) > 1 and result in ancestors(step.refs[1:], graph):
            waiting = [step.results[0]]
            for number in waiting:  # grows while it is walked
                users = graph.consumers(number)
                if any(user.op == "embedding" for user in users):
                    return True
                waiting += [made for user in users if user.op in VIEWS for made in user.results if made not in waiting]
    return False


def feeds_memory(case: Case) -> bool:
    """Whether an attention's output serves another one as keys alone: it is in an encoder."""
    result = case.attention.result
    for other in case.whole.attentions:
        if other.output <= case.attention.output:
            continue
        if result in ancestors([other.k.entered], case.graph) and result not in ancestors(
            [other.q.entered], case.graph
        ):
            return True
    return False


def reads_backwards(case: Case) -> bool:
    """Whether there is a sign that a sequence is meant to be read from its end: its loss, a flip, or a name."""
    if trained(case) == "previous":
        return True
    attention = case.attention
    if any(step.op == "flip" for step in makers([attention.k.entered], case.graph)):
        return True
    names = (attention.function, attention.module_type or "", attention.module or "")
    return any(_BACKWARDS.search(name) for name in names)


# -- where a mask was made --------------------------------------------------------------------------


def made(case: Case) -> Step:
    """The step that made the triangle of a mask; the step that applies it where that was not seen."""
    behind = [step for step in makers(given_masks(case), case.graph) if own(step)]
    triangles = [step for step in behind if step.op in _TRIANGLES]
    orders = [step for step in behind if step.op in _ORDERS and _is_grid(case, step)]
    return (triangles or orders or [applied(case)])[-1]


def cut(case: Case, view: Sight) -> Step:
    """The last step that gave a mask the size of the scores; the step that applies it where there is none."""
    size = tuple(view.seen.shape[-2:])
    behind = [step for step in makers(given_masks(case), case.graph) if own(step) and step.results]
    sized = [
        step
        for step in behind
        if step.op in _TRIANGLES | _ORDERS | {"getitem"} and case.graph.shape(step.results[0])[-2:] == size
    ]
    return (sized or [applied(case)])[-1]


def _is_grid(case: Case, step: Step) -> bool:
    shape = case.graph.shape(step.results[0]) if step.results else ()
    return len(shape) >= 2 and shape[-1] > 1 and shape[-2] > 1


def grid_steps(case: Case) -> list[Step]:
    """The steps that made triangles and bands of a mask, in order."""
    behind = [step for step in makers(given_masks(case), case.graph) if own(step)]
    return [step for step in behind if step.op in _TRIANGLES | _ORDERS and _is_grid(case, step)]
