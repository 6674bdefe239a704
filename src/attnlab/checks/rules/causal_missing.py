"""ATT071: a model that is trained to tell the next token lets each token see it.

Decided by what the loss compares the output with (the tokens that went in, one place on), or by the token that the
output chooses and that is put in behind the others; and by what the queries see when all scores are equal. Without
either it is not known what was meant; where the code calls itself causal, that is a note.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from attnlab.checks.case import Case
from attnlab.checks.causality import feeds_memory, generates, trained
from attnlab.checks.editing import code, own, whole
from attnlab.checks.found import Edit, Found, Rule, Said
from attnlab.checks.masking import sight
from attnlab.diagnosis.expression import Expression
from attnlab.run import Step

# By the loss; else by a loop that puts in what it chose.
_TOLD = {
    True: ("check.causal-missing.message", "check.causal-missing.evidence"),
    False: ("check.causal-missing.generated-message", "check.causal-missing.generated-evidence"),
}


def _look(case: Case) -> Iterator[Found]:
    view = sight(case)
    if view is None or not view.square or view.seen.shape[-1] < 3 or case.attention.kind == "cross":
        return
    if not sees_all(view.any) or any(mask.late for mask in case.attention.masks):
        return
    step = case.step(case.attention.scores.step)
    size = view.seen.shape[-1]
    params = {"code": code(step)}
    evidence = {"later": int(view.any.triu(1).sum()), "all": size * (size - 1) // 2}
    next_one = trained(case) == "next"
    if (next_one or generates(case)) and not feeds_memory(case):
        told, shown = _TOLD[next_one]
        yield Found(
            step,
            Said(told, params),
            Said(shown, evidence),
            Said(f"check.causal-missing.mend-{_kind(step)}"),
            _edits(step),
        )
    elif _is_called_causal(case):
        yield Found(
            step,
            Said("check.causal-missing.named", {**params, "name": _name(case)}),
            Said("check.causal-missing.named-evidence", evidence),
            Said(f"check.causal-missing.mend-{_kind(step)}"),
            note=True,
        )


def sees_all(seen: Tensor) -> bool:
    """Whether each query sees all later keys, but those that nobody sees."""
    later = torch.ones(seen.shape, dtype=torch.bool).triu(1) & seen.any(0)[None, :]
    return bool(later.any()) and bool(seen[later].all())


def _name(case: Case) -> str:
    return case.attention.module_type or case.attention.function.rpartition(".")[2]


def _is_called_causal(case: Case) -> bool:
    return "causal" in f"{case.attention.module_type or ''} {case.attention.function}".lower()


def _kind(step: Step) -> str:
    return {"scaled_dot_product_attention": "sdpa", "multi_head_attention_forward": "mha"}.get(step.op, "written")


def _edits(step: Step) -> tuple[Edit, ...]:
    if step.op != "scaled_dot_product_attention" or not own(step) or step.arg("attn_mask", 3) is not None:
        return ()
    if step.source is None or step.operand("is_causal", 5) is not None:
        return ()
    return whole(step, Expression(step.source.text).replaced([], "is_causal=True"))


_NEARER = (51, 53, 54, 55, 56, 57, 58, 59, 72, 73, 74, 1, 22)

RULE = Rule("ATT071", "causal-missing", attention=_look, unless=frozenset(f"ATT{number:03}" for number in _NEARER))
