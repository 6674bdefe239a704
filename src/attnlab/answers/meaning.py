"""What an attention became, told from its roles in both runs: a change may run, and mean something else."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from attnlab.answers.names import Carried, token_axes
from attnlab.answers.sides import Sides
from attnlab.attention import Attention
from attnlab.explanation.data import Message, say
from attnlab.explanation.sight import number

Measures: TypeAlias = "Mapping[int, Mapping[str, float]]"

# Factors that differ by less than this share are one.
CLOSE = 1e-4


def meaning(sides: Sides, carried: tuple[Carried, Carried]) -> Iterator[Message]:
    """What is no longer what it was: axes that meet, and what the attentions are."""
    yield from _meetings(sides, carried)
    one, other = sides.attentions
    if len(one) != len(other):
        yield say("whatif.meaning.count", before=len(one), after=len(other))
        return
    seen: set[Message] = set()
    for a, b in zip(one, other, strict=True):
        for message in _changed(a, b, sides, carried):
            if message not in seen:
                seen.add(message)
                yield message


def _meetings(sides: Sides, carried: tuple[Carried, Carried]) -> Iterator[Message]:
    """The first step that takes two axes for one; others follow from it."""
    before = {(sides.step_b.get(meeting.step), meeting.names) for meeting in carried[0].meetings}
    new = [meeting for meeting in carried[1].meetings if (meeting.step, meeting.names) not in before]
    source = sides.b.steps[new[0].step].source if new else None
    if source is not None:
        pairs = [" = ".join(meeting.names) for meeting in new if meeting.step == new[0].step]
        yield say("whatif.meaning.meet", line=source.span.line, code=source.text, pairs=tuple(dict.fromkeys(pairs)))


def _changed(a: Attention, b: Attention, sides: Sides, carried: tuple[Carried, Carried]) -> Iterator[Message]:
    names = [
        tuple(None if axis is None else side.name(axis) for axis in token_axes(run, attention))
        for run, attention, side in zip((sides.a, sides.b), (a, b), carried, strict=True)
    ]
    if names[0] != names[1] and None not in (*names[0], *names[1]):
        yield say("whatif.meaning.scores", before=" × ".join(map(str, names[0])), after=" × ".join(map(str, names[1])))
    if a.normalised != b.normalised:
        yield say(f"whatif.meaning.normalised.{b.normalised}")
    if a.summed != b.summed:
        yield say(f"whatif.meaning.summed.{b.summed}")
    if a.factor is not None and b.factor is not None and abs(a.factor - b.factor) > CLOSE * abs(a.factor):
        yield say("whatif.meaning.factor", before=number(a.factor), after=number(b.factor))
    if (a.causal, b.causal) in ((True, False), (False, True)):
        yield say("whatif.meaning.causal" if b.causal else "whatif.meaning.not_causal")
    elif len(a.masks) != len(b.masks):
        yield say("whatif.meaning.masks", before=len(a.masks), after=len(b.masks))
    if a.heads is not None and b.heads is not None and a.heads != b.heads:
        yield say("whatif.meaning.heads", before=a.heads, after=b.heads)
    if a.kind is not None and b.kind is not None and a.kind != b.kind:
        yield say(f"whatif.meaning.{b.kind}")


def spread(sides: Sides, measures: tuple[Measures, Measures], drawn: bool) -> Iterator[Message]:
    """How the weights of the first attention are spread over the keys, before and after, where both were measured.

    `drawn`: the parameters were drawn anew, so only another number of keys says something.
    """
    one, other = sides.attentions
    if (
        not one
        or len(one) != len(other)
        or one[0].normalised != other[0].normalised
        or one[0].weights.value in sides.restless
    ):
        return
    a, b = (side.get(found[0].weights.step) for side, found in zip(measures, sides.attentions, strict=True))
    if a is None or b is None or (drawn and one[0].keys == other[0].keys):
        return
    if any(math.isnan(number) for number in (*a.values(), *b.values())):
        return
    numbers = {name: (f"{abs(a[name]):.2f}", f"{abs(b[name]):.2f}") for name in ("entropy", "largest")}
    if any(before != after for before, after in numbers.values()):
        yield from (say(f"whatif.{name}", before=before, after=after) for name, (before, after) in numbers.items())


def sizes(sides: Sides) -> Iterator[Message]:
    """Which letters went from which size to which; those that went together, in one sentence."""
    found: dict[str, set[tuple[int, int]]] = {}
    called: dict[str, str] = {}
    for pair in sides.comparison.pairs:
        for one, other in zip(sides.a.steps[pair.a].results, sides.b.steps[pair.b].results, strict=False):
            shapes = sides.a.values[one].shape, sides.b.values[other].shape
            for axis, name in enumerate(sides.axes.names(one) if len(shapes[0]) == len(shapes[1]) else ()):
                if name is not None and "·" not in name:
                    found.setdefault(name, set()).add((shapes[0][axis], shapes[1][axis]))
                    called[name] = called.get(name) or _called(sides, one, axis)
    together: dict[tuple[str, int, int], list[str]] = {}
    for name, answers in found.items():
        before, after = next(iter(answers))
        if len(answers) == 1 and before != after:
            together.setdefault((called[name], before, after), []).append(name)
    for (text, before, after), names in together.items():
        if text and text not in names:
            yield say("whatif.size_called", names=tuple(names), called=text, before=before, after=after)
        else:
            yield say("whatif.size", names=tuple(names), before=before, after=after)


def _called(sides: Sides, value: int, axis: int) -> str:
    return next((name.text for name in sides.axes.called(value, axis) if name.simple), "")


def grid(sides: Sides) -> Iterator[Message]:
    """How many scores the first attention has, queries × keys, where that moved."""
    one, other = sides.attentions
    if one and other:
        before, after = ((item[0].queries, item[0].keys) for item in (one, other))
        if before != after and None not in (*before, *after):
            yield say("whatif.grid", before=_product(*before), after=_product(*after))


def _product(queries: int | None, keys: int | None) -> str:
    return f"{queries} × {keys} = {(queries or 0) * (keys or 0):,}"
