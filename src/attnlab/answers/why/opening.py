"""Scores and weights that a fused operation keeps to itself, brought out by writing it out in its place."""

from __future__ import annotations

from attnlab.answers.data import Block
from attnlab.answers.why.bench import Bench
from attnlab.answers.why.reading import largest_difference
from attnlab.answers.why.rewriting import Rewrite, operand, source_of
from attnlab.answers.why.telling import codes, number, shown, text
from attnlab.attention import Attention
from attnlab.experiments.lab import Lab
from attnlab.explanation.data import say
from attnlab.run import Ref, Run, Step

# Up to here two ways to compute one thing differ by rounding; set beside the largest number of the result.
ROUNDING = 1e-4


def on_bench(lab: Lab, attention: Attention) -> tuple[Bench, list[Block]]:
    """The bench for an attention, and what is to be said of it first.

    A call of `F.scaled_dot_product_attention` is written out, where the result stays the same.
    """
    bench = Bench.of(lab, attention)
    if attention.style == "written":
        return bench, []
    step = bench.step(attention.scores.step)
    source = source_of(step)
    new = _written_out(lab.run, step) if attention.style == "sdpa" and step.via is None else None
    told: list[Block] = [*codes(bench, [step]), text(say("why.hidden", function=step.op))]
    if source is None or new is None:
        return bench, told
    rewrite = Rewrite(source.span, new)
    opened = bench.opened(rewrite)
    difference = None if opened is None else _difference(bench, opened)
    if opened is None or difference is None or hidden(opened):
        return bench, told
    written = text(say("why.opened", difference=number(difference)))
    return opened, [shown(bench, source), written, shown(bench, source, rewrite)]


def hidden(bench: Bench) -> bool:
    """Whether scores and weights are still inside of a fused operation."""
    return bench.attention.style != "written"


def _difference(bench: Bench, opened: Bench) -> float | None:
    """The largest difference between both results; None where it is more than rounding."""
    one, other = (item.run.values[item.attention.result].numbers for item in (bench, opened))
    if one is None or other is None:
        return None
    found = largest_difference(one.corner, other.corner)
    largest = max(abs(cell) for row in one.corner for cell in row)
    return found if found is not None and found <= ROUNDING * largest else None


_NAMES = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal", "scale", "enable_gqa")
_LETTERS = {"query": "q", "key": "k", "value": "v", "attn_mask": "mask", "scale": "scale"}


def _written_out(run: Run, step: Step) -> str | None:
    """The same attention in terms of the same operands; None for dropout, whose random numbers would be others."""
    arg = {name: step.arg(name, place) for place, name in enumerate(_NAMES)}
    texts = _texts(step)
    if texts is None or arg["dropout_p"] not in (None, 0):
        return None
    k, v = "k", "v"
    if arg["enable_gqa"]:
        k, v = (f"{name}.repeat_interleave(q.size(-3) // k.size(-3), -3)" for name in "kv")
    scores = f"q.matmul({k}.transpose(-2, -1))"
    scores += " / q.size(-1) ** 0.5" if arg["scale"] is None else " * scale"
    mask = arg["attn_mask"]
    if isinstance(mask, Ref):
        hides = run.values[mask.id].dtype == "bool"
        scores = f'({scores}).masked_fill(~mask, float("-inf"))' if hides else f"{scores} + mask"
    if arg["is_causal"]:
        later = "q.new_ones(q.size(-2), k.size(-2)).triu(1).bool()"
        scores = f'({scores}).masked_fill({later}, float("-inf"))'
    passed = [name for name in _LETTERS if arg[name] is not None]
    parameters = ", ".join(_LETTERS[name] for name in passed)
    operands = ", ".join(texts[name] for name in passed)
    return f"(lambda {parameters}: ({scores}).softmax(dim=-1).matmul({v}))({operands})"


def _texts(step: Step) -> dict[str, str] | None:
    """What was passed, as it is written; None where some of it is not to be found in the source."""
    found: dict[str, str] = {}
    for place, item in enumerate(step.operands):
        part = operand(step, place)
        if part is None:
            return None
        found[item.keyword or _NAMES[place]] = part.text
    return found
