"""The map of a program while it runs."""

from __future__ import annotations

import time
from pathlib import Path
from typing import IO

from attnlab.capturing import Captured, Capturing
from attnlab.commandline import Misused
from attnlab.mapping.asking import Asked, check_layers
from attnlab.mapping.collecting import MOST, Collector
from attnlab.mapping.progress import Progress
from attnlab.maps.data import Atlas
from attnlab.maps.streaming import summarise
from attnlab.words import Words


class Mapped:
    """The attentions of the program that runs in this thread, from now until `end`."""

    def __init__(self, ask: Asked, words: Words) -> None:
        self._ask = ask
        self._words = words
        self._collector = Collector(ask, summarise, Progress(words, quiet=True))
        self._began = time.perf_counter()
        self._seconds = 0.0
        self._error: Exception | None = None
        self._capturing = Capturing(each=self._each, choose=self._collector.wants)
        self._found = self._capturing.__enter__()

    def _each(self, captured: Captured) -> None:
        try:
            if self._error is None:
                self._collector.each(captured)
        except Exception as error:  # noqa: BLE001 - a fault of ours must not become the program's
            self._error = error

    def end(self) -> None:
        """Take no more: the program has ended."""
        self._capturing.__exit__(None, None, None)
        self._seconds = time.perf_counter() - self._began

    def told(self, stdout: IO[str]) -> str:
        """Write what was asked for, and what there is to say. Raises `Misused`."""
        # Now: it loads libraries that leave traces, as in the filters of warnings, which a program might see.
        from attnlab.mapping.telling import free, saved, told

        collector, ask, words = self._collector, self._ask, self._words
        if self._error is not None:
            raise self._error
        if collector.fault is not None:
            raise collector.fault
        layers = collector.layers()
        missed = tuple(self._found.missed)
        if not collector.seen and not missed:
            raise Misused("map.none", name=ask.program)
        check_layers(ask, range(collector.seen), ask.program)
        atlas = Atlas(ask.program, None, layers, self._seconds, missed)
        if ask.folder is not None:
            atlas = self._written(ask.folder, atlas)
        free(ask)
        saved(atlas, ask, words)
        notes: list[str] = []
        samples = max((layer.summary.shape[0] for layer in layers), default=1)
        if samples > 1 and (ask.layers or ask.heads or ask.windows):
            notes.append(words.say("map.first_sample", samples=samples))
        if collector.again:
            notes.append(words.say("map.again", count=collector.again))
        if collector.seen > MOST and ask.layers is None:
            notes.append(words.say("map.many", count=collector.seen, most=MOST))
        if ask.live:  # it is told where it is served
            return ""
        return told(atlas, collector.windows(layers), notes, ask, words, stdout)

    def _written(self, folder: Path, atlas: Atlas) -> Atlas:
        """The same with its numbers in the folder."""
        from attnlab.mapping.telling import writer

        into = writer(folder, atlas.name, None, self._ask)
        try:
            for layer in atlas.layers:
                into.add(layer, self._collector.sources.get(layer.index))
            return into.close(atlas.seconds, atlas.missed)
        except OSError as error:
            raise Misused("map.full", name=self._ask.name, reason=error.strerror or error) from None
