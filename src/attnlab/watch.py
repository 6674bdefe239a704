"""Watching a program from its first line to its last: `attnlab explain`, `check`, `report`, `draw`, `map`.

`launch.py` turns the process into `python FILE`, with the hook of `hook/` in it; there `attach` begins
to record, and when the program has ended says what happened.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import json
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Sequence
from typing import IO, Any

from attnlab.commandline import Command, Misused, parse
from attnlab.experiments.request import Reply, Request
from attnlab.experiments.server import Server
from attnlab.experiments.start import Start
from attnlab.output import colour, flush_files, own_stderr, own_stdout, say, width, write_whole
from attnlab.recording.imports import when_imported
from attnlab.recording.session import Session
from attnlab.run import Program, Run
from attnlab.words import Words, catalog, language


def attach(request: str) -> None:
    """Begin to watch the program that this process is about to run."""
    # Now, while no module of the program's can stand in the way of Python's own; and later, running any text as
    # code (as dataclasses do) would make Python forget that an interrupt ended the program.
    argv, output = json.loads(request)
    command = parse(argv)
    kinds = {"check": _Checking, "report": _Reporting, "draw": _Drawing, "map": _Mapping}
    kind = kinds.get(command.verb, _Explaining)
    for name in kind.needed():
        importlib.import_module(name)
    words = Words(language(command.last("lang"), os.environ))
    catalog(words.language)
    kind(command, words, output)


class _Watch:
    """A program watched; what is made of its run is the verb's."""

    def __init__(self, command: Command, words: Words, output: int | None) -> None:
        self._command = command
        self._words = words
        if output is None:
            # That of now, whatever the program does to its own.
            self._stdout = self._screen()
        else:
            os.set_inheritable(output, False)
            self._stdout = open(output, "w", encoding="utf-8", errors="backslashreplace")  # noqa: SIM115 - as long as it runs
        self._start = Start.now()
        self._server: Server | None = None
        self._process = os.getpid()
        self._session = self._watching(Program(command.kind, command.program, command.argv))
        self._session.wait_for_torch()
        atexit.register(self._finish)  # the first to be registered is the last to be called

    def _watching(self, program: Program) -> Session | _Capture:
        """What watches the program."""
        return Session(program, numbers=True, on_torch=self._serve, on_start=self._keep)

    def _screen(self) -> IO[str] | None:
        """Where it is said, unless another file was asked for."""
        return own_stdout()

    def _serve(self) -> None:
        self._server = Server(self._start)

    def _keep(self, recorder: Any) -> None:
        """Told of the recorder before it records."""

    def _told(self, run: Run, stdout: IO[str]) -> str:
        """What there is to say of the run."""
        raise NotImplementedError

    def _failed(self, sentence: str) -> str:
        """What is said in the place of that where attnlab itself failed."""
        return sentence + "\n"

    def _leave(self, error: BaseException | None) -> None:
        """Called when all is said; `error` is what ended the program."""

    @property
    def _ask(self) -> Callable[[Sequence[Request]], Sequence[Reply]] | None:
        return None if self._server is None else self._server.ask

    def _finish(self) -> None:
        if os.getpid() != self._process:
            return
        sys.path[:] = self._start.path  # the same for what is still to be imported
        error: BaseException | None = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
        run = self._session.finish(error, None if error is None else 1)
        if self._stdout is not None:
            try:
                text = self._told(run, self._stdout)
            except Exception as fault:  # noqa: BLE001 - the program has ended well, whatever becomes of its explanation
                place = traceback.extract_tb(fault.__traceback__)[-1]
                where = f"{os.path.basename(place.filename)}:{place.lineno}"
                text = self._failed(
                    self._words.say("command.fault", fault=f"{type(fault).__name__}: {fault}", where=where)
                )
            say(self._stdout, text)
        self._close()
        self._leave(error)

    def _close(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None


class _Explaining(_Watch):
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


class _Checking(_Watch):
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


class _Showing(_Watch):
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


class _Reporting(_Showing):
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


class _Drawing(_Showing):
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


class _Capture:
    """In the place of a `Session`, where nothing is recorded: attentions are taken as they happen.

    `begin` is called when the program has imported torch, `end` when it has ended.
    """

    def __init__(self, program: Program, begin: Callable[[], None], end: Callable[[], None]) -> None:
        self._program = program
        self._begin = begin
        self._end = end
        self._process = os.getpid()

    def wait_for_torch(self) -> None:
        """Begin when torch is there."""
        self._undo = when_imported("torch", self._imported)

    def finish(self, error: BaseException | None, exit_code: int | None) -> Run:
        """Stop. The run has no steps."""
        self._undo()
        self._end()
        return Run.empty(self._program, None if error is None else (type(error).__name__, str(error)), exit_code, 0.0)

    def _imported(self) -> None:
        if os.getpid() == self._process:  # else a child that the program forked: it is not the one watched
            self._begin()


class _Mapping(_Watch):
    """`attnlab map FILE`."""

    def __init__(self, command: Command, words: Words, output: int | None) -> None:
        from attnlab.mapping.asking import asked

        self._asked = asked(command)
        self._code = 0
        self._mapped: Any = None
        super().__init__(command, words, output)

    @staticmethod
    def needed() -> Iterable[str]:
        """The modules that are needed to tell, as far as they need no torch."""
        return "attnlab.mapping.asking", "attnlab.mapping.progress", "attnlab.views.paint"

    def _watching(self, program: Program) -> _Capture:
        return _Capture(program, self._begin, self._end)

    def _begin(self) -> None:
        from attnlab.mapping.program import Mapped

        self._mapped = Mapped(self._asked, self._words)

    def _end(self) -> None:
        if self._mapped is not None:
            self._mapped.end()

    def _told(self, run: Run, stdout: IO[str]) -> str:
        try:
            if self._mapped is None:
                raise Misused("map.none", name=self._command.program)
            return self._mapped.told(stdout)
        except Misused as error:
            if error.id != "map.none":  # else nothing was asked that can't be had: the program's own code stays
                self._code = 2
            sentence = self._words.say(error.id, **error.params)
            with contextlib.suppress(OSError):
                os.write(2, (self._words.say("command.misused", sentence=sentence) + "\n").encode())
            return ""

    def _leave(self, error: BaseException | None) -> None:
        if self._code and error is None:
            flush_files()
            os._exit(self._code)  # as a use that is wrong before the program has run
        if self._asked.live and not self._code:
            flush_files()
            os.execv(sys.executable, [sys.executable, "-P", "-m", "attnlab", *self._asked.serving(self._command)])


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{max(1, round(count / 1e3))} KB"
