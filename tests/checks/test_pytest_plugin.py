"""What pytest shows where an attention does not hold."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

FAILING = """
import torch
from attnlab.testing import assert_attention

def attend(x):
    return torch.softmax(x @ x.transpose(1, 2) / 12**0.5, dim=1) @ x

def test_mine():
    assert_attention(attend, torch.randn(2, 5, 12), lang="en")

def test_other():
    assert 1 == 2

def test_good():
    assert_attention(attend, torch.randn(2, 5, 12), ignore=["softmax-axis"])
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # whether it is installed or not
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    pytester.makepyfile(test_it=FAILING)
    return pytester


def ran(project: pytest.Pytester, *arguments: str) -> list[str]:
    done = project.runpytest_subprocess("-p", "attnlab.pytest_plugin", *arguments)
    done.assert_outcomes(passed=1, failed=2)
    return done.outlines


def test_the_findings_stand_in_a_section_of_their_own(project: pytest.Pytester) -> None:
    lines = ran(project)
    at = lines.index("E   AttentionError: test_it.py:5 ATT001 softmax-axis")
    assert lines[at - 1].startswith(">       assert_attention(attend")
    section = next(line for line in lines[at:] if "- attnlab -" in line)
    after = lines[lines.index(section) + 1 :]
    assert after[0] == "attend does not do what attention does:"
    assert after[2].startswith("test_it.py:5:12: ATT001 softmax-axis")
    assert any(line.startswith("    evidence  ") for line in after)
    assert "FAILED test_it.py::test_mine - test_it.py:5 ATT001 softmax-axis" in lines
    assert "E       assert 1 == 2" in lines


def test_nothing_of_attnlab_is_in_the_traceback(project: pytest.Pytester) -> None:
    assert [line for line in ran(project) if "testing.py" in line or "checking.py" in line] == []


@pytest.mark.parametrize(
    "arguments", [["--show-capture=no"], ["--junitxml=x.xml"], ["--tb=short", "--show-capture=no"]]
)
def test_where_sections_are_not_shown_the_findings_stand_with_the_error(
    arguments: list[str], project: pytest.Pytester
) -> None:
    lines = ran(project, *arguments)
    assert any(line.startswith("E   ") and "test_it.py:5:12: ATT001 softmax-axis" in line for line in lines)
    if "--junitxml=x.xml" in arguments:
        assert "test_it.py:5:12: ATT001 softmax-axis" in (project.path / "x.xml").read_text(encoding="utf-8")


@pytest.mark.parametrize("arguments", [["--tb=native"], ["--tb=line"], ["--tb=no"]])
def test_any_style_of_traceback_passes(arguments: list[str], project: pytest.Pytester) -> None:
    ran(project, *arguments)


def test_with_workers(project: pytest.Pytester) -> None:
    lines = ran(project, "-p", "xdist", "-n", "1")
    assert any(line.startswith("test_it.py:5:12: ATT001 softmax-axis") for line in lines)


def test_it_loads_no_torch() -> None:
    code = "import attnlab.pytest_plugin, sys; print('torch' in sys.modules, 'attnlab.testing' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)
    assert done.stdout == "False False\n"


def test_pytest_finds_it() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["pytest11"] == {"attnlab": "attnlab.pytest_plugin"}
