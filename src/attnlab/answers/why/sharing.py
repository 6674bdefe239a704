"""One projection in the place of three, written into the user's own code."""

from __future__ import annotations

from attnlab.answers.data import Shown
from attnlab.answers.why.bench import Bench, Changes
from attnlab.answers.why.rewriting import Rewrite, callee, key_of, operand, source_of, span_of
from attnlab.answers.why.telling import shown
from attnlab.attention import Input
from attnlab.diagnosis.expression import bracketed
from attnlab.run import Source, Span, Step

_Way = tuple[Rewrite, Source]


def projections(bench: Bench) -> list[int]:
    """The steps that project q, k and v, each once; those that make them where none is projected."""
    inputs = (bench.attention.q, bench.attention.k, bench.attention.v)
    steps = [item.step if item.project is None else item.project for item in inputs]
    return list(dict.fromkeys(step for step in steps if step is not None))


def changes(bench: Bench) -> tuple[dict[str, Changes], list[Shown]]:
    """What is changed for keys ("k"), values ("v"), and "both" to be made as the queries are; and the lines where.

    The projection itself is exchanged where each stands in an expression of its own, else what it made is
    where it enters the product. Nothing where queries and keys are not projected, or neither can be written.
    """
    q, k, v = bench.attention.q, bench.attention.k, bench.attention.v
    if q.project is None or k.project is None:
        return {}, []
    ways = {
        "k": _projection(bench, k) or _key(bench),
        "v": None if v.project is None else _projection(bench, v) or _value(bench),
    }
    found: dict[str, Changes] = {name: (way[0],) for name, way in ways.items() if way is not None}
    if "k" not in found:
        return {}, []
    if "v" in found:
        found["both"] = (*found["k"], *found["v"])
    lines = [shown(bench, way[1], way[0]) for way in ways.values() if way is not None]
    return found, list(dict.fromkeys(lines))


def _projection(bench: Bench, other: Input) -> _Way | None:
    """The projection of the queries in the place of another's."""
    attention = bench.attention
    if len({item.project for item in (attention.q, attention.k, attention.v)}) < 3:
        return None  # one layer makes several of them, and is cut apart later
    mine, its = _weight(bench, attention.q), _weight(bench, other)
    if mine is None or its is None or mine[1] == its[1] or mine[0] == its[0]:
        return None
    if attention.kind == "self" and mine[3] != its[3]:
        return None  # keys have fewer heads: they are alike only when they enter the product
    return Rewrite(its[0], mine[1]), its[2]


def _weight(bench: Bench, item: Input) -> tuple[Span, str, Source, tuple[int, ...]] | None:
    """Where the layer or the matrix that projects stands, its text, the expression around it, and its shape."""
    if item.project is None:
        return None
    step = bench.step(item.project)
    source = source_of(step)
    if source is None:
        return None
    weights = [value for value in step.refs if value != item.x]
    if not weights:
        return None
    if step.via is not None:
        part = callee(source)
    else:
        key = key_of(step, weights[0]) if len(weights) == 1 else None
        part = None if key is None else operand(step, key)
    if part is None or "(" in part.text:  # made on the spot, as by `torch.randn(8, 4)`: another one each time
        return None
    return span_of(source, part), part.text, source, bench.shape(weights[0])


def _key(bench: Bench) -> _Way | None:
    """The queries in the place of the keys where both enter the product, turned as the keys are."""
    attention = bench.attention
    step = bench.step(attention.scores.step)
    q = _operand(step, attention.q.entered)
    if q is None:
        return None
    if attention.k.turned is not None:
        turned = bench.step(attention.k.turned)
        return _replaced(turned, turned.refs[0], q)
    shapes = bench.shape(attention.q.entered), bench.shape(attention.k.entered)
    lies = step.op != "einsum" and shapes[0][-2:] != shapes[1][-2:]
    return _replaced(step, attention.k.entered, f"{q}.transpose(-2, -1)" if lies else q)


def _value(bench: Bench) -> _Way | None:
    """The queries in the place of the values where these enter the product."""
    attention = bench.attention
    q = _operand(bench.step(attention.scores.step), attention.q.entered)
    return None if q is None else _replaced(bench.step(attention.output), attention.v.entered, q)


def _operand(step: Step, value: int) -> str | None:
    key = key_of(step, value)
    part = None if key is None else operand(step, key)
    return None if part is None else bracketed(part)


def _replaced(step: Step, value: int, new: str) -> _Way | None:
    source, key = source_of(step), key_of(step, value)
    part = None if key is None else operand(step, key)
    return None if source is None or part is None else (Rewrite(span_of(source, part), new), source)
