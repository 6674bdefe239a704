"""ATT111: a residual that is taken from the normed tensor, in a block whose norms come before its sublayers.

Decided by following both operands of the sum back. In a post-norm block the sum itself is normed next, and what goes
past is a normed tensor by right; so it is where the norm was made elsewhere, and where the sublayer norms anew what it
is given.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from attnlab.attention.graph import CASTS, DROPOUT, NORMS
from attnlab.checks.blocks import Blocks, Norm, Sum
from attnlab.checks.editing import code
from attnlab.checks.found import Found, Rule, Said
from attnlab.checks.whole import Whole
from attnlab.run import Step


def _look(whole: Whole) -> Iterator[Found]:
    if not whole.attentions:
        return
    blocks = Blocks(whole)
    frames: dict[int, list[Sum]] = defaultdict(list)
    for item in blocks.sums:
        frames[item.step.frame].append(item)
    attending = _attending(frames, blocks)
    for frame, sums in frames.items():
        function = sums[0].step.source.function if sums[0].step.source else ""
        if function in attending:
            yield from _block(frame, sums, blocks)


def _attending(frames: dict[int, list[Sum]], blocks: Blocks) -> set[str]:
    """The functions in which the result of an attention is added to what went past."""
    made = [attention.result for attention in blocks.whole.attentions]
    found: set[str] = set()
    for sums in frames.values():
        for item in sums:
            cone = blocks.cone(item.branch, min(item.skip, item.branch))
            if item.step.source is not None and any(number in cone for number in made):
                found.add(item.step.source.function)
    return found


def _block(frame: int, sums: list[Sum], blocks: Blocks) -> Iterator[Found]:
    """One activation of a function that makes residual sums."""
    normed: list[tuple[Sum, Norm]] = []
    pre_norm = False
    for place, item in enumerate(sums):
        norm = blocks.norm(item.skip)
        inside = norm is not None and all(step.frame >= frame for step in norm.sources) and norm.step.frame >= frame
        if norm is None or not inside or blocks.is_data(norm) or not _read_as_it_is(item, blocks):
            pre_norm = pre_norm or _is_pre_norm(item, blocks)
            continue
        first = place == 0 and _from_outside(norm.of, frame, sums[0], blocks)
        pre_norm = pre_norm or first
        normed.append((item, norm))
    if not pre_norm or not normed or (sums[-1] is normed[-1][0] and _normed_next(sums[-1], frame, blocks)):
        return
    for item, norm in normed:
        yield _found(item, norm, blocks)


def _is_pre_norm(item: Sum, blocks: Blocks) -> bool:
    """Whether the sublayer read a norm of what goes past, and that alone."""
    cone = blocks.cone(item.branch, item.skip)
    users = [step for step in blocks.graph.consumers(item.skip) if any(number in cone for number in step.results)]
    return bool(users) and all(_begins_norm(step, blocks) for step in users)


def _read_as_it_is(item: Sum, blocks: Blocks) -> bool:
    """Whether the sublayer was given the very tensor that goes past, and did not norm it anew."""
    skip = blocks.uncast(item.skip)
    if not blocks.reads(item.branch, skip):
        return False
    cone = blocks.cone(item.branch, skip)
    users = [step for step in blocks.graph.consumers(skip) if any(number in cone for number in step.results)]
    return bool(users) and not any(_begins_norm(step, blocks) for step in users)


def _begins_norm(step: Step, blocks: Blocks) -> bool:
    """Whether a step that reads a value is the beginning of a norm of it."""
    if step.op in NORMS:
        return True
    if step.op not in (
        "mean",
        "pow",
        "var",
        "sub",
        "square",
        "mul",
        "div",
        "norm",
        "std",
        "var_mean",
        "std_mean",
        "float",
        "to",
    ):
        return False
    waiting = list(step.results)
    seen = set(waiting)
    source = step.refs[0]
    for near in waiting:  # grows while it is walked
        norm = blocks.norm(near)
        if norm is not None and blocks.uncast(norm.of) == blocks.uncast(source):
            return True
        if len(seen) < 16:
            for user in blocks.graph.consumers(near):
                fresh = [number for number in user.results if number not in seen]
                seen.update(fresh)
                waiting += fresh
    return False


def _from_outside(number: int, frame: int, first: Sum, blocks: Blocks) -> bool:
    """Whether a value was there before the function began, or was made in it of no sum."""
    maker = blocks.graph.maker(number)
    return maker is None or maker.frame < frame or maker.index < first.step.index


def _normed_next(item: Sum, frame: int, blocks: Blocks) -> bool:
    """Whether a sum is normed next, in the same activation, and nothing else is done with it."""
    waiting = list(item.step.results)
    for number in waiting:  # grows while it is walked
        users = [step for step in blocks.graph.consumers(number) if _same_block(step, item, frame, blocks)]
        if not users:
            return False
        for user in users:
            if user.op in CASTS | DROPOUT and len(waiting) < 12:
                waiting += user.results
            elif user.op == "add" and len(users) == 1 and len(waiting) < 12:
                waiting += user.results  # a further sublayer beside this one
            elif not _begins_norm(user, blocks):
                return False
    return True


def _same_block(step: Step, item: Sum, frame: int, blocks: Blocks) -> bool:
    """Whether a later step was made while the function that made a sum was still at work, as far as can be told."""
    own = item.step
    if step.frame == frame:
        return True
    if own.module and step.module is not None and not step.module.startswith(f"{own.module}."):
        return False
    if own.source is None or step.frame < frame:
        return False
    again = [other.step.frame for other in _others(own, blocks) if other.step.frame > frame]
    return not again or step.frame < min(again)


def _others(step: Step, blocks: Blocks) -> list[Sum]:
    """The sums that the same expression made."""
    return [
        item
        for item in blocks.sums
        if item.step.source is not None and step.source is not None and item.step.source.span == step.source.span
    ]


def _found(item: Sum, norm: Norm, blocks: Blocks) -> Found:
    replay = blocks.whole.replay
    before, after = replay.double(norm.of), replay.double(item.skip)
    share = 0.0
    if before is not None and after is not None and before.shape == after.shape:
        length = float(before.square().sum())
        share = (float((after - before).square().sum()) / length) ** 0.5 if length else 0.0
    return Found(
        item.step,
        Said("check.residual-from-norm.message", {"code": code(item.step), "norm": code(norm.step)}),
        Said("check.residual-from-norm.evidence", {"share": f"{share:.0%}"}),
        Said("check.residual-from-norm.mend"),
    )


RULE = Rule("ATT111", "residual-from-norm", whole=_look)
