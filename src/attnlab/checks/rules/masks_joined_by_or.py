"""ATT059: a causal mask and a padding mask are joined so that a key passes if either lets it pass.

Decided by the two masks' values where they are joined, one of them the padding and the other a causal triangle, and
by what the queries see when all scores are equal. A prefix that is read both ways looks alike; it is told apart by
where the mask comes from: a pad id, or lengths of which one is the whole.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from attnlab.checks.case import Case
from attnlab.checks.editing import code, own
from attnlab.checks.found import Edit, Found, Rule, Said
from attnlab.checks.masking import given_masks, makers, sight
from attnlab.checks.padding import Padding, equal, paddings
from attnlab.run import Step

_EITHER = frozenset(["bitwise_or", "logical_or", "add", "maximum"])
_BOTH = frozenset(["bitwise_and", "logical_and", "mul", "minimum"])


def _look(case: Case) -> Iterator[Found]:
    view = sight(case)
    if view is None or not view.square:
        return
    for padding in paddings(case):
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
    """Whether a mask is true up to the diagonal (it keeps), or behind it (it drops)."""
    if mask is None or mask.dim() < 2 or mask.shape[-1] != mask.shape[-2] or mask.shape[-1] < 2:
        return False
    if mask.is_floating_point() and not bool(((mask == 0) | (mask == 1)).all()):
        return False
    lower = torch.ones(mask.shape[-2:], dtype=torch.bool).tril()
    return bool((mask.bool() == (lower if keeps else ~lower)).all())


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
