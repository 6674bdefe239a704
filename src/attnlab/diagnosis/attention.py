"""`F.scaled_dot_product_attention` and `nn.MultiheadAttention`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from attnlab.diagnosis.broadcasting import collisions, inserted, together
from attnlab.diagnosis.case import Case, Tried, bracket, named, written
from attnlab.diagnosis.changes import Chain, Change, Fresh, Operand, Plain, T, method
from attnlab.diagnosis.data import Diagnosis, Message, Row, Shape, Suggestion
from attnlab.diagnosis.expression import Part
from attnlab.diagnosis.products import remade, variants
from attnlab.diagnosis.tracking import agree, is_feature
from attnlab.run import Ref, Source


def scaled_dot_product(case: Case) -> Diagnosis | None:
    """A diagnosis of `F.scaled_dot_product_attention`; None where its shapes do not explain the failure."""
    if case.step.op != "scaled_dot_product_attention":
        return None
    q, k, v = (case.place(name, i) for i, name in enumerate(("query", "key", "value")))
    if q is None or k is None or v is None or any(len(case.shape(key)) < 2 for key in (q, k, v)):
        return None
    mask = case.place("attn_mask", 3)
    mask = None if mask is None or case.value(mask) is None else mask
    found = _unfit(case, q, k, v, mask)
    if found is None:
        return None
    message, marks = found
    rows = [case.row(key, marks.get(key, ())) for key in (q, k, v, mask) if key is not None]
    params: dict[str, str | int] = {}
    for name, key in zip(("left", "right"), marks, strict=False):
        params[name] = case.name(key)
        params[f"{name}_size"] = case.size(key, marks[key][0])
    if mask is not None and mask in marks:
        scores = (*(together([case.shape(key)[:-2] for key in (q, k, v)]) or ()), case.shape(q)[-2], case.shape(k)[-2])
        params = {"mask": case.name(mask), "shape": bracket(case.shape(mask)), "scores": bracket(scores)}
        changes = _masked(case, mask, scores)
    else:
        changes = _changes(case, q, k, v)
    fits = case.best(changes, lambda tried: _agreement(case, tried, q, k, v)) if case.fails_again else []
    return case.diagnosis(rows, Message(message, params), fits, aligned=True)


def _unfit(case: Case, q: int, k: int, v: int, mask: int | None) -> tuple[str, dict[int, tuple[int, ...]]] | None:
    """What does not fit: the message that tells it, and the axes of each operand."""
    a, b, c = case.shape(q), case.shape(k), case.shape(v)
    if a[-1] != b[-1]:
        return "diagnosis.sdpa.width", {q: (-1,), k: (-1,)}
    if b[-2] != c[-2]:
        return "diagnosis.sdpa.length", {k: (-2,), v: (-2,)}
    for back in range(3, max(map(len, (a, b, c))) + 1):
        here = {key: case.shape(key)[-back] for key in (q, k, v) if len(case.shape(key)) >= back}
        if len(set(here.values()) - {1}) > 1:
            one = next(iter(here))
            other = next(key for key in here if here[key] != here[one])
            return "diagnosis.sdpa.batch", {one: (-back,), other: (-back,)}
    if mask is None:
        return None
    scores = (*(together([a[:-2], b[:-2], c[:-2]]) or ()), a[-2], b[-2])
    backs = collisions([case.shape(mask), scores])
    return (
        ("diagnosis.sdpa.mask", {mask: tuple(-back for back in backs if back <= len(case.shape(mask)))})
        if backs
        else None
    )


def _changes(case: Case, q: int, k: int, v: int) -> Iterator[Change]:
    keys = (q, k, v)
    ways: list[list[tuple[float, Chain | None]]] = []
    for key in keys:
        other = max((case.shape(item) for item in keys if item != key), key=len)
        ways.append([(0.0, None), *variants(case, key, other)])
    for choice in product(*ways):
        operands = {key: new for key, (_, new) in zip(keys, choice, strict=True) if new is not None}
        if 0 < len(operands) < 3:
            yield Change(operands, cost=sum(cost for cost, _ in choice) + 0.5 * (len(operands) > 1))
    for key in keys:
        yield from remade(case, key)
    heads = [case.shape(key)[1] for key in keys if len(case.shape(key)) == 4]
    if len(heads) == 3 and heads[1] == heads[2] < heads[0] and heads[0] % heads[1] == 0:
        yield Change(added=(Operand("enable_gqa", True, "True"),), cost=0.5)


def _masked(case: Case, mask: int, scores: Shape) -> Iterator[Change]:
    chain = case.core(mask)
    if chain is not None:
        for cost, link in inserted(case.shape(mask), scores):
            yield Change({mask: chain.then(link)}, cost=cost)


def _agreement(case: Case, tried: Tried, q: int, k: int, v: int) -> int:
    """How many of the axes that attention pairs are known to be the same thing; -1 where some are not."""
    marks = case.marks(tried)
    args = [tried.steps[-1].operands[key].arg for key in (q, k, v)]
    a, b, c = (marks(arg.id) for arg in args if isinstance(arg, Ref))
    pairs = [(a[-1], b[-1]), (b[-2], c[-2])]
    for one, other in ((a, b), (a, c)):
        pairs += [(one[-back], other[-back]) for back in range(3, min(len(one), len(other)) + 1)]
    found = [agree(*pair) for pair in pairs]
    scores = is_feature(a[-1]) and is_feature(b[-1]) and not is_feature(a[-2]) and not is_feature(b[-2])
    return -1 if -1 in found else sum(found) + scores


def multi_head(case: Case) -> Diagnosis | None:
    """A diagnosis of `nn.MultiheadAttention`; None where its shapes do not explain the failure."""
    if case.step.op != "multi_head_attention_forward" or len(case.step.operands) < 13:
        return None
    query, key = case.shape(0), case.shape(1)
    width, heads = case.arg(3), case.arg(4)
    if not isinstance(width, int) or not isinstance(heads, int) or len(query) not in (2, 3) or len(key) != len(query):
        return None
    params: dict[str, str | int] = {"query": bracket(_given(case, 0).shape)}
    if query[-1] != width:
        rows = [_given(case, 0, (-1,)), _given(case, 1), _given(case, 2)]
        reason = Message("diagnosis.mha.width", {**params, "width": width, "size": query[-1]})
        return case.diagnosis(rows, reason, _seen(case, case.best(_remade(case, heads))))
    if query[1:] != key[1:] or key[:2] != case.shape(2)[:2]:
        rows = [_given(case, i) for i in range(3)]
        return case.diagnosis(
            rows, Message("diagnosis.mha.inputs", {}), _seen(case, case.best(_first(case))), _reading(case)
        )
    for name, wanted in _masks(case, heads):
        place = case.place(name, None)
        if place is not None and case.value(place) is not None and case.shape(place) not in wanted:
            shape = case.shape(place)
            told = {"shape": bracket(shape), "wanted": bracket(wanted[min(len(shape), len(wanted) + 1) - 2])}
            rows = [_given(case, 0), _given(case, 1), _mask_row(case, place, name)]
            changes = [*_first(case), *_other_mask(case, place, name, wanted)]
            reason = Message(f"diagnosis.mha.{name}", {**params, **told})
            return case.diagnosis(rows, reason, _seen(case, case.best(changes)), _reading(case))
    return None


def _seen(case: Case, suggestions: list[Suggestion]) -> list[Suggestion]:
    """The output with the batch first, as the user gets it of a module made so: it is turned after the trial."""
    found: list[Suggestion] = []
    for item in suggestions:
        first = _batched(case) or "batch_first=True" in item.text
        shape = item.results[0]
        turned = (shape[1], shape[0], *shape[2:]) if first and len(shape) == 3 else shape
        found.append(replace(item, results=(turned, *item.results[1:])))
    return found


def _batched(case: Case) -> bool:
    """Whether the module was made with `batch_first=True`: it turns the query round before all else."""
    return case.inside(0)


def _outer(case: Case, place: int) -> int:
    """The value that the user passed, before the module turned it round."""
    value = case.value(place)
    assert value is not None
    ref = value.id
    while (
        case.step.via is not None
        and (maker := case.maker(ref)) is not None
        and maker.call == case.step.call
        and maker.refs
    ):
        ref = maker.refs[0]
    return ref


def _passed(case: Case, index: int, name: str) -> Part | None:
    """Where an argument of the module stands in the user's call; None where the user called another module."""
    direct = case.expression.argument(2, "value") is not None
    return case.expression.argument(index, name) if direct else None


