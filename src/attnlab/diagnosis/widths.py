"""Layers that expect a certain number of features: `nn.Linear`, `nn.LayerNorm`."""

from __future__ import annotations

from collections.abc import Iterator

from attnlab.diagnosis.case import Case, Tried, bracket, count
from attnlab.diagnosis.changes import Chain, Change, Fresh, Link, Plain, T, method
from attnlab.diagnosis.data import Diagnosis, Message
from attnlab.diagnosis.expression import Expression, bracketed, one_line
from attnlab.diagnosis.moves import in_pieces, purity
from attnlab.diagnosis.tracking import is_feature
from attnlab.run import Operand, Ref, Source


def linear(case: Case) -> Diagnosis | None:
    """A diagnosis of `nn.Linear` or `F.linear`; None where its shapes do not explain the failure."""
    x, weight = case.place("input", 0), case.place("weight", 1)
    if case.step.op != "linear" or x is None or weight is None or not case.shape(x) or len(case.shape(weight)) != 2:
        return None
    into, shape = case.shape(weight)[1], case.shape(x)
    if shape[-1] == into:
        return None
    params: dict[str, str | int] = {"input": case.name(x), "size": case.size(x, -1), "into": into}
    if case.step.module_type == "Linear" and case.step.via is not None:
        reason = Message("diagnosis.linear.module", params)
    else:
        reason = Message("diagnosis.linear.function", {**params, "weight": case.name(weight)})
    changes = [*_narrowed(case, x, into), *_reviewed(case, x), *_remerged(case, x, into), *_rejoined(case, x, into)]
    changes += [*_rewired(case, x, weight), *_widened(case, x, weight)]
    fits = case.best(changes, lambda tried: _merged_well(case, tried, x)) if case.fails_again else []
    note = case.dealt_anew(x) or case.widened(x, -1)
    return case.diagnosis([case.row(x, (-1,)), case.row(weight, (-1,))], reason, fits, [] if note is None else [note])


def layer_norm(case: Case) -> Diagnosis | None:
    """A diagnosis of `nn.LayerNorm`; None where its shapes do not explain the failure."""
    x, wanted = case.place("input", 0), case.place("normalized_shape", 1)
    if case.step.op != "layer_norm" or x is None or wanted is None:
        return None
    sizes, shape = case.arg(wanted), case.shape(x)
    asked = tuple(size for size in sizes if isinstance(size, int)) if isinstance(sizes, tuple) else ()
    if len(asked) > len(shape):
        return None
    marks = [-back for back in range(1, len(asked) + 1) if shape[-back] != asked[-back]]
    if not marks:
        return None
    changes = _renormed(case, x, wanted) if len(asked) == 1 else ()
    fits = case.best(changes) if case.fails_again else []
    note = case.widened(x, -1)
    rows = [case.row(x, marks), case.asked("normalized_shape", asked, marks)]
    params = {"input": case.name(x), "wanted": bracket(asked), "shape": bracket(shape)}
    return case.diagnosis(rows, Message("diagnosis.norm", params), fits, [] if note is None else [note], aligned=True)


def _renormed(case: Case, x: int, wanted: int) -> Iterator[Change]:
    """The features brought to the end; the layer made for the width that comes in."""
    chain, shape = case.chain(x), case.shape(x)
    if chain is not None and len(shape) > 1:
        yield Change({x: chain.then(method("transpose", -2, -1))}, cost=1.3)
    features = case.shape(x)[-1]
    operands: dict[int, Plain | Fresh] = {wanted: Plain((features,), "")}
    made: tuple[Source, Expression] | None = None
    for place in (case.place("bias", None), case.place("weight", None)):
        value = None if place is None else case.value(place)
        if place is not None and value is not None:
            operands[place] = Fresh((features,), value.dtype)
            made = case.constructor(value.id)
    part = None if made is None else made[1].argument(0, "normalized_shape")
    if made is not None and part is not None:
        yield Change(operands, elsewhere=(made[0], made[1].replaced([(part, str(features))])))


