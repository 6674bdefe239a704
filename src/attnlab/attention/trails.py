"""From a product of q and k to the product with v: one pass over the steps, in the order in which they ran.

A product of two activations leaves a trail: the scores. It goes through every operation that keeps their
axes. A softmax turns it into weights; a product of weights with another tensor ends it, and is an attention. So a
softmax over the logits of a linear layer, or one by which nothing is mixed, leaves no trail or ends none.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from attnlab.attention.axes import Axes, Axis, Roots, roots_of
from attnlab.attention.graph import FIRST_ONLY, POINTWISE, VIEWS, Graph, axes_of, axis_of
from attnlab.attention.layout import REDUCTIONS, carry
from attnlab.attention.origins import Origins
from attnlab.attention.products import Product, outer_sum, product
from attnlab.attention.scores import scores
from attnlab.run import Step

_State: TypeAlias = Literal["scores", "logs", "powers", "weights"]

SOFTMAX = frozenset(["softmax", "softmin", "gumbel_softmax", "safe_softmax"])
# Of a mask, a condition or a type only the shape counts: a trail goes through these by their first operand alone.
_BY_FIRST = FIRST_ONLY | (VIEWS - {"cat", "stack"}) | {"masked_fill", "pow", "tril", "triu", "clamp", "setitem"}
_MIXING = frozenset(["powers", "weights"])
# What a tensor becomes when it meets the sum of its powers, or the logarithm of that sum.
_DIVIDED: dict[tuple[str, str], _State] = {
    ("powers", "div"): "weights",
    ("powers", "mul"): "weights",
    ("scores", "sub"): "logs",
}
# A trail for each of so many products, where several are added: the score of content and that of position.
_SEVERAL = 4


class Trail(NamedTuple):
    """A tensor that holds scores, or weights made of them.

    `labels`  its axes in terms of `seeds`, the roots of the axes that the product made, in their order
    `state`   "scores"; "logs": log of the weights; "powers": exp of the scores, not divided by their sum; "weights"
    `path`    the steps from the product to here
    `softmax` those of them that are the softmax, or its parts
    `over`    the seeds over which it sums to one
    """

    product: Product
    seeds: tuple[int, ...]
    labels: Axes
    state: _State
    path: tuple[int, ...] = ()
    softmax: tuple[int, ...] = ()
    over: frozenset[int] = frozenset()


class Found(NamedTuple):
    """An attention: the trail that led to the product with v, that product, and the side that v is on there.

    `summed` are the seeds over which the product with v sums.
    """

    trail: Trail
    output: Product
    v: int
    summed: frozenset[int]


class _Total(NamedTuple):
    """A tensor that holds the sum, or the log of the sum, of the powers of one product's scores."""

    product: int
    over: frozenset[int]
    step: int


