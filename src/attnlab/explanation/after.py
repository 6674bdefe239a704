"""After the product with V: the heads are put side by side, and projected."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

from attnlab.attention import Attention
from attnlab.explanation.data import Item, Message, Part, say
from attnlab.explanation.formula import merged
from attnlab.explanation.sight import TRIVIAL, Sight, joined
from attnlab.explanation.steps import across, equation, reason
from attnlab.run import Step


def after(sight: Sight, attention: Attention, told: set[int]) -> Iterator[Part]:
    """The parts that put the heads together and project the result; none where there are none."""
    steps = list(takewhile(lambda step: _joins(sight, step), (sight.run.steps[index] for index in attention.merge)))
    many = attention.heads is not None and attention.heads > 1
    items: list[Item] = []
    for group in joined([step for step in steps if step.op not in TRIVIAL]):
        code = sight.code(group[-1], told)
        told.update(step.index for step in group)
        says = [message for step in group for message in _merging(sight, step) or reason(sight, step)]
        items.append(Item((code,) if code else (), (across(sight, group),), tuple(says)))
    if items:
        yield Part(
            (say("name.merge" if many else "name.layout"),), merged(attention), frozenset(["merge"]), tuple(items)
        )
    if attention.project_out is not None:
        step = sight.run.steps[attention.project_out]
        code = sight.code(step, told)
        told.add(step.index)
        says = [*reason(sight, step)[:1], say("after.project" if many else "after.project_one")]
        item = Item((code,) if code else (), (equation(sight, step),), tuple(says))
        yield Part(("W_O",), merged(attention), frozenset(["out"]), (item,))


def _joins(sight: Sight, step: Step) -> bool:
    """Whether a step only rearranges what attentions made, and joins it with nothing else."""
    return step.op not in ("cat", "stack") or len({sight.run.values[value].shape for value in step.refs}) == 1


def _merging(sight: Sight, step: Step) -> tuple[Message, ...]:
    """What a step does to the heads: back behind the tokens, or into one axis with their features."""
    before, after = sight.shape(step.refs[0]), sight.shape(step.results[0])
    old, new = ([axis.name for axis in shape] for shape in (before, after))
    if "H" not in old:
        return ()
    tokens = next((name for name in old if name in ("L", "L_q")), None)
    if "H" in new and tokens in new and old.index("H") < old.index(tokens) and new.index("H") > new.index(tokens):
        return (say("after.back", heads="H", tokens=str(tokens)),)
    whole = next((axis for axis in after if axis.name and axis.name.startswith("H·")), None)
    return (say("after.merge", whole=str(whole)),) if whole is not None and "H" not in new else ()
