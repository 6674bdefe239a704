"""Every attention of tests/corpus is found, each role at the line and the expression written beside the script."""

from __future__ import annotations

import io
import re
import sys
import tomllib
import warnings
from pathlib import Path
from typing import Any

import pytest

from attnlab.attention import Attention, Input, alike, find
from attnlab.recording.program import Conditions, run_program
from attnlab.run import Program, Run

CORPUS = Path(__file__).parent / "corpus"
SCRIPTS = sorted(CORPUS.glob("a_*.py"))
VALUES = ["times", "kind", "causal", "heads", "kv_heads"]
ROLES = ["q", "k", "v", "scores", "scale", "mask", "weights", "output"]


def recorded(script: Path, args: list[str], stdin: str, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The Run of a script, as `attnlab explain` makes it; what the script prints is dropped."""
    for name, stream in (("stdin", io.StringIO(stdin)), ("stdout", io.StringIO()), ("stderr", io.StringIO())):
        monkeypatch.setattr(sys, name, stream)
    with warnings.catch_warnings():  # the script's own
        warnings.simplefilter("ignore")
        run, _ = run_program(Program("script", str(script), tuple(args)), Conditions())
    monkeypatch.undo()
    assert run.error is None or run.error.type == "SystemExit"
    assert run.lost == ()
    return run


def place(step: int | None, run: Run) -> str | None:
    """`line: expression` of a step, white space as one blank."""
    source = None if step is None else run.steps[step].source
    return None if source is None else f"{source.span.line}: " + re.sub(r"\s+", " ", source.text)


def origin(role: Input, run: Run) -> str | None:
    return place(role.step, run) if role.step is not None else f"input: {run.values[role.value].name}"


def scale_told(attention: Attention) -> int | None:
    """Of several scalings the one of the scores is told, or else the one of q."""
    of_scores = tuple(step for step in attention.scale if step > attention.scores.step)
    return next((steps[-1] for steps in (of_scores, attention.q.scale, attention.k.scale) if steps), None)


def told(group: tuple[Attention, ...], run: Run) -> dict[str, Any]:
    """What was found, in the words of the expected answers."""
    first = group[0]
    found = {
        "times": len(group),
        "kind": first.kind,
        "causal": first.causal,
        "heads": first.heads,
        "kv_heads": first.kv_heads,
        "q": origin(first.q, run),
        "k": origin(first.k, run),
        "v": origin(first.v, run),
        "scores": place(first.scores.step, run),
        "scale": place(scale_told(first), run),
        "mask": place(first.masks[-1].step if first.masks else None, run),
        "weights": place(first.weights.step, run),
        "output": place(first.output, run),
    }
    return {answer: value for answer, value in found.items() if value is not None}


def differences(expected: list[dict[str, Any]], found: list[dict[str, Any]]) -> list[str]:
    """Each answer that is not as expected, on lines of its own."""
    lines = [] if len(expected) == len(found) else [f"expected {len(expected)} attentions, found {len(found)}"]
    for index in range(max(len(expected), len(found))):
        # what an answer may leave out: one time, and as many heads of keys as of queries
        want = {"times": 1, "kv_heads": expected[index]["heads"], **expected[index]} if index < len(expected) else {}
        got = found[index] if index < len(found) else {}
        lines += [
            f"attention {index}, {answer}:\n    expected {want.get(answer)}\n    found    {got.get(answer)}"
            for answer in VALUES + ROLES
            if want.get(answer) != got.get(answer)
        ]
    return lines


@pytest.mark.parametrize("script", SCRIPTS, ids=[path.stem for path in SCRIPTS])
def test_exactly_the_expected_attentions_are_found(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = tomllib.loads(script.with_suffix(".toml").read_text(encoding="utf-8"))
    run = recorded(script, case.get("args", []), case.get("stdin", ""), monkeypatch)
    found = [told(group, run) for group in alike(find(run), run)]
    if wrong := differences(case.get("attention", []), found):
        pytest.fail("\n".join([script.name, *wrong]), pytrace=False)


def test_a_difference_names_the_role_and_both_answers() -> None:
    right = {"times": 1, "heads": 1, "kv_heads": 1, "q": "1: q"}
    assert differences([right], [right]) == []
    (line,) = differences([right], [{**right, "q": "2: k"}])
    assert line.split() == ["attention", "0,", "q:", "expected", "1:", "q", "found", "2:", "k"]
    assert differences([right], [])[0] == "expected 1 attentions, found 0"