def _narrowed(case: Case, x: int, into: int) -> Iterator[Change]:
    """The input brought into another form with the same numbers in it: heads merged, axes moved back."""
    chain, shape = case.chain(x), case.shape(x)
    value = case.value(x)
    if chain is None or value is None:
        return
    heads = Message("diagnosis.note.heads", {})
    if len(shape) == 4 and shape[1] * shape[3] == into:
        yield Change({x: chain.then(method("transpose", 1, 2), method("flatten", 2))}, note=heads)
    if len(shape) == 4 and shape[2] * shape[3] == into:
        yield Change({x: chain.then(method("flatten", 2))}, cost=1.1, note=heads)
    if len(shape) == 3 and into % shape[-1] == 0 and case.tracking.marks(value.id)[0][0] == "join":
        links = (method("unflatten", 0, (-1, into // shape[-1])), method("transpose", 1, 2), method("flatten", 2))
        yield Change({x: chain.then(*links)}, cost=1.2, note=heads)
    if len(shape) > 1 and shape[-2] == into and case.dealt_anew(x) is None:
        features = is_feature(case.tracking.marks(value.id)[-2])
        turned = chain.then(method("transpose", -2, -1) if len(shape) > 2 else T)
        yield Change({x: turned}, cost=1.3 if features else 2.5)
    if len(shape) > 2 and count(shape[1:]) == into:
        yield Change({x: chain.then(method("flatten", 1))}, cost=1.5)


def _reviewed(case: Case, x: int) -> Iterator[Change]:
    """The last two sizes exchanged in the `view` that made the input."""
    value = case.value(x)
    maker = None if value is None else case.maker(value.id)
    if maker is None or maker.source is None or maker.function not in ("torch.Tensor.view", "torch.Tensor.reshape"):
        return
    base, sizes = maker.operands[0].arg, maker.operands[1:]
    part = Expression(maker.source.text).operand(maker, 0)
    if len(sizes) < 3 or part is None or not isinstance(base, Ref) or not all(size.text for size in sizes):
        return
    sizes = (*sizes[:-2], sizes[-1], sizes[-2])
    text = f".{maker.op}({', '.join(size.text for size in sizes)})"
    chain = Chain(base.id, bracketed(part), (Link(maker.function, sizes, text),))
    yield _where_made(case, x, maker.source, chain, 1.2)


def _remerged(case: Case, x: int, into: int) -> Iterator[Change]:
    """The heads moved behind the tokens before they are merged, in the expression that merged them."""
    value = case.value(x)
    maker = None if value is None else case.maker(value.id)
    if maker is None or maker.source is None or maker.op not in ("flatten", "view", "reshape"):
        return
    base = case.bare_in(maker, ("transpose", "permute"))
    shape = () if base is None else case.run.values[base.value].shape
    if base is not None and len(shape) == 4 and shape[1] * shape[3] == into:
        chain = base.then(method("transpose", 1, 2), method("flatten", 2))
        yield _where_made(case, x, maker.source, chain, 1.0)


def _rejoined(case: Case, x: int, into: int) -> Iterator[Change]:
    """The outputs of the heads joined along their features, in the `cat` that made the input."""
    value = case.value(x)
    maker = None if value is None else case.maker(value.id)
    if value is None or maker is None or maker.source is None or maker.op != "cat" or maker.via:
        return
    items, dim = maker.operands[0].arg, maker.operand("dim", 1)
    expression = Expression(maker.source.text)
    part = None if dim is None else expression.operand(maker, maker.operands.index(dim))
    if not isinstance(items, tuple) or dim is None or part is None or len(items) * value.shape[-1] != into:
        return
    link = Link("torch.cat", (Operand(dim.keyword, -1, "-1"),), "")
    chain = Chain(value.id, expression.replaced([(part, "-1")]), (link,), items=maker.operands[0].arg)
    yield _where_made(case, x, maker.source, chain, 1.0)


def _where_made(case: Case, x: int, source: Source, chain: Chain, cost: float) -> Change:
    """The input made otherwise: in this expression where it was made in it, else where it was made."""
    here = case.chain(x)
    within = here is not None and one_line(here.text) == one_line(source.text)
    return Change({x: chain}, elsewhere=None if within else (source, chain.written), cost=cost)


def _rewired(case: Case, x: int, weight: int) -> Iterator[Change]:
    """The weight turned round, where the user passes it."""
    chain = case.chain(weight)
    if chain is not None and case.shape(weight)[0] == case.shape(x)[-1]:
        yield Change({weight: chain.then(T)}, cost=1.2)


def _widened(case: Case, x: int, weight: int) -> Iterator[Change]:
    """The layer made for the width that comes in."""
    value, given = case.value(weight), case.value(x)
    # A part of the features, or what a `view` dealt anew, is not what a layer would be made for.
    if given is None or case.dealt_anew(x) or in_pieces(case.tracking.marks(given.id)[-1]):
        return
    made = None if value is None else case.constructor(value.id)
    part = None if made is None else made[1].argument(0, "in_features")
    if value is None or made is None or part is None:
        return
    width = case.shape(x)[-1]
    text = made[1].replaced([(part, _width_text(case, x, made[0]) or str(width))])
    yield Change({weight: Fresh((value.shape[0], width), value.dtype)}, elsewhere=(made[0], text), cost=2)


def _width_text(case: Case, x: int, near: Source) -> str:
    """What the user calls the width, in the call that made the layer which put it out."""
    value = case.value(x)
    for _ in range(16):
        maker = None if value is None else case.maker(value.id)
        if value is None or maker is None:
            return ""
        if maker.op == "linear" and maker.module_type == "Linear" and isinstance(maker.operands[1].arg, Ref):
            made = case.constructor(maker.operands[1].arg.id)
            part = None if made is None else made[1].argument(1, "out_features")
            same = made is not None and made[0].function == near.function and made[0].span.file == near.span.file
            return part.text if part is not None and same else ""
        refs = [ref for ref in maker.refs if case.run.values[ref].shape[-1:] == value.shape[-1:]]
        value = case.run.values[refs[0]] if refs else None
    return ""


def _merged_well(case: Case, tried: Tried, x: int) -> int:
    """1 where axes that were cut apart come together again, -1 where others are mixed in."""
    last = tried.steps[-1].operands[x].arg
    if not isinstance(last, Ref) or x not in tried.change.operands:
        return 0
    marks = case.marks(tried)
    for step, shapes in zip(tried.steps[:-1], tried.shapes, strict=False):
        before = step.refs[0] if step.op == "flatten" else None
        if before is not None and purity(case.tried_shape(tried, before), marks(before), shapes[0]) < 0:
            return -1
    return int(marks(last.id)[-1][0] == "features")
