"""ATT051: a mask hides what it should let through.

Decided by what the queries see when all scores are equal. Padding is known from what the mask was made of (ids that
are compared with the pad id, lengths, a table of ones and zeros): inverted is a mask under which every real token of
a sample is hidden from all queries and its padding is seen. A causal mask is inverted where each token sees all that
comes later, and neither itself nor anything before; or where what it sees begins later still, which is the wrong half
of a triangle that leaves out the diagonal. A mask under which no query sees any key but its own hides all there is to
attend to.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from attnlab.attention.graph import refs
from attnlab.checks.case import Case
from attnlab.checks.causality import made, reads_backwards
from attnlab.checks.editing import argument, code, own, replaced
from attnlab.checks.found import Edit, Found, Rule, Said
from attnlab.checks.masking import applied, sight
from attnlab.checks.padding import Padding, paddings
from attnlab.run import Step


def _look(case: Case) -> Iterator[Found]:
    view = sight(case)
    if view is None or bool(view.seen.all()):
        return
    for padding in paddings(case):
        if _is_inverted(view.seen, padding):
            yield _padded(case, view.seen, padding)
            return
    if not view.square or case.attention.kind == "cross":
        return
    if _sees_future_only(view.any) or _sees_future_or_padding(view.seen):
        step = applied(case)
        yield Found(
            step,
            Said("check.mask-polarity.causal", {"code": code(step)}),
            Said(
                "check.mask-polarity.causal-evidence",
                {"later": view.seen.shape[-1] - 1, "keys": view.seen.shape[-1]},
            ),
            _mend(step),
            _edits(step, case),
        )
    elif _sees_itself_only(view.any):
        step = applied(case)
        yield Found(
            step,
            Said("check.mask-polarity.itself", {"code": code(step)}),
            Said("check.mask-polarity.itself-evidence", {"queries": view.seen.shape[-2]}),
            _mend(step),
        )
    elif not reads_backwards(case):
        yield from _far_ahead(case, view.any)


def _far_ahead(case: Case, seen: Tensor) -> Iterator[Found]:
    """Where each query sees what comes two places later or more, and nothing nearer."""
    size = seen.shape[0]
    columns = seen.any(0)  # without those that a padding mask hides besides
    ahead = next((ahead for ahead in range(1, size - 1) if bool(seen.diagonal(ahead).any())), None)
    if ahead is None or not bool((seen == (torch.ones_like(seen).triu(ahead) & columns)).all()):
        return
    step = made(case)
    yield Found(
        step,
        Said("check.mask-polarity.ahead", {"code": code(step), "ahead": ahead}),
        Said("check.mask-polarity.ahead-evidence", {"rows": int((~seen.any(-1)).sum()), "queries": size}),
        Said("check.mask-polarity.ahead-mend"),
    )


def _is_inverted(seen: Tensor, padding: Padding) -> bool:
    rows = seen[padding.mixed]
    if not rows.shape[0]:
        return False
    kept = padding.kept[padding.mixed][:, None, :]
    if rows.shape[-1] == rows.shape[-2] == kept.shape[-1]:
        rows = rows & kept.transpose(-2, -1)  # what padding sees is another matter
    return not bool((rows & kept).any()) and bool((rows & ~kept).flatten(1).any(1).all())


def _sees_future_only(seen: Tensor) -> bool:
    """Whether each query sees exactly the keys that come later, or these and what lies far before (a window)."""
    size = seen.shape[0]
    later = torch.ones(size, size, dtype=torch.bool).triu(1)
    if size < 2 or not bool(seen[later].all()) or bool(seen.diagonal().any()):
        return False
    before = ~later & ~torch.eye(size, dtype=torch.bool)
    return not bool(seen[before].any()) or (size > 2 and not bool(seen.diagonal(-1).any()))


def _sees_future_or_padding(seen: Tensor) -> bool:
    """Whether each query sees the keys that come later and some that all see, of which one sample has none: padding."""
    size = seen.shape[-1]
    later = torch.ones(size, size, dtype=torch.bool).triu(1)
    own_key = torch.eye(size, dtype=torch.bool)
    everywhere = (seen | own_key).all(-2, keepdim=True)
    whole = bool(((seen == (later | everywhere)) | own_key).all())
    return size > 2 and whole and bool((seen == later).flatten(1).all(1).any())


def _sees_itself_only(seen: Tensor) -> bool:
    """Whether each query sees at most its own key, so that nothing is attended to."""
    size = seen.shape[0]
    return size > 2 and bool(seen.any()) and not bool((seen & ~torch.eye(size, dtype=torch.bool)).any())


def _padded(case: Case, seen: Tensor, padding: Padding) -> Found:
    step = applied(case, padding.value)
    place = int(padding.mixed.int().argmax())
    kept = padding.kept[place]
    return Found(
        step,
        Said("check.mask-polarity.padding", {"code": code(step)}),
        Said(
            "check.mask-polarity.padding-evidence",
            {
                "sample": int(padding.owner[place]),
                "real": int(kept.sum()),
                "padded": int((~kept).sum()),
                "seen": int(seen[place].any(0).sum()),
            },
        ),
        _mend(step),
        _edits(step, case),
    )


def _mend(step: Step) -> Said:
    kind = {"scaled_dot_product_attention": "sdpa", "multi_head_attention_forward": "mha"}.get(step.op, "fill")
    return Said(f"check.mask-polarity.mend-{kind}")


def _edits(step: Step, case: Case) -> tuple[Edit, ...]:
    """The mask turned round where it is applied, if it is a mask of bools there."""
    place = {"scaled_dot_product_attention": (3, "attn_mask"), "masked_fill": (1, "mask"), "where": (0, "condition")}
    if step.op not in place or not own(step):
        return ()
    index, name = place[step.op]
    numbers = refs(step.arg(name, index))
    if len(numbers) != 1 or case.graph.values[numbers[0]].dtype != "bool":
        return ()
    part = argument(step, index, name)
    if part is None:
        return ()
    return replaced(step, part, f"~{part.text}" if part.primary else f"~({part.text})")


RULE = Rule("ATT051", "mask-polarity", attention=_look, unless=frozenset({"ATT061"}))