def _given(case: Case, place: int, marks: tuple[int, ...] = ()) -> Row:
    name = ("query", "key", "value")[place]
    part = _passed(case, place, name)
    return _row(case, place, name if part is None else part.text, marks)


def _mask_row(case: Case, place: int, name: str) -> Row:
    part = _passed(case, 3 if name == "key_padding_mask" else 5, name)
    return _row(case, place, name if part is None else part.text, tuple(range(len(case.shape(place)))))


def _row(case: Case, place: int, text: str, marks: tuple[int, ...]) -> Row:
    ref = _outer(case, place)
    value = case.run.values[ref]
    origin = case.origin(ref)
    made = "" if origin is None else written(origin)
    marked = tuple(axis % len(value.shape) for axis in marks)
    return Row(text, ref, value.shape, named(value), "", marked, origin, made, value.kind)


def _masks(case: Case, heads: int) -> Iterator[tuple[str, tuple[Shape, ...]]]:
    """The masks and the shapes that they may have."""
    query, key = case.shape(0), case.shape(1)
    if len(query) == 3:
        yield "key_padding_mask", ((key[1], key[0]),)
        yield "attn_mask", ((query[0], key[0]), (query[1] * heads, query[0], key[0]))
    else:
        yield "key_padding_mask", ((key[0],),)
        yield "attn_mask", ((query[0], key[0]), (heads, query[0], key[0]))


