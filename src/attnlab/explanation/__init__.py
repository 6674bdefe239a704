"""A Run and its attentions as messages in reading order: which sentence, with which parameters. None stands here.

explanation = explain(run, groups, axes)

sight ─── shapes with names, code with lines ───┐
formula ─ the formula as the code has it ───────┤
inputs ── X, Q, K, V ──┐                        │
body ──── Kᵀ … · V ────┼── Told ── one attention┤
fused ─── all in one ──┤                        │
after ─── merge, W_O ──┘                        │
weights, examples ── the run's own numbers ─────┤
steps ─── why one step is legal ── rest ────────┴── Explanation
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from attnlab.attention import Attention
from attnlab.axes import Axes
from attnlab.explanation.data import Explanation, Message, Told, say
from attnlab.explanation.overview import chosen, overview
from attnlab.explanation.rest import INNER, items, lines
from attnlab.explanation.sight import Sight
from attnlab.explanation.told import tell
from attnlab.run import Run

__all__ = ["Explanation", "Message", "explain", "notes", "say", "summary"]


def explain(
    run: Run, groups: Sequence[Sequence[Attention]], axes: Axes, layer: str | None = None, everything: bool = False
) -> Explanation:
    """Everything there is to say about a run.

    `groups` are its attentions, those that are alike together: each group is told once. `layer` chooses one
    attention by its number, from 1, or by the path of its module; `everything` asks for each step of the run.
    Raises `NoLayer` where `layer` names none.
    """
    shown = list(groups) if layer is None else chosen(groups, layer)
    told = tuple(tell(Sight(run, axes, group[0].index), group) for group in shown)
    sight = Sight(run, axes)
    apart = {step for attention in told for step in attention.steps}
    steps, steps_left = ((), 0) if groups else items(sight)
    rest, rest_left = ((), 0) if not (groups or everything) else lines(sight, apart, everything)
    return Explanation(
        program=run.program.name,
        summary=summary(run, groups, layer),
        overview=overview(run, groups) if len(groups) > 1 and layer is None else (),
        told=_once(told),
        steps=steps,
        rest=rest if layer is None or everything else (),
        complete=everything,
        left_out=steps_left + (rest_left if layer is None else 0),
        notes=tuple(notes(run)),
    )


# What is true of every attention is said of the first.
_GENERAL = frozenset(
    [
        *(
            "inputs.roles",
            "inputs.roles_cross",
            "inputs.stored",
            "inputs.heads_first",
            "body.turned_why",
            "body.scores",
        ),
        *("body.softmax", "body.output", "after.back", "after.project", "after.project_one"),
    ]
)


def _once(told: tuple[Told, ...]) -> tuple[Told, ...]:
    """The attentions, with what is true of each said only once."""
    said: set[str] = set()
    found: list[Told] = []
    for attention in told:
        parts = tuple(
            replace(
                part,
                items=tuple(replace(item, says=tuple(m for m in item.says if m.id not in said)) for item in part.items),
            )
            for part in attention.parts
        )
        found.append(replace(attention, parts=parts))
        said |= {m.id for part in parts for item in part.items for m in item.says if m.id in _GENERAL}
    return tuple(found)


def summary(run: Run, groups: Sequence[Sequence[Attention]], layer: str | None = None) -> tuple[Message, ...]:
    """How many attentions were found."""
    count = sum(map(len, groups))
    if not run.steps:
        return (say("summary.empty"),)
    if count == 0:
        return say("summary.none"), say("summary.none_why")
    if layer is not None:
        return (say("summary.chosen", layer=layer, count=count),)
    if count == 1:
        return (say("summary.one"),)
    if len(groups) == 1:
        return (say("summary.alike", count=count),)
    return (say("summary.many", count=count, kinds=len(groups)),)


def notes(run: Run) -> Iterator[Message]:
    """What a reader must know of the record: what was only counted, what was lost."""
    counted = [count for count in run.counted if count.op not in INNER]
    if counted:
        yield say("note.counted", times=sum(count.times for count in counted), places=len(counted))
    if run.lost:
        yield say("note.lost", count=len(run.lost), first=run.lost[0])
