"""ATT059: a causal mask and a padding mask are joined so that a key passes if either lets it pass.

Decided by the two masks' values where they are joined, one of them the padding and the other a causal triangle, and
by what the queries see when all scores are equal. So are the two of a pair, the padding along the keys and the same
padding along the queries: joined by or, a real token sees all padding. A prefix that is read both ways looks alike; it
is told apart by where the mask comes from: a pad id, or lengths of which one is the whole.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from attnlab.checks.case import Case
from attnlab.checks.editing import code, own
from attnlab.checks.found import Edit, Found, Rule, Said
from attnlab.checks.masking import Sight, given_masks, makers, sight
from attnlab.checks.padding import Padding, equal, paddings
from attnlab.run import Step

_EITHER = frozenset(["bitwise_or", "logical_or", "add", "maximum"])
_BOTH = frozenset(["bitwise_and", "logical_and", "mul", "minimum"])


def _look(case: Case) -> Iterator[Found]:
    view = sight(case)
    if view is None or not view.square:
        return
    halves = _halves(case)
    if halves is not None:
        yield _in_halves(halves)
        return
    for padding in paddings(case):
        pair = _paired(case, padding)
        if pair is not None and bool((view.seen & padding.kept[:, :, None] & ~padding.kept[:, None, :]).any()):
            yield _in_pairs(pair, view, padding)
            return
        if not padding.sure:
            continue
        step = _joined(case, padding)
        seen = view.seen[padding.mixed]
        later = torch.ones(view.seen.shape[-2:], dtype=torch.bool).triu(1)
        if step is None or not bool((view.seen & later).any()):
            continue
        kept = padding.kept[padding.mixed]
        mend, edits = _mend(step)
        yield Found(
            step,
            Said("check.masks-joined-by-or.message", {"code": code(step)}),
            Said(
                "check.masks-joined-by-or.evidence",
                {
                    "later": int((view.seen[0] & later).sum()),
                    "all": int(later.sum()),
                    "padding": int((seen & ~kept[:, None, :]).any(1).sum(-1).max()) if seen.shape[0] else 0,
                },
            ),
            mend,
            edits,
        )
        return


def _halves(case: Case) -> Step | None:
    """Where two half planes, one of what came before and one of what comes later, are joined to everything, or nothing.

    The two sides of a window, that is: each hides something, and together they hide nothing.
    """
    for step in makers(given_masks(case), case.graph):
        if step.op not in _EITHER | _BOTH or len(step.refs) != 2 or not step.results or not own(step):
            continue
        made, *sides = (case.replay.value(number) for number in (step.results[0], *step.refs))
        if made is None or made.dtype != torch.bool or bool((made != (step.op in _EITHER)).any()):
            continue
        held = [_half(side, step.op in _EITHER) for side in sides]
        if set(held) == {"before", "later"}:
            return step
    return None


def _half(mask: Tensor | None, keeps: bool) -> str | None:
    """Which half plane a mask of one step along the diagonals lets through (or drops); None where it is none."""
    if mask is None or mask.dtype != torch.bool or mask.dim() < 2 or mask.shape[-1] != mask.shape[-2]:
        return None
    size = mask.shape[-1]
    grid = mask.reshape(-1, size, size)[0]
    if bool((mask.reshape(-1, size, size) != grid).any()) or bool((grid == grid[0, 0]).all()):
        return None
    for shift in range(-size, size + 1):
        lower = torch.ones(size, size, dtype=torch.bool).tril(shift)
        if bool((grid == lower).all()) or bool((grid == ~lower).all()):
            return "before" if bool((grid == lower).all()) == keeps else "later"
    return None


def _in_halves(step: Step) -> Found:
    mend, edits = _mend(step)
    return Found(
        step,
        Said("check.masks-joined-by-or.message", {"code": code(step)}),
        Said("check.masks-joined-by-or.halves-evidence"),
        mend,
        edits,
    )


def _paired(case: Case, padding: Padding) -> Step | None:
    """Where the padding along one axis meets the same padding along the next, and either is enough."""
    shape_of = case.graph.shape
    for step in makers(given_masks(case), case.graph):
        if step.op not in _EITHER | _BOTH or len(step.refs) != 2 or not step.results:
            continue
        wanted = padding.keep if step.op in _EITHER else ~padding.keep
        tensors = [case.replay.value(number) for number in step.refs]
        rows, keys = shape_of(step.results[0])[-2:] if len(shape_of(step.results[0])) > 1 else (0, 1)
        along = {shape_of(number)[-2:] for number in step.refs}
        if rows != keys or along != {(rows, 1), (1, keys)} or any(tensor is None for tensor in tensors):
            continue
        if all(tensor is not None and _is_same(tensor, wanted) for tensor in tensors):
            return step
    return None


def _is_same(tensor: Tensor, wanted: Tensor) -> bool:
    """Whether a mask is true where a table [B, L] is, whatever axes of one element it has."""
    return tensor.numel() == wanted.numel() and bool((tensor.reshape(wanted.shape).bool() == wanted).all())


def _in_pairs(step: Step, view: Sight, padding: Padding) -> Found:
    place = int(padding.mixed.int().argmax())
    kept = padding.kept[place]
    mend, edits = _mend(step)
    return Found(
        step,
        Said("check.masks-joined-by-or.message", {"code": code(step)}),
        Said(
            "check.masks-joined-by-or.pair-evidence",
            {
                "sample": int(padding.owner[place]),
                "real": int(kept.sum()),
                "padded": int((~kept).sum()),
                "seen": int(view.seen[place][kept][:, ~kept].any(0).sum()),
            },
        ),
        mend,
        edits,
    )


def _joined(case: Case, padding: Padding) -> Step | None:
    for step in makers(given_masks(case), case.graph):
        if step.op not in _EITHER | _BOTH or len(step.refs) != 2 or not step.results:
            continue
        wanted = padding.keep if step.op in _EITHER else ~padding.keep
        for number, other in (step.refs, step.refs[::-1]):
            if equal(number, wanted, case) and _is_triangle(case.replay.value(other), step.op in _EITHER):
                return step
    return None


def _is_triangle(mask: Tensor | None, keeps: bool) -> bool:
    """Whether a mask is true up to the diagonal (it keeps), or behind it (it drops); or a window is kept."""
    if mask is None or mask.dim() < 2 or mask.shape[-1] != mask.shape[-2] or mask.shape[-1] < 2:
        return False
    if mask.is_floating_point() and not bool(((mask == 0) | (mask == 1)).all()):
        return False
    lower = torch.ones(mask.shape[-2:], dtype=torch.bool).tril()
    kept = mask.bool() if keeps else ~mask.bool()
    return bool((kept == lower).all()) or _is_window(kept)


def _is_window(kept: Tensor) -> bool:
    """Whether a mask keeps the keys that are near, alike for all queries, and hides what comes later in part."""
    size = kept.shape[-1]
    grid = kept.reshape(-1, size, size)
    alike = bool((grid == grid[:1]).all()) and bool((grid[0, 1:, 1:] == grid[0, :-1, :-1]).all())
    along = grid[0, 0].int()  # what the first query sees: some of the first keys, and none after
    return alike and bool(grid[0].diagonal().all()) and bool((along.diff() <= 0).all()) and not bool(along.all())


def _mend(step: Step) -> tuple[Said, tuple[Edit, ...]]:
    """And in the place of or; the other way about for masks that drop."""
    keeps = step.op in _EITHER
    said = Said(f"check.masks-joined-by-or.mend-{'keep' if keeps else 'drop'}")
    text = code(step)
    old, new = ("|", "&") if step.op == "bitwise_or" else ("&", "|")
    if step.source is None or not own(step):
        return said, ()
    if step.op in ("logical_or", "logical_and"):
        new = "logical_and" if step.op == "logical_or" else "logical_or"
        return said, (Edit(step.source.span, step.source.text.replace(step.op, new, 1)),)
    if step.op in ("bitwise_or", "bitwise_and") and text.count(old) == 1:
        return said, (Edit(step.source.span, step.source.text.replace(old, new, 1)),)
    return said, ()


RULE = Rule("ATT059", "masks-joined-by-or", attention=_look)
