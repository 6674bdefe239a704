"""ATT031: one weight serves two roles, applied twice; v made with the key's weights."""

from __future__ import annotations

from collections.abc import Iterator

from torch import Tensor

from attnlab.checks.case import Case
from attnlab.checks.found import Edit, Found, Rule, Said
from attnlab.checks.text import names_several, role_of
from attnlab.checks.unused import Spare, spares
from attnlab.checks.weights import ROLES, Projected, memory, owner, plain, projected, projection, repeated_memory
from attnlab.run import Step


def _look(case: Case) -> Iterator[Found]:
    met = [(str(name), found) for name in ROLES if (found := projected(case, name)) is not None]
    out = _output(case)
    groups: dict[tuple[object, ...], list[tuple[str, Projected]]] = {}
    for name, found in (*met, *(() if out is None else (("output", out),))):
        groups.setdefault(memory(case.whole, found.weight), []).append((name, found))
    for group in groups.values():
        yield from _shared(case, group)


def _output(case: Case) -> Projected | None:
    if case.attention.project_out is None:
        return None
    step = case.step(case.attention.project_out)
    x = next((number for number in step.refs if not case.graph.weight(number)), None)
    return None if x is None else projection(case.whole, step, x)


def _shared(case: Case, group: list[tuple[str, Projected]]) -> Iterator[Found]:
    steps = {found.step.index for _, found in group}
    if len(steps) < 2 or names_several(group[0][1].label) or _listed(case, group[0][1]):
        return
    same = len({plain(case.graph, found.x) for _, found in group}) < len(steps)
    spare = _spare(case, group)
    if not same and spare is None:
        return  # one encoder for two inputs, as siamese models have it
    for name, found in _wrong(group):
        rest = [other for other, item in group if item.step.index != found.step.index]
        yield _told(case, name, found, rest[0], spare)


def _listed(case: Case, found: Projected) -> bool:
    """Whether the layer is one that was listed several times by mistake: that is told where it is listed."""
    tensor = case.replay.value(found.weight)
    return tensor is not None and owner(tensor) in repeated_memory(case.whole)


def _spare(case: Case, group: list[tuple[str, Projected]]) -> Spare | None:
    """A weight of the same shape, built beside the shared one, that nothing reads."""
    shape = case.graph.shape(group[0][1].weight)
    return next((item for item in spares(case.whole) if item.shape == shape), None)


def _wrong(group: list[tuple[str, Projected]]) -> list[tuple[str, Projected]]:
    """The roles for which the weight is not: by its name where it speaks of a role, else all after the first."""
    ordered = sorted(group, key=lambda item: item[1].step.index)
    owner_name = role_of(ordered[0][1].label)
    wrong = [item for item in ordered if item[0] != owner_name]
    if owner_name is None or len(wrong) == len(ordered) or not wrong:
        first = ordered[0][1].step.index
        wrong = [item for item in ordered if item[1].step.index != first]
    return wrong


def _told(case: Case, name: str, found: Projected, other: str, spare: Spare | None) -> Found:
    step = found.step
    label = found.label.removesuffix(".weight") or "?"
    graph = case.graph
    what = {"role": name, "other": other, "layer": label}
    apart = _difference(case, name, other)
    evidence = Said(
        "check.projection-shared.evidence",
        {"role": name, "other": other, "difference": apart, "shape": str(list(graph.shape(found.weight)))},
    )
    if spare is None:
        message = Said("check.projection-shared.message", what)
        return Found(step, message, evidence, Said("check.projection-shared.mend", {"role": name}))
    message = Said("check.projection-shared.spare", {**what, "spare": spare.name})
    code, edits = _mended(step, label, spare.name)
    mend = Said("check.projection-shared.use", {"role": name, "spare": spare.name, "code": code or spare.name})
    return Found(step, message, evidence, mend, edits)


def _difference(case: Case, name: str, other: str) -> float:
    """By how much what the two roles were made of differs, at most: 0 where the work was done twice."""
    tensors = [_result(case, item) for item in (name, other)]
    if any(item is None for item in tensors):
        return float("nan")
    one, two = (item for item in tensors if item is not None)
    return float((one - two).abs().max()) if one.shape == two.shape else float("nan")


def _result(case: Case, name: str) -> Tensor | None:
    index = case.attention.project_out if name == "output" else case.input(name).project  # pyright: ignore[reportArgumentType]
    return None if index is None else case.replay.double(case.step(index).results[0])


def _mended(step: Step, label: str, spare: str) -> tuple[str, tuple[Edit, ...]]:
    """The expression with the other layer in it."""
    if step.source is None:
        return "", ()
    old, new = label.rpartition(".")[2], spare.rpartition(".")[2]
    text = step.source.text
    if not old.isidentifier() or not new.isidentifier() or text.count(old) != 1:
        return "", ()
    code = text.replace(old, new)
    return code, (Edit(step.source.span, code),)


RULE = Rule("ATT031", "projection-shared", attention=_look, unless=frozenset({"ATT032"}))
