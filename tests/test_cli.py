"""The command as a person types it: what goes where, in which language, with which exit code."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from attnlab.run import Run

DEMO = Path(__file__).parents[1] / "self_attention_demo.py"
PROGRAM = """
import sys
import torch
q, k, v = (torch.randn(2, 5, 12) for _ in range(3))
out = torch.softmax(q @ k.transpose(1, 2) / 12**0.5, -1) @ v
print("out", tuple(out.shape), sys.argv[1:])
sys.exit(3)
"""


def attnlab(*arguments: str, cwd: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG", "ATTNLAB"))}
    return subprocess.run(
        [sys.executable, "-m", "attnlab", *arguments],
        cwd=cwd, env={**clean, "PYTHONIOENCODING": "utf-8", **environ},
        capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip


@pytest.fixture
def program(tmp_path: Path) -> Path:
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    return tmp_path


def test_the_explanation_follows_what_the_program_prints(program: Path) -> None:
    done = attnlab("explain", "program.py", "1", "--lang", "en", "--x", cwd=program)
    assert done.returncode == 3
    assert done.stderr == ""
    first, rest = done.stdout.split("\n", 1)
    assert first == "out (2, 5, 12) ['1', '--x']"
    assert "1 attention found" in rest
    assert "q @ k.transpose(1, 2)" in rest


def test_with_output_the_streams_are_the_programs_alone(program: Path) -> None:
    done = attnlab("explain", "-o", "said.txt", "program.py", cwd=program, ATTNLAB_LANG="zh")
    assert (done.stdout, done.stderr, done.returncode) == ("out (2, 5, 12) []\n", "", 3)
    assert "找到 1 次注意力" in (program / "said.txt").read_text(encoding="utf-8")


def test_the_record_as_json_has_named_axes_and_loads_back(program: Path) -> None:
    done = attnlab("explain", "--json", "-o", "run.json", "program.py", cwd=program)
    assert done.returncode == 3
    text = (program / "run.json").read_text(encoding="utf-8")
    run = Run.from_json(text)
    assert json.loads(run.to_json()) == json.loads(text)
    scores = next(step for step in run.steps if step.op == "softmax").results[0]
    assert run.values[scores].axes == ("B", "L", "L") or run.values[scores].axes == ("B", "L_q", "L_k")
    assert run.lost == ()


@pytest.mark.parametrize(
    ("environ", "option", "expected"),
    [
        ({"LANG": "zh_CN.UTF-8"}, [], "zh"),
        ({"LANG": "C.UTF-8"}, [], "en"),
        ({"LANG": "zh_CN.UTF-8", "ATTNLAB_LANG": "en"}, [], "en"),
        ({"LANG": "en_US.UTF-8", "ATTNLAB_LANG": "en"}, ["--lang", "zh"], "zh"),
    ],
)
def test_the_language(environ: dict[str, str], option: list[str], expected: str, tmp_path: Path) -> None:
    done = attnlab("explain", "--help", *option, cwd=tmp_path, **environ)
    assert done.returncode == 0
    assert ("用法" in done.stdout) == (expected == "zh")


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["explain", "missing.py"], "missing.py"),
        (["explain"], "self_attention_demo.py"),
        (["frobnicate"], "explain"),
        (["explain", "program.py", "-o", "no/such/folder/x"], "no/such/folder/x"),
        (["explain", "--lang", "fr", "program.py"], "fr"),
        (["whatif", "program.py", "--set", "frob=3"], "frob"),
        (["whatif", "program.py"], "--set"),
        (["why", "program.py", "weather"], "transpose"),
    ],
)
@pytest.mark.parametrize("lang", ["zh", "en"])
def test_misuse_is_one_sentence_and_exit_code_2(arguments: list[str], part: str, lang: str, program: Path) -> None:
    done = attnlab(*arguments, cwd=program, ATTNLAB_LANG=lang)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert done.stderr.startswith("attnlab")
    assert part in done.stderr


def test_a_closed_pipe_is_no_error(program: Path) -> None:
    command = f"{sys.executable} -m attnlab explain program.py | head -c 40"
    done = subprocess.run(command, shell=True, cwd=program, capture_output=True, check=False)
    assert done.stderr == b""


def test_no_colour_in_a_pipe(program: Path) -> None:
    assert "\x1b[" not in attnlab("explain", "program.py", cwd=program).stdout


def test_a_program_without_torch_is_told_so(tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text("print(1 + 1)\n", encoding="utf-8")
    done = attnlab("explain", "plain.py", cwd=tmp_path, ATTNLAB_LANG="en")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("2\n")
    assert "plain.py" in done.stdout
