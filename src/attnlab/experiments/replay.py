"""Running recorded steps again with other values in the place of some: an experiment without the program.

A program is run again where its constants or its text are changed. Where a value is changed and only what was
computed from it is asked for, the recorded steps between the two are enough: that takes microseconds, leaves the
program's state alone, and is done in float64, so that what moved can be told from rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from attnlab.attention.graph import DROPOUT, Graph
from attnlab.recording.tape import Kept, Slot, Tape, tensors_in
from attnlab.run import Run, Step

# A replay of what was recorded must come out as it was recorded, to this share of the largest number.
FAITHFUL = {torch.float16: 3e-2, torch.bfloat16: 1e-1}
FAITHFUL_ELSE = 1e-3


class Replay:
    """The steps of a recorded Run, to be run again."""

    def __init__(self, run: Run, tape: Tape, graph: Graph) -> None:
        self.run = run
        self.graph = graph
        self._tape = tape
        self._plans: dict[tuple[frozenset[int], tuple[int, ...]], list[Step] | None] = {}
        self._faithful: dict[tuple[frozenset[int], tuple[int, ...]], bool] = {}

    def value(self, number: int) -> Tensor | None:
        """A value as it was recorded; None where it was not kept. Not to be written into."""
        return self._tape.values.get(number)

    def double(self, number: int) -> Tensor | None:
        """The same in float64 where it has a floating point dtype."""
        value = self.value(number)
        return None if value is None else _double(value)

    def training(self, step: int) -> bool | None:
        """Whether the innermost module of a step was in training mode; None outside any module, or if not kept."""
        kept = self._tape.steps.get(step)
        return None if kept is None else kept.training

    def kept(self, step: int) -> Kept | None:
        """What was passed to a step; None where it was not kept."""
        return self._tape.steps.get(step)

    def again(self, given: Mapping[int, Tensor], want: Sequence[int]) -> dict[int, Tensor] | None:
        """The values `want` as they are where the values `given` are these, both by number.

        Only steps that read what was given, directly or not, are run, in float64 and without dropout; all else
        is as it was recorded. None where a step between was not kept, where running it fails, or where the steps
        do not give what was recorded when nothing is changed: such a path can't be experimented on.
        """
        key = (frozenset(given), tuple(want))
        if key not in self._plans:
            self._plans[key] = self._plan(given, want)
        plan = self._plans[key]
        if plan is None:
            return None
        if key not in self._faithful:
            self._faithful[key] = self._is_faithful(plan, given, want)
        return self._play(plan, given, want) if self._faithful[key] else None

    def play(self, step: Step, given: Mapping[int, Tensor], **options: Any) -> list[Tensor] | None:
        """The tensors that one step gives where the values `given` are these and `options` are passed as well."""
        kept = self._tape.steps.get(step.index)
        if kept is None:
            return None
        world = {number: _double(tensor) for number, tensor in given.items()}
        try:
            return list(tensors_in(self._result(step, kept, world, {}, options)))
        except Exception:  # noqa: BLE001 - an experiment that can't be made
            return None

    def _plan(self, given: Mapping[int, Tensor], want: Sequence[int]) -> list[Step] | None:
        """The steps between, in order; None where one was not kept."""
        needed: set[int] = set()
        waiting = [number for number in want if number not in given]
        seen = set(waiting)
        while waiting:
            number = waiting.pop()
            step = self.graph.maker(number)
            if step is None:
                continue
            needed.add(step.index)
            for read in step.refs:
                if read not in seen and read not in given:
                    seen.add(read)
                    waiting.append(read)
        moved = set(given)
        plan: list[Step] = []
        for index in sorted(needed):
            step = self.run.steps[index]
            if any(read in moved for read in step.refs):
                if index not in self._tape.steps:
                    return None
                plan.append(step)
                moved.update(step.results)
                if any(self.run.values[number].step == index and number not in step.results for number in seen):
                    return None  # a state made through a view of its memory
        return plan

    def _is_faithful(self, plan: list[Step], given: Mapping[int, Tensor], want: Sequence[int]) -> bool:
        recorded = {number: self.value(number) for number in (*given, *want)}
        found = {number: value for number, value in recorded.items() if value is not None}
        if len(found) < len(recorded):
            return False
        if any(_drops(step, self._tape.steps[step.index]) for step in plan):
            return True  # what was dropped can't be dropped again; it is taken on trust
        played = self._play(plan, {number: _double(found[number]) for number in given}, want)
        return played is not None and all(_close(played[number], found[number]) for number in want)

    def _play(self, plan: list[Step], given: Mapping[int, Tensor], want: Sequence[int]) -> dict[int, Tensor] | None:
        world: dict[int, Tensor] = {number: _double(tensor) for number, tensor in given.items()}
        for step in plan:
            try:
                results = self._run(step, self._tape.steps[step.index], world)
            except Exception:  # noqa: BLE001 - an experiment that can't be made
                return None
            world.update({number: tensor for number, tensor in results.items() if number not in given})
        found: dict[int, Tensor] = {}
        for number in want:
            tensor = world.get(number)
            tensor = self.double(number) if tensor is None else tensor
            if tensor is None:
                return None
            found[number] = tensor
        return found

    def _run(self, step: Step, kept: Kept, world: dict[int, Tensor]) -> dict[int, Tensor]:
        copies: dict[int, Tensor] = {}
        result = self._result(step, kept, world, copies, {})
        written = [copies[number] for number in step.inplace]
        fresh = [item for item in tensors_in(result) if not any(item is other for other in written)]
        return {number: _double(item.detach()) for number, item in zip(step.results, [*written, *fresh], strict=False)}

    def _result(
        self, step: Step, kept: Kept, world: dict[int, Tensor], copies: dict[int, Tensor], options: dict[str, Any]
    ) -> Any:
        """What the step's function returns. `copies`: of what it writes into, by number."""

        def tensor(number: int) -> Tensor:
            if number in copies:
                return copies[number]
            found = world.get(number)
            if found is None:
                found = _double(self._tape.values[number])
            if number in step.inplace:
                found = copies[number] = found.clone()
            return found

        args = _filled(kept.args, tensor)
        kwargs = {name: _filled(arg, tensor) for name, arg in kept.kwargs.items()}
        with torch.no_grad(), torch._C.DisableTorchFunction():
            return call(step, kept.func, args, {**kwargs, **options})


