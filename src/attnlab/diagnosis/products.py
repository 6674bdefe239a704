"""Matrix products: which two axes should meet, and do not."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from attnlab.diagnosis.case import Case, Tried
from attnlab.diagnosis.changes import Chain, Change, Link, T, method
from attnlab.diagnosis.data import Diagnosis, Message, Shape, Suggestion
from attnlab.diagnosis.expression import Expression, bracketed, one_line
from attnlab.diagnosis.moves import Mark
from attnlab.diagnosis.tracking import agree, is_feature
from attnlab.run import Ref

# What the two factors are called, and where they are passed.
_FACTORS = {
    "matmul": (("input", 0), ("other", 1)),
    "mm": (("input", 0), ("mat2", 1)),
    "bmm": (("input", 0), ("mat2", 1)),
    "mv": (("input", 0), ("vec", 1)),
    "dot": (("input", 0), ("tensor", 1)),
    "addmm": (("mat1", 1), ("mat2", 2)),
    "addbmm": (("batch1", 1), ("batch2", 2)),
    "baddbmm": (("batch1", 1), ("batch2", 2)),
    "addmv": (("mat", 1), ("vec", 2)),
}
# How many axes each factor must have, where not any number will do.
_RANKS = {
    "mm": (2, 2),
    "bmm": (3, 3),
    "mv": (2, 1),
    "dot": (1, 1),
    "addmm": (2, 2),
    "addbmm": (3, 3),
    "baddbmm": (3, 3),
    "addmv": (2, 1),
}
_TURNS = ("transpose", "permute", "T", "mT", "t")


def diagnose(case: Case) -> Diagnosis | None:
    """A diagnosis of a failing product; None where it is none, or where its shapes do not explain it."""
    names = _FACTORS.get(case.step.op)
    if names is None:
        return None
    left, right = (case.place(*name) for name in names)
    if left is None or right is None or case.value(left) is None or case.value(right) is None:
        return None
    a, b = case.shape(left), case.shape(right)
    ranks = _RANKS.get(case.step.op, (len(a), len(b)))
    names_ = {"left": case.name(left), "right": case.name(right)}
    if (len(a), len(b)) != ranks:
        wanted = {"op": case.step.op, "left_rank": ranks[0], "right_rank": ranks[1]}
        reason = Message("diagnosis.matmul.rank", {**names_, **wanted, "left_has": len(a), "right_has": len(b)})
        return _told(case, left, right, (), (), reason)
    if not a or not b:
        return _told(case, left, right, (), (), Message("diagnosis.matmul.number", names_))
    meeting = -1 if len(b) == 1 else -2
    if a[-1] != b[meeting]:
        kind = ("vectors" if len(a) == 1 else "vector") if len(b) == 1 else "from_vector" if len(a) == 1 else "meet"
        sizes = {"left_size": case.size(left, -1), "right_size": case.size(right, meeting)}
        return _told(case, left, right, (-1,), (meeting,), Message(f"diagnosis.matmul.{kind}", {**names_, **sizes}))
    for back in range(3, min(len(a), len(b)) + 1):
        if a[-back] != b[-back] and (1 not in (a[-back], b[-back]) or case.step.op != "matmul"):
            sizes = {"left_size": case.size(left, -back), "right_size": case.size(right, -back)}
            message = "diagnosis.matmul.batch" if case.step.op == "matmul" else "diagnosis.matmul.batch_exact"
            return _told(case, left, right, (-back,), (-back,), Message(message, {**names_, **sizes}))
    return None


def _told(
    case: Case, left: int, right: int, left_marks: tuple[int, ...], right_marks: tuple[int, ...], reason: Message
) -> Diagnosis:
    rows = [case.row(left, left_marks), case.row(right, right_marks)]
    fits = (
        case.best(_changes(case, left, right), lambda tried: agreement(case, tried, left, right))
        if case.fails_again
        else []
    )
    plain = bool(left_marks) and any(_turns_last(case, right, item) for item in fits[:1])
    fails = case.failing(_tempting(case, right)) if plain else []
    widths = [case.widened(key, marks[0]) for key, marks in ((left, left_marks), (right, right_marks)) if marks]
    dealt = [note for key in (left, right) if (note := case.dealt_anew(key))]
    notes = dealt or ([] if fits else [note for note in widths if note])
    return case.diagnosis(rows, reason, fits + fails, notes)


def agreement(case: Case, tried: Tried, left: int, right: int) -> int:
    """How many of the axes that a product pairs are known to be the same thing; -1 where some are not."""
    last = tried.steps[-1]
    one, other = last.operands[left].arg, last.operands[right].arg
    if not isinstance(one, Ref) or not isinstance(other, Ref):
        return 0
    marks = case.marks(tried)
    a, b = marks(one.id), marks(other.id)
    pairs: list[tuple[Mark, Mark]] = [(a[-1], b[-2:][0])]
    pairs += [(a[-back], b[-back]) for back in range(3, min(len(a), len(b)) + 1)]
    found = [agree(*pair) for pair in pairs]
    kept = (*a[-2:-1], *b[-1:]) if len(b) > 1 else a[-2:-1]
    # A softmax's weights are summed over the axis over which they add up to one.
    if -1 in found or any(mark[0] == "keys" for mark in kept):
        return -1
    # Features meet, and what remains are tokens: that is what a score is.
    scores = is_feature(pairs[0][0]) and is_feature(pairs[0][1]) and not any(map(is_feature, kept))
    return sum(found) + scores


def _changes(case: Case, left: int, right: int) -> Iterator[Change]:
    functions = _functions(case, left, right)
    a, b = case.shape(left), case.shape(right)
    lefts, rights = list(variants(case, left, b)), list(variants(case, right, a))
    for function in functions:
        for (cost, new), (other_cost, other) in product([(0.0, None), *lefts], [(0.0, None), *rights]):
            operands = {key: chain for key, chain in ((left, new), (right, other)) if chain is not None}
            if operands or function:
                # It is the second factor that one turns: Q Kᵀ.
                yield Change(operands, function=function, cost=cost * 1.5 + other_cost)
        yield Change(function=function, swapped=(left, right), cost=1.5)
        for key in (left, right):
            yield from remade(case, key, function)


def _functions(case: Case, left: int, right: int) -> list[str]:
    """What may be called: the same, or `matmul` where there are more axes than this operation takes."""
    ranks = _RANKS.get(case.step.op, (9, 9))
    home = case.step.function.rpartition(".")[0]
    more = len(case.shape(left)) > ranks[0] or len(case.shape(right)) > ranks[1]
    return [f"{home}.matmul"] if more and left == 0 else [""]


def remade(case: Case, key: int, function: str = "") -> Iterator[Change]:
    """The axes put in order in the line that made the operand, where that line is about nothing else."""
    bare = case.bare(key, _TURNS)
    maker = None if bare is None else case.maker(bare.value)
    if bare is None or maker is None or maker.source is None or maker.via or len(maker.source.targets) != 1:
        return
    tail = case.tail(key, bare)
    if maker.op in ("view", "reshape", "unflatten") and len(case.run.values[bare.value].shape) == 4:
        heads = method("transpose", 1, 2)
        moved = Chain(bare.value, one_line(maker.source.text), (heads,))
        yield Change({key: moved.then(*tail)}, function, elsewhere=(maker.source, moved.written), cost=1.2)
    arg = maker.operands[0].arg if maker.op in _TURNS else None
    part = Expression(maker.source.text).operand(maker, 0) if isinstance(arg, Ref) else None
    if part is None or not isinstance(arg, Ref):
        return
    for cost, links in _turns(case.run.values[arg.id].shape, ()):
        moved = Chain(arg.id, bracketed(part), links)
        yield Change({key: moved.then(*tail)}, function, elsewhere=(maker.source, moved.written), cost=cost + 0.2)


def variants(case: Case, key: int, other: Shape) -> Iterator[tuple[float, Chain]]:
    """An operand turned in the ways in which people turn one, each with what it asks of the reader."""
    chain, bare = case.chain(key), case.bare(key, _TURNS)
    if chain is None or bare is None:
        return
    turned = bare != chain
    if turned:
        yield 1.0, bare
    for base in (bare, chain) if turned else (chain,):
        extra = 0.3 if turned and base is chain else 0.0
        for cost, links in _turns(case.run.values[base.value].shape, other):
            yield cost + extra, base.then(*links)
    for links in _fitted(case.shape(key), other):
        yield 1.0, chain.then(*links)


def _turns(shape: Shape, other: Shape) -> Iterator[tuple[float, tuple[Link, ...]]]:
    last = method("transpose", -2, -1)
    heads = method("transpose", 1, 2)
    match len(shape):
        case 2:
            yield 1.0, (T,)
        case 3:
            yield 1.0, (last,)
            yield 2.0, (method("transpose", 0, 1),)
            yield 2.5, (method("permute", 1, 2, 0),)
            if len(other) == 4 and shape[-1] % other[1] == 0:
                cut = method("unflatten", -1, (other[1], shape[-1] // other[1]))
                yield 2.0, (cut, heads)
                yield 2.5, (cut, heads, last)
        case 4:
            yield 1.0, (last,)
            yield 1.3, (heads,)
            yield 2.0, (heads, last)
        case _:
            if len(shape) > 1:
                yield 1.0, (last,)


def _fitted(shape: Shape, other: Shape) -> Iterator[tuple[Link, ...]]:
    """A new axis where a batch is missing; heads repeated where several queries share one."""
    if len(shape) == 2 and len(other) == 3:
        yield (method("unsqueeze", 1),)
        yield (method("unsqueeze", -1),)
    if len(shape) == len(other) == 4 and 1 < shape[1] < other[1] and other[1] % shape[1] == 0:
        yield (repeated(other[1] // shape[1]),)


def repeated(times: int) -> Link:
    """Each head repeated, one copy beside the other."""
    return method("repeat_interleave", times, 1, text=f"{times}, dim=1")


def _turns_last(case: Case, right: int, item: Suggestion) -> bool:
    """Whether a suggestion is to exchange the last two axes of the second factor."""
    base = case.bare(right, _TURNS)
    return base is not None and base.then(method("transpose", -2, -1)).written in item.text


def _tempting(case: Case, right: int) -> Iterator[Change]:
    """What is often written instead of a transpose of the last two axes."""
    base = case.bare(right, _TURNS)
    rank = 0 if base is None else len(case.run.values[base.value].shape)
    if base is not None and rank > 2:
        yield Change({right: base.then(method("transpose", *((0, 1) if rank == 3 else (1, 2))))})
