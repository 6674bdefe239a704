"""A whole run on the bench: the record, the tape, and the attentions found in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import torch

from attnlab.attention import Attention, alike, find
from attnlab.attention.graph import Graph
from attnlab.attention.origins import Origins
from attnlab.experiments.changes import Mode
from attnlab.experiments.replay import Replay
from attnlab.experiments.request import Reply, Request
from attnlab.recording.tape import Tape
from attnlab.run import Run

# A program that took longer (seconds) is not run again unasked.
LONGEST = 20.0

Ask = Callable[[Sequence[Request]], Sequence[Reply]]


class Whole:
    """A run, its tape, and, where the program can be run again, who to ask for that (`ask`)."""

    def __init__(self, run: Run, tape: Tape, ask: Ask | None = None) -> None:
        self.run = run
        self.tape = tape
        self.ask = ask
        self.graph = Graph(run)
        self.replay = Replay(run, tape, self.graph)
        self.attentions: tuple[Attention, ...] = find(run)

    def again(self, examine: str, texts: Mapping[str, str] | None = None, changes: Sequence[Mode] = ()) -> Request:
        """The request to run the program once more and call `examine` ("module:function") there."""
        seconds = max(10.0, 5 * self.run.seconds)
        return Request(self.run.program, texts or {}, changes, examine=examine, seconds=seconds)

    @property
    def groups(self) -> tuple[tuple[Attention, ...], ...]:
        """The attentions, those of the same lines and shapes together."""
        return alike(self.attentions, self.run)

    @cached_property
    def evaluated(self) -> object:
        """What `evaluation.examined` says of a rerun with every module in evaluation mode; None where there is none."""
        if self.ask is None or self.run.seconds > LONGEST:
            return None
        (reply,) = self.ask([self.again("attnlab.checks.evaluation:examined", changes=(Mode("eval"),))])
        return reply.examined

    @cached_property
    def origins(self) -> Origins:
        """Where each value comes from."""
        return Origins(self.graph)

    @cached_property
    def roots(self) -> tuple[torch.nn.Module, ...]:
        """The outermost modules that ran."""
        return tuple({id(root): root for root in self.tape.roots}.values())