def _reading(case: Case) -> list[Message]:
    """How the module reads the axes, which is where most go wrong."""
    return [] if len(case.shape(0)) != 3 or _batched(case) else [Message("diagnosis.note.batch_first", {})]


def _constructor(case: Case) -> Source | None:
    weight = case.value(5)
    made = None if weight is None else case.constructor(weight.id)
    return None if made is None or not isinstance(made[1].node, ast.Call) else made[0]


def _first(case: Case) -> Iterator[Change]:
    """The module made for tensors whose first axis is the batch."""
    source = _constructor(case)
    if source is None or _batched(case) or len(case.shape(0)) != 3:
        return
    made = case.constructor(_outer(case, 5))
    if made is None or made[1].argument(99, "batch_first") is not None:
        return
    operands: dict[int, Chain] = {}
    for place in range(3):
        value = case.value(place)
        if value is not None:
            operands[place] = Chain(value.id, "", (method("transpose", 0, 1),))
    yield Change(operands, elsewhere=(source, made[1].replaced([], "batch_first=True")))


def _other_mask(case: Case, place: int, name: str, wanted: tuple[Shape, ...]) -> Iterator[Change]:
    """The mask turned round, or repeated for each head, in the user's call."""
    part = _passed(case, 3 if name == "key_padding_mask" else 5, name)
    value, shape = case.value(place), case.shape(place)
    if part is None or value is None:
        return
    links = [(T, 1.2)] if len(shape) == 2 else []
    if len(shape) == 3 and len(wanted) == 2 and wanted[1][0] % shape[0] == 0:
        times = wanted[1][0] // shape[0]
        links.append((method("repeat_interleave", times, 0, text=f"{times}, dim=0"), 1.0))
    for link, cost in links:
        text = case.expression.replaced([(part, (part.text if part.primary else f"({part.text})") + link.text)])
        yield Change({place: Chain(value.id, "", (link,))}, elsewhere=(case.source, text), cost=cost)


def _remade(case: Case, heads: int) -> Iterator[Change]:
    """The module made for the width that comes in."""
    width = case.shape(0)[-1]
    weight = case.value(5)
    made = None if weight is None else case.constructor(weight.id)
    part = None if made is None else made[1].argument(0, "embed_dim")
    if made is None or part is None or width % heads:
        return
    shapes = {5: (3 * width, width), 6: (3 * width,), 11: (width, width), 12: (width,)}
    operands: dict[int, Plain | Fresh] = {3: Plain(width, "")}
    for place, shape in shapes.items():
        value = case.value(place)
        if value is not None:
            operands[place] = Fresh(shape, value.dtype)
    yield Change(operands, elsewhere=(made[0], made[1].replaced([(part, str(width))])))
