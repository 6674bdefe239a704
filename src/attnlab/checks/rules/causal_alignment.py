"""ATT075: a causal mask begins at the first key, though the queries are the last tokens: a cache stands before them.

Decided by nudging a token and seeing which key it makes, and by what the queries see when all scores are equal: query
i sees the keys up to i, its own key is further on. A cache of full length that is filled from the front is no fault:
there the key of token i is key i.
"""

from __future__ import annotations

from collections.abc import Iterator

from attnlab.checks.case import Case
from attnlab.checks.causality import cut, offset
from attnlab.checks.editing import argument, code, dropped, own, replaced
from attnlab.checks.found import Edit, Found, Rule, Said
from attnlab.checks.masking import sight
from attnlab.checks.rules.causal_ahead import is_triangle
from attnlab.run import Step


def _look(case: Case) -> Iterator[Found]:
    view = sight(case)
    if view is None or view.square or not is_triangle(view, 0):
        return
    shift = offset(case, view)
    if shift is None or shift <= 0:
        return
    queries, keys = view.seen.shape[-2:]
    step = case.softmax if case.softmax.arg("is_causal", 5, False) is True else cut(case, view)
    kind = "sdpa" if step is case.softmax and not case.written else "written"
    yield Found(
        step,
        Said("check.causal-alignment.message", {"code": code(step)}),
        Said(
            "check.causal-alignment.evidence",
            {"queries": queries, "keys": keys, "own": shift, "lost": keys - queries},
        ),
        Said(f"check.causal-alignment.mend-{kind}"),
        _edits(step, queries),
    )


def _edits(step: Step, queries: int) -> tuple[Edit, ...]:
    """For the last token alone no mask is needed; a rectangle of ones is moved to its end."""
    if not own(step):
        return ()
    if step.op == "scaled_dot_product_attention":
        if queries > 1:
            return ()
        part = argument(step, 0, "query")
        flag = argument(step, 5, "is_causal")
        if part is None or flag is None or not part.primary or flag.text != "True":
            return dropped(step, 5, "is_causal")
        return replaced(step, flag, f"{part.text}.size(-2) > 1")
    if step.op != "tril" or step.operand("diagonal", 1) is not None:
        return ()
    part = argument(step, 0, "input")
    if part is None or step.source is None or not part.primary:
        return ()
    shift = f"{part.text}.size(-1) - {part.text}.size(-2)"
    return replaced(step, part, f"{part.text}, diagonal={shift}") if step.function.startswith("torch.tril") else ()


RULE = Rule("ATT075", "causal-alignment", attention=_look)
