"""ATT042: heads merged without moving the head axis back, so that a position holds results of several queries."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from attnlab.attention.graph import CASTS, VIEWS
from attnlab.checks.case import Case
from attnlab.checks.editing import code as code_of
from attnlab.checks.editing import own
from attnlab.checks.found import Edit, Found, Rule, Said
from attnlab.checks.reference import sides
from attnlab.checks.rows import (
    Cells,
    Merged,
    cells,
    distinct,
    elements,
    listed,
    merged,
    over_features,
    rows_of_places,
    split_wrongly,
    spread,
    table,
)
from attnlab.checks.rules.heads_split_by_view import RESHAPES
from attnlab.run import Step

_CUTS = frozenset(["chunk", "split", "split_with_sizes", "tensor_split"])
_JOINS = frozenset(["cat", "concat", "concatenate"])


def _look(case: Case) -> Iterator[Found]:
    cut = _undone(case)
    if cut is not None:
        yield _in_pieces(case, cut)
        return
    end = merged(case)
    found = None if end is None else cells(case, end.value)
    if end is None or found is None:
        return
    if over_features(case):
        yield from _of_channels(case, end, found)
        return
    shape = case.graph.shape(end.value)
    labels = _tokens(case, found)
    features = _mixed_axis(labels, found) if end.features is None else end.features
    mixed = None if features is None else _mixed_place(labels, shape, features)
    step = _joining(case, end)
    if mixed is not None and len(mixed) > 1:
        code, edits = _mended(case, step)
        yield Found(
            step,
            Said(
                "check.heads-merged-by-view.message",
                {
                    "op": step.op,
                    "old": str(list(case.graph.shape(step.refs[0]))),
                    "new": str(list(case.graph.shape(step.results[0]))),
                },
            ),
            Said(
                "check.heads-merged-by-view.evidence", {"tokens": ", ".join(map(str, mixed[:6])), "count": len(mixed)}
            ),
            Said("check.heads-merged-by-view.mend", {"code": code})
            if code
            else Said("check.heads-merged-by-view.advice"),
            edits,
        )
    elif mixed is None and end.features is not None:
        order = _order(case, found, shape, end)
        if order is not None:
            yield Found(
                step,
                Said("check.heads-merged-by-view.order"),
                Said("check.heads-merged-by-view.features", {"order": ", ".join(map(str, order[:8]))}),
                Said("check.heads-merged-by-view.advice"),
            )


def _of_channels(case: Case, end: Merged, found: Cells) -> Iterator[Found]:
    """Where features attend to features a result holds one of them at all tokens: a position is to hold one token."""
    held = sides(case, "q")
    if end.features is None or held is None or held[0] != "features" or held[1] != ("place",):
        return
    tokens, heads = int(found.inner.max()) + 1, case.attention.heads or 1
    mixed = _mixed_place(found.head // heads * tokens + found.inner, case.graph.shape(end.value), end.features)
    if mixed is None or len(mixed) < 2:
        return
    step = _joining(case, end)
    shapes = [str(list(case.graph.shape(number))) for number in (step.refs[0], step.results[0])]
    said = {"op": step.op, "old": shapes[0], "new": shapes[1]}
    evidence = {"tokens": ", ".join(map(str, mixed[:6])), "count": len(mixed)}
    yield Found(
        step,
        Said("check.heads-merged-by-view.channels", said),
        Said("check.heads-merged-by-view.channels-evidence", evidence),
        Said("check.heads-merged-by-view.channels-mend"),
    )


def _in_pieces(case: Case, cut: Step) -> Found:
    shape, pieces = str(list(case.graph.shape(cut.refs[0]))), len(cut.results)
    return Found(
        cut,
        Said("check.heads-merged-by-view.undone", {"code": code_of(cut)}),
        Said("check.heads-merged-by-view.undone-evidence", {"shape": shape, "pieces": pieces}),
        Said("check.heads-merged-by-view.undone-mend"),
    )


def _undone(case: Case) -> Step | None:
    """The step that cuts an attention's output into pieces which are joined again as they were."""
    number = case.attention.result
    for _ in range(6):
        users = [step for step in case.graph.consumers(number) if step.op in VIEWS | CASTS and step.results]
        if len(users) != 1:
            return None
        step = users[0]
        number, *others = step.results
        if step.op in _CUTS and others:
            joins = [user for user in case.graph.consumers(number) if user.op in _JOINS]
            again = [user for user in joins if user.refs == step.results and own(user)]
            shape = case.graph.shape(step.refs[0])
            same = [user for user in again if shape in map(case.graph.shape, user.results)]
            return step if same else None
    return None


