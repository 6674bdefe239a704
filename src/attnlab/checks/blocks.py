"""The parts of a block around an attention: norms, written out or called, and the sums of a residual."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, cached_property
from typing import NamedTuple

from attnlab.attention.graph import CASTS, DROPOUT, NORMS, VIEWS, axes_of
from attnlab.checks.whole import Whole
from attnlab.run import Step

REDUCTIONS = frozenset(
    ["mean", "var", "std", "norm", "sum", "var_mean", "std_mean", "linalg_vector_norm", "vector_norm", "linalg_norm"]
)
_STATISTICS = REDUCTIONS | frozenset(
    ["add", "sub", "mul", "div", "pow", "square", "sqrt", "rsqrt", "reciprocal", "clamp", "clamp_min", "maximum", "abs"]
)
# What a sublayer has at least one of.
_WEIGHTY = frozenset(
    ["linear", "matmul", "bmm", "einsum", "scaled_dot_product_attention", "multi_head_attention_forward", "conv1d"]
)
_ADDS = frozenset(["add"])
# So many steps are walked from one.
FAR = 3000


class Norm(NamedTuple):
    """A norm: of which value, which value came out, and the step that shows where it stands.

    `sources`: the steps that took its statistics; the one step itself where a library did it. `shape`: of the value.
    """

    of: int
    made: int
    step: Step
    sources: tuple[Step, ...]
    shape: tuple[int, ...]

    def axes(self, step: Step) -> tuple[int, ...]:
        """The axes over which one of `sources` takes statistics."""
        rank = len(self.shape)
        if step.op in ("layer_norm", "rms_norm"):
            given = step.arg("normalized_shape", 1)
            return tuple(range(rank - (len(given) if isinstance(given, tuple) else 1), rank))
        if step.op == "normalize":
            dim = step.arg("dim", 2, 1)
            return (dim % rank,) if isinstance(dim, int) else ()
        if step.op in ("norm", "linalg_vector_norm", "linalg_norm", "vector_norm"):
            return axes_of(step, rank, 2) or ()
        return axes_of(step, rank) or ()


class Sum(NamedTuple):
    """The sum of a residual: `skip` is what went past the sublayer, `branch` what came out of it."""

    step: Step
    skip: int
    branch: int


class Blocks:
    """The norms and residual sums of a run."""

    def __init__(self, whole: Whole) -> None:
        self.whole = whole
        self.graph = whole.graph
        self.norm = cache(self._norm)

    # -- norms -------------------------------------------------------------------------------------

    def _norm(self, number: int) -> Norm | None:
        """The norm that made a value, a gain, a shift, a cast and dropout behind it left aside."""
        at: int | None = number
        for _ in range(12):
            step = None if at is None else self.graph.maker(at)
            if step is None or not step.refs or at is None:
                return None
            if step.op in NORMS:
                return Norm(step.refs[0], number, step, (step,), self.graph.shape(step.refs[0]))
            core = self._written(step)
            if core is not None:
                return Norm(core[0], number, step, core[1], self.graph.shape(core[0]))
            at = self._past(step, at)
        return None

    def _past(self, step: Step, number: int) -> int | None:
        """The operand of a step that only scales, shifts, casts or drops it."""
        if step.op in CASTS | DROPOUT:
            return step.refs[0]
        if step.op not in ("mul", "add"):
            return None
        same = [ref for ref in step.refs if self.graph.shape(ref) == self.graph.shape(number)]
        others = [ref for ref in step.refs if ref not in same]
        constant = [ref for ref in step.refs if self.graph.constant(ref) or self.graph.weight(ref)]
        if len(step.refs) == 1:
            return step.refs[0] if step.op == "mul" else None
        return same[0] if len(same) == 1 and all(ref in constant for ref in others) else None

    def _written(self, step: Step, divides: bool = True) -> tuple[int, tuple[Step, ...]] | None:
        """What a norm that is written out was taken of: something is divided by a statistic of itself.

        Without `divides` it may as well be multiplied by it, which makes no norm.
        """
        if step.op not in ("div", "mul") or len(step.refs) != 2:
            return None
        for numerator, other in (step.refs, step.refs[::-1]):
            if step.op == "div" and numerator != step.refs[0]:
                continue
            if self.graph.shape(numerator) != self.graph.shape(step.results[0]):
                continue
            statistics = self._statistics(other)
            if not statistics:
                continue
            if (
                divides
                and step.op == "mul"
                and not any(item.op in ("rsqrt", "reciprocal", "div", "pow") for item in statistics)
            ):
                continue
            base, means = self._centred(numerator)
            reductions = tuple(item for item in statistics if item.op in REDUCTIONS)
            spreads = any(self._is_spread(item, base, numerator) for item in reductions)
            if spreads and any(base in self._bases(item) for item in reductions):
                return base, (*means, *reductions)
        return None

    def _is_spread(self, reduction: Step, base: int, numerator: int) -> bool:
        """Whether a statistic is one of size, as a norm divides by; a plain sum makes shares, as softmax does."""
        if reduction.op not in ("mean", "sum"):
            return True
        return self.uncast(reduction.refs[0]) not in (base, self.uncast(numerator))

    def _statistics(self, number: int) -> list[Step]:
        """The steps by which a statistic was taken, back to what it was taken of."""
        found: list[Step] = []
        waiting = [number]
        for near in waiting:  # grows while it is walked
            step = self.graph.maker(near)
            if step is None or step in found or step.op not in _STATISTICS | CASTS | VIEWS or len(found) > 24:
                continue
            found.append(step)
            if step.op not in REDUCTIONS:
                waiting += step.refs
        return found

    def _centred(self, number: int) -> tuple[int, tuple[Step, ...]]:
        """What a value was before its mean was taken off and a gain put on, and the steps that took the mean."""
        number = self.uncast(number)
        step = self.graph.maker(number)
        if step is not None and step.op == "mul" and len(step.refs) == 2:
            inner = [ref for ref in step.refs if not self.graph.weight(ref)]
            if len(inner) == 1:
                number = self.uncast(inner[0])
                step = self.graph.maker(number)
        if step is None or step.op != "sub" or len(step.refs) != 2:
            return number, ()
        base = self.uncast(step.refs[0])
        means = self._statistics(step.refs[1])
        reductions = tuple(item for item in means if item.op in REDUCTIONS)
        if reductions and all(self.uncast(item.refs[0]) == base for item in reductions):
            return base, reductions
        return number, ()

    def _bases(self, reduction: Step) -> set[int]:
        """What a statistic may have been taken of: the value itself, or what it is the square or the deviation of."""
        found: set[int] = set()
        waiting = [reduction.refs[0]]
        for near in waiting:  # grows while it is walked
            near = self.uncast(near)  # noqa: PLW2901
            if near in found or len(found) > 12:
                continue
            found.add(near)
            step = self.graph.maker(near)
            if step is not None and step.op in ("pow", "square", "sub", "mul", "abs"):
                waiting += step.refs
        return found

    def uncast(self, number: int) -> int:
        """A value before casts and copies."""
        for _ in range(8):
            step = self.graph.maker(number)
            if step is None or step.op not in CASTS or not step.refs or number not in step.results:
                break
            number = step.refs[0]
        return number

    @cached_property
    def norms(self) -> tuple[Norm, ...]:
        """All norms of a run, each where its core was computed."""
        found: list[Norm] = []
        for step in self.whole.run.steps:
            if not step.results or not step.refs or step.source is None:
                continue
            if step.op in NORMS:
                if step.op == "normalize" and step.arg("p", 1, 2.0) == 1:
                    continue  # makes shares that sum to one
                found.append(Norm(step.refs[0], step.results[0], step, (step,), self.graph.shape(step.refs[0])))
                continue
            core = self._written(step)
            if core is not None:
                found.append(Norm(core[0], step.results[0], step, core[1], self.graph.shape(core[0])))
        return tuple(found)

    @cached_property
    def products(self) -> tuple[Norm, ...]:
        """What is divided by, or multiplied with, a statistic of itself, written out by the user."""
        found: list[Norm] = []
        for step in self.whole.run.steps:
            core = None if step.via is not None or step.source is None else self._written(step, divides=False)
            if core is not None:
                found.append(Norm(core[0], step.results[0], step, core[1], self.graph.shape(core[0])))
        return tuple(found)

    def is_data(self, norm: Norm) -> bool:
        """Whether data that were given are standardised over all samples, which is no layer."""
        if norm.step.op in NORMS or not self.graph.given(norm.of) or self.has_gain(norm):
            return False
        return any(0 in norm.axes(step) for step in norm.sources)

    def has_gain(self, norm: Norm) -> bool:
        """Whether what was normed is multiplied by weights, before or after it is divided."""
        near = [*self.graph.consumers(norm.made), norm.step]
        near += [step for ref in norm.step.refs if (step := self.graph.maker(ref)) is not None]
        return any(user.op == "mul" and any(self.graph.constant(ref) for ref in user.refs) for user in near)

    # -- sums --------------------------------------------------------------------------------------

    @cached_property
    def sums(self) -> tuple[Sum, ...]:
        """The residual sums of the user's own: one operand came out of a sublayer that read the other."""
        return tuple(self._sums())

    def _sums(self) -> Iterator[Sum]:
        for step in self.whole.run.steps:
            if step.op not in _ADDS or step.via is not None or step.source is None or len(step.refs) != 2:
                continue
            left, right = step.refs
            shape = self.graph.shape(step.results[0])
            if self.graph.shape(left) != shape or self.graph.shape(right) != shape or len(shape) < 2:
                continue
            for skip, branch in ((left, right), (right, left)):
                if skip != branch and self.reads(branch, self._root(skip)):
                    yield Sum(step, skip, branch)
                    break

    def _root(self, skip: int) -> int:
        """What goes past: where it was normed, the norm's input, which a sublayer may have read by another way."""
        norm = self.norm(skip)
        return skip if norm is None else norm.of

    def reads(self, branch: int, source: int) -> bool:
        """Whether a value came from another by way of a projection or an attention."""
        cone = self.cone(branch, source)
        return source in cone and any(self._is_weighty(number) for number in cone if number != source)

    def _is_weighty(self, number: int) -> bool:
        step = self.graph.maker(number)
        return step is not None and step.op in _WEIGHTY

    def cone(self, number: int, source: int) -> set[int]:
        """The values that a value was made of, as far back as another one."""
        seen = {number}
        waiting = [number]
        for near in waiting:  # grows while it is walked
            if near == source:
                continue
            step = self.graph.maker(near)
            if step is None:
                continue
            for ref in step.refs:
                if ref not in seen and ref >= source and len(seen) < FAR and not self.graph.constant(ref):
                    seen.add(ref)
                    waiting.append(ref)
        return seen
