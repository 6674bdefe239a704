"""`attnlab check`, when the program has ended."""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Iterable
from typing import IO, Any

from attnlab.commandline import Command
from attnlab.output import colour, flush_files, width
from attnlab.run import Run
from attnlab.watch.watching import Watch
from attnlab.words import Words


class Checking(Watch):
    """`attnlab check`."""

    def __init__(self, command: Command, words: Words, output: int | None) -> None:
        from attnlab.settings import asked

        self._tape: Any = None
        self._settings = asked(command)
        self._code = 2
        super().__init__(command, words, output)

    @staticmethod
    def needed() -> Iterable[str]:
        """The modules that are needed to tell: of what the other verb needs none is loaded."""
        from attnlab.reporting import FORMATS

        return "attnlab.mends", "attnlab.pages", *map("attnlab.views.findings.{}".format, FORMATS)

    def _serve(self) -> None:
        from attnlab.checks.rules import rules

        importlib.import_module("attnlab.checking")
        rules()  # before the process of the reruns is forked off, so that none of them has to load the rules
        super()._serve()

    def _keep(self, recorder: Any) -> None:
        from attnlab.recording.tape import Tape

        self._tape = recorder.tape = Tape()

    def _failed(self, sentence: str) -> str:
        self._aside([sentence])
        return ""

    def _leave(self, error: BaseException | None) -> None:
        if not isinstance(error, KeyboardInterrupt):
            flush_files()
            os._exit(self._code)  # that of the findings, whatever the program's own; nothing is called after this

    def _told(self, run: Run, stdout: IO[str]) -> str:
        from attnlab import reporting

        with contextlib.suppress(OSError):
            os.chdir(self._start.folder)  # paths are told, and files mended, from where the program was started
        options, form = self._command.options, self._command.last("format") or "text"
        if run.torch:
            found = self._judged(run)
            report = reporting.report(run, found.findings, len(found.whole.attentions), self._start.folder)
            together = found.together
        else:
            report = reporting.report(run, (), 0, self._start.folder)
            together = bool
        self._code = report.exit_code
        if "diff" in options:
            text, aside = reporting.diff(report, together, run.sources, self._words)
            self._aside(aside)
            return text
        if "fix" in options:
            report, aside = reporting.fixed(report, together, run.sources, self._words)
            self._aside(aside)
            self._code = report.exit_code
        return reporting.written(report, form, self._words, width(), colour(stdout))

    def _judged(self, run: Run) -> Any:
        from attnlab.checking import checked
        from attnlab.checks.whole import Whole

        whole = Whole(run, self._tape, self._ask)
        found = checked(whole, self._words, self._settings, "rerun" in self._command.options)
        for code, fault in found.faults:
            self._aside([self._words.say("command.rule_fault", code=code, fault=f"{type(fault).__name__}: {fault}")])
        return found

    def _aside(self, sentences: Iterable[str]) -> None:
        """Say something that is no finding, and does not belong among them."""
        for sentence in sentences:
            with contextlib.suppress(OSError):
                os.write(2, (self._words.say("command.misused", sentence=sentence) + "\n").encode())