def call(step: Step, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call what a step called, with dropout left out."""
    if step.op in DROPOUT:
        return args[0] if args else kwargs["input"]
    name = {"scaled_dot_product_attention": "dropout_p", "multi_head_attention_forward": "dropout_p"}.get(step.op)
    if name is not None:
        place = 4 if step.op == "scaled_dot_product_attention" else 10
        if len(args) > place:
            args = (*args[:place], 0.0, *args[place + 1 :])
        else:
            kwargs = {**kwargs, name: 0.0}
    return func(*args, **kwargs)


def _drops(step: Step, kept: Kept) -> bool:
    if step.op in DROPOUT:
        return True
    return any(isinstance(item, float) and 0 < item < 1 for item in (kept.kwargs.get("dropout_p"), *kept.args[4:5]))


def _filled(arg: Any, tensor: Callable[[int], Tensor]) -> Any:
    match arg:
        case Slot():
            return tensor(arg.number)
        case tuple() if type(arg) is tuple:
            return tuple(_filled(item, tensor) for item in arg)
        case list():
            return [_filled(item, tensor) for item in arg]
        case dict():
            return {key: _filled(item, tensor) for key, item in arg.items()}
        case slice():
            return slice(*(_filled(item, tensor) for item in (arg.start, arg.stop, arg.step)))
        case _:
            return arg


def _double(tensor: Tensor) -> Tensor:
    return tensor.double() if tensor.is_floating_point() and tensor.dtype != torch.float64 else tensor


def _close(played: Tensor, recorded: Tensor) -> bool:
    if played.shape != recorded.shape:
        return False
    if not recorded.is_floating_point():
        return bool((played == recorded).all())
    share = FAITHFUL.get(recorded.dtype, FAITHFUL_ELSE)
    wanted = recorded.double()
    finite = wanted[wanted.isfinite()]
    # What a mask filled in is no measure of the rest.
    usual = finite[finite.abs() < 1e4]
    scale = float(usual.abs().max()) if usual.numel() else 1.0
    return torch.allclose(played, wanted, rtol=share, atol=share * max(scale, 1e-6), equal_nan=True)
