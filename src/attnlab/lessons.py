"""The lessons that travel with attnlab: files to be read and run, which nothing here imports."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tokenize
import tomllib
from pathlib import Path
from typing import NoReturn

from attnlab.bundled import bundled

_DEMO = "self_attention_demo.py"
# How many processes a lesson is run in, where it is more than one.
PROCESSES = {12: 2}


def lessons() -> dict[int, Path]:
    """The file of each lesson by its number, in order; the demo is number 0."""
    folder = bundled("lesson_files", "lessons")
    found = {0: bundled(f"lesson_files/{_DEMO}", _DEMO)}
    for file in sorted(folder.glob("[0-9][0-9]_*.py")):
        found[int(file.name[:2])] = file
    return found


def number(asked: str) -> int | None:
    """The number that was asked for; None where it is none."""
    return int(asked) if re.fullmatch("[0-9]{1,4}", asked) else None


def source(file: Path, language: str) -> str:
    """The text of a lesson; in another language than Chinese its comments are the English ones."""
    text = file.read_text(encoding="utf-8")
    if language == "zh":
        return text
    english = tomllib.loads(bundled("lesson_files/en.toml", "lessons/en.toml").read_text(encoding="utf-8"))
    return translated(text, english.get(file.name, {}))


def translated(text: str, words: dict[str, str]) -> str:
    """A source with every comment, and every string, that `words` knows said in its words; all else stays as it is."""
    lines = text.splitlines(keepends=True)
    # From the end, so that what is still to come stays where its token says.
    for token in reversed(list(tokenize.generate_tokens(io.StringIO(text).readline))):
        (row, start), (last, end) = token.start, token.end
        if token.type in (tokenize.COMMENT, tokenize.STRING) and token.string in words and row == last:
            line = lines[row - 1]
            lines[row - 1] = line[:start] + words[token.string] + line[end:]
    return "".join(lines)


def run(number: int, file: Path) -> NoReturn:
    """Become the lesson, run by Python: by `torchrun` where it needs several processes."""
    flags: list[str] = getattr(subprocess, "_args_from_interpreter_flags")()  # noqa: B009 - no stub has it
    processes = PROCESSES.get(number)
    launcher: list[str] = []
    environ = dict(os.environ)
    if processes is not None:
        launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={processes}"]
        # What it would set itself, and say so in three lines.
        environ.setdefault("OMP_NUM_THREADS", "1")
    sys.stdout.flush()
    os.execve(sys.executable, [sys.executable, *flags, *launcher, str(file)], environ)
