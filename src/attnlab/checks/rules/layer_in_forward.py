"""ATT036: a layer is built anew in `forward`: its weights are other ones in every call, and none is ever trained."""

from __future__ import annotations

from collections.abc import Iterator

from attnlab.attention.graph import NORMS
from attnlab.checks.found import Found, Rule, Said
from attnlab.checks.unused import complete, parameters
from attnlab.checks.weights import initialised, owner
from attnlab.checks.whole import Whole
from attnlab.run import Span, Step

_LEARNED = NORMS | frozenset(
    ["linear", "matmul", "bmm", "einsum", "embedding", "multi_head_attention_forward", "conv1d", "conv2d", "addmm"]
)


def _look(whole: Whole) -> Iterator[Found]:
    known = parameters(whole)
    if not complete(whole) or (not known and not whole.roots):
        return
    told: set[Span] = set()
    builders = _builders(whole)
    for step in whole.run.steps:
        if step.op not in _LEARNED:
            continue
        for number in step.refs:
            tensor = whole.replay.value(number)
            if tensor is None or owner(tensor) in known or not _is_weight(whole, number, step):
                continue
            builder = builders.get(owner(tensor))
            if builder is None or builder.source is None or builder.source.span in told:
                continue
            told.add(builder.source.span)
            yield Found(
                builder,
                Said("check.layer-in-forward.message", {"text": builder.source.text}),
                Said(
                    "check.layer-in-forward.evidence",
                    {
                        "shape": str(list(whole.graph.shape(number))),
                        "known": len(known),
                        "function": builder.source.function,
                    },
                ),
                Said("check.layer-in-forward.mend"),
            )


def _is_weight(whole: Whole, number: int, step: Step) -> bool:
    """Whether a value is a parameter, or a matrix that was drawn, and serves as a weight in a step."""
    kind = whole.run.values[number].kind
    if kind == "parameter":
        return True
    roles = {role.project for a in whole.attentions for role in (a.q, a.k, a.v)} | {
        a.project_out for a in whole.attentions
    }
    return step.index in roles and whole.graph.given(number) and len(whole.graph.shape(number)) == 2


def _builders(whole: Whole) -> dict[int, Step]:
    """For the memory of each tensor that was made while a module ran, the step that made or filled it first."""
    found: dict[int, Step] = {}
    for step in whole.run.steps:
        if (
            step.module is None
            or not step.results
            or (step.refs and not initialised(step) and not _scales(whole, step))
        ):
            continue
        for number in step.results:
            tensor = whole.replay.value(number)
            if tensor is not None:
                found.setdefault(owner(tensor), step)
    return found


def _scales(whole: Whole, step: Step) -> bool:
    return all(whole.graph.given(number) for number in step.refs)


RULE = Rule("ATT036", "layer-in-forward", whole=_look)
