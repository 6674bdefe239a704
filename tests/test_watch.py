"""Watching changes nothing: every script of tests/corpus runs plainly and under `attnlab explain`, and
leaves the same bytes, exit code, files, random states and tensors. A new case is a new file there,
with a TOML file beside it that may say: `args`, `stdin`, `exit` (as the shell sees it), `hard_exit`
(the process dies without its exit handlers), `relative` (started by a relative path), `module`
(started with `-m`).
"""

from __future__ import annotations

import difflib
import json
import os
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).resolve().parent
SCRIPTS = sorted(path for path in TESTS.glob("corpus/*.py") if not path.name.startswith("lib_"))
SECONDS = 300


@dataclass(frozen=True)
class Outcome:
    """What a process left behind, each part as lines that can be compared and read.

    `exit` is the exit code, negative for a signal; `files` those in the working directory, with
    their sizes; `state` what watch/sitecustomize.py wrote, None where the process died at once.
    """

    exit: int
    stdout: bytes
    stderr: bytes
    files: dict[str, int]
    state: dict[str, Any] | None

    def lines(self, part: str) -> list[str]:
        value = getattr(self, part)
        if isinstance(value, bytes):
            return [repr(line) for line in value.decode("utf-8", "backslashreplace").splitlines(keepends=True)]
        return json.dumps(value, indent=1, ensure_ascii=False).splitlines()


def run(command: list[str], stdin: str, folder: Path, imports: tuple[Path, ...] = ()) -> Outcome:
    """Runs Python with `command` in folder/cwd, which is emptied first, so that both runs see one path.

    `imports`: folders to import from, besides the script's own.
    """
    cwd, states = folder / "cwd", folder / "states"
    for path in (cwd, states):
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "OMP_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": os.pathsep.join(str(part) for part in (TESTS / "watch", TESTS.parent / "src", *imports)),
        "ATTNLAB_TEST_STATES": str(states),
    }
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, *command], stdin=pipe, stdout=pipe, stderr=pipe, cwd=cwd, env=environment
    ) as process:
        try:
            stdout, stderr = process.communicate(stdin.encode(), timeout=SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            pytest.fail(f"not finished after {SECONDS} s: {command}")
    files = {str(path.relative_to(cwd)): path.stat().st_size for path in sorted(cwd.rglob("*")) if path.is_file()}
    state = states / f"{process.pid}.json"
    return Outcome(process.returncode, stdout, stderr, files, json.loads(state.read_text()) if state.exists() else None)


def differences(plain: Outcome, watched: Outcome) -> str:
    """A diff of every part that is not the same; "" where all are."""
    if plain.state is not None and watched.state is not None:
        # attnlab may import a library that the program did not, whose state then says nothing.
        state = {name: value for name, value in watched.state.items() if name in plain.state}
        watched = Outcome(watched.exit, watched.stdout, watched.stderr, watched.files, state)
    found: list[str] = []
    for part in (field.name for field in fields(Outcome)):
        lines = plain.lines(part), watched.lines(part)
        found += difflib.unified_diff(*lines, f"{part}, plain", f"{part}, watched", n=2, lineterm="")
    return "\n".join(found)


@pytest.mark.parametrize("script", SCRIPTS, ids=[path.stem for path in SCRIPTS])
def test_watching_changes_nothing(script: Path, tmp_path: Path) -> None:
    case = tomllib.loads(script.with_suffix(".toml").read_text(encoding="utf-8"))
    args, stdin = case.get("args", []), case.get("stdin", "")
    said = tmp_path / "said.txt"
    program, imports = [str(script)], ()
    if case.get("relative"):
        program = [os.path.relpath(script, tmp_path / "cwd")]
    if case.get("module"):
        program, imports = ["-m", script.stem], (script.parent,)

    plain = run([*program, *args], stdin, tmp_path, imports)
    shell_exit = plain.exit if plain.exit >= 0 else 128 - plain.exit
    assert shell_exit == case.get("exit", 0), plain.stderr.decode("utf-8", "backslashreplace")
    assert (plain.state is None) == case.get("hard_exit", False), plain.stderr.decode("utf-8", "backslashreplace")

    tail = ["--", *args] if args else []
    watched = run(["-m", "attnlab", "explain", "-o", str(said), *program, *tail], stdin, tmp_path, imports)
    if found := differences(plain, watched):
        pytest.fail(found, pytrace=False)
    if plain.state is not None and "torch random" in plain.state:
        assert said.read_text(encoding="utf-8").strip(), "the program used torch, and nothing was said"


PROGRAM = """
import random, sys
import numpy, torch
random.seed(1); numpy.random.seed(1); torch.manual_seed(1)
layer = torch.nn.Linear(2, 2)
layer(torch.ones(2)).sum().backward()
kept = {"list": [torch.ones(2)]}
print("out"); print("err", file=sys.stderr)
CHANGE
sys.exit(0)
"""


def run_with(change: str, folder: Path) -> Outcome:
    program = folder / "program.py"
    program.write_text(PROGRAM.replace("CHANGE", change), encoding="utf-8")
    return run([str(program)], "", folder)


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Outcome]:
    folder = tmp_path_factory.mktemp("unchanged")
    return folder, run_with("", folder)


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ("pass", []),
        ("sys.exit(1)", ["exit"]),
        ("sys.stdout.write(' ')", ["stdout"]),
        ("sys.stderr.write(' ')", ["stderr"]),
        ("open('left', 'w').close()", ["files"]),
        ("random.random()", ["state"]),
        ("numpy.random.rand()", ["state"]),
        ("torch.rand(1)", ["state"]),
        ("layer.weight.data += 1e-7", ["state"]),
        ("layer.bias.grad += 1e-7", ["state"]),
        ("kept['list'][0][1] = 2", ["state"]),
        ("torch.set_default_dtype(torch.float64)", ["state"]),
        ("extra = 1", ["state"]),
        ("sys.path.pop()", ["state"]),
        ("sys.stdout.flush(); import os; os._exit(0)", ["state"]),
    ],
)
def test_a_change_is_reported(change: str, parts: list[str], unchanged: tuple[Path, Outcome]) -> None:
    folder, plain = unchanged
    report = differences(plain, run_with(change, folder))
    assert [line.split()[1].rstrip(",") for line in report.splitlines() if line.startswith("--- ")] == parts
