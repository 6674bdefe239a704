"""`attnlab check` as a person types it: what goes where, with which exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from attnlab.pages import page
from attnlab.words import LANGUAGES

DEMO = Path(__file__).parents[2] / "self_attention_demo.py"
WRONG = """\
import sys
import torch
torch.manual_seed(0)
q, k, v = (torch.randn(2, 5, 12) for _ in range(3))
weights = torch.softmax(q @ k.transpose(1, 2) / 12**0.5, dim=1)
print("out", (weights @ v).shape, sys.argv[1:])
print("err", file=sys.stderr)
held = open(sys.argv[1], "w") if len(sys.argv) > 1 else None
if held:
    held.write("whole")
"""


def attnlab(*arguments: str, cwd: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG", "ATTNLAB"))}
    return subprocess.run(
        [sys.executable, "-m", "attnlab", "check", *arguments],
        cwd=cwd, env={**clean, "PYTHONIOENCODING": "utf-8", "COLUMNS": "80", **environ},
        capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "wrong.py").write_text(WRONG, encoding="utf-8")
    return tmp_path


def test_a_finding(folder: Path) -> None:
    done = attnlab("wrong.py", "--lang", "en", cwd=folder)
    assert done.returncode == 1
    assert done.stderr == "out torch.Size([2, 5, 12]) []\nerr\n"
    first, *_, last = done.stdout.splitlines()
    assert first.startswith("wrong.py:5:11: ATT001 softmax-axis")
    assert last == "1 mend is safe: --diff shows it, --fix writes it"
    assert "\x1b" not in done.stdout


def test_a_right_program(tmp_path: Path) -> None:
    done = attnlab(str(DEMO), cwd=tmp_path, ATTNLAB_LANG="en")
    assert (done.returncode, done.stdout) == (0, "no findings in 1 attention\n")
    assert done.stderr.startswith("Input X shape: torch.Size([2, 4, 8])\n")


def test_with_output_the_streams_are_the_programs_alone(folder: Path) -> None:
    done = attnlab("-o", "found.json", "--format", "json", "wrong.py", "left.txt", cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (1, "out torch.Size([2, 5, 12]) ['left.txt']\n", "err\n")
    found = json.loads((folder / "found.json").read_text(encoding="utf-8"))
    assert [(item["code"], item["path"], item["line"]) for item in found["findings"]] == [("ATT001", "wrong.py", 5)]
    assert (folder / "left.txt").read_text(encoding="utf-8") == "whole"  # although it was never closed


def test_a_module(folder: Path) -> None:
    package = folder / "net"
    package.mkdir()
    (package / "__init__.py").write_text("", encoding="utf-8")
    (package / "train.py").write_text(WRONG, encoding="utf-8")
    done = attnlab("--format", "github", "-m", "net.train", cwd=folder)
    assert done.returncode == 1
    assert done.stdout.startswith("::error file=net/train.py,line=5,endLine=5,col=11,")


def test_a_program_that_fails_keeps_its_traceback(folder: Path) -> None:
    script = folder / "wrong.py"
    script.write_text(WRONG + "raise RuntimeError('no\\nway')\n", encoding="utf-8")
    plain = subprocess.run([sys.executable, "wrong.py"], cwd=folder, capture_output=True, encoding="utf-8", check=False)
    done = attnlab("wrong.py", "-o", "found.txt", cwd=folder, ATTNLAB_LANG="en")
    assert (done.returncode, done.stdout, done.stderr) == (1, plain.stdout, plain.stderr)
    said = (folder / "found.txt").read_text(encoding="utf-8")
    assert "wrong.py:5:11: ATT001" in said
    assert "The program ended in RuntimeError: no way; what ran up to there was checked." in said


def test_without_torch_there_is_nothing_to_check(tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text("import sys\nprint('torch' in sys.modules)\n", encoding="utf-8")
    done = attnlab("plain.py", cwd=tmp_path, ATTNLAB_LANG="en")
    assert (done.returncode, done.stderr) == (0, "False\n")
    assert done.stdout == "no attention found in this run: nothing was checked\n"


@pytest.mark.parametrize(
    ("change", "arguments"),
    [
        ("dim=1)  # attnlab: ignore[ATT00]", []),
        ("dim=1)", ["--ignore", "ATT05,softmax-axis"]),
        ("dim=1)", ["--select", "ATT01", "--select=ATT02"]),
        ("dim=1)", ["table"]),
    ],
)
def test_what_is_not_wanted_is_not_told(change: str, arguments: list[str], folder: Path) -> None:
    (folder / "wrong.py").write_text(WRONG.replace("dim=1)", change), encoding="utf-8")
    if arguments == ["table"]:
        arguments = []
        table = '[tool.attnlab]\nper-file-ignores = { "wrong.py" = ["softmax-axis"] }\n'
        (folder / "pyproject.toml").write_text(table, encoding="utf-8")
    done = attnlab("wrong.py", *arguments, cwd=folder, ATTNLAB_LANG="en")
    assert (done.returncode, done.stdout) == (0, "no findings in 1 attention\n")


def test_the_diff_can_be_applied_and_fix_does_the_same(folder: Path) -> None:
    before = (folder / "wrong.py").read_text(encoding="utf-8")
    done = attnlab("wrong.py", "--diff", cwd=folder, ATTNLAB_LANG="en")
    assert done.returncode == 1
    assert "-weights = " in done.stdout
    assert "dim=-1)" in done.stdout
    assert (folder / "wrong.py").read_text(encoding="utf-8") == before
    assert done.stderr.endswith("attnlab: findings with a safe mend: 1 of 1\n")
    done = attnlab("wrong.py", "--fix", cwd=folder, ATTNLAB_LANG="en")
    assert done.returncode == 0
    assert done.stdout == "mended wrong.py:5 ATT001 softmax-axis\nno findings in 1 attention\n"
    assert (folder / "wrong.py").read_text(encoding="utf-8") == before.replace("dim=1)", "dim=-1)")


def test_the_folder_that_a_program_goes_to_changes_no_path(folder: Path) -> None:
    script = folder / "wrong.py"
    script.write_text("import os\nos.chdir('/')\n" + WRONG, encoding="utf-8")
    done = attnlab("wrong.py", cwd=folder)
    assert done.stdout.startswith("wrong.py:7:11: ATT001")


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["wrong.py", "--select", "ATT999"], "ATT999"),
        (["wrong.py", "--ignore", "scale-mising"], "scale-missing"),
        (["wrong.py", "--ignore", ""], "--ignore"),
        (["wrong.py", "--format", "xml"], "sarif"),
        (["wrong.py", "--diff", "--fix"], "--diff"),
        (["wrong.py", "--diff", "--format", "json"], "--diff"),
        (["--explain", "ATT00"], "ATT00"),
        (["--explain"], "--explain"),
        (["missing.py"], "missing.py"),
        (["wrong.py", "-o", "no/such/folder/x"], "no/such/folder/x"),
        ([], "self_attention_demo.py"),
    ],
)
@pytest.mark.parametrize("lang", ["zh", "en"])
def test_misuse_is_one_sentence_and_exit_code_2(arguments: list[str], part: str, lang: str, folder: Path) -> None:
    done = attnlab(*arguments, cwd=folder, ATTNLAB_LANG=lang)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert part in done.stderr


def test_a_bad_table_is_told_before_anything_runs(folder: Path) -> None:
    (folder / "pyproject.toml").write_text("[tool.attnlab]\nselct = ['ATT']\n", encoding="utf-8")
    done = attnlab("wrong.py", cwd=folder, ATTNLAB_LANG="en")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("attnlab: [tool.attnlab] in pyproject.toml has the key 'selct'; its keys are select")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", ["ATT001", "att001", "softmax-axis"])
def test_the_page_of_a_rule(name: str, language: str, tmp_path: Path) -> None:
    done = attnlab("--explain", name, "--lang", language, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == page("ATT001", "zh" if language == "zh" else "en")
    assert done.stdout.startswith("# ATT001 softmax-axis\n")


def test_a_page_is_told_without_torch(tmp_path: Path) -> None:
    command = [sys.executable, "-X", "importtime", "-m", "attnlab", "check", "--explain", "ATT001"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0
    assert "torch" not in {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}


@pytest.mark.parametrize("lang", LANGUAGES)
def test_help(lang: str, tmp_path: Path) -> None:
    done = attnlab("--help", "--lang", lang, cwd=tmp_path)
    assert done.returncode == 0
    for option in ("--select", "--ignore", "--diff", "--fix", "--format", "--explain", "--rerun", "-o", "--lang"):
        assert option in done.stdout
