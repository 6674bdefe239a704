"""Where numbers stop being numbers: the first step that makes NaN or infinity of finite ones, and what comes of it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from attnlab.attention.graph import CASTS
from attnlab.checks.whole import Whole
from attnlab.run import Arg, Slice, Step

# After these somebody has seen to it.
_HANDLED = frozenset(
    ["clamp", "nan_to_num", "isinf", "isnan", "isfinite", "nanmean", "nansum", "clamp_min", "clamp_max"]
)
# A row that is masked whole ends in NaN here; that is another rule's.
_SOFTMAX = frozenset(["softmax", "log_softmax", "sub", "exp", "logsumexp"])
# So many values are followed back or on.
FAR = 2000


class State(NamedTuple):
    """What is not finite in a tensor."""

    nan: bool
    up: bool
    down: bool

    @property
    def finite(self) -> bool:
        """Whether all of it is."""
        return not (self.nan or self.up or self.down)


_CLEAN = State(False, False, False)


class Birth(NamedTuple):
    """A step that made what is not finite of finite numbers.

    `overflow`: float16 could not hold what float64 can, `largest` in magnitude; `nan`: it was, or became, NaN.
    """

    step: Step
    state: State
    overflow: bool
    largest: float
    nan: bool


_KNOWN: WeakKeyDictionary[Whole, tuple[Birth, ...]] = WeakKeyDictionary()


def births(whole: Whole) -> tuple[Birth, ...]:
    """The first overflow of half precision in a run, and the first NaN that has an effect."""
    if whole not in _KNOWN:
        _KNOWN[whole] = tuple(Finite(whole).births())
    return _KNOWN[whole]


class Finite:
    """The values of a run, seen for what is not finite in them."""

    def __init__(self, whole: Whole) -> None:
        self._whole = whole
        self.state = cache(self._state)

    def _state(self, number: int) -> State:
        numbers = self._whole.run.values[number].numbers
        tensor = self._whole.replay.value(number)
        if numbers is not None and numbers.nonfinite == 0:
            return _CLEAN
        if tensor is None or not tensor.is_floating_point():
            return _CLEAN
        try:
            if bool(tensor.isfinite().all()):
                return _CLEAN
            return State(
                bool(tensor.isnan().any()), bool((tensor == math.inf).any()), bool((tensor == -math.inf).any())
            )
        except (RuntimeError, NotImplementedError):
            return _CLEAN

    def births(self) -> Iterator[Birth]:
        """The first overflow of half precision, and the first NaN that has an effect, in the order of the run."""
        overflow: Birth | None = None
        nan: Birth | None = None
        for step in self._whole.run.steps:
            if nan is None and (found := self._nan(step)) is not None:
                nan = found
            if overflow is None and (found := self._overflow(step)) is not None:
                overflow = found
            if nan is not None and overflow is not None:
                break
        if overflow is not None:
            yield overflow
        if nan is not None and (overflow is None or not self._comes_from(nan.step, overflow.step)):
            yield nan

    def _nan(self, step: Step) -> Birth | None:
        """What a step that makes the first NaN on its way goes back to; None for another step."""
        made = [number for number in step.results if self.state(number).nan]
        if not made or not step.refs or any(self.state(number).nan for number in step.refs):
            return None
        if not self._matters(made[0]):
            return None
        origin = self._origin(step)
        if origin is None:
            return None
        state = next((self.state(number) for number in origin.results if not self.state(number).finite), _CLEAN)
        largest = self._largest(origin)
        half = self._is_half(origin)
        return Birth(origin, state, half and math.isfinite(largest), largest, True)

    def _origin(self, step: Step) -> Step | None:
        """The step where finite numbers first went astray on the way to a NaN; None where a mask explains it."""
        broken = [number for number in step.refs if not self.state(number).finite]
        if not broken:
            return step
        origins = [made for number in broken for made in self._origins(number)]
        rises = any(self.state(number).up for number in broken)  # no mask does
        true = [made for made in origins if not self._masks(made, rises)]
        if true:
            return min(true, key=lambda made: made.index)
        return None if step.op in _SOFTMAX else step

    def _origins(self, number: int) -> list[Step]:
        found: list[Step] = []
        seen = {number}
        waiting = [number]
        for near in waiting:  # grows while it is walked
            maker = self._whole.graph.maker(near)
            if maker is None or len(seen) > FAR:
                continue
            broken = [ref for ref in maker.refs if not self.state(ref).finite]
            if not broken and maker not in found:
                found.append(maker)
            fresh = [ref for ref in broken if ref not in seen]
            seen.update(fresh)
            waiting += fresh
        return found

    def _masks(self, step: Step, rises: bool) -> bool:
        """Whether infinity was written there on purpose: passed as a number, or below zero as a mask has it.

        `rises`: what came of it lies above zero.
        """
        if not step.refs or _says_infinity(step):
            return True
        if rises:
            return False
        states = [self.state(number) for number in step.results]
        lowered = all(not item.up and not item.nan for item in states)
        return lowered and step.op in CASTS | frozenset(["log", "masked_fill", "where", "setitem"])

    def _matters(self, number: int) -> bool:
        """Whether what is not finite reaches an attention's result, a loss, or what a module gives back."""
        whole = self._whole
        results = {attention.result for attention in whole.attentions}
        seen = {number}
        waiting = [number]
        for near in waiting:  # grows while it is walked
            users = whole.graph.consumers(near)
            if near in results or any(user.op == "backward" for user in users):
                return True
            maker = whole.graph.maker(near)
            kept = None if maker is None else whole.tape.steps.get(maker.index)
            if not users and kept is not None and kept.training is not None:
                return True
            for user in users:
                broken = [item for item in user.results if item not in seen and not self.state(item).finite]
                seen.update(broken)
                waiting += broken
            if len(seen) > FAR:
                break
        return False

    def _overflow(self, step: Step) -> Birth | None:
        """A step whose result half precision could not hold, of numbers that it could."""
        if not self._is_half(step) or not step.refs or _says_infinity(step) or step.op in ("setitem", "masked_fill"):
            return None
        made = next((number for number in step.results if not self.state(number).finite), None)
        if made is None or any(not self.state(number).finite for number in step.refs):
            return None
        state = self.state(made)
        if not state.up and (step.op in CASTS or step.op in ("mul", "add", "where")) and not state.nan:
            return None  # a mask of large negative numbers on its way to -inf
        if any(user.op in _HANDLED for user in self._whole.graph.consumers(made)):
            return None
        largest = self._largest(step)
        if not math.isfinite(largest) or largest <= torch.finfo(torch.float16).max:
            return None
        return Birth(step, state, True, largest, False)

    def _is_half(self, step: Step) -> bool:
        return any(self._whole.run.values[number].dtype == "float16" for number in step.results)

    def _largest(self, step: Step) -> float:
        """The largest magnitude that the step gives in float64; infinite where it is none, NaN where not known."""
        given: dict[int, Tensor] = {}
        for number in step.refs:
            value = self._whole.replay.double(number)
            if value is None:
                return math.nan
            given[number] = value
        played = self._whole.replay.play(step, given)
        if not played or not played[0].is_floating_point() or not played[0].numel():
            return math.nan
        return float(played[0].abs().max())

    def _comes_from(self, step: Step, earlier: Step) -> bool:
        if step.index == earlier.index:
            return True
        return any(
            made.index == earlier.index
            for number in step.refs
            if not self.state(number).finite
            for made in self._origins(number)
        )


def _says_infinity(step: Step) -> bool:
    return any(map(_infinite, (operand.arg for operand in step.operands)))


def _infinite(arg: Arg) -> bool:
    if isinstance(arg, float):
        return math.isinf(arg)
    if isinstance(arg, tuple):
        return any(map(_infinite, arg))
    return isinstance(arg, Slice) and any(map(_infinite, (arg.start, arg.stop, arg.step)))
