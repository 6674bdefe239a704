"""ATT113: a weight that forward uses and that no gradient reaches.

Decided along the recorded steps: from the projection of q, k or v to the attention's result, is there a way on which
nothing holds the gradient up? And where the program went backward, by the weights that got no gradient while others of
the same module did. Frozen weights, slow copies, and programs that only infer are left alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from attnlab.checks.case import Case, Name
from attnlab.checks.editing import code, own
from attnlab.checks.found import Edit, Found, Rule, Said
from attnlab.checks.gradients import Gradients, switch
from attnlab.checks.whole import Whole
from attnlab.run import Step

_ROLES: tuple[Name, ...] = ("q", "k", "v")
# What leads out of the world of tensors, in the text of what makes one anew.
_ANEW = (".tolist(", ".numpy(", ".item(", "np.", "tensor(")


def _look(case: Case) -> Iterator[Found]:
    gradients = Gradients(case.whole)
    if not gradients.output(case.attention).grad:
        return
    held: dict[int, tuple[Step, list[str]]] = {}
    for name in _ROLES:
        role = case.input(name)
        weights = _weights(case, name, gradients)
        if role.project is None or not weights:
            continue
        step = _held(case, name, gradients)
        if step is not None:
            held.setdefault(step.index, (step, []))[1].extend(f"{name}: {weight}" for weight in weights)
    if len(held) == 1 and _all_frozen(case, next(iter(held.values()))[0], gradients):
        return
    for step, weights in held.values():
        yield _found(step, weights, case.whole)


def _held(case: Case, name: Name, gradients: Gradients) -> Step | None:
    """What holds the gradient of a role's projection up; the projection itself where it ran without gradients."""
    role = case.input(name)
    assert role.project is not None
    project = case.step(role.project)
    if not project.grad:
        return project
    before = gradients.held_up(project.results[0], role.entered)
    return before or gradients.held_up(role.entered, case.attention.result)


def _all_frozen(case: Case, step: Step, gradients: Gradients) -> bool:
    """Whether nothing of the attention is learned, so that it may serve as a fixed part of something larger."""
    open_ways = [
        name
        for name in _ROLES
        if case.input(name).project is not None
        and _weights(case, name, gradients)
        and _held(case, name, gradients) is None
    ]
    return not open_ways and not step.grad and step.index == case.attention.q.project


def _weights(case: Case, name: Name, gradients: Gradients) -> list[str]:
    """What the weights of a role's projection are called, those that are to be learned."""
    project = case.input(name).project
    if project is None:
        return []
    step = case.step(project)
    found: list[str] = []
    for number in step.refs[1:] if len(step.refs) > 1 else step.refs:
        if gradients.learned(number):
            value = case.run.values[number]
            texts = [operand.text for operand in step.operands if getattr(operand.arg, "id", None) == number]
            found.append(value.name or next((text for text in texts if text), code(step)))
    return [item for item in found if not item.endswith("bias")]


def _whole(whole: Whole) -> Iterator[Found]:
    """Weights that got no gradient when the program went backward."""
    if not any(step.op == "backward" for step in whole.run.steps):
        return
    gradients = Gradients(whole)
    known = {name for attention in whole.attentions for name in _known(attention, whole, gradients)}
    told: dict[int, tuple[Step, list[str]]] = {}
    for root in whole.roots:
        named = dict(root.named_parameters())
        if all(parameter.grad is None for parameter in named.values()):
            continue
        for name, parameter in named.items():
            if parameter.requires_grad and parameter.grad is None and name not in known:
                step = _dead_end(name, whole, gradients)
                if step is not None:
                    told.setdefault(step.index, (step, []))[1].append(name)
    for step, names in told.values():
        yield _found(step, [name for name in names if not name.endswith("bias")] or names, whole)


def _known(attention: object, whole: Whole, gradients: Gradients) -> list[str]:
    """The weights of an attention that the other half of the rule speaks of."""
    case = Case(whole, attention, (attention,))  # type: ignore[arg-type]
    found: list[str] = []
    for name in _ROLES:
        role = case.input(name)
        if role.project is not None and (not case.step(role.project).grad or _held(case, name, gradients) is not None):
            found += [
                case.run.values[number].name for number in case.step(role.project).refs if case.run.values[number].name
            ]
    return found


def _dead_end(name: str, whole: Whole, gradients: Gradients) -> Step | None:
    """Where what was computed from a weight is left behind; None where the weight was not used for learning."""
    numbers = [value.id for value in whole.run.values if value.kind == "parameter" and value.name == name]
    used = [step for number in numbers for step in gradients.graph.consumers(number) if step.grad and not step.inplace]
    used = [step for step in used if step.module is not None and step.results]
    if not used or any(gradients.learned(number) is False for number in numbers[:1]):
        return None
    live = gradients.onward(used[0].results, live=True)
    for number in sorted(live, reverse=True):
        stopped = [step for step in gradients.graph.consumers(number) if not gradients.passes(step) and step.results]
        inside = [step for step in stopped if step.module is not None]
        if inside:
            return inside[0]
    last = gradients.graph.maker(max(live))
    return None if last is None else _anew(last, whole)


def _anew(last: Step, whole: Whole) -> Step | None:
    """A tensor that was made anew in the same function, of numbers that had left the world of tensors."""
    for step in whole.run.steps[last.index + 1 :]:
        if step.frame == last.frame and not step.refs and step.source is not None:
            text = step.source.text
            if any(part in text for part in _ANEW[:4]) and step.results:
                return step
    return None


def _found(step: Step, weights: list[str], whole: Whole) -> Found:
    place = switch(step, whole)
    kind = "off" if not step.grad else "anew" if not step.refs else "stop"
    edits: tuple[Edit, ...] = ()
    if kind == "stop" and step.op == "detach" and own(step) and step.source and step.source.text.endswith(".detach()"):
        edits = (Edit(step.source.span, step.source.text.removesuffix(".detach()")),)
    names = ", ".join(dict.fromkeys(weights))
    return Found(
        place or step,
        Said(f"check.no-gradient.{kind}", {"code": code(step)}),
        Said("check.no-gradient.evidence", {"weights": names}),
        Said(f"check.no-gradient.{kind}-mend"),
        edits,
    )


RULE = Rule("ATT113", "no-gradient", attention=_look, whole=_whole, unless=frozenset({"ATT105"}))
