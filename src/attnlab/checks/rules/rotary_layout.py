"""ATT095: the rotation of q and k is none, or not the same one: scores feel positions and not their difference.

Decided by an experiment: q and k get the same content at every place. Rotated rightly, two pairs of places whose
angles differ by the same have the same score, whatever the order of columns, the direction of turning, or how many
columns are turned.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from attnlab.checks.case import Case
from attnlab.checks.editing import code
from attnlab.checks.found import Found, Rule, Said
from attnlab.checks.rotation import SEEN, Rotation, Turn, keeps_length, unequal


def look(case: Case, odd: bool) -> Iterator[Found]:
    """Rotations that are none. `odd`: only those whose width is odd, otherwise only the others."""
    if case.attention.style not in ("written", "sdpa", "flex"):
        return
    rotation = Rotation(case)
    q, k = rotation.q, rotation.k
    if q is None or k is None or rotation.even is None or rotation.scores is None:
        return
    if (len(q.phase), len(k.phase)) != (rotation.even[0].shape[1], rotation.even[1].shape[1]):
        return  # some tokens, such as that of the class, are not turned
    is_odd = rotation.even[0].shape[-1] % 2 == 1
    pair = unequal(q, k, rotation.scores)
    if pair is None:
        if not odd and _opposed(q, k, case):
            yield _apart(k, rotation.scores)
        return
    if is_odd != odd:
        return
    turned = [turn for turn, rows in ((q, rotation.even[0]), (k, rotation.even[1])) if not keeps_length(rows)]
    step = turned[0].step if turned else case.step(case.attention.scores.step)
    kind = "odd" if odd else "length" if turned else "two"
    params = {"code": code(step), **({"d": rotation.even[0].shape[-1]} if odd else {})}
    yield Found(
        step,
        Said(f"check.rotary-layout.{kind}", params),
        _evidence(rotation.scores, *pair),
        Said(f"check.rotary-layout.{kind}-mend"),
    )


def _evidence(scores: Tensor, one: tuple[int, int], other: tuple[int, int]) -> Said:
    head = int((scores[:, one[0], one[1]] - scores[:, other[0], other[1]]).abs().argmax())
    return Said(
        "check.rotary-layout.evidence",
        {
            "one": f"{one[0]}, {one[1]}",
            "other": f"{other[0]}, {other[1]}",
            "score": float(scores[head, one[0], one[1]]),
            "second": float(scores[head, other[0], other[1]]),
        },
    )


def _opposed(q: Turn, k: Turn, case: Case) -> bool:
    """Whether k of the same places is turned the other way round: then the angles add up."""
    if q.phase.shape != k.phase.shape or case.attention.kind == "cross":
        return False
    differ = not torch.allclose(q.phase, k.phase, atol=1e-5)
    return differ and torch.allclose(q.phase, k.phase.conj(), atol=1e-5)


def _apart(k: Turn, scores: Tensor) -> Found:
    last = min(SEEN, scores.shape[1]) - 1
    step = k.step
    return Found(
        step,
        Said("check.rotary-layout.apart", {"code": code(step)}),
        _evidence(scores, (0, 0), (last, last)),
        Said("check.rotary-layout.apart-mend"),
    )


def _look(case: Case) -> Iterator[Found]:
    return look(case, odd=False)


RULE = Rule("ATT095", "rotary-layout", attention=_look, unless=frozenset({"ATT091", "ATT096"}))
