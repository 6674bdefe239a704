"""What a process does while it waits for a program: a small one of ours, recorded and examined, and forgotten again.

A first run in a new process pays for all the memory that it is the first to touch. So that this is not the person's
program, each process rehearses; what a program could see of that is put back.
"""

from __future__ import annotations

import gc
import linecache
import os

import torch

from attnlab.recording.program import Conditions, run_program
from attnlab.recording.tape import Tape
from attnlab.run import Program
from attnlab.web.examining import quick

_REHEARSED = os.path.join(os.path.dirname(__file__), "rehearsed.py")


def rehearse() -> None:
    """Run it once."""
    randomness = torch.random.get_rng_state()
    tape = Tape()

    def keep(recorder: object) -> None:
        setattr(recorder, "tape", tape)  # noqa: B010 - as a rerun does, and no type says so

    try:
        run, _ = run_program(Program("script", _REHEARSED, ()), Conditions(on_start=keep))
        quick(run, tape)
    finally:
        linecache.cache.pop(_REHEARSED, None)
        torch.random.set_rng_state(randomness)
    gc.freeze()
