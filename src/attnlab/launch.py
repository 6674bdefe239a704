"""Turning this process into the program, watched. What watches it is loaded there: see `watch/`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import IO, NoReturn

import attnlab
from attnlab.run import Program


def launch(argv: list[str], program: Program, output: IO[str] | None) -> NoReturn:
    """Become the program, watched. `argv`: attnlab's own arguments; `output`: where its words go (None: stdout)."""
    hook = os.path.join(os.path.dirname(attnlab.__file__), "hook")
    before = os.environ.get("PYTHONPATH")
    environ = {**os.environ, "PYTHONPATH": hook if not before else f"{hook}{os.pathsep}{before}"}
    if before is not None:
        environ["ATTNLAB_PYTHONPATH"] = before
    if output is not None:
        os.set_inheritable(output.fileno(), True)
    environ["ATTNLAB_WATCH"] = json.dumps([argv, None if output is None else output.fileno()])
    flags: list[str] = getattr(subprocess, "_args_from_interpreter_flags")()  # noqa: B009 - no stub has it
    name = ["-m", program.name] if program.kind == "module" else [program.name]
    os.execve(sys.executable, [sys.executable, *flags, *name, *program.argv], environ)
