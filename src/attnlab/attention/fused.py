"""Operations that are an attention whole: their arguments name the roles, by place or by keyword."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import NamedTuple

from attnlab.attention.after import after
from attnlab.attention.attention import Attention, Grid, Input, Mask, Style
from attnlab.attention.graph import CASTS, VIEWS, Graph, refs
from attnlab.attention.heads import Sides, count_heads
from attnlab.attention.inputs import plain, unscaled
from attnlab.attention.kind import kind_of
from attnlab.attention.masks import hides_when_added, is_causal, is_far_below
from attnlab.attention.origins import Origins
from attnlab.attention.products import Letters, Product
from attnlab.run import Step

# The block size that flex attention puts where no block mask was passed.
_NO_BLOCKS = 1 << 30


class _Call(NamedTuple):
    """What the arguments say. `letters` of q, k and the scores; `hides`: whether True in a mask hides, or lets pass.

    `causal`: whether it is causal by another argument than a mask; None where there is one that can't be read.
    """

    style: Style
    q: int
    k: int
    v: int
    letters: tuple[Letters, Letters, Letters]
    masks: tuple[int, ...]
    hides: bool
    causal: bool | None
    heads: int | None
    factor: float | None
    dropout: float


class Fused:
    """Reads attentions from single steps of a Run."""

    def __init__(self, graph: Graph, origins: Origins) -> None:
        self._graph = graph
        self._origins = origins
        self._modules: dict[int, set[str | None]] = {}
        for step in graph.steps:
            self._modules.setdefault(step.call, set()).add(step.module)

    def attention(self, step: Step) -> Attention | None:
        """The attention that a step is; None where it is none."""
        rule = _RULES.get(step.op)
        call = rule(step, self._graph) if rule is not None and step.results else None
        return None if call is None else self._described(step, call)

    def _described(self, step: Step, call: _Call) -> Attention:
        graph, origins = self._graph, self._origins
        q_letters, k_letters, letters = call.letters
        sizes = dict(zip(q_letters, graph.shape(call.q), strict=True))
        queries = sizes[0]
        keys = dict(zip(k_letters, graph.shape(call.k), strict=True))[2]
        product = Product(step.index, call.q, call.k, q_letters, k_letters, letters)
        sides = Sides(product, call.q, call.k, q_letters, k_letters, frozenset([2]))
        heads, kv_heads = self._heads(sides, call)
        split = 1 if call.heads is None else call.heads
        q, k, v = (self._input(number, step, call, i < 2) for i, number in enumerate((call.q, call.k, call.v)))
        masks = self._masks(step, call, queries)
        bias = [number for number in call.masks if not self._is_mask(number)]
        result = step.results[0]
        merge, project_out, _ = after(result, False, graph, origins)
        return Attention(
            index=0,
            style=call.style,
            module=step.module,
            module_type=step.module_type,
            function="" if step.source is None else step.source.function,
            q=q,
            k=k,
            v=v,
            additive=False,
            scores=Grid(step.index, None, None, None),
            scale=tuple(sorted({*q.scale, *k.scale})),
            factor=call.factor,
            cap=(),
            bias=(step.index,) if bias else (),
            masks=masks,
            softmax=(step.index,),
            normalised="key",
            summed="key",
            weights=self._weights(step),
            dropout=(step.index,) if call.dropout else (),
            output=step.index,
            result=result,
            merge=merge,
            project_out=project_out if call.style in ("sdpa", "flex") else None,
            blocks=1,
            queries=queries,
            keys=keys,
            d_k=sizes[1] // split,
            d_v=graph.shape(call.v)[-1] // split,
            heads=heads,
            kv_heads=kv_heads,
            kind=kind_of(sides, (0,), (queries, keys), graph, origins),
            causal=_causal(masks),
            steps=(),
        )

    def _heads(self, sides: Sides, call: _Call) -> tuple[int | None, int | None]:
        if call.heads is not None:
            return call.heads, call.heads
        found = count_heads(sides, self._graph, self._origins)
        return found.heads, found.kv_heads

    def _input(self, number: int, step: Step, call: _Call, scaled: bool) -> Input:
        graph, origins = self._graph, self._origins
        if call.style in ("sdpa", "flex"):
            return unscaled(number, False, graph, origins) if scaled else plain(number, graph, origins)
        # nn.MultiheadAttention turns its inputs itself before it passes them on, and projects them inside
        value = number
        maker = graph.maker(value)
        while maker is not None and maker.call == step.call and maker.op in VIEWS | CASTS and len(maker.refs) == 1:
            value = maker.refs[0]
            maker = graph.maker(value)
        inside = self._is_inside(step, call)
        made = step.index if inside else None if maker is None else maker.index
        return Input(value, made, number, value, None, (), (), None)

    def _is_inside(self, step: Step, call: _Call) -> bool:
        """Whether the user's expression runs more than this attention: an encoder, a layer."""
        own = step.module or ""
        others = self._modules[step.call] - {step.module}
        return call.style == "layer" or any(not (name or "").startswith(f"{own}.") or not own for name in others)

    def _is_mask(self, number: int) -> bool:
        return self._graph.values[number].dtype == "bool" or hides_when_added(number, 1, self._graph)

    def _masks(self, step: Step, call: _Call, queries: int) -> tuple[Mask, ...]:
        told = [(number, self._is_causal(number, call, queries)) for number in call.masks if self._is_mask(number)]
        if call.causal is not False:
            told.insert(0, (-1, call.causal))
        return tuple(
            Mask(step.index, "argument", None if number < 0 else number, causal, late=False) for number, causal in told
        )

    def _is_causal(self, number: int, call: _Call, queries: int) -> bool | None:
        shape = self._graph.shape(number)
        if len(shape) < 2 or shape[-2] != queries:
            return False  # a padding mask: one row for all queries

        def hidden(cell: float) -> bool:
            boolean = self._graph.values[number].dtype == "bool"
            return bool(cell) == call.hides if boolean else is_far_below(cell)

        return is_causal(number, hidden, (len(shape) - 2, len(shape) - 1), shape, self._graph)

    def _weights(self, step: Step) -> Grid:
        if step.op in ("scaled_dot_product_attention", "compiled") or len(step.results) < 2:
            return Grid(step.index, None, None, None)
        rank = len(self._graph.shape(step.results[1]))
        return Grid(step.index, step.results[1], rank - 2, rank - 1)


