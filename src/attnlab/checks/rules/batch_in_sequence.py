"""ATT024: the keys of a query are not the tokens of one sample: the batch stands where the sequence should.

Decided by following the keys' axis back. It is the batch, or holds it, where positions are added along another axis
and are the same all along this one; where it holds both axes of the token ids; or where the user's name for it says
so, which is a hint and is said to be one. Pixels, windows and packed sentences, of which none of this holds, are left
alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from attnlab.attention.graph import Graph
from attnlab.attention.products import product
from attnlab.axes.axis import Axis
from attnlab.axes.evidence import Called
from attnlab.axes.flow import Flow
from attnlab.checks.case import Case
from attnlab.checks.editing import code
from attnlab.checks.found import Found, Rule, Said
from attnlab.checks.naming import size_kind, sizes
from attnlab.checks.reference import letters_of
from attnlab.checks.whole import Whole
from attnlab.run import Step


@dataclass(frozen=True, slots=True)
class _Known:
    """What a run says of its axes: their flow, the names of their sizes, and where positions are added.

    `placed`: (axis along which positions run, axes along which they are the same, the step that adds them).
    """

    flow: Flow
    names: Mapping[Axis, Sequence[Called]]
    placed: list[tuple[Axis, tuple[Axis, ...], Step]]


_KNOWN: WeakKeyDictionary[Whole, _Known] = WeakKeyDictionary()


def _look(case: Case) -> Iterator[Found]:
    attention = case.attention
    place = _key_axis(case)
    if place is None or not attention.keys or attention.keys < 2 or _hides_blocks(case):
        return
    known = _known(case.whole)
    value, axis = place
    root = known.flow.root(Axis(value, axis))
    parts = known.flow.parts(root) or (root,)
    reason = _by_ids(parts, case, known) or _by_name(parts, case, known)
    if reason is None and axis == 0 and attention.style in ("mha", "layer"):
        reason = _by_positions(parts, known)
    if reason is None:
        return
    step = case.step(attention.scores.step)
    first = attention.style in ("mha", "layer")
    yield Found(
        step,
        Said("check.batch-in-sequence.message", {"code": code(step), "keys": attention.keys}),
        reason,
        Said(f"check.batch-in-sequence.mend-{'first' if first else 'flat'}"),
    )


def _hides_blocks(case: Case) -> bool:
    """Whether a mask keeps tokens apart both ways, as of sentences packed into a row; or can't be told."""
    allowed = case.allowed
    if allowed is None or allowed.shape[-1] != allowed.shape[-2]:
        return bool(case.attention.masks)
    return not bool((allowed | allowed.transpose(-1, -2)).all())


def _key_axis(case: Case) -> tuple[int, int] | None:
    """The value of k, and which of its axes holds the keys."""
    k = case.attention.k
    rank = len(case.graph.shape(k.entered))
    if case.attention.style == "sdpa":
        return (k.entered, rank - 2) if rank > 1 else None
    if case.attention.style in ("mha", "layer"):
        step = case.step(case.attention.scores.step)
        if step.op == "multi_head_attention_forward":
            return (k.entered, 0) if rank == 3 else None
        return (k.entered, 1) if rank == 3 else None
    found, letters = product(case.step(case.attention.scores.step), case.graph), letters_of(case, "k")
    if found is None or letters is None or case.key_letter not in letters:
        return None
    return k.entered, letters.index(case.key_letter)


def _known(whole: Whole) -> _Known:
    if whole not in _KNOWN:
        flow, names = sizes(whole)
        _KNOWN[whole] = _Known(flow, names, list(_placed(whole.graph, flow)))
    return _KNOWN[whole]


def _placed(graph: Graph, flow: Flow) -> Iterator[tuple[Axis, tuple[Axis, ...], Step]]:
    """Where something that no input has a part in is added along one axis besides the features."""
    for step in graph.steps:
        if step.op != "add" or len(step.refs) != 2 or not step.results:
            continue
        made = step.results[0]
        shape = graph.shape(made)
        for number, other in (step.refs, step.refs[::-1]):
            own = graph.shape(number)
            if len(shape) != 3 or not _is_position(number, graph) or graph.shape(other) != shape or len(own) < 2:
                continue
            full = (1,) * (len(shape) - len(own)) + own
            if full[-1] != shape[-1] or sum(size > 1 for size in full[:-1]) != 1:
                continue
            along = next(place for place, size in enumerate(full[:-1]) if size > 1)
            same = tuple(flow.root(Axis(other, place)) for place in range(len(shape) - 1) if place != along)
            yield flow.root(Axis(other, along)), same, step


def _is_position(number: int, graph: Graph) -> bool:
    """Whether a value is made of parameters and buffers, or looked up by a range that was made in place."""
    seen = [number]
    for near in seen:  # grows while it is walked
        if graph.constant(near):
            continue
        step = graph.maker(near)
        if step is None or len(seen) > 24:
            return False
        if not step.refs and step.op != "arange":
            return False
        seen += [read for read in step.refs if read not in seen]
    return True


def _by_positions(parts: Sequence[Axis], known: _Known) -> Said | None:
    """Positions run along the second axis, where a module that takes the sequence first has the batch."""
    tokens = {along for along, _, _ in known.placed}
    for _, same, step in known.placed:
        for part in parts:
            told = _told(known.names.get(part, []))
            if part in same and part not in tokens and (told is None or told[0] != "tokens"):
                return Said("check.batch-in-sequence.positions", {"name": code(step)})
    return None


def _by_ids(parts: Sequence[Axis], case: Case, known: _Known) -> Said | None:
    """Both axes of token ids, [batch, tokens], in the keys' axis."""
    for step in case.run.steps:
        if step.op != "embedding" or not step.results:
            continue
        shape = case.graph.shape(step.results[0])
        if len(shape) != 3 or min(shape[:2]) < 2:
            continue
        roots = {known.flow.root(Axis(step.results[0], place)) for place in (0, 1)}
        if len(roots) == 2 and roots <= set(parts):
            return Said("check.batch-in-sequence.ids", {"shape": str(list(shape[:2]))})
    return None


def _by_name(parts: Sequence[Axis], case: Case, known: _Known) -> Said | None:
    """The first name that tells what an axis is decides: it stands where the tensor was made."""
    kinds = {part: _told(known.names.get(part, [])) for part in parts}
    for part, told in kinds.items():
        if told is None or told[0] != "batch":
            continue
        if len(parts) == 1 and not _is_beside_tokens(part, case, known):
            continue
        return Said("check.batch-in-sequence.named", {"name": told[1]})
    return None


def _is_beside_tokens(part: Axis, case: Case, known: _Known) -> bool:
    """Whether another axis of x is named as tokens are."""
    for role in (case.attention.k, case.attention.v):
        number = role.value if role.x is None else role.x
        for axis in range(len(case.graph.shape(number))):
            root = known.flow.root(Axis(number, axis))
            told = _told(known.names.get(root, []))
            if root != part and told is not None and told[0] == "tokens":
                return True
    return False


def _told(names: Sequence[Called]) -> tuple[str, str] | None:
    for name in names:
        kind = size_kind([name.text])
        if kind is not None:
            return kind, name.text
    return None


RULE = Rule("ATT024", "batch-in-sequence", attention=_look, unless=frozenset({"ATT021", "ATT026"}))
