"""A whole run on the bench: the record, the tape, and the attentions found in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import torch

from attnlab.attention import Attention, alike, find
from attnlab.attention.graph import Graph
from attnlab.experiments.replay import Replay
from attnlab.experiments.server import Reply, Request
from attnlab.recording.tape import Tape
from attnlab.run import Run

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

    @property
    def groups(self) -> tuple[tuple[Attention, ...], ...]:
        """The attentions, those of the same lines and shapes together."""
        return alike(self.attentions, self.run)

    @cached_property
    def roots(self) -> tuple[torch.nn.Module, ...]:
        """The outermost modules that ran."""
        return tuple({id(root): root for root in self.tape.roots}.values())
