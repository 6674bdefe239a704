"""The places where PyTorch would behave otherwise under a function mode, or would not tell it anything.

- `has_torch_function` says yes under any mode, and `nn.MultiheadAttention` and `nn.TransformerEncoder`
  then leave their fast path: asked by them, ours does not count.
- Dynamo would trace the mode into the compiled code and guard on it: ours is off while compiled code
  runs, and the call is noted as one step from outside.
- A tracer names what it traces after the variables of the frame that called the operation: ours is off.
- Anomaly detection keeps the stack of every operation, as text: our frames are taken out.
- Scripted and traced functions run without telling a mode: their call is noted as one step too.

All of it is undone when the recording ends.
"""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch
import torch.overrides

from attnlab.recording.imports import when_imported
from attnlab.recording.mode import Recorder, hide
from attnlab.recording.noted import Noted
from attnlab.recording.operations import Outside
from attnlab.recording.tracebacks import without_added

_C: Any = torch._C
_OVERRIDES: Any = torch.overrides
_TRACERS = (
    (_C, "_create_function_from_trace"),
    (_C, "_create_graph_by_tracing"),
    (_C.ScriptModule, "_create_method_from_trace"),
)


_SCRIPTED = Outside("scripted", "torch.jit.script")


class _Patch:
    """Something of PyTorch's replaced. Recordings may overlap, in threads: whichever ends first takes out its own."""

    def __init__(self, owner: Any, name: str, make: Callable[[_Patch], Any]) -> None:
        """`make` gives the replacement; it calls `patch.real`."""
        self.owner = owner
        self.name = name
        with _LOCK:
            self.real = getattr(owner, name)
            self.wrapper = make(self)
            setattr(owner, name, self.wrapper)
            _PATCHES.append(self)

    def undo(self) -> None:
        """Take it out, from under a later one too."""
        with _LOCK:
            _PATCHES.remove(self)
            for other in _PATCHES:
                if other.owner is self.owner and other.name == self.name and other.real is self.wrapper:
                    other.real = self.real
                    return
            setattr(self.owner, self.name, self.real)


_LOCK = threading.Lock()
_PATCHES: list[_Patch] = []


class Watching:
    """A recorder at work: `with Watching(recorder):`. Leaves PyTorch as it was."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._undo: list[Callable[[], None]] = []
        self._compiled: list[tuple[FrameType, Noted | None]] = []

    def __enter__(self) -> Watching:
        self._undo.append(when_imported("torch._dynamo.eval_frame", self._patch_dynamo))
        self._undo.append(when_imported("torch.fx.traceback", self._patch_stacks))
        for kind in (_C.ScriptFunction, _C.ScriptMethod):
            self._replace(kind, "__call__", self._scripted)
        for owner, name in _TRACERS:
            self._replace(owner, name, self._unwatched)
        self._resume()
        return self

    def __exit__(self, *exc: object) -> None:
        self._pause()
        for undo in reversed(self._undo):
            undo()

    def _replace(self, owner: Any, name: str, make: Callable[[_Patch], Any]) -> None:
        self._undo.append(_Patch(owner, name, make).undo)

    def _resume(self) -> None:
        _C._push_on_torch_function_stack(self._recorder)
        self._asked = _Patch(_OVERRIDES, "has_torch_function", self._without_ours)

    def _without_ours(self, patch: _Patch) -> Any:
        def has_torch_function(relevant_args: Any) -> bool:
            if _C._len_torch_function_stack() != 1 or _C._get_function_stack_at(0) is not self._recorder:
                return patch.real(relevant_args)
            mode = _C._pop_torch_function_stack()
            try:
                return patch.real(relevant_args)
            finally:
                _C._push_on_torch_function_stack(mode)

        return has_torch_function

    def _pause(self) -> None:
        self._asked.undo()
        above: list[Any] = []  # modes that the program entered later and has not left
        while _C._len_torch_function_stack():
            mode = _C._pop_torch_function_stack()
            if mode is self._recorder:
                break
            above.append(mode)
        for mode in reversed(above):
            _C._push_on_torch_function_stack(mode)

    def _on(self) -> bool:
        # The patches hold for every thread, the mode for one, and not within an operation.
        return any(_C._get_function_stack_at(i) is self._recorder for i in range(_C._len_torch_function_stack()))

    def _patch_dynamo(self) -> None:
        eval_frame: Any = sys.modules["torch._dynamo.eval_frame"]

        def make(patch: _Patch) -> Any:
            def maybe_set_eval_frame(callback: Any) -> Any:
                # A compiled function calls this twice, on its way in and on its way out.
                frame = sys._getframe(1)
                if frame.f_code.co_name == "compile_wrapper":
                    if self._compiled and self._compiled[-1][0] is frame:
                        self._leave()
                    elif self._compiled or self._on():
                        self._enter(frame)
                return patch.real(callback)

            return maybe_set_eval_frame

        self._replace(eval_frame, "_maybe_set_eval_frame", make)

    def _patch_stacks(self) -> None:
        home: Any = sys.modules["torch.fx.traceback"]

        def make(patch: _Patch) -> Any:
            def format_stack() -> list[str]:
                if home.should_preserve_node_meta:
                    return patch.real()
                return traceback.format_list(without_added(traceback.extract_stack()[:-1]))

            return format_stack

        self._replace(home, "format_stack", make)

    def _enter(self, frame: FrameType) -> None:
        noted = None
        if not self._compiled:
            passed = frame.f_locals
            name = getattr(passed.get("fn"), "__name__", "function")
            compiled = Outside("compiled", f"torch.compile.{name}")
            noted = self._recorder.begin(compiled, passed["args"], passed["kwargs"], frame)
            self._pause()
        self._compiled.append((frame, noted))

    def _leave(self) -> None:
        frame, noted = self._compiled.pop()
        if not self._compiled:
            self._resume()
            if noted is not None and "result" in frame.f_locals:
                passed = frame.f_locals
                self._recorder.end(noted, passed["result"], passed["args"], passed["kwargs"])

    def _unwatched(self, patch: _Patch) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            if not self._on():
                return patch.real(*args, **kwargs)
            self._pause()
            try:
                return patch.real(*args, **kwargs)
            except BaseException as error:
                hide(error, sys._getframe(1))
                raise
            finally:
                self._resume()

        return call

    def _scripted(self, patch: _Patch) -> Any:
        recorder = self._recorder

        def call(function: Any, *args: Any, **kwargs: Any) -> Any:
            frame = sys._getframe(1)
            noted = recorder.begin(_SCRIPTED, args, kwargs, frame) if self._on() else None
            site = recorder.frames.site(frame)
            try:
                result = site.call(patch.real, (function, *args), kwargs)
            except BaseException as error:
                hide(error, frame)
                raise
            if noted is not None:
                recorder.end(noted, result, args, kwargs)
            return result

        return call
