"""How far the map of a model is, in one line on a terminal; nothing where stderr is none."""

from __future__ import annotations

import sys
import time
from collections.abc import Generator
from contextlib import contextmanager

from attnlab.output import width
from attnlab.views.text import fit
from attnlab.words import Words

# The line is written anew after so many seconds; what is left is told after a few.
_EVERY, _TOLD = 0.1, 2.0


class Progress:
    """`quiet`: nothing at all, as while a program runs: the terminal is its own."""

    def __init__(self, words: Words, quiet: bool = False) -> None:
        self._words = words
        self._on = not quiet and sys.stderr is not None and sys.stderr.isatty()
        self._total = 0, 0
        self._layers = self._heads = 0
        self._began = self._last = 0.0

    def show(self, text: str) -> None:
        """Write the line."""
        if self._on:
            sys.stderr.write(f"\r\x1b[K{fit(text, width() - 1)}")
            sys.stderr.flush()

    def clear(self) -> None:
        """Take the line away, so that something else can be said."""
        if self._on:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    @contextmanager
    def during(self, text: str) -> Generator[None]:
        """Show the line for as long as the block runs."""
        self.show(text)
        try:
            yield
        finally:
            self.clear()

    def begin(self, layers: int, heads: int) -> None:
        """So many layers are to be done, with so many heads together."""
        self._total = layers, heads
        self._began = time.monotonic()

    def share(self, done: float) -> None:
        """So much of a layer, from 0 to 1, is done."""
        now = time.monotonic()
        if not self._on or now - self._last < _EVERY:
            return
        self._last = now
        every, heads = self._total
        said = {"done": self._layers + 1, "every": every, "heads": f"{self._heads}/{heads}"}
        passed, ready = now - self._began, self._layers + done
        if passed < _TOLD or not ready:
            self.show(self._words.say("map.progress.first", **said))
            return
        left = round(passed / ready * (every - ready))
        self.show(self._words.say("map.progress.layer", **said, left=f"{left // 60}:{left % 60:02}"))

    def done(self, heads: int) -> None:
        """A layer of so many heads is done."""
        self._layers += 1
        self._heads += heads
