"""Operations that read the same elements in another form: `view`, `permute`, `split`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from attnlab.diagnosis.case import Case, Tried, bracket, count, written
from attnlab.diagnosis.changes import Change, Key, Link, Plain, method, number
from attnlab.diagnosis.data import Diagnosis, Message, Row, Shape, Suggestion
from attnlab.diagnosis.moves import ints, purity
from attnlab.run import Step

_OUT_OF_RANGE = re.compile(
    r"Dimension out of range \(expected to be in range of \[(-?\d+), (-?\d+)\], but got (-?\d+)\)"
)


def view(case: Case) -> Diagnosis | None:
    """A diagnosis of `view` and `reshape`; None where it is none of them."""
    if case.step.op not in ("view", "reshape", "unflatten") or case.value(0) is None:
        return None
    cut = case.step.op == "unflatten"
    sizes = ints(case.step, 2 if cut else 1, "shape", "size", "sizes")
    (axis,) = ints(case.step, 1, "dim")[:1] if cut else (0,)
    whole = case.shape(0)[axis : axis + 1 or None] if cut else case.shape(0)
    if not sizes or (cut and not whole):
        return None
    known = count([size for size in sizes if size != -1])
    params = {"asked": bracket(sizes), "known": known, "elements": count(whole)}
    row = case.row(0, (axis,) if cut else ())
    if sizes.count(-1) > 1:
        return case.diagnosis([row, _asked(case, sizes)], Message("diagnosis.view.unknowns", {"asked": bracket(sizes)}))
    open_ = -1 in sizes
    if known == 0 or (count(whole) % known if open_ else count(whole) != known):
        message = "diagnosis.view.divide" if open_ else "diagnosis.view.count"
        keys = _keys(case, sizes, 2 if cut else 1)
        changes = [*(_divided(case, sizes, whole, keys) if open_ else _open(sizes, whole, keys))]
        if not open_ and _unfinished(sizes, whole) and keys == [*range(1, len(sizes) + 1)]:
            changes.append(Change(added=(number(-1),), cost=0.7))
        fits = case.best(changes) if case.fails_again else []
        place = _changed(fits, changes, case, keys)
        notes = _divisors(case, sizes, whole, keys) if open_ else []
        return case.diagnosis([row, _asked(case, sizes, place)], Message(message, params), fits, notes)
    return None if cut else _strides(case, sizes)


def dims(case: Case) -> Diagnosis | None:
    """A diagnosis of an axis that a tensor does not have; None where that is not what failed."""
    found = _OUT_OF_RANGE.search(case.message)
    keys = case.tensors()
    if found is None or not keys:
        return None
    low, high, got = map(int, found.groups())
    first = keys[0]
    shape = case.shape(first)
    params = {"input": case.name(first), "rank": len(shape), "low": low, "high": high, "got": got}
    fits = case.best(_in_range(case, got, len(shape)))
    return case.diagnosis([case.row(key) for key in keys], Message("diagnosis.dim", params), fits)


def permute(case: Case) -> Diagnosis | None:
    """A diagnosis of `permute` and `t`; None where it is none of them."""
    shape = case.shape(0) if case.tensors() else ()
    params = {"input": case.name(0), "rank": len(shape)} if case.tensors() else {}
    if case.step.op == "t" and len(shape) > 2:
        home = case.step.function.rpartition(".")[0]
        changes = [Change(function=f"{home}.transpose", added=(number(-2), number(-1)))]
        return case.diagnosis([case.row(0)], Message("diagnosis.t", params), case.best(changes))
    order = ints(case.step, 1, "dims")
    if case.step.op != "permute" or len(order) == len(shape):
        return None
    chain, reason = case.chain(0), Message("diagnosis.permute", {**params, "given": len(order)})
    if chain is None or len(order) != len(shape) - 1:
        return case.diagnosis([case.row(0)], reason)
    changes = [Change({0: chain.then(method("flatten", len(order) - 1))})]
    return case.diagnosis([case.row(0)], reason, case.best(changes))


def split(case: Case) -> Diagnosis | None:
    """A diagnosis of `split` with a list of sizes; None where it is none, or they add up."""
    if case.step.op not in ("split", "split_with_sizes") or case.value(0) is None or len(case.step.operands) < 2:
        return None
    sizes = case.step.operands[1].arg
    place = case.place("dim", 2)
    dim = 0 if place is None else case.arg(place)
    shape = case.shape(0)
    if not isinstance(sizes, tuple) or not isinstance(dim, int) or not -len(shape) <= dim < len(shape):
        return None
    asked = tuple(size for size in sizes if isinstance(size, int))
    if sum(asked) == shape[dim]:
        return None
    rest = shape[dim] - sum(asked[:-1])
    changes: list[Change] = []
    for axis, size in enumerate(shape):
        if size == sum(asked):
            near = axis - len(shape) if axis == len(shape) - 1 else axis
            new = Plain(near, str(near))
            changes.append(Change({place: new}) if place is not None else Change(added=(number(near, "dim"),)))
    if rest > 0:
        changes.append(Change({(1, len(asked) - 1): Plain(rest, str(rest))}, cost=2))
    params = {
        "input": case.name(0),
        "asked": bracket(asked),
        "total": sum(asked),
        "size": case.size(0, dim),
        "axis": dim % len(shape),
    }
    rows = [case.row(0, (dim,)), case.asked(case.step.op, asked)]
    return case.diagnosis(rows, Message("diagnosis.split", params), case.best(changes))


def _keys(case: Case, sizes: Shape, start: int) -> list[Key] | None:
    """Where each size was passed; None where they were not passed one by one."""
    operands = case.step.operands
    if len(operands) == start + 1 and isinstance(operands[start].arg, tuple):
        return [(start, i) for i in range(len(sizes))]
    return [start + i for i in range(len(sizes))] if len(operands) == start + len(sizes) else None


def _asked(case: Case, sizes: Shape, marks: tuple[int, ...] = ()) -> Row:
    return case.asked(case.step.op, sizes, marks)


def _prefix(sizes: Shape, whole: Shape) -> int:
    """How many of the first axes stay as they are."""
    same = 0
    while same < min(len(sizes), len(whole)) and sizes[same] == whole[same]:
        same += 1
    return same


def _unfinished(sizes: Shape, whole: Shape) -> bool:
    """Whether the sizes are the first ones of a sensible whole: the axes as they are, the last one cut up."""
    given = tuple(size for size in sizes if size != 1)
    same, rest = _prefix(given, whole), count(given[_prefix(given, whole) :])
    return same < len(whole) and rest > 0 and whole[same] % rest == 0


def _open(sizes: Shape, whole: Shape, keys: list[Key] | None) -> Iterator[Change]:
    """One size left to PyTorch: `-1`."""
    if keys is None:
        return
    for i, key in enumerate(keys):
        others = count(sizes[:i] + sizes[i + 1 :])
        if others and count(whole) % others == 0:
            size = count(whole) // others
            # The leading axes that are right stay; an axis of size 1 is hardly what was meant.
            cost = 1 + 2.0 * (size == 1) + 1.0 * (i < _prefix(sizes, whole)) + 0.05 * (len(sizes) - i)
            yield Change({key: Plain(-1, "-1")}, cost=cost)


def _divided(case: Case, sizes: Shape, whole: Shape, keys: list[Key] | None) -> Iterator[Change]:
    """A number of heads that divides the width, in place of one that does not."""
    place = _wrong(sizes, whole)
    part = None if keys is None or place is None else case.expression.operand(case.step, keys[place])
    if keys is None or place is None or part is None or not part.literal:
        return
    for size in _near(_fitting(sizes, whole, place), sizes[place]):
        yield Change({keys[place]: Plain(size, str(size))}, cost=1 + 0.01 * abs(size - sizes[place]))


def _divisors(case: Case, sizes: Shape, whole: Shape, keys: list[Key] | None) -> list[Message]:
    place = _wrong(sizes, whole)
    if place is None:
        return []
    part = None if keys is None else case.expression.operand(case.step, keys[place])
    fitting = ", ".join(map(str, _fitting(sizes, whole, place)))
    text = str(sizes[place]) if part is None or part.literal else f"{part.text} = {sizes[place]}"
    return [Message("diagnosis.note.divisors", {"text": text, "fitting": fitting})] if fitting else []


def _wrong(sizes: Shape, whole: Shape) -> int | None:
    """The first size that neither stays as it is nor is left open."""
    places = range(_prefix(sizes, whole), len(sizes))
    return next((i for i in places if sizes[i] != -1), None)


def _fitting(sizes: Shape, whole: Shape, place: int) -> list[int]:
    others = count([size for i, size in enumerate(sizes) if i != place and size != -1])
    if not others or count(whole) % others:
        return []
    rest = count(whole) // others
    return [size for size in range(1, min(rest, 4096) + 1) if rest % size == 0]


def _near(fitting: list[int], wanted: int) -> list[int]:
    return sorted((size for size in fitting if size > 1), key=lambda size: abs(size - wanted))[:2]


def _changed(fits: list[Suggestion], changes: list[Change], case: Case, keys: list[Key] | None) -> tuple[int, ...]:
    """The size that the first suggestion replaces."""
    for change in changes if fits and keys else ():
        if change.text(case.step, case.expression) == fits[0].text:
            return (keys.index(next(iter(change.operands))),) if keys and change.operands else ()
    return ()


def _strides(case: Case, sizes: Shape) -> Diagnosis | None:
    """`view` of a tensor whose elements lie in another order than its axes."""
    if case.step.op != "view" or "stride" not in case.message:
        return None
    chain = case.chain(0)
    shape = case.shape(0)
    changes: list[Change] = []
    if chain is not None:
        reshape = f"{case.step.function.rpartition('.')[0]}.reshape"
        moved = (chain.then(*links) for links in _moved_back(shape))
        changes += [Change({0: new}, function=reshape, cost=2) for new in moved]
        changes.append(Change(function=reshape, cost=1.0))
        changes.append(Change({0: chain.then(method("contiguous"))}, cost=1.1))
        changes += _heads_last(case, sizes)
    fits = case.best(changes, lambda tried: _pure(case, tried))
    mixed = [tried for change in changes if (tried := case.try_(change)) and tried.fits and _pure(case, tried) < 0]
    note = Message("diagnosis.note.mixes", {})
    mixes = [case.suggestion(tried, "mixes", note) for tried in mixed if len(tried.steps) == 1]
    reason = Message("diagnosis.view.strides", {"input": case.name(0)})
    return case.diagnosis([case.row(0), _asked(case, sizes)], reason, fits + mixes, _turned(case))


def _heads_last(case: Case, sizes: Shape) -> Iterator[Change]:
    """Heads cut out of the features, then moved before the tokens: `view(B, L, h, d).transpose(1, 2)`."""
    keys, shape = _keys(case, sizes, 1), case.shape(0)
    if len(shape) != 3 or len(sizes) != 4 or keys is None or isinstance(keys[0], tuple) or sizes[2] != shape[1]:
        return
    parts = [case.expression.operand(case.step, key) for key in keys]
    if parts[1] is not None and parts[2] is not None:
        order = (sizes[0], sizes[2], sizes[1], sizes[3])
        passed = (case.step.operands[0], *map(number, order))
        text = case.expression.replaced([(parts[1], parts[2].text), (parts[2], parts[1].text)])
        after = method("transpose", 1, 2)
        yield Change(passed=passed, after=after, elsewhere=(case.source, text + after.text), cost=1.5)


def _moved_back(shape: Shape) -> list[tuple[Link, ...]]:
    return [(method("transpose", i, i + 1),) for i in range(1, len(shape) - 1)] if len(shape) > 3 else []


def _pure(case: Case, tried: Tried) -> int:
    """-1 where the `view` surely mixes what was apart."""
    (before,), (after,) = tried.operation.refs, tried.operation.results
    shapes = case.tried_shape(tried, before), case.tried_shape(tried, after)
    return purity(shapes[0], case.marks(tried)(before), shapes[1])


def _turned(case: Case) -> list[Message]:
    """The step that put the axes into another order than the elements."""
    value = case.value(0)
    for _ in range(16):
        maker: Step | None = None if value is None else case.maker(value.id)
        if maker is None or maker.source is None or not maker.refs:
            return []
        if maker.op in ("transpose", "permute", "T", "mT", "t", "movedim", "expand"):
            params = {"line": maker.source.span.line, "text": written(maker.source)}
            return [Message("diagnosis.note.turned", params)]
        value = case.run.values[maker.refs[0]]
    return []


def _in_range(case: Case, got: int, rank: int) -> Iterator[Change]:
    """The same axes, counted from the end of what is there."""
    operands: dict[Key, Plain] = {}
    for place, operand in enumerate(case.step.operands):
        if operand.keyword in ("", "dim", "dim0", "dim1", "dims", "axis", "axis0", "axis1", "start_dim", "end_dim"):
            items = list(enumerate(operand.arg)) if isinstance(operand.arg, tuple) else [(None, operand.arg)]
            for i, dim in items:
                if isinstance(dim, int) and not isinstance(dim, bool) and (dim >= 0) == (got >= 0) and place:
                    new = dim - got - 1 if got >= 0 else dim - got - rank
                    operands[place if i is None else (place, i)] = Plain(new, str(new))
    if operands:
        yield Change(operands)
