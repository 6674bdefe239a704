"""From Kᵀ to the product with V: each part with its code, its shapes, why it is legal and what it is for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from attnlab.attention import Attention, Mask
from attnlab.explanation import examples
from attnlab.explanation.data import Equation, Item, Message, Part, Said, say
from attnlab.explanation.formula import formula, root_of
from attnlab.explanation.sight import TRIVIAL, Sight, holds, joined, merged_codes, number
from attnlab.explanation.steps import batch, broadcast, equation, reason
from attnlab.run import Step


def body(sight: Sight, attention: Attention, told: set[int]) -> Iterator[Part]:
    """The parts, in reading order. `told` grows by the steps that were told."""
    return _Body(sight, attention, told).parts()


class _Body:
    def __init__(self, sight: Sight, attention: Attention, told: set[int]) -> None:
        self._sight = sight
        self._attention = attention
        self._told = told

    def parts(self) -> Iterator[Part]:
        attention = self._attention
        if attention.k.turned is not None:
            yield self._part("Kᵀ", "k", [attention.k.turned], self._turned(attention.k.turned))
        yield self._scores()
        if attention.scale:
            yield self._part(_scale_name(attention), "scale", attention.scale, self._scaled())
        if attention.cap:
            yield self._part(say("name.cap"), "cap", attention.cap, [say("body.cap")])
        if attention.bias:
            yield self._part(say("name.bias"), "bias", attention.bias, self._biased())
        for mask in attention.masks:
            if not mask.late:
                yield self._part(say("name.mask"), "mask", [mask.step], self._masked(mask))
        yield from self._others(attention.scores.step, attention.softmax[0])
        yield self._part("softmax", "softmax", attention.softmax, self._normalised())
        for mask in attention.masks:
            if mask.late:
                yield self._part(say("name.mask"), "late", [mask.step], [say("body.mask.late")])
        if attention.dropout:
            yield self._part("dropout", "softmax", attention.dropout, self._dropped())
        yield from self._others(attention.softmax[0], attention.output)
        yield self._part("· V", "v", [*self._multiplied(self._step(attention.output)), attention.output], self._mixed())

    def _others(self, start: int, end: int) -> Iterator[Part]:
        """What else is done to scores or weights on the way: heads that are mixed, axes that change places."""
        outer = self._step(end).source
        for index in self._attention.steps:
            step = self._step(index)
            within = outer is not None and step.source is not None and holds(outer.span, step.source.span)
            apart = within or index in self._told or step.op in TRIVIAL or self._attention.blocks > 1
            if start < index < end and not apart:
                yield self._part(step.op, "", [index], reason(self._sight, step))

    def _step(self, index: int) -> Step:
        return self._sight.run.steps[index]

    def _part(self, name: Said, marks: str, steps: Iterable[int], says: Iterable[Message]) -> Part:
        """A part of one step, or of a few that do one thing together, such as a softmax written out."""
        sight = self._sight
        found = [self._step(index) for index in dict.fromkeys(steps)]
        codes = [code for step in _outermost(found) if (code := sight.code(step, self._told)) is not None]
        self._told.update(step.index for step in found)
        shapes = equation(sight, found[0])
        if len(found) > 1:
            read = dict.fromkeys(found[0].refs)
            shapes = Equation(tuple(sight.shape(value) for value in read), (sight.shape(found[-1].results[0]),))
        item = Item(merged_codes(codes), (shapes,), tuple(says))
        return Part((name,), formula(self._attention), frozenset(marks.split()), (item,))

    def _turned(self, turned: int) -> Iterator[Message]:
        before = self._sight.shape(self._step(turned).refs[0])
        yield say("body.turned", one=str(before[-2]), other=str(before[-1]))
        yield say("body.turned_why", inner=before[-1].name or str(before[-1]))

    def _scores(self) -> Part:
        attention = self._attention
        step = self._step(attention.scores.step)
        if attention.additive:
            return self._part("w·tanh(Q+K)", "q k scores", [*self._summed(step), step.index], [say("body.additive")])
        meaning = say("body.scores_turned") if self._turned_round() else say("body.scores")
        says = [*self._product(step), meaning, *examples.score(self._sight, attention)]
        return self._part("Q Kᵀ", "q k scores", [*self._multiplied(step), step.index], says)

    def _multiplied(self, step: Step) -> list[int]:
        """The product by broadcasting of which a step takes the sum."""
        made = self._sight.run.values[step.refs[0]].step
        return [made] if step.op == "sum" and made is not None and self._step(made).op == "mul" else []

    def _summed(self, step: Step) -> list[int]:
        """The sum of query and key, and what bends it, before a step multiplies it with the vector."""
        found: list[int] = []
        made = self._sight.run.values[step.refs[0]].step
        while made is not None and len(found) < _BEND and made not in self._told:
            found.insert(0, made)
            made = self._sight.run.values[self._step(made).refs[0]].step if len(self._step(made).refs) == 1 else None
        return found

    def _turned_round(self) -> bool:
        """Whether scores have a row for each key."""
        query, key = self._attention.scores.query, self._attention.scores.key
        return query is not None and key is not None and key < query

    def _product(self, step: Step) -> Iterator[Message]:
        """Why Q Kᵀ is legal: which two sizes meet, which remain."""
        shapes = [self._sight.shape(value) for value in step.refs[-2:]]
        if step.op not in ("matmul", "bmm", "mm", "baddbmm") or any(len(shape) < 2 for shape in shapes):
            yield from reason(self._sight, step)
            return
        left, right = shapes
        rows, columns = say("role.query"), say("role.key")
        if self._turned_round():
            rows, columns = columns, rows
        yield say(
            "body.inner", inner=str(left[-1]), row=str(left[-2]), rows=rows, column=str(right[-1]), columns=columns
        )
        yield from batch(left[:-2], right[:-2])

    def _scaled(self) -> Iterator[Message]:
        attention = self._attention
        factor, d_k = attention.factor, attention.d_k
        root = None if factor is None else root_of(factor)
        if factor is None or d_k is None:
            yield say("body.scale_unknown")
        elif root == d_k:
            yield say("body.scale", d_k=d_k, root=number(d_k**0.5))
        elif root is not None:
            yield say("body.scale_other", root=root, d_k=d_k)
        else:
            yield say("body.scale_factor", factor=number(factor), d_k=d_k, usual=number(d_k**-0.5))
        letters = tuple(letter for letter, item in (("Q", attention.q), ("K", attention.k)) if item.scale)
        if letters:
            yield say("body.scale_on", letters=letters)
        yield from examples.spread(self._sight, attention)

    def _biased(self) -> Iterator[Message]:
        yield say("body.bias")
        yield from broadcast(self._sight, self._step(self._attention.bias[-1]))

    def _masked(self, mask: Mask) -> Iterator[Message]:
        step = self._step(mask.step)
        fill = next((o.arg for o in step.operands if isinstance(o.arg, float) and o.arg < _LOW), None)
        if mask.kind in ("fill", "write") and fill is not None:
            yield say("body.mask.fill_value", value=number(fill))
        else:
            yield say(_MASKS[mask.kind])
        if mask.causal:
            yield say("body.mask.causal")
        yield from broadcast(self._sight, self._step(mask.step))

    def _normalised(self) -> Iterator[Message]:
        attention = self._attention
        step = self._step(attention.softmax[-1])
        shape = self._sight.shape(step.results[0])
        dim = step.arg("dim", 1) if len(attention.softmax) == 1 else None
        if isinstance(dim, int):
            what = "body.softmax_dim" if attention.normalised == "key" else "body.softmax_axis"
            yield say(what, dim=dim, axis=str(shape[dim]))
        if attention.blocks > 1:
            yield say("body.softmax_block")
        elif attention.normalised == "key" and attention.keys is not None:
            yield say("body.softmax", keys=attention.keys)
            yield from examples.row(self._sight, attention)
        elif attention.normalised == "query":
            yield say("body.softmax_query")

    def _dropped(self) -> Iterator[Message]:
        step = self._step(self._attention.dropout[-1])
        p = step.arg("p", 1, 0.5)
        if isinstance(p, (int, float)) and step.arg("training", 2, True) is True and p > 0:
            yield say("body.dropout", p=number(p), scale=number(1 / (1 - p) if p < 1 else 0))
        else:
            yield say("body.dropout_off")

    def _mixed(self) -> Iterator[Message]:
        attention = self._attention
        step = self._step(attention.output)
        shapes = [self._sight.shape(value) for value in step.refs[-2:]]
        if step.op in ("matmul", "bmm", "mm") and all(len(shape) > 1 for shape in shapes):
            left, right = shapes
            query, features = left[-2], right[-1]
            if step.refs[-2] == attention.v.entered:  # the values stand on the left
                query, features = features, query
            yield say("body.output_inner", inner=str(left[-1]), query=str(query), features=str(features))
        else:
            yield from reason(self._sight, step)
        yield say("body.output")
        yield from examples.mixture(self._sight, attention)


def _outermost(steps: Sequence[Step]) -> list[Step]:
    """The steps whose expressions stand within none of the others': `e / e.sum(-1)` also shows its sum."""
    spans = {step.index: step.source.span for step in steps if step.source is not None}
    within = {index for index, span in spans.items() for other in spans.values() if holds(other, span)}
    shown = [group[-1] for group in joined(steps)]
    return [step for step in shown if step.index not in within]


_BEND = 3
_LOW = -1e3
_MASKS = {
    "fill": "body.mask.fill",
    "add": "body.mask.add",
    "multiply": "body.mask.multiply",
    "write": "body.mask.write",
    "argument": "body.mask.argument",
}


def _scale_name(attention: Attention) -> str:
    factor = attention.factor
    root = None if factor is None else root_of(factor)
    if root is not None:
        return "÷ √d_k" if root == attention.d_k else f"÷ √{root}"
    return "× c" if factor is None else f"× {number(factor)}"
