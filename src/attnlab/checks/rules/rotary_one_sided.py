"""ATT096: only q, or only k, is rotated: then a score feels one position and not the distance between two.

Decided by which of the two meets the cosines and sines of positions on its way from the projection, and shown by
giving q and k the same content at every place.
"""

from __future__ import annotations

from collections.abc import Iterator

from attnlab.checks.case import Case
from attnlab.checks.editing import code
from attnlab.checks.found import Found, Rule, Said
from attnlab.checks.rotation import Rotation


def _look(case: Case) -> Iterator[Found]:
    if case.attention.style not in ("written", "sdpa", "flex"):
        return
    rotation = Rotation(case)
    turn = rotation.q or rotation.k
    if turn is None or (rotation.q is not None and rotation.k is not None):
        return
    side = "q" if rotation.q is not None else "k"
    if case.input("k" if side == "q" else "q").project is None or rotation.scores is None:
        return
    scores = rotation.scores
    last = min(scores.shape[1:]) - 1
    if last < 1:
        return
    spread = (scores - scores[:, :1]) if side == "k" else (scores - scores[:, :, :1])
    if float(spread.abs().max()) > 1e-6 * float(scores.abs().max()):
        return  # the other side feels positions in another way
    yield Found(
        turn.step,
        Said(f"check.rotary-one-sided.{side}", {"code": code(turn.step)}),
        Said(
            "check.rotary-one-sided.evidence",
            {
                "last": last,
                "near": float(scores[0, 0, 0]),
                "far": float(scores[0, last, last]),
            },
        ),
        Said(f"check.rotary-one-sided.{side}-mend"),
    )


RULE = Rule("ATT096", "rotary-one-sided", attention=_look, unless=frozenset({"ATT091"}))
