"""Programs run again, in a process of its own: a rerun is to be forked off one that has not used torch yet."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from textwrap import dedent
from typing import Any, TypeAlias

from attnlab.answers import whatif
from attnlab.answers.data import Answer
from attnlab.experiments.changes import BadChange, Change
from attnlab.experiments.lab import Lab, NotAgain, Trial, opened
from attnlab.run import Program, Run

SECONDS = 300


@dataclass(frozen=True)
class Refused:
    """A change that cannot be made, or a program that is not run again: the id of the sentence, its parameters."""

    id: str
    params: dict[str, object]


@dataclass(frozen=True)
class Tried:
    """A program's first run, and a further one for each set of changes."""

    run: Run
    trials: tuple[Trial, ...]


# A change, or ("set", name, text), or ("replace", old, new[, line]).
Asked: TypeAlias = "Change | tuple[Any, ...]"


def tried(
    file: Path, *several: Sequence[Asked], argv: Sequence[str] = (), seconds: float | None = None
) -> Tried | Refused:
    """Run a script, then again under each of the sets of changes."""
    return _elsewhere(_tried, file, several, argv, seconds)


def answered(file: Path, *questions: dict[str, Any], argv: Sequence[str] = ()) -> list[Answer | Refused]:
    """What `whatif` answers: each question holds the keyword arguments of `whatif.answer`."""
    return _elsewhere(_answered, file, questions, argv)


def called(work: Callable[..., Any], *args: Any) -> Any:
    """Call a function of a module in that process."""
    return _elsewhere(work, *args)


def program(folder: Path, text: str, name: str = "program.py") -> Path:
    """A script of that text."""
    file = folder / name
    file.write_text(dedent(text).lstrip("\n"), encoding="utf-8")
    return file


@cache
def _process() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(1, mp_context=get_context("spawn"))


def _elsewhere(work: Callable[..., Any], *args: Any) -> Any:
    return _process().submit(work, *args).result(timeout=SECONDS)


def _change(lab: Lab, asked: Asked) -> Change:
    match asked:
        case ("set", name, text):
            return lab.set(name, text)
        case ("replace", *rest):
            return lab.replace(*rest)
        case _:
            return asked


def _tried(
    file: Path, several: Sequence[Sequence[Asked]], argv: Sequence[str], seconds: float | None
) -> Tried | Refused:
    try:
        with opened(Program("script", str(file), tuple(argv))) as lab:
            trials = lab.each([[_change(lab, asked) for asked in changes] for changes in several], seconds)
            return Tried(lab.run, tuple(trials))
    except (BadChange, NotAgain) as error:
        return Refused(error.id, error.params)


def _answered(file: Path, questions: Sequence[dict[str, Any]], argv: Sequence[str]) -> list[Answer | Refused]:
    found: list[Answer | Refused] = []
    with opened(Program("script", str(file), tuple(argv))) as lab:
        for question in questions:
            try:
                found.append(whatif.answer(lab, **question))
            except (BadChange, NotAgain) as error:
                found.append(Refused(error.id, error.params))
    return found


def unharmed(file: str) -> list[str]:
    """What is not as it was in a process that opened a lab and ran a program again that changes all it can."""
    import torch

    def state() -> dict[str, object]:
        return {
            "random": random.getstate(),
            "torch": torch.get_rng_state().tolist(),
            "folder": os.getcwd(),
            "environment": dict(os.environ),
            "path": list(sys.path),
            "arguments": list(sys.argv),
            "modules": sys.modules["__main__"],
            "threads": torch.get_num_threads(),
            "files": sorted(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else [],
            "streams": (sys.stdin, sys.stdout, sys.stderr),
        }

    before = state()
    with opened(Program("script", file, ("argument",))) as lab:
        trials = lab.each([[], []])
        assert [trial.reply.printed for trial in trials] == ["changed\n"] * 2, trials[0].reply
        try:
            os.waitpid(-1, os.WNOHANG)
            children = ["children"]
        except ChildProcessError:  # the program's own os.wait() meets no process of ours
            children = []
    after = state()
    return [name for name, value in before.items() if after[name] != value] + children


def own_children(file: str) -> tuple[int, int]:
    """A child of this process, and the one that os.wait() finds while a lab is open."""
    with opened(Program("script", file, ())) as lab:
        child = os.fork()
        if child == 0:
            os._exit(5)
        lab.again()
        return child, os.wait()[0]


def processes(file: str) -> list[int]:
    """The processes that a lab had, once it is closed."""
    with opened(Program("script", file, ())) as lab:
        trials = lab.each([[], [], []])
    return [int(trial.reply.printed.split()[at]) for trial in trials for at in (0, 1)]
