"""The scaling taken out of the user's own code, or put into it where there is none."""

from __future__ import annotations

from attnlab.answers.why.bench import Bench, Changes
from attnlab.answers.why.rewriting import Rewrite, key_of, operand, sides, source_of, span_of, wrapped
from attnlab.diagnosis.expression import Part, bracketed
from attnlab.run import Source, Step


def without(bench: Bench) -> list[tuple[Source, Rewrite]] | None:
    """The rewritings that take the scaling out, and where; None where it stands in a form that is not known."""
    found: dict[Source, Rewrite] = {}
    product = bench.product(bench.attention.scores.step)
    inside = [bench.attention.scores.step] if product is not None and product.factor is not None else []
    for index in (*inside, *bench.attention.scale):
        step = bench.step(index)
        rewrite = _alpha(step) or _tensor(bench, step)
        if step.source is None or rewrite is None:
            return None
        found[step.source] = rewrite
    return list(found.items())


def _alpha(step: Step) -> Rewrite | None:
    """`alpha=` of `baddbmm` and its kin, set to 1."""
    place = next((place for place, item in enumerate(step.operands) if item.keyword == "alpha"), None)
    part = None if place is None else operand(step, place)
    return None if part is None or step.source is None else Rewrite(span_of(step.source, part), "1")


def _tensor(bench: Bench, step: Step) -> Rewrite | None:
    """What is scaled, in the place of the whole."""
    if step.op not in ("mul", "div") or not step.results or step.source is None:
        return None
    scaled = [value for value in step.refs if bench.shape(value) == bench.shape(step.results[0])]
    if len(scaled) != 1 and step.op == "mul":
        return None
    value = step.refs[0] if step.op == "div" else scaled[0]
    key = key_of(step, value)
    part = (None if key is None else operand(step, key)) or _side(bench, step, value)
    return None if part is None else Rewrite(step.source.span, bracketed(part))


def _side(bench: Bench, step: Step, value: int) -> Part | None:
    """The side of an operator on which a value stands: where it was made, or under the name that it was given."""
    made = bench.run.values[value].step
    maker = None if made is None else bench.step(made).source
    both = None if step.source is None else sides(step.source)
    if maker is None or both is None or step.source is None:
        return None
    found = [part for part in both if span_of(step.source, part) == maker.span or (part.text,) == maker.targets]
    return found[0] if len(found) == 1 else None


def scaled(bench: Bench, size: int) -> Changes | None:
    """The rewritings that divide the scores by √`size`."""
    source = source_of(bench.step(bench.attention.scores.step))
    return None if source is None else wrapped(source.span, "((", f") / {size} ** 0.5)")
