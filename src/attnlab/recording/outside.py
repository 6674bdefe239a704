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
import traceback
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch
import torch.overrides

from attnlab.recording.imports import when_imported
from attnlab.recording.mode import Noted, Recorder, hide
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
            self._replace(kind, "__call__", self._scripted(kind.__call__))
        for owner, name in _TRACERS:
            self._replace(owner, name, self._unwatched(getattr(owner, name)))
        self._resume()
        return self

    def __exit__(self, *exc: object) -> None:
        self._pause()
        for undo in reversed(self._undo):
            undo()

    def _replace(self, owner: Any, name: str, new: Any) -> None:
        old = getattr(owner, name)
        setattr(owner, name, new)
        self._undo.append(lambda: setattr(owner, name, old))

    def _resume(self) -> None:
        _C._push_on_torch_function_stack(self._recorder)
        real = self._asked = _OVERRIDES.has_torch_function

        def has_torch_function(relevant_args: Any) -> bool:
            if _C._len_torch_function_stack() != 1 or _C._get_function_stack_at(0) is not self._recorder:
                return real(relevant_args)
            mode = _C._pop_torch_function_stack()
            try:
                return real(relevant_args)
            finally:
                _C._push_on_torch_function_stack(mode)

        _OVERRIDES.has_torch_function = has_torch_function

    def _pause(self) -> None:
        _OVERRIDES.has_torch_function = self._asked
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
        real = eval_frame._maybe_set_eval_frame

        def maybe_set_eval_frame(callback: Any) -> Any:
            # A compiled function calls this twice, on its way in and on its way out.
            frame = sys._getframe(1)
            if frame.f_code.co_name == "compile_wrapper":
                if self._compiled and self._compiled[-1][0] is frame:
                    self._leave()
                else:
                    self._enter(frame)
            return real(callback)

        self._replace(eval_frame, "_maybe_set_eval_frame", maybe_set_eval_frame)

    def _patch_stacks(self) -> None:
        home: Any = sys.modules["torch.fx.traceback"]
        real = home.format_stack

        def format_stack() -> list[str]:
            if home.should_preserve_node_meta:
                return real()
            return traceback.format_list(without_added(traceback.extract_stack()[:-1]))

        self._replace(home, "format_stack", format_stack)

    def _enter(self, frame: FrameType) -> None:
        noted = None
        if not self._compiled:
            passed = frame.f_locals
            name = getattr(passed.get("fn"), "__name__", "function")
            noted = self._recorder.begin(Outside("compiled", f"torch.compile.{name}"), passed["args"], passed["kwargs"], frame)
            self._pause()
        self._compiled.append((frame, noted))

    def _leave(self) -> None:
        frame, noted = self._compiled.pop()
        if not self._compiled:
            self._resume()
            if noted is not None and "result" in frame.f_locals:
                passed = frame.f_locals
                self._recorder.end(noted, passed["result"], passed["args"], passed["kwargs"])

    def _unwatched(self, real: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            if not self._on():
                return real(*args, **kwargs)
            self._pause()
            try:
                return real(*args, **kwargs)
            except BaseException as error:
                hide(error, sys._getframe(1))
                raise
            finally:
                self._resume()

        return call

    def _scripted(self, real: Any) -> Any:
        recorder = self._recorder

        def call(function: Any, *args: Any, **kwargs: Any) -> Any:
            frame = sys._getframe(1)
            noted = recorder.begin(_SCRIPTED, args, kwargs, frame) if self._on() else None
            site = recorder.frames.site(frame)
            try:
                result = site.call(real, (function, *args), kwargs)
            except BaseException as error:
                hide(error, frame)
                raise
            if noted is not None:
                recorder.end(noted, result, args, kwargs)
            return result

        return call
