"""ATT082: a token's q, k or v feels another token, before any attention.

Decided by where it happens. A view that exchanges tokens and features puts parts of several tokens in one row, and so
does one that cuts rows across axes (a patch is a box of them); a projection whose weight meets the tokens in the place
of the features mixes all of them; a norm over the tokens divides each by all. That q, k or v feels its neighbours by a
convolution, a recurrence or a shift is meant, and left alone.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from attnlab.attention.axes import roots_of
from attnlab.attention.graph import axes_of, axis_of
from attnlab.checks.case import Case, Name
from attnlab.checks.editing import code
from attnlab.checks.found import Found, Rule, Said
from attnlab.checks.leaks import behind, exchanges, felt_by_two, nudged, ragged
from attnlab.checks.leaks import feature_axes as summed
from attnlab.checks.positions import Positions, positions
from attnlab.checks.rows import distinct
from attnlab.checks.rows import feature_axes as made_by_weight
from attnlab.run import Step

NAMES: tuple[Name, ...] = ("q", "k", "v")
NORMS = frozenset(["norm", "vector_norm", "linalg_vector_norm"])


def _look(case: Case) -> Iterator[Found]:
    if case.attention.style not in ("written", "sdpa"):
        return
    place = positions(case.whole)
    yield from _by_view(case, place) or _by_cut(case) or _by_weight(case, place) or _by_norm(case, place)


# -- tokens and features exchanged by a view --------------------------------------------------------


def _by_view(case: Case, place: Positions) -> list[Found]:
    for name in NAMES:
        tokens = place.token_axis(case, "q" if name == "q" else "k")
        for item in exchanges(case, name, place) if tokens is not None else ():
            made = item.step.results[0]
            own = set(place.tokens_of(made, tokens)) if tokens is not None else set[int]()
            groups = (set(item.first), set(item.second))
            last = len(place.graph.shape(made)) - 1
            if place.graph.given(item.step.refs[0]) or item.second != (last,) or len(item.first) > 1:
                continue
            if not any(own & group and last not in group for group in groups):
                continue
            return [_view(item.step, min(own), place)]
    return []


def _view(step: Step, tokens: int, place: Positions) -> Found:
    old, new = place.graph.shape(step.refs[0]), place.graph.shape(step.results[0])
    lead = len(old) - len(new)
    flat = torch.arange(torch.Size(old).numel()).reshape(new)
    row = flat.select(tokens, 0).reshape(-1, new[-1])[0]
    features = old[tokens] if tokens < len(old) else 1
    inner = torch.Size(old[tokens + 1 :]).numel()
    places = distinct(row % inner) if inner > 1 else [0]
    rank = len(old)
    mend = (
        f".flatten({tokens + 1}).transpose({tokens}, {tokens + 1})" if lead > 0 else f".transpose({tokens}, {rank - 1})"
    )
    return Found(
        step,
        Said("check.token-leak.view", {"code": code(step), "old": str(list(old)), "new": str(list(new))}),
        Said(
            "check.token-leak.view-evidence",
            {"places": len(places), "tokens": inner, "channels": len(distinct(row // inner % features))},
        ),
        Said("check.token-leak.view-mend", {"code": mend}),
    )


def _by_cut(case: Case) -> list[Found]:
    """Rows that were cut out of several axes at once: parts of tokens that are no patch of whole ones."""
    for name in NAMES:
        found = ragged(case, name)
        if found is not None:
            params = {"code": code(found.step), "old": str(list(found.old)), "size": found.size}
            places = {"size": found.size, "places": " × ".join(map(str, found.sizes))}
            return [
                Found(
                    found.step,
                    Said("check.token-leak.cut", params),
                    Said("check.token-leak.cut-evidence", places),
                    Said("check.token-leak.cut-mend"),
                )
            ]
    return []


# -- a weight that meets the tokens -----------------------------------------------------------------


def _by_weight(case: Case, place: Positions) -> list[Found]:
    if not all(_mixes(case, name, place) for name in ("q", "k")):
        return []
    role = case.attention.q
    if role.project is None or role.x is None:
        return []
    step = case.step(role.project)
    gone = summed(case, "q")
    shape = case.graph.shape(role.x)
    felt = _felt_by_rows(case, role.x, gone[0] if gone else len(shape) - 1, step.results[0])
    if felt is None or gone is None:
        return []
    kind = "flat" if len(place.origins.axes(role.x)[gone[0]]) > 1 else "front"
    params = {"code": code(step), "shape": str(list(shape)), **({"axis": gone[0]} if kind == "front" else {})}
    return [
        Found(
            step,
            Said(f"check.token-leak.{kind}", params),
            Said("check.token-leak.felt", {"share": felt}),
            Said(f"check.token-leak.{kind}-mend"),
        )
    ]


def _mixes(case: Case, name: Name, place: Positions) -> bool:
    """Whether the weight that makes q or k sums over the tokens of x and makes new ones in their place."""
    role, tokens, gone = case.input(name), place.token_axis(case, name), summed(case, name)
    if role.project is None or role.x is None or tokens is None or gone is None or len(gone) != 1:
        return False
    step = case.step(role.project)
    made = made_by_weight(step, role.x, case.graph)
    axes = place.origins.axes(step.results[0])
    if made is None or not roots_of(tokens) <= {root for axis in made for root in roots_of(axes[axis])}:
        return False
    x, rows = place.origins.axes(role.x), sum(1 for part in tokens if part.size > 1)
    if rows != 1:
        return False
    count = tokens[0].size
    shape = case.graph.shape(role.x)
    if len(x[gone[0]]) > 1:  # tokens and features flattened into one axis
        return x[gone[0]][0].size == count
    return len(shape) > 2 and gone[0] < len(shape) - 1 and shape[gone[0]] == count and shape[-1] > 1


def _felt_by_rows(case: Case, source: int, axis: int, target: int) -> float | None:
    """How much of what a projection made feels two different places along an axis of what it read."""
    value = case.replay.double(source)
    if value is None or value.shape[axis] < 2:
        return None
    last = value.shape[axis] - 1
    felt = felt_by_two([{source: nudged(value, axis, 0)}, {source: nudged(value, axis, last)}], [target], case)
    share = 0.0 if felt is None else float(felt[target].float().mean())
    return share or None


# -- a norm over the tokens -------------------------------------------------------------------------


def _by_norm(case: Case, place: Positions) -> list[Found]:
    for name in ("q", "k"):
        role, tokens = case.input(name), place.token_axis(case, name)
        if tokens is None or role.project is None:
            continue
        for step in behind(role.entered, place):
            if step.index <= role.project:
                break
            number = _normed(step, place)
            axes = None if number is None else _over(step, place, number)
            if number is None or axes is None or len(axes) != 1:
                continue
            if axes[0] in place.tokens_of(number, tokens) and place.graph.shape(number)[axes[0]] > 1:
                felt = _felt_by_rows(case, number, axes[0], step.results[0])
                if felt is not None:
                    return [_norm(step, place, number, axes[0], felt)]
    return []


def _normed(step: Step, place: Positions) -> int | None:
    """What a step divides by its own length; None where it is no such step."""
    if step.op == "normalize":
        return step.refs[0]
    if step.op != "div" or len(step.refs) != 2:
        return None
    length = _length(step.refs[1], place)
    return step.refs[0] if length is not None and length.refs[0] == step.refs[0] else None


def _length(number: int, place: Positions) -> Step | None:
    """The norm behind a divisor, past a small number that is added and a clamp."""
    for _ in range(3):
        step = place.graph.maker(number)
        if step is None or not step.refs:
            return None
        if step.op in NORMS:
            return step
        if step.op not in ("add", "clamp", "clamp_min", "maximum", "unsqueeze"):
            return None
        number = step.refs[0]
    return None


def _over(step: Step, place: Positions, number: int) -> tuple[int, ...] | None:
    rank = len(place.graph.shape(number))
    if step.op == "normalize":
        axis = axis_of(step.arg("dim", 2, 1), rank)
        return None if axis is None else (axis,)
    length = _length(step.refs[1], place)
    if length is None:
        return None
    return axes_of(length, rank, 1 if length.op == "linalg_vector_norm" else 2)


def _norm(step: Step, place: Positions, number: int, axis: int, felt: float) -> Found:
    shape = place.graph.shape(number)
    return Found(
        step,
        Said("check.token-leak.norm", {"code": code(step), "axis": axis, "shape": str(list(shape))}),
        Said("check.token-leak.felt", {"share": felt}),
        Said("check.token-leak.norm-mend"),
    )


RULE = Rule(
    "ATT082",
    "token-leak",
    attention=_look,
    unless=frozenset(["ATT021", "ATT022", "ATT024", "ATT026", "ATT042", "ATT043", "ATT081", "ATT112"]),
)
