"""Keeping the frames that watching adds out of every traceback that the program can see.

An exception that passes through a `__torch_function__` mode picks up the mode's frames, and, for the
functions of PyTorch that are written in Python, the frames that led there. The program would see them
in `traceback.print_exc()` and in what Python prints at the end. They are taken out at the moment when
the exception arrives in the frame that made the call: Python reports that moment to a trace function.
"""

from __future__ import annotations

import sys
from traceback import FrameSummary
from types import FrameType, TracebackType
from typing import Any

from attnlab.recording.frames import TRAMPOLINE

_HERE = __file__.removesuffix("tracebacks.py")


def arrive_clean(frame: FrameType, real: TracebackType | None) -> None:
    """Make the traceback of the exception now on its way into `frame` go on with `real` from there.

    Under a debugger, which owns the trace function, the added frames stay.
    """
    if sys.gettrace() is not None:
        return
    before: Any = frame.f_trace

    def watch(where: FrameType, event: str, arg: Any) -> None:
        if where is frame:
            sys.settrace(None)
            frame.f_trace = before
            if event == "exception":
                arg[2].tb_next = real

    frame.f_trace = watch
    sys.settrace(_ignore)


def without_added(stack: list[FrameSummary]) -> list[FrameSummary]:
    """A stack, outermost frame first, without the frames that watching adds."""
    found: list[FrameSummary] = []
    for frame in stack:
        if frame.name == TRAMPOLINE:
            continue
        if frame.filename.startswith(_HERE):
            if found and found[-1].name == "handle_torch_function":
                del found[-2:]  # what led here from a function of PyTorch written in Python, which runs again below
            continue
        found.append(frame)
    return found


def _ignore(*_: object) -> None:
    return None
