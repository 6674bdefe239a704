"""Being told of steps while they happen, with the tensors themselves and however many there are.

A `Tap` stands in a recorder where a tape stands. It holds nothing of what it is told, and renews the record before
a bound of it is met, so that no step of a long generation is passed over.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import replace
from types import CodeType, FrameType
from typing import Any, NamedTuple, TypeAlias

import torch
from torch import Tensor

from attnlab.recording import operations
from attnlab.recording.finish import _Builder, values
from attnlab.recording.frames import TRAMPOLINE, Module, Site, Tag
from attnlab.recording.mode import SITE_LIMIT, STEP_LIMIT, Recorder, ids
from attnlab.recording.outside import Watching
from attnlab.recording.tape import _memory, tensors_in
from attnlab.recording.tensors import Tensors, number_of
from attnlab.run import Program, Run

# Where a call stands: each frame's code and instruction, from the operation to the module that is running.
Place: TypeAlias = "tuple[tuple[CodeType, int], ...]"

_HERE = __file__.removesuffix("tap.py")
_OURS = _HERE.removesuffix("recording/")
_WRAPPED_CALL = torch.nn.Module._wrapped_call_impl.__code__
_CALL_IMPL = torch.nn.Module._call_impl.__code__
_HANDLE = torch.overrides.handle_torch_function.__code__
_ACTIVATIONS = torch.nn.Softmax.__module__
# The origin of a tensor that no step of the record made.
_INPUT = ("input", "")
# More frames than stand between an operation and the module that it belongs to.
_FRAMES = 24


class Stop(BaseException):
    """Ends the program from within a listener: `error` is what the listener raised."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(error)
        self.error = error


class Told(NamedTuple):
    """A step that has just run. `step`: its index in the record; `args`, `kwargs`, `result`: as they were passed."""

    step: int
    op: str
    function: str
    args: Any
    kwargs: Any
    result: Any
    module: Module | None
    user: Site | None


class Tap:
    """`listen` is told of each step whose operation `wanted` says yes to, `writing` of memory about to be written.

    `renewing` is told when the record is to begin anew. What a listener raises becomes the program's only as `Stop`.
    """

    def __init__(
        self,
        wanted: Callable[[str], bool],
        listen: Callable[[Told], None],
        writing: Callable[[int], None],
        renewing: Callable[[], None],
    ) -> None:
        self.recorder = Recorder()
        self.recorder.tape = self  # pyright: ignore[reportAttributeAccessIssue] - it has the three methods of a Tape
        self._watching = Watching(self.recorder)
        self._wanted = wanted
        self._listen = listen
        self._writing = writing
        self._renewing = renewing
        self._ops: dict[Any, str | None] = {}

    def begin(self) -> None:
        """Begin to record this thread."""
        self._watching.__enter__()

    def end(self) -> None:
        """Leave PyTorch as it was. The record stays."""
        self._watching.__exit__()

    def close(self) -> bool:
        """Let go of the record. Whether anything of it was lost, by a fault of ours."""
        self.renew()
        self.recorder.frames.close()
        return bool(self.recorder.lost)

    def met(self, root: torch.nn.Module) -> None:
        """Told of each outermost module when it first runs; of no use here."""

    def before_writing(self, args: Any, kwargs: Any, noted: Any) -> None:
        """Told before a step that may write into its arguments."""
        del noted
        with torch._C.DisableTorchFunction():
            for memory in {_memory(tensor) for tensor in tensors_in((args, kwargs))}:
                self._writing(memory)

    def keep(
        self, step: int, args: Any, kwargs: Any, noted: Any, result: Any, before: tuple[int, ...], made: tuple[int, ...]
    ) -> None:
        """Told after a step."""
        del before, made
        func, _, _, site, user, module, *_ = noted
        key = 0 if module is None else module.key
        if site.counts.get(key, 0) >= SITE_LIMIT - 1:
            site.counts[key] = 0
        try:
            op = self._ops[func]
        except KeyError:
            name = operations.name(func).op
            op = self._ops[func] = name if self._wanted(name) else None
        if op is not None:
            self._listen(Told(step, op, operations.name(func).function, args, kwargs, result, module, user))
        if len(self.recorder.results) >= STEP_LIMIT - 1:
            self._renewing()
            self.renew()

    def renew(self) -> None:
        """Begin the record anew."""
        recorder = self.recorder
        recorder.steps.clear()
        recorder.results.clear()
        recorder.overwritten.clear()
        recorder.sizes.clear()
        recorder.tensors, before = Tensors(False), recorder.tensors
        # Each tensor that lives on keeps its origin: to find that takes long, and a cache holds many.
        for known in list(before._known.values()):
            tensor = known()
            if tensor is not None:
                with torch._C.DisableTorchFunction():
                    number = recorder.tensors.made(tensor, None)
                recorder.tensors.origins[number] = before.origins.get(number_of(known.mark), _INPUT)

    @property
    def length(self) -> int:
        """How many steps the record holds."""
        return len(self.recorder.results)

    def run(self) -> Run:
        """The record so far."""
        recorder = self.recorder
        builder = _Builder(recorder)
        steps = tuple(
            builder.step(index, noted, ids(made), recorder.overwritten.get(index, ()))
            for index, (noted, made) in enumerate(zip(recorder.steps, recorder.results, strict=True))
        )
        return replace(
            Run.empty(Program("block", "", ()), None, None, 0.0), steps=steps, values=values(recorder.tensors)
        )

    def read_by(self, step: int) -> Iterable[int]:
        """The steps that made what a step of the record reads."""
        makers = self.recorder.tensors.makers
        _, passed, named, *_ = self.recorder.steps[step]
        for mark in _marks((passed, tuple((named or {}).values()))):
            maker = makers[number_of(mark)]
            if maker is not None and maker != step:
                yield maker

    def where(self, told: Told) -> tuple[Place, Module | None]:
        """Where the step that a listener is being told of stands, and the module that it belongs to.

        A module of PyTorch's that only applies an operation, as `nn.Softmax`, belongs to the module that called it.
        """
        found: list[tuple[CodeType, int]] = []
        module = told.module
        frame = _operation()
        while frame is not None and len(found) < _FRAMES:
            code = frame.f_code
            if code is _WRAPPED_CALL:
                module = self.recorder.frames._modules.get(id(frame.f_locals["self"]))
                if module is None or not _applies(module):
                    return tuple(found), module
                module = None
            elif code.co_filename.startswith(_OURS):
                break
            elif code is not _CALL_IMPL:
                found.append((code, frame.f_lasti))
            frame = frame.f_back
        return tuple(found), module

    def shape_before(self, tensor: Tensor) -> tuple[int, ...] | None:
        """The shape of a tensor before a `view` or `reshape` made it; None where none did, or that is not recorded."""
        known = self.recorder.tensors._known.get(id(tensor))
        maker = None if known is None or known() is not tensor else self.recorder.tensors.makers[number_of(known.mark)]
        if maker is None or self.op(maker) not in ("view", "reshape"):
            return None
        noted = self.recorder.steps[maker]
        return tuple(self.recorder.tensors.forms[number_of(noted[1][0])][0])

    def op(self, step: int) -> str:
        """The operation of a step of the record."""
        return operations.name(self.recorder.steps[step][0]).op