def _causal(masks: tuple[Mask, ...]) -> bool | None:
    told = [mask.causal for mask in masks]
    if any(told):
        return True
    return None if None in told else False


def _three(step: Step, graph: Graph, *names: str) -> tuple[int, int, int] | None:
    found = [refs(step.arg(name, place)) for place, name in enumerate(names)]
    if any(len(item) != 1 or len(graph.shape(item[0])) < 2 for item in found):
        return None
    return found[0][0], found[1][0], found[2][0]


def _tensors(*args: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(number for numbers in args for number in numbers)


def _by_rows(q: int, k: int, graph: Graph) -> tuple[Letters, Letters, Letters]:
    """[..., L, d] and [..., S, d]."""
    batch = tuple(range(10, 8 + max(len(graph.shape(number)) for number in (q, k))))
    q_batch, k_batch = (batch[len(batch) - len(graph.shape(number)) + 2 :] for number in (q, k))
    return (*q_batch, 0, 1), (*k_batch, 2, 1), (*batch, 0, 2)


def _sdpa(step: Step, graph: Graph) -> _Call | None:
    inputs = _three(step, graph, "query", "key", "value")
    if inputs is None:
        return None
    scale, dropout = step.arg("scale", None), step.arg("dropout_p", 4, 0.0)
    return _Call(
        "sdpa",
        *inputs,
        letters=_by_rows(*inputs[:2], graph),
        masks=refs(step.arg("attn_mask", 3)),
        hides=False,
        causal=step.arg("is_causal", 5, False) is True,
        heads=None,
        factor=float(scale) if isinstance(scale, (int, float)) else _usual(graph.shape(inputs[0])[-1]),
        dropout=float(dropout) if isinstance(dropout, (int, float)) else 0.0,
    )


def _usual(d_k: int) -> float | None:
    return 1 / sqrt(d_k) if d_k else None


def _flex(step: Step, graph: Graph) -> _Call | None:
    """Flex attention, compiled: by the user, or by itself. What its functions do can't be seen from outside."""
    if step.function.rpartition(".")[2] not in ("flex_attention", "_flex_attention_hop_wrapper"):
        return None
    inputs = _three(step, graph, "query", "key", "value")
    if inputs is None:
        return None
    scale = step.arg("scale", 5)
    factor = float(scale) if isinstance(scale, (int, float)) else _usual(graph.shape(inputs[0])[-1])
    blocks = step.arg("block_mask", 4)
    unmasked = blocks is None or (isinstance(blocks, tuple) and _NO_BLOCKS in blocks)
    return _Call(
        "flex", *inputs, _by_rows(*inputs[:2], graph), (), False, False if unmasked else None, None, factor, 0.0
    )


def _mha(step: Step, graph: Graph) -> _Call | None:
    """`F.multi_head_attention_forward`: [L, B, D], or [L, D] without a batch."""
    inputs, heads = _three(step, graph, "query", "key", "value"), step.arg("num_heads", 4)
    if inputs is None or not isinstance(heads, int):
        return None
    batch = (10,) if len(graph.shape(inputs[0])) > 2 else ()
    dropout, training = step.arg("dropout_p", 10, 0.0), step.arg("training", 13, True)
    return _Call(
        "mha",
        *inputs,
        letters=((0, *batch, 1), (2, *batch, 1), (*batch, 0, 2)),
        masks=_tensors(refs(step.arg("key_padding_mask", 14)), refs(step.arg("attn_mask", 16))),
        hides=True,
        causal=False,
        heads=heads,
        factor=_usual(graph.shape(inputs[0])[-1] // heads),
        dropout=float(dropout) if training is True and isinstance(dropout, (int, float)) else 0.0,
    )


def _native(step: Step, graph: Graph) -> _Call | None:
    """`torch._native_multi_head_attention`: [B, L, D]."""
    inputs, heads = _three(step, graph, "query", "key", "value"), step.arg("num_head", 4)
    return _batched("mha", graph, inputs, heads, refs(step.arg("mask", 9)))


def _layer(step: Step, graph: Graph) -> _Call | None:
    """`torch._transformer_encoder_layer_fwd`: a whole layer over [B, L, D]."""
    src = refs(step.arg("src", 0))
    inputs = (src[0], src[0], src[0]) if src else None
    return _batched("layer", graph, inputs, step.arg("num_heads", 2), refs(step.arg("mask", 18)))


def _batched(
    style: Style, graph: Graph, inputs: tuple[int, int, int] | None, heads: object, masks: tuple[int, ...]
) -> _Call | None:
    if inputs is None or not isinstance(heads, int) or any(len(graph.shape(number)) != 3 for number in inputs):
        return None
    letters = ((10, 0, 1), (10, 2, 1), (10, 0, 2))
    factor = _usual(graph.shape(inputs[0])[-1] // heads)
    return _Call(style, *inputs, letters, masks, True, False, heads, factor, 0.0)


_RULES: dict[str, Callable[[Step, Graph], _Call | None]] = {
    "scaled_dot_product_attention": _sdpa,
    "compiled": _flex,
    "multi_head_attention_forward": _mha,
    "native_multi_head_attention": _native,
    "transformer_encoder_layer_fwd": _layer,
}
