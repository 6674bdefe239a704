"""`attnlab report` and `attnlab draw`, when the program has ended."""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Iterable
from typing import IO, Any

from attnlab.commandline import Command, Misused
from attnlab.output import own_stderr, write_whole
from attnlab.run import Run
from attnlab.watch.watching import Watch
from attnlab.words import Words


class Showing(Watch):
    """What shows the tensors themselves, in a file of its own: the program's stdout stays the program's."""

    def __init__(self, command: Command, words: Words, output: int | None) -> None:
        self._tape: Any = None
        super().__init__(command, words, output)

    def _screen(self) -> IO[str] | None:
        return own_stderr()

    def _keep(self, recorder: Any) -> None:
        from attnlab.recording.tape import HELD, Tape

        # Half of what memory is free, where that is more than `check` takes.
        free = 0
        with contextlib.suppress(ValueError, OSError):  # not every system tells
            free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        self._tape = recorder.tape = Tape(max(HELD, free // 2))

    def _written(self, name: str, content: str | bytes, sentence: str) -> str:
        """Write the file, and say so; or why not."""
        try:
            size = write_whole(os.path.join(self._start.folder, name), content)
        except OSError as error:
            return self._misused("command.output", name=name, reason=error.strerror or error)
        return self._words.say(sentence, name=name, size=_size(size)) + "\n"

    def _misused(self, sentence: str, **params: object) -> str:
        return self._words.say("command.misused", sentence=self._words.say(sentence, **params)) + "\n"


class Reporting(Showing):
    """`attnlab report`."""

    def __init__(self, command: Command, words: Words, output: int | None) -> None:
        from attnlab.settings import asked

        self._settings = asked(command)
        super().__init__(command, words, output)

    @staticmethod
    def needed() -> Iterable[str]:
        """The modules that are needed to tell, as far as they need no torch."""
        return "attnlab.scene.bare", "attnlab.views.page", "attnlab.views.answer", "ctypes", "gc", "tokenize", "zlib"

    def _serve(self) -> None:
        importlib.import_module("attnlab.looking").ready()
        super()._serve()

    def _told(self, run: Run, stdout: IO[str]) -> str:
        from attnlab.views.page import is_page

        text = self._page(run)
        self._close()
        name = self._command.page
        with contextlib.suppress(OSError), open(os.path.join(self._start.folder, name), "rb") as file:
            if os.path.isfile(file.name) and (head := file.read(4096)) and not is_page(head):
                return self._words.say("report.changed", name=name) + "\n"
        return self._written(name, text, "report.written")

    def _page(self, run: Run) -> str:
        """The page of the run; without PyTorch where the program did not load it, for which it is too late now."""
        lang = self._words.language
        if not run.torch:
            from attnlab.scene.bare import bare, text
            from attnlab.views.page import page

            return page(text(bare(run, lang)), {}, run.program.name, lang)
        from attnlab import looking

        return looking.report(run, self._tape, self._server, lang, self._settings, "rerun" in self._command.options)


class Drawing(Showing):
    """`attnlab draw`."""

    @staticmethod
    def needed() -> Iterable[str]:
        """The modules that are needed to tell, as far as they need no torch."""
        return "attnlab.drawing.flow", "attnlab.drawing.heat", "attnlab.explanation", "ctypes", "gc", "zlib"

    def _serve(self) -> None:
        """Nothing is run again."""

    def _told(self, run: Run, stdout: IO[str]) -> str:
        from attnlab import drawn
        from attnlab.drawing.raster import missing, png
        from attnlab.explanation.overview import NoLayer
        from attnlab.views.terminal import sentence

        if not run.torch:
            return self._misused("draw.none")
        from attnlab.checks.whole import Whole

        name = self._command.last("output") or ""
        try:
            picture = drawn.drawing(Whole(run, self._tape), drawn.asked(self._command), self._words)
        except Misused as error:
            return self._misused(error.id, **error.params)
        except NoLayer as error:
            return self._words.say("command.misused", sentence=sentence(error.message, self._words)) + "\n"
        if not name.lower().endswith(".png"):
            return self._written(name, picture, "draw.written")
        told = self._written(name, png(picture), "draw.written")
        boxes = missing(picture)
        return told + self._misused("draw.boxes", count=len(boxes), some=boxes[:8]) if boxes else told


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{max(1, round(count / 1e3))} KB"
