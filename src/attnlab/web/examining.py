"""Called in the process of a run, where it has just ended: from its record to what the page shows of it."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from typing import Any, TypedDict

from attnlab import looking
from attnlab.run import Run


class Examined(TypedDict):
    """A scene as JSON, or how attnlab itself failed to make one; and what the program exited with of its own will."""

    scene: str | None
    fault: str
    exit_code: int


def quick(run: Run, tape: Any) -> Examined:
    """The scene of a run, as quickly as it is to be had."""
    return _examined(looking.examined, run, tape)


def thorough(run: Run, tape: Any) -> Examined:
    """The scene of a run with the findings of `check` in it."""
    return _examined(looking.judged, run, tape)


def _examined(look: Callable[[Run, Any], str], run: Run, tape: Any) -> Examined:
    code = 0 if run.error is not None else run.exit_code or 0
    try:
        return {"scene": look(run, tape), "fault": "", "exit_code": code}
    except Exception as fault:  # noqa: BLE001 - a fault of attnlab's own is told as one, and not as the program's end
        place = traceback.extract_tb(fault.__traceback__)[-1]
        where = f"{os.path.basename(place.filename)}:{place.lineno}"
        return {"scene": None, "fault": f"{type(fault).__name__}: {fault} ({where})", "exit_code": code}