class Trails:
    """The pass over a Run. `found` holds what it found, in the order of the products with v.

    `loose` holds what comes near an attention and is none: scores or powers that meet a v without having become
    weights, and weights that meet a v whose tokens are not those they weigh (there `summed` is empty).
    """

    def __init__(self, graph: Graph, origins: Origins) -> None:
        self._graph = graph
        self._origins = origins
        self._roots = Roots()
        self._trails: dict[int, tuple[Trail, ...]] = {}
        self._totals: dict[int, frozenset[_Total]] = {}
        self._all_totals: dict[int, _Total] = {}
        self._ends: list[Found] = []
        self._loose: list[Found] = []
        for step in graph.steps:
            self._visit(step)

    @property
    def loose(self) -> list[Found]:
        """Those of whose scores no attention was made after all."""
        unsummed = [end for end in self._ends if self._summed(end) is None]
        made = {end.trail.product.step for end in self._ends} - {end.trail.product.step for end in unsummed}
        return [end for end in (*self._loose, *unsummed) if end.trail.product.step not in made]

    @property
    def found(self) -> list[Found]:
        """One attention for each softmax: the best of the products in which its weights were used."""
        best: dict[int, Found] = {}
        for end in filter(None, map(self._summed, self._ends)):
            first = end.trail.softmax[0]
            if first not in best or self._rank(end) < self._rank(best[first]):
                best[first] = end
        return sorted(best.values(), key=lambda end: end.trail.product.step)

    def _summed(self, end: Found) -> Found | None:
        """What was found with the axis of its softmax. Powers that were never summed are no softmax."""
        if end.trail.state != "powers":
            return end
        total = self._all_totals.get(end.trail.product.step)
        if total is None:
            return None
        return end._replace(trail=end.trail._replace(over=total.over, softmax=(*end.trail.softmax, total.step)))

    def trails(self, number: int) -> tuple[Trail, ...]:
        """The trails that lead through a value."""
        if number not in self._trails:
            before = self._graph.earlier(number)
            if before is not None:
                step = self._graph.values[number].step
                added = () if step is None else (step,)
                self._trails[number] = tuple(t._replace(path=(*t.path, *added)) for t in self.trails(before))
        return self._trails.get(number, ())

    def holds(self, number: int, found: Product) -> bool:
        """Whether a value holds the scores, or weights, of a product."""
        return any(trail.product.step == found.step for trail in self.trails(number))

    def seeds(self, trail: Trail, axis: int | Axis) -> frozenset[int]:
        """The seeds that an axis of a trail's tensor comes from, or some parts of one."""
        parts = trail.labels[axis] if isinstance(axis, int) else axis
        return frozenset(self._roots.ancestors(roots_of(parts)) & set(trail.seeds))

    def _rank(self, end: Found) -> tuple[bool, bool, int]:
        """Smaller is better: v has the same origin as a factor of the scores; the softmax's axis is the one summed."""
        v = self._origins.sources(end.v)
        sides = (end.trail.product.left, end.trail.product.right)
        akin = any(v & self._origins.sources(number) for number in sides)
        return not akin, not end.trail.over & end.summed, end.output.step

    def _visit(self, step: Step) -> None:
        found = product(step, self._graph)
        ends = len(self._ends)
        graphlike = None if found is not None else self._of_learned_parts(step)
        if found is not None:
            self._multiply(step, found)
        elif graphlike is not None:
            self._trails[step.results[0]] = tuple(self._begin(graphlike))
        elif step.op not in REDUCTIONS:
            self._pass(step)
        if step.op in REDUCTIONS and len(self._ends) == ends:
            self._total(step)

    def _multiply(self, step: Step, found: Product) -> None:
        """A contraction: it ends trails of weights, lets heads be mixed, and may begin a trail of its own."""
        begun = self._begin(scores(found, self._graph, self._origins))
        mixed: list[Trail] = []
        for own, letters, other in (
            (found.left, found.left_letters, found.right),
            (found.right, found.right_letters, found.left),
        ):
            for trail in self.trails(own):
                mixed += self._end(trail, found, letters, other)
        self._trails[step.results[0]] = (*mixed, *begun)[:_SEVERAL]

    def _end(self, trail: Trail, found: Product, letters: tuple[int, ...], other: int) -> list[Trail]:
        """Note the attention that a trail ends in; or the trail that goes on, where only heads are mixed."""
        gone = found.gone(letters)
        axes = [axis for axis, letter in enumerate(letters) if letter in gone]
        summed = frozenset(seed for axis in axes for seed in self.seeds(trail, axis))
        spanned = frozenset(seed for seed in trail.seeds if self._side(trail, seed) != "both")
        if not summed & spanned:
            self._note_apart(trail, found, letters, other, spanned)
        if not summed:
            return []
        if not (summed & (spanned | trail.over)):
            kept = self._mixed(trail, found, letters) if self._graph.weight(other) else None
            return [] if kept is None else [kept]
        alone = not any(met.state in _MIXING for met in self.trails(other))
        if alone and not self._graph.constant(other) and self._adds_axis(found, letters, other):
            ends = self._ends if trail.state in _MIXING else self._loose
            ends.append(Found(trail, found, other, summed))
        return []

    def _note_apart(
        self, trail: Trail, found: Product, letters: tuple[int, ...], other: int, spanned: frozenset[int]
    ) -> None:
        """Weights of which an axis is summed by itself in a product with an activation: no token of v is weighed."""
        apart = [axis for axis, letter in enumerate(letters) if letter not in found.letters]
        lost = frozenset(seed for axis in apart for seed in self.seeds(trail, axis))
        if trail.state == "weights" and lost & spanned and not self._graph.weight(other):
            self._loose.append(Found(trail, found, other, frozenset()))

    def _adds_axis(self, found: Product, letters: tuple[int, ...], other: int) -> bool:
        """Whether a product by broadcasting brings in features of v: else it only sums weights that a mask let pass."""
        if self._graph.steps[found.step].op != "sum":
            return True
        own = found.right_letters if other == found.right else found.left_letters
        return any(letter in found.letters and letter not in letters for letter in own)

    def _mixed(self, trail: Trail, found: Product, letters: tuple[int, ...]) -> Trail | None:
        """Talking heads: a weight mixes the heads, the other axes stay as they are."""
        own = dict(zip(letters, trail.labels, strict=True))
        shape = self._graph.shape(self._graph.steps[found.step].results[0])
        heads = {root for letter in found.gone(letters) for root in roots_of(own[letter])}
        labels = tuple(
            own[letter] if letter in own else self._roots.new(size, parents=heads)
            for letter, size in zip(found.letters, shape, strict=True)
        )
        return trail._replace(labels=labels, path=(*trail.path, found.step))

    def _begin(self, scores: Product | None) -> list[Trail]:
        """The trail that a product begins, if it makes scores."""
        if scores is None:
            return []
        labels = self._roots.fresh(self._graph.shape(self._graph.steps[scores.step].results[0]))
        return [Trail(scores, tuple(axis[0].root for axis in labels), labels, "scores")]

    def _of_learned_parts(self, step: Step) -> Product | None:
        """Graph attention: each node gives a number as a query and one as a key, and they are added, all to all."""
        if step.op != "add" or not all(self._is_learned(number) for number in step.refs):
            return None
        return outer_sum(step, self._graph)

    def _is_learned(self, number: int) -> bool:
        return any(
            trail.state == "scores" and self._graph.constant(trail.product.right) for trail in self.trails(number)
        )

    def _side(self, trail: Trail, seed: int) -> str:
        return trail.product.side(trail.product.letters[trail.seeds.index(seed)])

    def _total(self, step: Step) -> None:
        """Note a sum over powers, or a logsumexp over scores."""
        if not step.refs or not step.results or step.op not in ("sum", "nansum", "logsumexp"):
            return
        state = "scores" if step.op == "logsumexp" else "powers"
        for trail in self.trails(step.refs[0]):
            gone = axes_of(step, len(trail.labels))
            if trail.state != state or gone is None:
                continue
            over = frozenset(seed for axis in gone for seed in self.seeds(trail, axis))
            total = _Total(trail.product.step, over, step.index)
            self._totals[step.results[0]] = self._totals.get(step.results[0], frozenset()) | {total}
            self._all_totals.setdefault(trail.product.step, total)

    def _pass(self, step: Step) -> None:
        """An operation that is no contraction: trails go on through it, if it keeps their axes."""
        if step.op not in POINTWISE | VIEWS | SOFTMAX:
            return
        passed = step.refs[:1] if step.op in _BY_FIRST else tuple(dict.fromkeys(step.refs))
        totals = frozenset(total for number in passed for total in self._totals.get(number, ()))
        gone_on: list[tuple[int, Trail]] = []
        for number in passed:
            for trail in self.trails(number):
                gone_on += self._carry(step, number, trail, totals)
        for which, result in enumerate(step.results):
            kept: dict[int, Trail] = {}
            for index, trail in gone_on:
                if index == which:
                    kept.setdefault(trail.product.step, trail)
            if kept or result not in passed:
                self._trails[result] = tuple(kept.values())[:_SEVERAL]
            if totals and not kept:
                self._totals[result] = totals

    def _carry(self, step: Step, number: int, trail: Trail, totals: frozenset[_Total]) -> list[tuple[int, Trail]]:
        """A trail after a step, for each result through which it goes."""
        after = self._turned(step, trail, totals)
        if after is None:
            return []
        if step.op in SOFTMAX:
            labels: tuple[Axes | None, ...] = (trail.labels,)
        else:
            labels = carry(step, self._graph, {number: trail.labels}, self._roots)
        after = after._replace(path=(*trail.path, step.index))
        return [(which, after._replace(labels=axes)) for which, axes in enumerate(labels) if axes is not None]

    def _turned(self, step: Step, trail: Trail, totals: frozenset[_Total]) -> Trail | None:
        """What a trail's tensor is after a step: scores become weights by a softmax, or by its parts in turn."""
        total = next((total for total in totals if total.product == trail.product.step), None)
        state = trail.state
        if step.op in SOFTMAX or step.op == "log_softmax":
            return self._normalised(step, trail, "logs" if step.op == "log_softmax" else "weights")
        if step.op == "normalize" and state == "powers":
            return self._normalised(step, trail, "weights") if step.arg("p", 1, 2.0) == 1 else trail
        if step.op in ("exp", "exp2") and state in ("scores", "logs"):
            after = "powers" if state == "scores" else "weights"
            return trail._replace(state=after, softmax=(*trail.softmax, step.index))
        if total is not None and (state, step.op) in _DIVIDED:
            softmax = (*trail.softmax, total.step, step.index)
            return trail._replace(state=_DIVIDED[state, step.op], over=total.over, softmax=softmax)
        return trail

    def _normalised(self, step: Step, trail: Trail, state: _State) -> Trail | None:
        """The trail after a softmax; None where its axis is none of those that the product made."""
        if trail.state == "weights":  # a second softmax: the weights are those of the first
            return trail._replace(softmax=(*trail.softmax, step.index))
        place, usual = {"gumbel_softmax": (4, -1), "normalize": (2, 1)}.get(step.op, (1, None))
        dim = step.arg("dim", place, usual)
        rank = len(trail.labels)
        if dim is None:  # deprecated; PyTorch then chooses so
            dim = 0 if rank in (0, 1, 3) else 1
        axis = axis_of(dim, rank)
        over = frozenset[int]() if axis is None else self.seeds(trail, axis)
        return trail._replace(state=state, over=over, softmax=(*trail.softmax, step.index)) if over else None
