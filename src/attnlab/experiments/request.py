"""What is asked of a rerun, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from attnlab.experiments.changes import Mode, Nudge, Seed
from attnlab.run import Program, Run

Ended: TypeAlias = Literal["whole", "time", "memory", "output", "effect", "died", "dropped"]

PRINTED = 1 << 20  # bytes that are kept of what a rerun prints


@dataclass(frozen=True)
class Request:
    """One rerun: what to run with which texts and changes, within which bounds (seconds, bytes of memory).

    `measure`: take the measures of `interventions.MEASURES` of every softmax. `examine`: "module:function" that
    is called in the rerun's process with its Run and its Tape; what it returns comes back in the reply, and with
    `keep` false comes back alone, without the Run. `output`: bytes that it may print; without that bound it may
    print any number, and the first are kept. `forks`: how often a process of it, or those that it comes from, may
    fork.
    """

    program: Program
    texts: Mapping[str, str] = field(default_factory=dict[str, str])
    changes: Sequence[Nudge | Seed | Mode] = ()
    numbers: bool = True
    measure: bool = False
    examine: str = ""
    keep: bool = True
    seconds: float = 10.0
    memory: int = 4 << 30
    output: int | None = None
    forks: int | None = None


@dataclass(frozen=True)
class Reply:
    """How a rerun ended.

    `ended`: "whole"; over its bound of "time", "memory" or "output"; at an "effect" (`detail` says which);
    "died" of a signal or of `os._exit`; or "dropped". `run` is None for "time", "output", "died" and "dropped",
    where memory ran out for good, and where it was not to be kept.
    `measures`: by the index of the step, where they were asked for. `files`: the user's modules it imported.
    `examined`: what `Request.examine` returned.
    """

    ended: Ended
    run: Run | None
    printed: str
    detail: str = ""
    measures: Mapping[int, Mapping[str, float]] = field(default_factory=dict[int, Mapping[str, float]])
    files: tuple[str, ...] = ()
    examined: Any = None
