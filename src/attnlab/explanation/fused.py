"""An attention inside one call of PyTorch's: what it does within, and what it hands out."""

from __future__ import annotations

from collections.abc import Iterator

from attnlab.attention import Attention
from attnlab.explanation.data import Equation, Item, Message, Part, Shape, Size, say
from attnlab.explanation.formula import formula, root_of
from attnlab.explanation.inputs import projected_names
from attnlab.explanation.sight import Sight, number


def fused(sight: Sight, attention: Attention, told: set[int]) -> Part:
    """The one part that is all of the formula."""
    step = sight.run.steps[attention.scores.step]
    code = sight.code(step, told)
    told.add(step.index)
    inputs = dict.fromkeys((attention.q.value, attention.k.value, attention.v.value))
    inside = [
        value
        for index in attention.merge
        if sight.run.steps[index].call == step.call
        for value in sight.run.steps[index].results
    ]
    shapes = Equation(tuple(sight.shape(value) for value in inputs), (sight.shape([attention.result, *inside][-1]),))
    item = Item((code,) if code else (), (shapes,), tuple(_says(sight, attention)))
    ways = () if attention.style in ("sdpa", "flex") else projected_names(attention)
    return Part(
        (_NAMES[attention.style], *ways),
        formula(attention),
        frozenset(["q", "k", "v", "softmax", "scale", "bias", "mask"]),
        (item,),
    )


_NAMES = {"sdpa": "SDPA", "flex": "FlexAttention", "mha": "MultiheadAttention", "layer": "TransformerEncoder"}
_DOES = {"sdpa": "fused.sdpa", "flex": "fused.sdpa", "mha": "fused.mha", "layer": "fused.layer"}


def _says(sight: Sight, attention: Attention) -> Iterator[Message]:
    yield say(_DOES[attention.style])
    scores = _scores(sight, attention)
    if scores is not None:
        yield say("fused.scores", shape=_bracketed(scores), sizes=str([axis.size for axis in scores]))
    factor, d_k = attention.factor, attention.d_k
    if factor is not None and d_k is not None:
        if root_of(factor) == d_k:
            yield say("fused.scale", d_k=d_k, root=number(d_k**0.5))
        else:
            yield say("fused.scale_other", factor=number(factor), usual=number(d_k**-0.5))
    if attention.kv_heads is not None and attention.heads is not None and attention.kv_heads != attention.heads:
        times = attention.heads // attention.kv_heads
        yield say("fused.shared", heads=attention.heads, kv=attention.kv_heads, times=times)
    if attention.causal:
        yield say("body.mask.causal")
    elif attention.masks:
        yield say("fused.mask")
    if attention.bias:
        yield say("fused.bias")
    if attention.dropout:
        yield say("fused.dropout")
    if attention.weights.value is None:
        yield say("fused.kept")


def _scores(sight: Sight, attention: Attention) -> Shape | None:
    """The shape of the scores that are made within; None where it can't be told."""
    q, k = sight.shape(attention.q.entered), sight.shape(attention.k.entered)
    if attention.style in ("sdpa", "flex"):
        return (*q[:-1], k[-2])
    if attention.heads is None:
        return None
    tokens = 1 if attention.style == "layer" else 0
    batch = (q[1 - tokens],) if len(q) == 3 else ()
    return (*batch, Size("H", attention.heads), q[tokens], k[tokens])


def _bracketed(shape: Shape) -> str:
    return f"[{', '.join(axis.name or str(axis.size) for axis in shape)}]"
