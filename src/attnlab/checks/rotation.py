"""Rotary positions on the bench: q and k with one content at every place, so that positions alone tell them apart."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from attnlab.checks.case import Case, Name
from attnlab.checks.positions import NEAR, Meeting, Positions, positions, waves
from attnlab.run import Step

# So many places are compared with each other.
SEEN = 8


@dataclass(frozen=True, slots=True)
class Turn:
    """The rotation of q or k: the meetings with the tables, and [places, features] of its cosines + i · sines."""

    meetings: tuple[Meeting, ...]
    phase: Tensor

    @property
    def step(self) -> Step:
        """The first step of the rotation."""
        return min((meeting.step for meeting in self.meetings), key=lambda step: step.index)


class Rotation:
    """What turns q and k of one attention. `q`, `k`: None where nothing does."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self._place: Positions = positions(case.whole)
        self.q = self._turn("q")
        self.k = self._turn("k")

    def _turn(self, name: Name) -> Turn | None:
        tokens = self._place.token_axis(self.case, name)
        if tokens is None:
            return None
        found: list[tuple[Meeting, Tensor]] = []
        for meeting in self._place.meetings(self.case, name):
            if meeting.way != "mul" or not meeting.near:
                continue
            axes = set(self._place.along(meeting)) & set(self._place.tokens_of(meeting.result, tokens))
            rows = None if len(axes) != 1 else self._rows(meeting, axes.pop())
            if rows is not None:
                found.append((meeting, rows))
        for meeting, rows in found:
            if rows.is_complex():
                return Turn((meeting,), rows)
        paired = [
            (meeting, rows, more)
            for meeting, rows in found
            for other, more in found
            if other.table != meeting.table and waves(rows, more)
        ]
        if not paired:
            return None
        _, rows, more = paired[0]
        cosine, sine = (rows, more) if _is_cosine(rows, more) else (more, rows)
        return Turn(tuple(meeting for meeting, _, _ in paired), torch.complex(cosine, sine))

    def _rows(self, meeting: Meeting, axis: int) -> Tensor | None:
        """[places, features] of a table, the first sample's."""
        table = self.case.replay.value(meeting.table)
        if table is None or not (table.is_floating_point() or table.is_complex()):
            return None
        axis -= len(self.case.graph.shape(meeting.result)) - table.dim()
        for place in range(table.dim() - 1):
            if place != axis:
                table = table.narrow(place, 0, 1)
        rows = table.reshape(-1, table.shape[-1])
        rows = rows.to(torch.complex128) if rows.is_complex() else rows.double()
        return rows if not rows.is_complex() or bool(((rows.abs() - 1).abs() < NEAR).all()) else None

    # -- the experiment ------------------------------------------------------------------------------

    @cached_property
    def even(self) -> tuple[Tensor, Tensor] | None:
        """[N, L, d] q and k (as they enter) where every place has the content of place 0."""
        given: dict[int, Tensor] = {}
        noise = torch.Generator().manual_seed(11)
        for name in ("q", "k"):
            tokens = self._place.token_axis(self.case, name)
            for number in self._place.leaves(self.case, name):
                value = self.case.replay.double(number)
                axes = () if tokens is None else self._place.tokens_of(number, tokens)
                if value is None or len(axes) != 1 or not value.is_floating_point():
                    return None
                shape = [1 if place == axes[0] else size for place, size in enumerate(value.shape)]
                fresh = torch.randn(shape, generator=noise, dtype=torch.float64).expand(value.shape).contiguous()
                given.setdefault(number, fresh)
        entered = [self.case.attention.q.entered, self.case.attention.k.entered]
        played = self.case.replay.again(given, entered) if given else None
        if played is None:
            return None
        q, k = (self.case.arranged(name, played[number]) for name, number in zip(("q", "k"), entered, strict=True))
        return None if q is None or k is None else (q, k)

    @cached_property
    def scores(self) -> Tensor | None:
        """[N, places, places]: the products of q and k with the same content everywhere."""
        if self.even is None:
            return None
        q, k = (item[:, :SEEN] for item in self.even)
        return q @ k.transpose(-2, -1) if q.shape[-1] == k.shape[-1] and len(q) == len(k) else None


def _is_cosine(rows: Tensor, other: Tensor) -> bool:
    return bool((rows[0] >= other[0]).all())


def unequal(turn: Turn, other: Turn, scores: Tensor) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Two pairs of places at the same relative turn whose scores differ the most; None where none do."""
    one, two = turn.phase[:SEEN], other.phase[:SEEN]
    if one.shape != two.shape or scores.shape[1:] != (len(one), len(two)):
        return None
    relative = one[:, None, :] * two[None, :, :].conj()
    places = [(i, j) for i in range(len(one)) for j in range(len(two))]
    span = float((scores.amax() - scores.amin()).abs()) + 1e-12
    size = max(float(scores.abs().max()), 1e-12)
    worst: tuple[float, tuple[tuple[int, int], tuple[int, int]] | None] = (0.0, None)
    for at, first in enumerate(places):
        for second in places[at + 1 :]:
            if float((relative[first] - relative[second]).abs().max()) > 1e-5:
                continue
            apart = float((scores[:, first[0], first[1]] - scores[:, second[0], second[1]]).abs().max())
            if apart > worst[0]:
                worst = (apart, (first, second))
    return worst[1] if worst[0] > 1e-3 * size and worst[0] > 1e-6 * span else None


def keeps_length(rows: Tensor) -> bool:
    """Whether [N, places, d] has the same length at every place."""
    size = rows.square().sum(-1).sqrt()
    return bool(torch.isclose(size, size[:, :1], rtol=1e-4).all())
