"""The program run again with every module in evaluation mode: once, for all the rules that ask."""

from __future__ import annotations

from typing import NamedTuple

from attnlab.checks.modes import Standing, standing
from attnlab.checks.unsteady import Unsteady, unsteady
from attnlab.checks.whole import Whole
from attnlab.recording.tape import Tape
from attnlab.run import Run


class Evaluation(NamedTuple):
    """What acts in evaluation, and what makes two calls differ there: plain data of the rerun."""

    standing: Standing
    unsteady: tuple[Unsteady, ...]


def examined(run: Run, tape: Tape) -> Evaluation:
    """What there is to say of the rerun: called in its process."""
    return Evaluation(standing(run, tape), tuple(unsteady(Whole(run, tape))))


def evaluated(whole: Whole) -> Evaluation | None:
    """What the rerun shows; None where the program can't be run again."""
    found = whole.evaluated
    return found if isinstance(found, Evaluation) else None
