"""ATT043: what one projection made for several roles is cut along another axis than its features."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from attnlab.checks.case import Case, Name
from attnlab.checks.found import Found, Rule, Said
from attnlab.checks.rows import Elements, Made, distinct, listed, made, reached
from attnlab.checks.weights import ROLES
from attnlab.run import Step


def _look(case: Case) -> Iterator[Found]:
    met: list[tuple[Name, Made, Elements]] = []
    for name in ROLES:
        source, own = made(case, name), reached(case, name)
        if source is None or own is None or not source.projected:
            continue
        for other, theirs, elements in met:
            if theirs.value == source.value and _overlap(own, elements):
                yield _found(case, (name, source, own), (other, theirs, elements))
                return
        met.append((name, source, own))


def _overlap(own: Elements, theirs: Elements) -> bool:
    """Whether two roles take the same features, and are not one and the same tensor."""
    return len(_shared(own, theirs)) > 0 and not _equal(own, theirs)


def _shared(own: Elements, theirs: Elements) -> list[int]:
    """The features that both take."""
    count = int(max(own.feature.max(), theirs.feature.max())) + 1
    both = torch.stack([torch.bincount(item.feature.reshape(-1), minlength=count) > 0 for item in (own, theirs)])
    return listed(both.all(0).nonzero())


def _equal(own: Elements, theirs: Elements) -> bool:
    """Whether two roles take the very same elements: one tensor serves both."""
    count = int(max(own.feature.max(), theirs.feature.max())) + 1
    one, other = ((item.place * count + item.feature).reshape(-1).sort().values for item in (own, theirs))
    return one.shape == other.shape and bool((one == other).all())


def _found(case: Case, role: tuple[Name, Made, Elements], other: tuple[Name, Made, Elements]) -> Found:
    name, source, own = role
    earlier, _, elements = other
    features = _shared(own, elements)
    places = [distinct(item.place) for item in (own, elements)]
    apart = places[0] != places[1]
    step = _first(case, source) if apart else _piece(case, source)
    if step is None:
        step = case.step(case.input(name).project or 0)
    shape = str(list(case.graph.shape(source.value)))
    evidence = {
        "role": name,
        "other": earlier,
        "count": len(features),
        "all": int(max(own.feature.max(), elements.feature.max())) + 1,
    }
    counts = {"tokens": len(places[0]), "others": len(places[1])}
    return Found(
        step,
        Said(
            f"check.fused-qkv-cut.{'across' if apart else 'overlap'}", {"shape": shape, "role": name, "other": earlier}
        ),
        Said(f"check.fused-qkv-cut.{'places' if apart else 'features'}", {**evidence, **(counts if apart else {})}),
        Said("check.fused-qkv-cut.mend"),
    )


def _first(case: Case, source: Made) -> Step | None:
    """The first step after the projection that changes the shape."""
    graph = case.graph
    return next((s for s in source.steps if graph.shape(s.refs[0]) != graph.shape(s.results[0])), None)


def _piece(case: Case, source: Made) -> Step | None:
    """The step that takes a role's own piece."""
    graph = case.graph
    return (
        next(
            (
                s
                for s in source.steps
                if s.op in ("getitem", "narrow", "select", "split", "chunk", "index_select", "unbind")
            ),
            _first(case, source),
        )
        if graph
        else None
    )


RULE = Rule("ATT043", "fused-qkv-cut", attention=_look)
