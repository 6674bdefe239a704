"""An error that ended a run: what Python says, and why the operation did not take its operands."""

from __future__ import annotations

from dataclasses import dataclass

from attnlab.answers.data import Literally
from attnlab.diagnosis import Diagnosis, diagnose
from attnlab.run import Error, Run


@dataclass(frozen=True, slots=True)
class Fault(Literally):
    """What Python says of an error, with the run that it ended and why the shapes do not fit (None: not at fault)."""

    run: Run
    diagnosis: Diagnosis | None


def fault(run: Run, error: Error) -> Fault:
    """The error that ended `run`, explained where shapes are at fault."""
    from attnlab.recording.trial import Trials

    return Fault(said(error), run, diagnose(run, Trials(run)))


def said(error: Error) -> str:
    """An error as Python says it in the last line of a traceback."""
    return f"{error.type}: {error.message}" if error.message else error.type
