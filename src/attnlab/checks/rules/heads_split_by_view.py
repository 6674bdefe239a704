"""ATT041: heads split by `view` alone, so that a head's rows hold pieces of one token side by side."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from attnlab.attention.graph import Graph
from attnlab.checks.case import Case, Name
from attnlab.checks.found import Edit, Found, Rule, Said
from attnlab.checks.rows import Made, distinct, made, reached, slanted, split_wrongly
from attnlab.checks.weights import ROLES
from attnlab.run import Step

RESHAPES = frozenset(["view", "reshape", "unsafe_view", "view_as", "reshape_as", "unflatten", "flatten"])


def _look(case: Case) -> Iterator[Found]:
    for name in ROLES:
        source = made(case, name)
        found = None if source is None else split_wrongly(case, name)
        slant = found is None
        found = slanted(case, name) if source is not None and found is None else found
        if source is None or found is None or (source.projected and overlapping(case, name)):
            continue
        step = cutting(source, case.graph)
        if step is None:
            continue
        old, new = case.graph.shape(step.refs[0]), case.graph.shape(step.results[0])
        code, edits = _mended(step, old, new)
        yield Found(
            step,
            Said(
                "check.heads-split-by-view.slanted-message" if slant else "check.heads-split-by-view.message",
                {"role": name, "op": step.op, "old": str(list(old)), "new": str(list(new))},
            ),
            Said(
                "check.heads-split-by-view.slanted-evidence" if slant else "check.heads-split-by-view.evidence",
                {"token": found.place, "rows": ", ".join(map(str, found.rows[:6])), "role": name},
            ),
            Said("check.heads-split-by-view.mend", {"code": code})
            if code and not slant
            else Said("check.heads-split-by-view.advice"),
            () if slant else edits,
        )


def overlapping(case: Case, name: Name) -> bool:
    """Whether another role takes features of the same projection that this one takes too: it is cut wrongly."""
    role = case.input(name)
    own = reached(case, name)
    for other in ROLES:
        if other == name or own is None or case.input(other).project != role.project:
            continue
        theirs = reached(case, other)
        if theirs is not None and set(distinct(own.feature)) & set(distinct(theirs.feature)):
            return True
    return False


def cutting(source: Made, graph: Graph) -> Step | None:
    """The first change of shape that is no split of the last axis and no joining of the axes before it."""
    for step in source.steps:
        if step.op not in RESHAPES or not step.results:
            continue
        old, new = graph.shape(step.refs[0]), graph.shape(step.results[0])
        lead = old[:-1]
        if (
            old == new
            or (lead and new[: len(lead)] == lead)
            or (new[-1:] == old[-1:] and prod(new[:-1]) == prod(lead) and len(new) < len(old))
        ):
            continue
        return step
    return None


def _mended(step: Step, old: tuple[int, ...], new: tuple[int, ...]) -> tuple[str, tuple[Edit, ...]]:
    """`x.view(B, L, H, d).transpose(1, 2)` in the user's own words, for `x.view(B, H, L, d)`."""
    texts = [operand.text for operand in step.operands]
    fits = len(old) == 3 and len(new) == 4 and old[:2] == (new[0], new[2]) and old[2] == new[1] * new[3]
    if step.op not in ("view", "reshape") or not fits or len(texts) != 5 or not all(texts) or step.source is None:
        return "", ()
    tensor, batch, heads, length, width = texts
    sizes = ", ".join((batch, length, heads, width))
    code = f"{tensor}.{step.op}({sizes}).transpose(1, 2)"
    return code, (Edit(step.source.span, code),)


RULE = Rule("ATT041", "heads-split-by-view", attention=_look, unless=frozenset({"ATT021", "ATT026", "ATT082"}))