def _marks(noted: Any) -> Iterable[complex]:
    if isinstance(noted, complex):
        yield noted
    elif isinstance(noted, (tuple, list)):
        for item in noted:
            yield from _marks(item)


def has_numbers(passed: Any) -> bool:
    """Whether the tensors among some arguments hold numbers that stay: not on the meta device, nor in a transform."""
    is_wrapped: Any = getattr(torch._C, "_functorch").is_functorch_wrapped_tensor  # noqa: B009 - no stub has it
    return not any(tensor.is_meta or is_wrapped(tensor) for tensor in tensors_in(passed))


@contextmanager
def unnoticed() -> Generator[None]:
    """What is computed within it leaves no gradient, is told to no mode of the program's, and may be kept."""
    with torch._C.DisableTorchFunction(), torch.no_grad(), torch.inference_mode(False):
        if not torch._C._len_torch_dispatch_stack():
            yield
            return
        with torch._C._DisableTorchDispatch():
            yield


def memory_of(tensor: Tensor) -> int:
    """What tells the memory of a tensor from that of others, while the tensor is held."""
    return _memory(tensor)


def _applies(module: Module) -> bool:
    """Whether a module is one of PyTorch's activations."""
    made = module.ref()
    return type(made).__module__ == _ACTIVATIONS and not isinstance(made, torch.nn.MultiheadAttention)


def outermost() -> object:
    """The call of the outermost module that is running; None outside any. Held, it stays unlike any other."""
    found: Any = None
    frame = _operation()
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith(_OURS):
            break
        if code is _WRAPPED_CALL:
            found = frame
        frame = frame.f_back
    if found is None:
        return None
    tag: Any = found.f_trace
    return tag if tag.__class__ is Tag else found  # under a debugger, which owns the slot


def _operation() -> FrameType | None:
    """The frame that called the operation: the nearest that watching did not add."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if code.co_name != TRAMPOLINE and not code.co_filename.startswith(_OURS) and code is not _HANDLE:
            return frame
        frame = frame.f_back
    return None
