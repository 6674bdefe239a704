"""Names for axes: letters by their part in an attention, and the user's own names beside them.

    axes = by_experiment(by_flow(run, attentions), run, trials)

    flow ───── which axes are one and the same ──┬── Axes
    letters ── which of them is B, H, L, D …   ──┤
    evidence ─ what the user calls their sizes ──┘
    following ─ what moved when a size was changed: bears the names out, and adds some

A letter is given where data flow shows the part. An axis of which it shows none has no name: it is never guessed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from attnlab.axes.evidence import Called
from attnlab.axes.following import Followed
from attnlab.axes.names import Axes as ByFlow
from attnlab.axes.names import by_flow
from attnlab.experiments.sizes import Trial
from attnlab.run import Run

__all__ = ["Axes", "Called", "by_experiment", "by_flow"]

Axes: TypeAlias = "ByFlow | Followed"


def by_experiment(axes: ByFlow, run: Run, trials: Sequence[Trial]) -> Axes:
    """The names that the experiments with sizes bear out, and those that they add."""
    return Followed(axes, run, trials) if trials else axes