def _tokens(case: Case, found: Cells) -> Tensor:
    """Of each element the query it belongs to: the token that its row of q came from, where heads share tokens."""
    rows = rows_of_places(case, "q")
    heads, count = case.attention.heads or 1, int(found.head.max()) + 1
    inside = found.head // (heads if count % heads == 0 else count) * (int(found.row.max()) + 1) + found.row
    if rows is None or bool((rows < 0).any()) or len(rows) < count:
        return inside
    seen = rows.reshape(-1)
    if len(distinct(seen)) == len(seen):  # each head has places of its own
        return inside
    return inside if split_wrongly(case, "q") is not None else rows[found.head, found.row]


def _mixed_place(labels: Tensor, shape: tuple[int, ...], features: tuple[int, ...]) -> list[int] | None:
    """The queries whose results stand in one position of the merged tensor, where each is a piece of its query's.

    Where all results of several queries stand in one position, they were put together on purpose.
    """
    place, _ = table(shape, features)
    flat, at = labels.reshape(-1), place.reshape(-1)
    low, high = _ends(flat, at)
    first, last = _ends(at, flat)
    if bool((low == high).all()) or bool((first == last).all()):
        return None
    position = int((low != high).nonzero()[0, 0])
    return distinct(flat[at == position])


def _ends(values: Tensor, groups: Tensor) -> tuple[Tensor, Tensor]:
    """The smallest and the largest value of each group; both −1 for a number that is no group."""
    count = int(groups.max()) + 1
    low = torch.full((count,), int(values.max()) + 1).scatter_reduce(0, groups, values, "amin")
    high = torch.full((count,), -1).scatter_reduce(0, groups, values, "amax")
    return torch.where(high < 0, high, low), high


def _mixed_axis(labels: Tensor, found: Cells) -> tuple[int, ...] | None:
    """An axis that holds both queries and features of one, where there is one."""
    for axis in range(labels.dim()):
        line = tuple(slice(None) if other == axis else 0 for other in range(labels.dim()))
        if len(distinct(labels[line])) > 1 and len(distinct(found.inner[line])) > 1:
            return (axis,)
    return None


def _joining(case: Case, end: Merged) -> Step:
    """The last step that changed the shape."""
    steps = [case.step(index) for index in case.attention.merge]
    return next(
        (
            step
            for step in reversed(steps)
            if step.op in RESHAPES and len(case.graph.shape(step.refs[0])) > len(case.graph.shape(step.results[0]))
        ),
        end.step,
    )


def _order(case: Case, found: Cells, shape: tuple[int, ...], end: Merged) -> list[int] | None:
    """The order in which the features of v stand in the merged output, where that is another than they had."""
    source = elements(case, "v")
    if source is None or end.features is None or case.attention.heads != case.attention.kv_heads or spread(case, "v"):
        return None
    place, feature = table(shape, end.features)
    head, inner = (item[place == 0] for item in (found.head, found.inner))
    if int(head.max()) >= len(source.feature):
        return None
    features = source.feature[head, 0, inner][feature[place == 0].argsort()]
    if len(distinct(features)) < len(features) or bool((features.diff() > 0).all()):
        return None
    return listed(features)


def _mended(case: Case, step: Step) -> tuple[str, tuple[Edit, ...]]:
    old, new = case.graph.shape(step.refs[0]), case.graph.shape(step.results[0])
    texts = [operand.text for operand in step.operands]
    fits = len(old) == 4 and len(new) == 3 and new == (old[0], old[2], old[1] * old[3])
    if step.op not in ("view", "reshape", "reshape_as", "view_as") or not fits or not all(texts) or step.source is None:
        return "", ()
    tensor = texts[0].removesuffix(".contiguous()")
    if (
        any(sign in tensor for sign in "+-*/@ ")
        and not (tensor.startswith("(") and tensor.endswith(")"))
        and "(" not in tensor[:1]
    ):
        tensor = f"({tensor})" if "(" not in tensor else tensor
    op = "reshape_as" if step.op.endswith("_as") else "reshape"
    code = f"{tensor}.transpose(1, 2).{op}({', '.join(texts[1:])})"
    return code, (Edit(step.source.span, code),)


RULE = Rule("ATT042", "heads-merged-by-view", attention=_look, unless=frozenset({"ATT021", "ATT026"}))
