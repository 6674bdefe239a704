"""ATT081: a sample of the batch feels another sample.

Decided by nudging one sample of what the attention reads, and then another: where an element of the output moves both
times, it feels both. The first value that, held still, keeps them apart is where they meet. A batch norm in training
mode does this on purpose; statistics taken of data in a script, before any model, are left alone.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from attnlab.attention.axes import Axis
from attnlab.attention.graph import CASTS, DROPOUT, NORMS, POINTWISE, VIEWS
from attnlab.checks.case import Case, Name
from attnlab.checks.editing import code
from attnlab.checks.found import Found, Rule, Said
from attnlab.checks.leaks import REDUCTIONS, between, cause, exchanges, feature_axes, felt_by_two, nudged, sample_axis
from attnlab.checks.positions import Positions, positions
from attnlab.checks.rows import distinct
from attnlab.run import Step

NAMES: tuple[Name, ...] = ("q", "k", "v")


def _look(case: Case) -> Iterator[Found]:
    if case.attention.style not in ("written", "sdpa", "mha"):
        return
    place = positions(case.whole)
    yield from _by_view(case, place) or _within(case, place) or _before(case, place)


def _tokens(case: Case, name: Name, place: Positions) -> Axis | None:
    return place.token_axis(case, "q" if name == "q" else "k")


# -- samples and tokens exchanged by a view ---------------------------------------------------------


def _by_view(case: Case, place: Positions) -> list[Found]:
    for name in NAMES:
        tokens = _tokens(case, name, place)
        for item in exchanges(case, name, place) if tokens is not None else ():
            made = item.step.results[0]
            rank = len(place.graph.shape(made))
            groups = (item.first, item.second)
            own = place.tokens_of(made, tokens) if tokens is not None else ()
            if rank - 1 in (*item.first, *item.second) or not any(set(own) & set(group) for group in groups):
                continue
            old, new = place.graph.shape(item.step.refs[0]), place.graph.shape(made)
            if len(old) != len(new) or len(item.first) + len(item.second) != 2:
                continue
            was, now = (0, 1) if set(own) & set(item.first) else (1, 0)
            mixed = _mixed(old, new, item.first[0] + was, item.first[0] + now)
            return [
                Found(
                    item.step,
                    Said(
                        "check.sample-leak.view",
                        {"code": code(item.step), "old": str(list(old)), "new": str(list(new))},
                    ),
                    Said("check.sample-leak.view-evidence", {"samples": mixed}),
                    Said("check.sample-leak.view-mend", {"a": item.first[0], "b": item.second[0]}),
                )
            ]
    return []


def _mixed(old: tuple[int, ...], new: tuple[int, ...], was: int, now: int) -> str:
    """Of which samples (axis `was` of the old shape) the one is made that stands first along axis `now` of the new."""
    index = torch.arange(old[was]).reshape([-1 if place == was else 1 for place in range(len(old))]).expand(old)
    return ", ".join(map(str, distinct(index.reshape(new).select(now, 0))))


# -- from x to the output ---------------------------------------------------------------------------


def _within(case: Case, place: Positions) -> list[Found]:
    sources: dict[int, int] = {}
    for name in NAMES:
        role, tokens, features = case.input(name), _tokens(case, name, place), feature_axes(case, name)
        if role.x is None:
            if case.attention.style != "mha" and not _is_read(role.entered, sources, place):
                role_axis = _raw(case, name, place)
                if role_axis is not None:
                    sources[role.entered] = role_axis
            continue
        if tokens is None or features is None:
            if case.attention.style == "mha" and tokens is not None:
                features = (len(place.graph.shape(role.x)) - 1,)
            else:
                return []
        axis = sample_axis(role.x, tokens, features, place)
        if axis is not None:
            sources.setdefault(role.x, axis)
    sizes = {place.graph.shape(number)[axis] for number, axis in sources.items()}
    if not sources or len(sizes) != 1:
        return []
    return _apart(case, place, sources, case.attention.result)


def _is_read(number: int, sources: dict[int, int], place: Positions) -> bool:
    return any(place.reads(number, source) for source in sources)


def _raw(case: Case, name: Name, place: Positions) -> int | None:
    tokens = _tokens(case, name, place)
    entered = case.input(name).entered
    rank = len(place.graph.shape(entered))
    return (
        None
        if tokens is None or rank < 3
        else sample_axis(entered, tokens, (rank - 1, rank - 2) if rank > 3 else (), place)
    )


def _apart(case: Case, place: Positions, sources: dict[int, int], target: int) -> list[Found]:
    path = between(tuple(sources), target, place)
    values = {number: case.replay.double(number) for number in sources}
    if not path or any(value is None or not value.is_floating_point() for value in values.values()):
        return []
    if any(_is_meant(case.graph.maker(number)) for number in path):
        return []
    given: list[dict[int, Tensor]] = [
        {number: nudged(value, sources[number], index) for number, value in values.items() if value is not None}
        for index in (0, 1)
    ]
    felt = felt_by_two(given, [target], case)
    if felt is None or not bool(felt[target].any()):
        return []
    number = cause(given, path, case)
    step = None if number is None else case.graph.maker(number)
    if step is None or step.source is None:
        return []
    share = float(felt[target].float().mean())
    return [_found(step, share, case, number if number is not None else target)]


def _found(step: Step, share: float, case: Case, number: int) -> Found:
    kind = "reduced" if step.op in REDUCTIONS else "mixed"
    shape = {} if kind == "reduced" else {"shape": str(list(case.graph.shape(number)))}
    return Found(
        step,
        Said(f"check.sample-leak.{kind}", {"code": code(step), **shape}),
        Said("check.sample-leak.evidence", {"share": share}),
        Said(f"check.sample-leak.{kind}-mend"),
    )


def _is_meant(step: Step | None) -> bool:
    """A batch norm, also one by hand: statistics that no gradient goes through are kept for later."""
    return step is not None and step.op in ("batch_norm", "native_batch_norm", "sync_batch_norm", "detach")


# -- before x ---------------------------------------------------------------------------------------


def _before(case: Case, place: Positions) -> list[Found]:
    for name in NAMES:
        role, tokens = case.input(name), _tokens(case, name, place)
        if role.x is None or tokens is None:
            continue
        leaves = _leaves(role.x, place)
        shape = place.graph.shape(role.x)
        if len(leaves) != 1 or leaves[0] == role.x or sorted(place.graph.shape(leaves[0])) != sorted(shape):
            continue
        axis = sample_axis(leaves[0], tokens, (len(shape) - 1,), place)
        if axis is None:
            continue
        found = _apart(case, place, {leaves[0]: axis}, role.x)
        if found and not _in_script(found[0]):
            return found
    return []


def _in_script(found: Found) -> bool:
    """Whether a statistic was taken at the top of a script, where data are made ready."""
    step = found.at
    return isinstance(step, Step) and step.source is not None and step.source.function == "<module>"


def _leaves(number: int, place: Positions) -> list[int]:
    """What a value was made of, element by element or by statistics."""
    waiting, seen, found = [number], {number}, list[int]()
    while waiting and len(seen) < 60:
        near = waiting.pop()
        step = place.graph.maker(near)
        inner = step is not None and step.op in (VIEWS | POINTWISE | REDUCTIONS | NORMS) - {"batch_norm", "softmax"}
        if step is None or not inner or place.origins.projects(step) is not None or near not in step.results:
            found.append(near)
            continue
        read = step.refs[:1] if step.op in CASTS | DROPOUT | NORMS else step.refs
        data = [item for item in read if item < near and not place.free(item)]
        if not data:
            found.append(near)
        for item in data:
            if item not in seen:
                seen.add(item)
                waiting.append(item)
    return found


RULE = Rule(
    "ATT081",
    "sample-leak",
    attention=_look,
    unless=frozenset(
        [
            "ATT001",
            "ATT002",
            "ATT021",
            "ATT024",
            "ATT025",
            "ATT041",
            "ATT042",
            "ATT043",
            "ATT044",
            "ATT053",
            "ATT054",
            "ATT112",
        ]
    ),
)
