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
        return _experiment(command, words)
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
    from attnlab.watch import launch

    launch(sys.argv[1:], _program(command), _output(command))


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
