"""Several tensors made one: `cat` and `stack`."""

from __future__ import annotations

from collections.abc import Iterator

from attnlab.diagnosis.broadcasting import inserted
from attnlab.diagnosis.case import Case, without
from attnlab.diagnosis.changes import Change, Key, Plain, method, number
from attnlab.diagnosis.data import Diagnosis, Message, Shape


def diagnose(case: Case) -> Diagnosis | None:
    """A diagnosis of `cat` and `stack`; None where it is none of them, or its shapes do not explain the failure."""
    if case.step.op not in ("cat", "stack"):
        return None
    keys = [key for key in case.tensors() if isinstance(key, tuple)]
    place = case.place("dim", 1)
    dim = 0 if place is None else case.arg(place)
    if len(keys) < 2 or not isinstance(dim, int):
        return None
    shapes = [case.shape(key) for key in keys]
    common = _common(shapes)
    odd = next((key for key, shape in zip(keys, shapes, strict=True) if len(shape) != len(common)), None)
    if odd is not None:
        first = keys[shapes.index(common)]
        params = {"left": case.name(first), "left_rank": len(common), "right": case.name(odd)}
        reason = Message("diagnosis.join.rank", {**params, "right_rank": len(case.shape(odd))})
        return case.diagnosis([case.row(key) for key in keys], reason, case.best(_raised(case, odd, common, dim)))
    free = dim % len(common) if case.step.op == "cat" else None
    axes = [axis for axis in range(len(common)) if axis != free and len({shape[axis] for shape in shapes}) > 1]
    if not axes:
        return None
    one, other = keys[0], next(key for key in keys if case.shape(key)[axes[0]] != shapes[0][axes[0]])
    params: dict[str, str | int] = {"left": case.name(one), "right": case.name(other), "axis": axes[0]}
    params |= {"left_size": case.size(one, axes[0]), "right_size": case.size(other, axes[0])}
    if case.step.op == "cat":
        params["dim"] = dim
    reason = Message(f"diagnosis.join.{case.step.op}", params)
    changes = [*_expanded(case, keys, axes), *_turned(case, keys), *_along(case, shapes, place)]
    rows = [case.row(key, axes) for key in keys]
    return case.diagnosis(rows, reason, case.best(changes) if case.fails_again else [])


def _common(shapes: list[Shape]) -> Shape:
    """The shape whose number of axes most have."""
    ranks = [len(shape) for shape in shapes]
    return max(shapes, key=lambda shape: (ranks.count(len(shape)), len(shape)))


def _raised(case: Case, odd: Key, common: Shape, dim: int) -> Iterator[Change]:
    """New axes for the one that has too few; an axis of size 1 taken away from one that has too many."""
    chain, shape = case.chain(odd), case.shape(odd)
    axis = dim % len(common)
    for key in case.tensors():
        longer, other = case.chain(key), case.shape(key)
        for i, size in enumerate(other):
            if longer is not None and len(other) == len(common) > len(shape) and size == 1:
                yield Change({key: longer.then(method("squeeze", i))}, cost=0.9)
    if chain is None:
        return
    target = tuple(1 if i == axis else size for i, size in enumerate(common))
    if case.step.op == "cat" and len(common) - len(shape) == 1 and shape == without(common, axis):
        yield Change({odd: chain.then(method("unsqueeze", axis))})
        return
    for cost, link in inserted(shape, target):
        yield Change({odd: chain.then(link)}, cost=cost)


def _expanded(case: Case, keys: list[tuple[int, int]], axes: list[int]) -> Iterator[Change]:
    """One that has size 1 where the others have more, repeated: a class token for each sample."""
    for key in keys:
        shape, chain = case.shape(key), case.chain(key)
        other = next(item for item in keys if item != key)
        if chain is None or any(shape[axis] != 1 for axis in axes):
            continue
        wanted = tuple(case.shape(other)[axis] if axis in axes else -1 for axis in range(len(shape)))
        named = case.chain(other)
        texts = [
            f"{named.text}.size({axis})" if named and size != -1 else str(size) for axis, size in enumerate(wanted)
        ]
        yield Change({key: chain.then(method("expand", *wanted, text=", ".join(texts)))}, cost=1.05)


def _turned(case: Case, keys: list[tuple[int, int]]) -> Iterator[Change]:
    """One whose first two axes, or last two, are exchanged."""
    for key in reversed(keys):
        chain, rank = case.chain(key), len(case.shape(key))
        if chain is not None and rank > 1:
            for pair in {(0, 1), (-2, -1)} if rank > 2 else {(0, 1)}:
                yield Change({key: chain.then(method("transpose", *pair))}, cost=1.5)


def _along(case: Case, shapes: list[Shape], place: int | None) -> Iterator[Change]:
    """Another axis to join along; `cat` in place of `stack`."""
    rank = len(shapes[0])
    for axis in range(rank):
        if all(without(shape, axis) == without(shapes[0], axis) for shape in shapes):
            near = axis - rank if axis == rank - 1 else axis
            dim = {place: Plain(near, str(near))} if place is not None else {}
            added = () if place is not None else (number(near, "dim"),)
            function = "" if case.step.op == "cat" else "torch.cat"
            yield Change(dim, added=added, function=function, cost=1.0)
