"""`attnlab explain`, when the program has ended."""

from __future__ import annotations

from collections.abc import Iterable
from typing import IO

from attnlab.output import colour, width
from attnlab.run import Run
from attnlab.watch.watching import Watch


class Explaining(Watch):
    """`attnlab explain`."""

    @staticmethod
    def needed() -> Iterable[str]:
        """The modules that are needed to tell: of what the other verb needs none is loaded."""
        return "attnlab.telling", "attnlab.diagnosis", "attnlab.views.diagnosis"

    def _told(self, run: Run, stdout: IO[str]) -> str:
        from attnlab.telling import named, tell

        options = self._command.options
        told = named(run, self._ask, rerun="rerun" in options)
        # Now: for as long as it lives, each page of memory that Python clears away at its end is copied first.
        self._close()
        if "json" in options:
            return told.run.to_json() + "\n"
        return tell(
            told, self._words, width(), colour(stdout), layer=self._command.last("layer"), everything="all" in options
        )
