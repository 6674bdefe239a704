"""ATT056: scores are multiplied by a mask of zeros and ones before the softmax.

A score of zero is no hidden score. Decided by the weights as recorded: the keys that the mask multiplies by zero still
have a share. A mask that is multiplied onto the powers of a softmax written out, or filled in afterwards, leaves none.
"""

from __future__ import annotations

from collections.abc import Iterator

from attnlab.checks.case import Case
from attnlab.checks.editing import code
from attnlab.checks.found import Found, Rule, Said
from attnlab.checks.masking import ancestors, random
from attnlab.checks.rules.mask_fill_small import leaked, spread


def _look(case: Case) -> Iterator[Found]:
    if not case.written or case.attention.blocks > 1:
        return
    for mask in case.attention.masks:
        if mask.kind != "multiply" or mask.late or mask.value is None:
            continue
        if case.attention.scores.value in ancestors([mask.value], case.graph) or random(mask.value, case.graph):
            continue
        step, tensor = case.step(mask.step), case.replay.double(mask.value)
        leak = None if tensor is None else leaked(case, spread(case, step, tensor == 0))
        if leak is not None:
            yield Found(
                step,
                Said("check.mask-multiplied.message", {"code": code(step)}),
                Said("check.mask-multiplied.evidence", {"share": leak.share, "cells": leak.cells}),
                Said("check.mask-multiplied.mend"),
            )


RULE = Rule("ATT056", "mask-multiplied", attention=_look)
