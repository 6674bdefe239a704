"""Attentions, each summarised when it happens; what is asked of single weights is taken then, too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from functools import reduce
from typing import TYPE_CHECKING

from torch import Tensor

from attnlab.commandline import Misused
from attnlab.mapping.asking import Asked, Place
from attnlab.mapping.progress import Progress
from attnlab.maps.data import Layer, Source, Summary
from attnlab.maps.story import Window, exact
from attnlab.maps.streaming import join

if TYPE_CHECKING:
    from attnlab.capturing import Captured
    from attnlab.maps.store import Writer


# So many attentions of a program are mapped: a loop outside any module may go on for long.
MOST = 1000


class Collector:
    """What `Capturing` is given: `wants` for `choose`, and `each`. Attentions are numbered as they first appear.

    `summarise` as `attnlab.maps.streaming.summarise`, or `attnlab.maps.ranks.shared`. Where there is a `writer`, layers
    are written as they come, and `each` raises `Misused` where one can't be; those of the numbers `done` are there from
    an earlier run.

    `fault`    what went wrong, after which nothing more is summarised
    `sources`  what a page is to compute windows from
    `seen`     how many attentions there were, and `again`, how many calls repeated them
    """

    def __init__(
        self,
        ask: Asked,
        summarise: Callable[..., Summary | None],
        progress: Progress,
        writer: Writer | None = None,
        done: frozenset[int] = frozenset(),
    ) -> None:
        self.fault: Misused | None = None
        self.again = 0
        self.seen = 0
        self.sources: dict[int, Source] = {}
        self._ask = ask
        self._summarise = summarise
        self._progress = progress
        self._writer = writer
        self._done = done
        self._now = 0
        self._index = -1
        self._turns: dict[str, int] = {}
        self._numbers: dict[tuple[str, int], int] = {}
        self._parts: dict[int, list[Layer]] = {}
        self._windows: dict[str, dict[int, tuple[float, ...]]] = {}

    def wants(self, name: str, index: int) -> bool:
        """Whether anything is to be made of this attention."""
        self._now = number = self._number(name, index)
        ask = self._ask
        if self.fault is not None or (number >= MOST if ask.layers is None else number not in ask.layers):
            return False
        return number not in self._done or any(place.layer == number for place in ask.windows)

    def each(self, captured: Captured) -> None:
        """Take what is wanted of one call of an attention."""
        number, source = self._now, captured.source
        if self.fault is not None or source is None:
            return
        parts = self._parts.get(number, [])
        if parts and not _continues(parts[-1].summary, source, captured.first):
            self.again += 1
            return
        for place in self._ask.windows:
            if place.layer == number:
                self._look(place, source, captured.first)
        if number not in self._done:
            self._summary(number, captured, source)

    def _number(self, name: str, index: int) -> int:
        """A number for each module, and for each further attention that it computes in one pass."""
        if index <= self._index:  # in each pass they are counted from 0
            self._turns.clear()
        self._index = index
        owner = name.partition(":")[0]  # a second place in a module has a name of its own from the second pass on
        turn = self._turns[owner] = self._turns.get(owner, -1) + 1
        number = self._numbers.setdefault((owner, turn), len(self._numbers))
        self.seen = len(self._numbers)
        return number

    def _summary(self, number: int, captured: Captured, source: Source) -> None:
        _, every, _, _ = source.shape
        heads = tuple(range(every)) if self._ask.heads is None else self._ask.heads
        if heads[-1] >= every:
            self.fault = Misused("map.no_head", asked=heads[-1], layer=number, last=every - 1)
            return
        chosen = source if self._ask.heads is None else source.heads(heads)
        ask = self._ask
        found = self._summarise(
            chosen, top=ask.top, near=ask.near, cells=ask.cells, first=captured.first, told=self._progress.share
        )
        if found is not None:
            self._keep(Layer(number, captured.name, captured.style, heads, found), chosen)
            self._progress.done(len(heads))

    def layers(self) -> tuple[Layer, ...]:
        """The layers that were not written as they came; those of a key/value cache with all their rows."""
        return tuple(reduce(_joined, self._parts[number]) for number in sorted(self._parts))

    def windows(self, layers: tuple[Layer, ...]) -> list[Window]:
        """The windows that were asked for. Raises `Misused` where one reaches beyond its layer."""
        sizes = {layer.index: layer.summary for layer in layers}
        found: list[Window] = []
        for place in self._ask.windows:
            rows, summary = self._windows.get(place.asked, {}), sizes.get(place.layer)
            if summary is None:
                raise Misused("map.layer", asked=place.layer, name=self._ask.program, last=max(sizes, default=0))
            last = summary.first + summary.shape[2] - 1
            if rows.keys() != set(place.rows) or place.keys[-1] >= summary.keys:
                raise Misused(
                    "map.window_over", asked=place.asked, layer=place.layer, queries=last, keys=summary.keys - 1
                )
            weights = tuple(rows[row] for row in place.rows)
            found.append(Window(place.layer, place.head, place.rows, place.keys, weights))
        return found

    def _look(self, place: Place, source: Source, first: int) -> None:
        """Take those weights of a window that this call computes. Keys that it has not seen yet have the weight 0."""
        _, heads, queries, keys = source.shape
        if place.head >= heads:
            self.fault = Misused("map.no_head", asked=place.head, layer=place.layer, last=heads - 1)
            return
        here = range(max(place.rows[0], first), min(place.rows[-1] + 1, first + queries))
        if not here:
            return
        rows, chosen = slice(here[0] - first, here[-1] + 1 - first), slice(place.keys[0], place.keys[-1] + 1)
        weights = exact(source, place.head, rows, chosen)
        missing = (0.0,) * (place.keys[-1] + 1 - max(keys, place.keys[0]))
        self._windows.setdefault(place.asked, {}).update(
            (row, (*numbers, *missing)) for row, numbers in zip(here, weights, strict=True)
        )

    def _keep(self, layer: Layer, source: Source) -> None:
        if self._writer is None:
            parts = self._parts.setdefault(layer.index, [])
            if self._ask.live:
                self._hold(layer.index, None if parts else source)
            parts.append(layer)
            # However many calls of one row there are, few parts are there at any time, and a row is seldom copied.
            while len(parts) > 1 and _rows(parts[-2]) <= _rows(parts[-1]):
                parts[-2:] = [_joined(*parts[-2:])]
            return
        try:
            self._writer.add(layer, source if self._ask.live else None)
        except OSError as error:  # at once: nothing more can be written, and other processes may wait for this one
            raise Misused("map.full", name=self._ask.name, reason=error.strerror or error) from None

    def _hold(self, number: int, source: Source | None) -> None:
        """Keep a copy of what windows are computed from, of a layer that is one call; of several nothing is kept."""
        self.sources.pop(number, None)
        if source is not None:
            values = ((field.name, getattr(source, field.name)) for field in fields(source))
            copies = {name: value.clone() for name, value in values if isinstance(value, Tensor)}
            self.sources[number] = replace(source, **copies)


def _continues(before: Summary, source: Source, first: int) -> bool:
    """Whether a call computes the rows behind those that are there, from a key/value cache."""
    batch, _, rows, _ = before.shape
    return first == before.first + rows and source.shape[0] == batch


def _joined(before: Layer, after: Layer) -> Layer:
    """One layer of two whose rows continue one another."""
    return replace(before, summary=join(before.summary, after.summary))


def _rows(layer: Layer) -> int:
    return layer.summary.shape[2]
