"""ATT112: a norm over the wrong axis: over the tokens, the samples or the heads in the place of the features.

Decided by following the axes: those that the attention compares are the tokens, and a norm that takes statistics over
them lets a token feel the others. Group and batch norm over channels, as image models have them, are right as long as
the channels are the features; data that are standardised once are no layer. A norm that is written out and multiplies
by the length of what it should divide by is told as well: of twice the input it makes four times the result.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple
from weakref import WeakKeyDictionary

from attnlab.attention.graph import CASTS, POINTWISE, VIEWS
from attnlab.axes.axis import Axis
from attnlab.axes.flow import Flow
from attnlab.checks.blocks import Blocks, Norm
from attnlab.checks.case import Case
from attnlab.checks.editing import code
from attnlab.checks.found import Found, Rule, Said
from attnlab.checks.reference import letters_of, rms
from attnlab.checks.whole import Whole
from attnlab.run import Span, Step


class _Known(NamedTuple):
    flow: Flow
    blocks: Blocks


_KNOWN: WeakKeyDictionary[Whole, _Known] = WeakKeyDictionary()


def _look(case: Case) -> Iterator[Found]:
    if case.whole not in _KNOWN:
        _KNOWN[case.whole] = _Known(Flow(case.run), Blocks(case.whole))
    flow, blocks = _KNOWN[case.whole]
    tokens = _tokens(case, flow)
    features = {name: _features(case, name, flow) for name in ("q", "k")}
    if not tokens:
        return
    for norm in blocks.norms:
        step = _faulty(norm, case, blocks, flow, tokens)
        if step is not None:
            yield _found(norm, step, case, flow, tokens)
            continue
        for name in ("q", "k"):
            step = _off(norm, case, name, features[name], blocks, flow)
            if step is not None:
                yield _found(norm, step, case, flow, tokens)
                break


def _inverted(whole: Whole) -> Iterator[Found]:
    """What grows with the square of what it was made of, where a norm would not grow at all."""
    told: set[Span] = set()
    for norm in Blocks(whole).products if whole.attentions else ():
        before = whole.replay.double(norm.of)
        span = None if norm.step.source is None else norm.step.source.span
        if before is None or span is None or span in told:
            continue
        made = [whole.replay.again({norm.of: before * factor}, [norm.made]) for factor in (1, 2)]
        one, two = (None if found is None else found[norm.made] for found in made)
        if one is None or two is None or not bool(one.isfinite().all()) or not bool(one.any()):
            continue
        told.add(span)
        times = (rms(two) or 0.0) / (rms(one) or 1.0)
        if abs(times - 4) < 0.04:
            yield Found(
                norm.step,
                Said("check.norm-axis.inverted", {"code": code(norm.step)}),
                Said("check.norm-axis.inverted-evidence", {"times": times}),
                Said("check.norm-axis.inverted-mend"),
            )


def _tokens(case: Case, flow: Flow) -> set[Axis]:
    """The axes that the attention compares with one another, and the parts that they were made of."""
    found: set[Axis] = set()
    for name in ("q", "k"):
        place = _token_axis(case, name)
        if place is not None:
            root = flow.root(Axis(*place))
            found |= {root, *flow.parts(root)}
    return found


def _token_axis(case: Case, name: str) -> tuple[int, int] | None:
    role = case.attention.q if name == "q" else case.attention.k
    rank = len(case.graph.shape(role.entered))
    if case.attention.style == "sdpa":
        return (role.entered, rank - 2) if rank > 1 else None
    if case.attention.style in ("mha", "layer"):
        if case.softmax.op == "multi_head_attention_forward":
            return role.entered, 0
        return (role.entered, 1) if rank == 3 else None
    letter = case.query_letter if name == "q" else case.key_letter
    letters = letters_of(case, "q" if name == "q" else "k")
    if letters is None or letter is None or letter not in letters:
        return None
    return role.entered, letters.index(letter)


def _features(case: Case, name: str, flow: Flow) -> set[Axis]:
    """The axis of q or k that the product sums over."""
    role = case.attention.q if name == "q" else case.attention.k
    rank = len(case.graph.shape(role.entered))
    if case.attention.style == "sdpa":
        return {flow.root(Axis(role.entered, rank - 1))} if rank else set()
    letters, product = letters_of(case, "q" if name == "q" else "k"), case.scores_product
    if letters is None or product is None:
        return set()
    return {flow.root(Axis(role.entered, at)) for at, letter in enumerate(letters) if letter not in product.letters}


def _faulty(norm: Norm, case: Case, blocks: Blocks, flow: Flow, tokens: set[Axis]) -> Step | None:
    """The step at which statistics are taken over tokens; None where none are, or rightly."""
    shape = case.graph.shape(norm.of)
    roots = flow.axes(norm.of)
    if len(shape) < 2:
        return None
    if norm.step.op in ("group_norm", "batch_norm"):
        return norm.step if shape[1] > 1 and roots[1] in tokens else None
    if norm.step.op == "instance_norm":
        return None
    for step in norm.sources:
        axes = norm.axes(step)
        over = [axis for axis in axes if shape[axis] > 1 and _holds(roots[axis], tokens, flow)]
        if axes == (len(shape) - 1,) and roots[-1] not in tokens:
            over = []  # tokens were merged into the features of a larger thing: the pixels of a patch
        if not over or (len(shape) > 3 and len(axes) > 2 and norm.step.op == "layer_norm"):
            continue
        return None if _is_data(norm, blocks) else step
    return None


def _holds(root: Axis, tokens: set[Axis], flow: Flow) -> bool:
    return root in tokens or any(part in tokens for part in flow.parts(root))


def _is_data(norm: Norm, blocks: Blocks) -> bool:
    """Whether data that were given are standardised, or statistics are kept to be put back later."""
    graph = blocks.graph
    if norm.step.op in ("layer_norm", "rms_norm", "normalize"):
        return False
    uses = {
        user.index for step in norm.sources for user in graph.consumers(step.results[0]) if user.index > norm.step.index
    }
    if any(graph.steps[index].op in ("mul", "add") for index in uses):
        return True
    plain = norm.step.source is not None and norm.step.source.function == "<module>" and not blocks.has_gain(norm)
    return blocks.is_data(norm) or (graph.given(norm.of) and plain)


def _off(norm: Norm, case: Case, name: str, features: set[Axis], blocks: Blocks, flow: Flow) -> Step | None:
    """Of a norm of q or k itself: the step whose statistics leave out the axis that the product sums over."""
    role = case.attention.q if name == "q" else case.attention.k
    if not features or norm.step.op in ("group_norm", "batch_norm", "instance_norm"):
        return None
    if not _leads(norm.made, role.entered, blocks):
        return None
    roots = flow.axes(norm.of)
    wanted = {axis for axis, root in enumerate(roots) if root in features or features & set(flow.parts(root))}
    if not wanted:
        return None
    for step in norm.sources:
        axes = norm.axes(step)
        if axes and not wanted & set(axes):
            return step
    return None


def _leads(number: int, entered: int, blocks: Blocks) -> bool:
    """Whether a value becomes q or k with nothing but layout and factors on the way."""
    at = entered
    for _ in range(24):
        if at == number:
            return True
        step = blocks.graph.maker(at)
        if step is None or not step.refs or step.op not in VIEWS | CASTS | POINTWISE:
            return False
        shape = blocks.graph.values[at].shape
        same = [
            ref
            for ref in step.refs
            if not blocks.graph.constant(ref) and len(blocks.graph.shape(ref)) >= len(shape) - 1
        ]
        if not same:
            return False
        at = same[0]
    return False


def _found(norm: Norm, step: Step, case: Case, flow: Flow, tokens: set[Axis]) -> Found:
    shape = case.graph.shape(norm.of)
    axes = norm.axes(step) if norm.step.op not in ("group_norm", "batch_norm") else (1,)
    roots = flow.axes(norm.of)
    over = [axis for axis in axes if _holds(roots[axis], tokens, flow)]
    channel = norm.step.op in ("group_norm", "batch_norm")
    kind = "channels" if channel else "tokens" if over else "features"
    named = ", ".join(str(axis) for axis in (over if over and not channel else axes))
    moved = _moved(norm, over[0], case) if over and not channel else None
    params = {"code": code(step), "axes": named, "shape": str(list(shape))}
    evidence = (
        Said("check.norm-axis.evidence-axes", {"axes": ", ".join(map(str, axes)), "shape": str(list(shape))})
        if moved is None
        else Said("check.norm-axis.evidence", {"moved": moved, "others": shape[over[0]] - 1})
    )
    return Found(step, Said(f"check.norm-axis.{kind}", params), evidence, Said(f"check.norm-axis.{kind}-mend"))


def _moved(norm: Norm, axis: int, case: Case) -> int | None:
    """How many other tokens of what was normed move where one token is changed."""
    where = tuple(0 if at == axis else slice(None) for at in range(len(norm.shape)))
    felt = case.felt(norm.of, where, norm.made)
    if felt is None or felt.dim() != len(norm.shape):
        return None
    others = [at for at in range(felt.dim()) if at != axis]
    rows = felt.movedim(axis, 0).flatten(1).any(1) if others else felt
    return int(rows.sum()) - int(rows[0])


RULE = Rule("ATT112", "norm-axis", attention=_look, whole=_inverted)
