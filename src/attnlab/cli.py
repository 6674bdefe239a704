"""The command line: `attnlab VERB …`. It only puts the rooms together."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, NoReturn

from attnlab import __version__
from attnlab.commandline import Command, Misused, parse
from attnlab.output import colour, open_output, own_stdout, say, width
from attnlab.recording.program import NoProgram, check
from attnlab.run import Program
from attnlab.words import LANGUAGES, UnknownLanguage, Words, language

if TYPE_CHECKING:
    from attnlab.answers.data import Answer
    from attnlab.experiments.lab import Lab


def main() -> int:
    """Entry point of the command `attnlab`. Returns the exit code."""
    # Asked for first, so that even a misuse is told in the language that was asked for.
    words = Words("en")
    try:
        words = Words(language(None, os.environ))
        command = parse(sys.argv[1:])
        words = Words(language(command.last("lang"), os.environ))
        if command.verb == "version":
            return _print(f"attnlab {__version__}")
        if command.verb == "help" or "help" in command.options:
            return _print(words.say(f"command.help.{command.verb}", languages=" | ".join(LANGUAGES)))
        if command.verb == "explain":
            _explain(command)
        if command.verb == "check":
            if "explain" in command.options:
                return _page(command, words)
            _check(command)
        if command.verb == "report":
            _report(command)
        if command.verb == "draw":
            _draw(command)
        verbs = {"map": _map, "lesson": _lesson, "play": _play}
        return verbs.get(command.verb, _experiment)(command, words)
    except UnknownLanguage as error:
        return _misused(words, str(error))
    except Misused as error:
        return _misused(words, words.say(error.id, **error.params))


def _print(text: str) -> int:
    stdout = own_stdout()
    if stdout is not None:
        say(stdout, text + "\n")
    return 0


def _misused(words: Words, sentence: str) -> int:
    print(words.say("command.misused", sentence=sentence), file=sys.stderr)
    return 2


def _explain(command: Command) -> NoReturn:
    from attnlab.launch import launch

    launch(sys.argv[1:], _program(command), _output(command))


def _check(command: Command) -> NoReturn:
    from attnlab.launch import launch
    from attnlab.reporting import FORMATS
    from attnlab.settings import BadSettings, asked

    try:
        asked(command)
    except BadSettings as error:
        raise Misused(error.id, **error.params) from None
    form = command.last("format") or "text"
    if form not in FORMATS:
        raise Misused("command.format", asked=form, formats=", ".join(FORMATS))
    if "diff" in command.options and ("fix" in command.options or form != "text"):
        raise Misused("command.diff")
    program, output = _program(command), _output(command)
    if output is None:
        # Findings alone on stdout, whole, for whoever reads them from a pipe; the program speaks on stderr.
        output = own_stdout()
        os.dup2(2, 1)
    launch(sys.argv[1:], program, output)


def _report(command: Command) -> NoReturn:
    from attnlab.launch import launch
    from attnlab.settings import BadSettings, asked
    from attnlab.views.page import is_page

    try:
        asked(command)
    except BadSettings as error:
        raise Misused(error.id, **error.params) from None
    program, name = _program(command), command.page
    _writable(name)
    if os.path.isfile(name) and os.path.getsize(name):
        with open(name, "rb") as file:
            if not is_page(file.read(4096)):
                raise Misused("report.there", name=name)
    launch(sys.argv[1:], program, None)


def _draw(command: Command) -> NoReturn:
    from attnlab.drawn import asked
    from attnlab.launch import launch

    asked(command)
    program = _program(command)
    _writable(command.last("output") or "")
    launch(sys.argv[1:], program, None)


def _map(command: Command, words: Words) -> int:
    """The map of a model, which is computed here, or of a program, which this process becomes; or one that is there."""
    from attnlab.launch import launch
    from attnlab.mapping.asking import FILES, asked, is_map, is_model, no_text

    ask = asked(command)
    if ask.name.lower().endswith(FILES):
        _writable(ask.name)
    if is_map(command):
        from attnlab.mapping.stored import of_map

        return of_map(command, words)
    if not is_model(command):
        no_text(command)
        if ask.live and ask.folder is None:
            raise Misused("map.live_folder")
        launch(sys.argv[1:], _program(command), None)
    from attnlab.mapping.model import of_model

    return of_model(command, words)


def _writable(name: str) -> None:
    """Find out before the program runs whether a file can be written. What is there stays as it is until then."""
    there = os.path.lexists(name)
    try:
        with open(name, "ab" if not there or os.path.isfile(name) else "wb"):
            pass
        if not there:
            os.remove(name)
    except OSError as error:
        raise Misused("command.output", name=name, reason=error.strerror or error) from None


def _page(command: Command, words: Words) -> int:
    """The page of the rule that `--explain` names."""
    from attnlab.pages import page
    from attnlab.settings import BadSettings, rule

    try:
        code = rule(command.last("explain") or "", "--explain")
    except BadSettings as error:
        raise Misused(error.id, **error.params) from None
    text = page(code, words.language)
    if text is None:
        raise Misused("command.page", code=code)
    return _tell(command, text)


def _lesson(command: Command, words: Words) -> int:
    """The lessons: all of them in a list, or one of them shown, run or copied."""
    from attnlab import lessons

    files = lessons.lessons()
    titles = {number: words.say(f"lesson.title.{number:02}") for number in files}
    action = next((option for option in ("run", "copy") if option in command.options), None)
    if not command.program:
        if action is not None:
            raise Misused("lesson.number", option=f"--{action}")
        lines = (
            words.say("lesson.line", number=number, title=title, question=words.say(f"lesson.question.{number:02}"))
            for number, title in titles.items()
        )
        return _tell(command, words.say("lesson.listed", lines="\n".join(lines)) + "\n")
    if command.argv:
        raise Misused("lesson.one")
    if {"run", "copy"} <= command.options.keys():
        raise Misused("lesson.both")
    number = lessons.number(command.program)
    if number not in files:
        named = ", ".join(words.say("lesson.named", number=number, title=title) for number, title in titles.items())
        raise Misused("lesson.unknown", asked=command.program, lessons=named)
    file = files[number]
    if action == "run":
        lessons.run(number, file)
    text = lessons.source(file, words.language)
    return _tell(command, text) if action is None else _copy(number, file.name, text, words)


def _copy(number: int, name: str, text: str, words: Words) -> int:
    """Put a lesson into the current folder, where no file has its name."""
    from attnlab.lessons import PROCESSES

    try:
        with open(name, "x", encoding="utf-8") as copy:
            copy.write(text)
    except FileExistsError:
        raise Misused("lesson.there", name=name) from None
    except OSError as error:
        raise Misused("command.output", name=name, reason=error.strerror or error) from None
    processes = PROCESSES.get(number)
    if processes is None:
        return _print(words.say("lesson.copied", name=name))
    return _print(words.say("lesson.copied_many", name=name, processes=processes))


def _play(command: Command, words: Words) -> int:
    """The playground, where what serves it is installed."""
    try:
        from attnlab.web.play import play
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0]
        if name not in ("starlette", "uvicorn"):
            raise
        raise Misused("play.missing", name=name) from None
    return play(command, words)


def _tell(command: Command, text: str) -> int:
    """Say a text where it was asked for."""
    stdout = _output(command) or own_stdout()
    if stdout is not None:
        say(stdout, text)
    return 0


def _experiment(command: Command, words: Words) -> int:
    """The verbs whose answer is an experiment."""
    from attnlab.answers.why import NoAnswer
    from attnlab.experiments.changes import BadChange
    from attnlab.experiments.lab import NotAgain, opened
    from attnlab.explanation.overview import NoLayer
    from attnlab.views.answer import lines
    from attnlab.views.terminal import sentence

    try:
        ask = _whatif(command) if command.verb == "whatif" else _why(command)
        program = _program(command)
        stdout = _output(command) or own_stdout()
        if not sys.flags.safe_path:
            del sys.path[0]  # the folder of this command; the program gets its own in its place
        with opened(program, rerun="rerun" in command.options) as lab:
            found = ask(lab)
    except (BadChange, NotAgain, NoAnswer) as error:
        raise Misused(error.id, **error.params) from None
    except NoLayer as error:
        return _misused(words, sentence(error.message, words))
    if stdout is not None:
        say(stdout, "\n".join(lines(found, words, width(), colour(stdout))) + "\n")
    return 0


def _whatif(command: Command) -> Callable[[Lab], Answer]:
    from attnlab.answers import whatif

    options = command.options
    sets = [value for (value,) in options.get("set", [])]
    replace = options["replace"][-1] if "replace" in options else None
    if not sets and replace is None:
        raise Misused("command.whatif", file=command.program)
    line = command.last("line")
    if line is not None and not line.isdecimal():
        raise Misused("command.line", asked=line)
    pair = None if replace is None else (replace[0], replace[1])
    return lambda lab: whatif.answer(lab, sets, pair, None if line is None else int(line))


def _why(command: Command) -> Callable[[Lab], Answer]:
    from attnlab.answers import why

    at = re.fullmatch(r"(.+):(\d+)", command.program)
    if at is not None and not os.path.exists(command.program):
        command.program = at[1]
        line = int(at[2])
        return lambda lab: why.at_line(lab, line)
    if not command.argv:
        raise Misused("command.topic", topics=", ".join(why.TOPICS), file=command.program)
    topic, *rest = command.argv
    command.argv = tuple(rest)
    name = why.nearest(topic)
    return lambda lab: why.topic(lab, name, _layer(lab, command.last("layer")))


def _layer(lab: Lab, layer: str | None) -> int:
    """The index of the attention that `--layer` chooses; the first where it does not."""
    from attnlab.attention import alike
    from attnlab.explanation.overview import chosen

    return 0 if layer is None else chosen(alike(lab.attentions, lab.run), layer)[0][0].index


def _program(command: Command) -> Program:
    program = Program(command.kind, command.program, command.argv)
    try:
        check(program)
    except NoProgram as error:
        raise Misused(f"command.{error.reason}", name=error.name) from None
    return program


def _output(command: Command) -> IO[str] | None:
    """The file that was asked for; None where it was none."""
    name = command.last("output")
    if name is None:
        return None
    try:
        return open_output(name)
    except OSError as error:
        raise Misused("command.output", name=name, reason=error.strerror or error) from None
