"""Other ways to lay out the keys for the product, written into the user's own code in the place of theirs."""

from __future__ import annotations

from dataclasses import dataclass

from attnlab.answers.why import meeting
from attnlab.answers.why.bench import Bench
from attnlab.answers.why.meeting import Meeting, Side
from attnlab.answers.why.rewriting import Rewrite, key_of, operand, source_of, span_of
from attnlab.diagnosis.expression import bracketed
from attnlab.run import Source, Step


@dataclass(frozen=True, slots=True)
class Way:
    """A way to write it, and the rewriting that does; None for the user's own."""

    text: str
    rewrite: Rewrite | None


@dataclass(frozen=True, slots=True)
class Turning:
    """What is turned (a value, with the axis of its own and the one that is summed over), where, and the ways to do it.

    `kind`: "turned" by an operation for the product, "laid" out so earlier, or "einsum", which names axes by letters
    instead: `letter` is the one that is summed over.
    """

    kind: str
    value: int
    own: int
    summed: int
    source: Source
    ways: tuple[Way, ...]
    letter: str = ""


def turning(bench: Bench) -> Turning | None:
    """How the operands are made to meet; None where there is no product of two tensors, or it can't be rewritten."""
    met = meeting.of_scores(bench)
    if met is None:
        return None
    step = bench.step(met.step)
    for item, side in ((bench.attention.k, met.second), (bench.attention.q, met.first)):
        if item.turned is not None and side.own is not None:
            return _turned(bench, bench.step(item.turned), side)
    if met.second.own is None:
        return None
    return _einsum(bench, step, met) if step.op == "einsum" else _laid(bench, step, met.second)


def _turned(bench: Bench, step: Step, side: Side) -> Turning | None:
    source, part = source_of(step), operand(step, 0)
    if source is None or part is None or side.own is None:
        return None
    last = len(bench.shape(side.value)) - 1
    swap = {last: last - 1, last - 1: last}
    base = bracketed(part)
    others = [f"{base}.transpose{pair}" for pair in ((0, 1), (1, 2)) if pair[1] < last]
    ways = [Way(source.text, None), *(Way(text, Rewrite(source.span, text)) for text in (*others, base))]
    own, summed = swap[side.own], swap[side.summed]
    return Turning("turned", step.refs[0], own, summed, source, tuple(ways))


def _laid(bench: Bench, step: Step, side: Side) -> Turning | None:
    source, key = source_of(step), key_of(step, side.value)
    part = None if key is None else operand(step, key)
    if source is None or part is None or side.own is None:
        return None
    last = len(bench.shape(side.value)) - 1
    pairs = [pair for pair in ((0, 1), (1, 2)) if pair[1] < last]
    texts = [f"{bracketed(part)}.transpose{pair}" for pair in (*pairs, (-2, -1))]
    span = span_of(source, part)
    ways = [Way(part.text, None), *(Way(text, Rewrite(span, text)) for text in texts)]
    return Turning("laid", side.value, side.own, side.summed, source, tuple(ways))


def _einsum(bench: Bench, step: Step, met: Meeting) -> Turning | None:
    """The equation with two letters of the keys exchanged: features and tokens, samples and tokens."""
    source, part, equation = source_of(step), operand(step, 0), step.arg("equation", 0)
    if source is None or part is None or not isinstance(equation, str) or met.second.own is None:
        return None
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    which = step.refs.index(met.second.value)
    letters = [letter for letter in terms[which] if letter != " "]
    if len(letters) != len(bench.shape(met.second.value)) or "." in letters:
        return None
    ways = [Way(part.text, None)]
    for axis in dict.fromkeys((0, met.second.summed)):
        if axis != met.second.own:
            pair = letters[axis], letters[met.second.own]
            term = terms[which].translate(str.maketrans("".join(pair), "".join(reversed(pair))))
            text = f'"{",".join([*terms[:which], term, *terms[which + 1 :]])}{arrow}{right}"'
            ways.append(Way(text, Rewrite(span_of(source, part), text)))
    own, summed = met.second.own, met.second.summed
    return Turning("einsum", met.second.value, own, summed, source, tuple(ways), letters[summed])
