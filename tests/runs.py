"""The Runs of scripts, each recorded once for all tests."""

from __future__ import annotations

import contextlib
import io
import sys
import tomllib
import warnings
from dataclasses import replace
from functools import cache
from pathlib import Path

from attnlab.attention import Attention, alike, find
from attnlab.axes import Axes, by_flow
from attnlab.explanation import Explanation, explain
from attnlab.recording.program import Conditions, run_program
from attnlab.run import Program, Run

TESTS = Path(__file__).parent
CORPUS = TESTS / "corpus"
DEMO = TESTS.parent / "self_attention_demo.py"
SCRIPTS = sorted(CORPUS.glob("a_*.py"))


@cache
def run_of(script: Path) -> Run:
    """The Run of a script, with the arguments and the input that stand beside it; what it prints is dropped."""
    beside = script.with_suffix(".toml")
    case = tomllib.loads(beside.read_text(encoding="utf-8")) if beside.exists() else {}
    stdin, sys.stdin = sys.stdin, io.StringIO(case.get("stdin", ""))
    program = Program("script", str(script), tuple(case.get("args", ())))
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")  # the script's own
            run, _ = run_program(program, Conditions())
    finally:
        sys.stdin = stdin
    assert run.error is None
    return run


@cache
def attentions_of(script: Path) -> tuple[Attention, ...]:
    return find(run_of(script))


@cache
def axes_of(script: Path) -> Axes:
    return by_flow(run_of(script), attentions_of(script))


def explanation_of(script: Path, layer: str | None = None, everything: bool = False) -> Explanation:
    run = run_of(script)
    found = explain(run, alike(attentions_of(script), run), axes_of(script), layer, everything)
    return replace(found, program=script.name)  # where the checkout lies must not show
