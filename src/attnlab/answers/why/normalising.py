"""The softmax over another axis, written into the user's own code."""

from __future__ import annotations

import ast

from attnlab.answers.why.bench import Bench
from attnlab.answers.why.rewriting import Rewrite, operand, source_of, span_of
from attnlab.diagnosis.expression import Expression, Part
from attnlab.run import Step

_LARGEST = frozenset(["max", "amax"])


def over(bench: Bench, dim: int) -> tuple[Rewrite, ...] | None:
    """The rewritings that make the softmax run over `dim`; None where it is written in a form that is not known.

    In a softmax that is written out, `dim` is that of the sum and of the largest score that is subtracted.
    """
    attention = bench.attention
    if attention.blocks != 1:
        return None
    if len(attention.softmax) == 1:
        rewrite = _one(bench.step(attention.softmax[0]), dim)
        return None if rewrite is None else (rewrite,)
    between = range(attention.scores.step, attention.softmax[-1] + 1)
    shape = None if attention.weights.value is None else bench.shape(attention.weights.value)
    steps = [bench.step(index) for index in between]
    along = [step for step in steps if step.index in attention.softmax or step.op in _LARGEST]
    along = [step for step in along if _place(step) is not None and bench.shape(step.refs[0]) == shape]
    rewrites = [_argument(step, dim) for step in along]
    found = tuple(rewrite for rewrite in rewrites if rewrite is not None)
    return found if found and len(found) == len(rewrites) else None


def dim_text(step: Step) -> str | None:
    """How the axis is written; None where it is not written in the step's own expression."""
    part = None if step.via is not None else _written(step)
    return None if part is None else part.text


def _one(step: Step, dim: int) -> Rewrite | None:
    rewrite = None if step.via is not None else _argument(step, dim)
    source = source_of(step)
    if rewrite is not None or source is None:
        return rewrite
    # A module, `self.softmax(scores)`, or no `dim` at all: the same on the same argument.
    wrapped = f"({source.text}\n)"
    node = ast.parse(wrapped, mode="eval").body
    if not isinstance(node, ast.Call) or len(node.args) != 1:
        return None
    argument = ast.get_source_segment(wrapped, node.args[0])
    return Rewrite(source.span, f"({argument}).softmax(dim={dim})")


def _argument(step: Step, dim: int) -> Rewrite | None:
    part = _written(step)
    return None if part is None or step.source is None else Rewrite(span_of(step.source, part), str(dim))


def _written(step: Step) -> Part | None:
    """Where `dim` is written; looked for by its place too, since `F.softmax(x, -1)` hands it on by name."""
    place = _place(step)
    if place is None or step.source is None:
        return None
    at = 0 if step.function.startswith("torch.Tensor.") else 1
    return operand(step, place) or Expression(step.source.text).argument(at, "dim")


def _place(step: Step) -> int | None:
    """The place of the argument `dim`."""
    named = next((place for place, item in enumerate(step.operands) if item.keyword == "dim"), None)
    if named is not None:
        return named
    second = step.operands[1] if len(step.operands) > 1 else None
    return 1 if second is not None and not second.keyword and isinstance(second.arg, int) else None
