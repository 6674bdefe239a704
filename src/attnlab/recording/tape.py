"""What is kept of each step for `check`: the function, what was passed and what came out, so that it can be run again.

Unlike a Run a tape holds tensors alive. What it holds is bounded, and a tensor that the program is about to
write into is copied first, so that each value stays what it was.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attnlab.recording.tensors import number_of

# Bytes of tensors that a tape holds; of an operation that is repeated at one place, only the first rounds.
HELD = 1 << 30
ROUNDS = 16


class Kept(NamedTuple):
    """One step: what was called, with the real arguments, and the numbers of the tensors among them.

    `args` and `kwargs` hold each tensor as `Slot(number)`, everything else as it was passed.
    `training`: whether the innermost module was in training mode; None outside any module.
    """

    func: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    training: bool | None


class Slot(NamedTuple):
    """In the place of a tensor: the number of its value."""

    number: int


class Tape:
    """The steps of one recording by their index, and the tensors by the number of their value."""

    def __init__(self, held: int = HELD) -> None:
        self.steps: dict[int, Kept] = {}
        self.values: dict[int, Tensor] = {}
        self.roots: list[torch.nn.Module] = []
        self.full = False
        self._left = held
        self._memory: dict[int, list[int]] = {}

    def met(self, root: torch.nn.Module) -> None:
        """Told of each outermost module when it first runs."""
        self.roots.append(root)

    def before_writing(self, args: Any, kwargs: Any, noted: Any) -> None:
        """Copy what is held of the memory of every tensor among the arguments: it is about to be written."""
        if noted is not None:
            self._take(args, kwargs, noted, {})
        for tensor in tensors_in((args, kwargs)):
            for number in self._memory.pop(_memory(tensor), ()):
                self.values[number] = _unseen(self.values[number].clone)

    def keep(
        self, step: int, args: Any, kwargs: Any, noted: Any, result: Any, before: tuple[int, ...], made: tuple[int, ...]
    ) -> None:
        """Keep a step. `noted`: what the recorder noted of it; `before`: what it overwrote, first among `made`."""
        func, _, _, site, _, module, *_ = noted
        if self.full or site.counts.get(0 if module is None else module.key, 0) > ROUNDS:
            return
        owner = None if module is None else module.ref()
        given: dict[int, Tensor] = {}
        self.steps[step] = Kept(
            func, *self._take(args, kwargs, noted, given), None if owner is None else owner.training
        )
        written = [given[number] for number in before if number in given]
        if len(written) == len(before):
            fresh = [tensor for tensor in tensors_in(result) if not any(tensor is other for other in written)]
            for number, tensor in zip(made, [*written, *fresh], strict=False):
                self._hold(number, tensor)

    def _take(
        self, args: Any, kwargs: Any, noted: Any, given: dict[int, Tensor]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        _, passed, named, *_ = noted
        by_place = tuple(self._held(arg, mark, given) for arg, mark in zip(args, passed, strict=True))
        marks = (named or {}).values()
        return by_place, {name: self._held(kwargs[name], mark, given) for name, mark in zip(kwargs, marks, strict=True)}

    def _held(self, arg: Any, mark: Any, given: dict[int, Tensor]) -> Any:
        if isinstance(arg, Tensor):
            number = number_of(mark)
            given[number] = arg
            self._hold(number, arg)
            return Slot(number)
        if isinstance(arg, slice):
            parts = ((arg.start, mark.start), (arg.stop, mark.stop), (arg.step, mark.step))
            return slice(*(self._held(item, inner, given) for item, inner in parts))
        if isinstance(arg, dict):
            return {key: self._held(item, inner, given) for (key, item), inner in zip(arg.items(), mark, strict=True)}
        if type(arg) in (tuple, list):
            return type(arg)(self._held(item, inner, given) for item, inner in zip(arg, mark, strict=True))
        return arg

    def _hold(self, number: int, tensor: Tensor) -> None:
        if number in self.values or self.full or not _holds_numbers(tensor):
            return
        memory = _memory(tensor)
        if memory not in self._memory:
            self._left -= tensor.element_size() * math.prod(tensor.shape)
            if self._left < 0:
                self.full = True
                return
        self._memory.setdefault(memory, []).append(number)
        self.values[number] = _unseen(tensor.detach)


def tensors_in(item: Any) -> Iterable[Tensor]:
    """The tensors in a result, in order."""
    if isinstance(item, Tensor):
        yield item
    elif isinstance(item, dict):
        for inner in item.values():
            yield from tensors_in(inner)
    elif isinstance(item, (tuple, list)):
        for inner in item:
            yield from tensors_in(inner)


def _holds_numbers(tensor: Tensor) -> bool:
    """Not on the meta device, and not a subclass that answers for its operations itself, as a FakeTensor does."""
    kind: Any = type(tensor)
    base: Any = Tensor
    return not tensor.is_meta and kind.__torch_dispatch__ is base.__torch_dispatch__


def _unseen(make: Callable[[], Tensor]) -> Tensor:
    """A tensor that we make: a dispatch mode of the program's is not asked, and does not count it."""
    if not torch._C._len_torch_dispatch_stack():
        return make()
    with torch._C._DisableTorchDispatch():
        return make()


def _memory(tensor: Tensor) -> int:
    try:
        return tensor.untyped_storage()._cdata
    except (RuntimeError, NotImplementedError):  # sparse and functional tensors have none
        return -id(tensor)
