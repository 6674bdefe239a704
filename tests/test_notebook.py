"""In a notebook: what a Run shows of itself, and the magic that records a cell."""

import html
import json
import re
import runpy
from pathlib import Path
from typing import Any

import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell

import attnlab
from attnlab.drawing.numbers import matrix
from attnlab.run import Run

DEMO = Path(__file__).parents[1] / "self_attention_demo.py"
L, D = 5, 12
CELL = f"""
import torch
torch.manual_seed(0)
q, k, v = torch.randn(3, 2, {L}, {D})
weights = (q @ k.transpose(-2, -1) / {D} ** 0.5).softmax(-1)
output = weights @ v
print("printed by the cell")
"""


def scene_in(bundle: dict[str, str]) -> dict[str, Any]:
    """The data of the page in the frame."""
    (text,) = re.findall(
        r'^<iframe sandbox="allow-scripts" style="[^"]*" srcdoc="([^"]*)"></iframe>$', bundle["text/html"]
    )
    page = html.unescape(text)
    assert "default-src 'none'" in page
    (data,) = re.findall(r'<script type="application/json" id="attnlab-scene">(.*?)</script>', page, re.DOTALL)
    return json.loads(data)


def numbers(scene: dict[str, Any], role: str) -> torch.Tensor:
    found = matrix(scene["told"][0]["layers"][0]["tensors"][role], 0, 0)
    assert found is not None
    return torch.tensor(found.rows)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("ATTNLAB_LANG", "en")
    with attnlab.record() as run:
        runpy.run_path(str(DEMO), run_name="__main__")
    return run


def test_a_run_shows_its_page(run: Run) -> None:
    bundle = run._repr_mimebundle_()
    assert bundle["text/plain"] == attnlab.explain(run, lang="en")
    scene = scene_in(bundle)
    assert scene["lang"] == "en"
    corner = next(value.numbers.corner for value in run.values if value.numbers and value.shape == (2, 4, 4))
    torch.testing.assert_close(numbers(scene, "scores"), torch.tensor(corner))
    assert numbers(scene, "weights").sum(-1).tolist() == pytest.approx([1.0] * 4)
    # of the second sample a Run has nothing
    assert all(each["picture"]["samples"] == 1 for each in scene["told"][0]["layers"][0]["tensors"].values())


def test_what_a_run_has_not_kept_is_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    q, k, v = torch.randn(3, 2, 20, 8)
    with attnlab.record() as run:
        (q @ k.transpose(-2, -1) / 8**0.5).softmax(-1) @ v
    layer = scene_in(run._repr_mimebundle_())["told"][0]["layers"][0]
    assert all(each["picture"] is None for each in layer["tensors"].values())


def test_a_run_without_attention_shows_itself() -> None:
    with attnlab.record() as run:
        torch.ones(2) + 1
    assert scene_in(run._repr_mimebundle_())["told"] == []


@pytest.fixture
def shell() -> InteractiveShell:
    shell = InteractiveShell()
    shell.extension_manager.load_extension("attnlab")
    return shell


def shown(shell: InteractiveShell, line: str, cell: str, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, str]]:
    found: list[dict[str, str]] = []
    monkeypatch.setattr("IPython.display.display", lambda page: found.append(page._repr_mimebundle_()))
    shell.run_cell_magic("attnlab", line, cell)
    return found


def test_the_magic_runs_the_cell_and_shows_all_samples(
    shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (bundle,) = shown(shell, "--lang zh", CELL, monkeypatch)
    assert capsys.readouterr().out == "printed by the cell\n"
    scene = scene_in(bundle)
    assert scene["lang"] == "zh"
    assert "找到 1 次注意力" in bundle["text/plain"]
    weights = scene["told"][0]["layers"][0]["tensors"]["weights"]
    found = matrix(weights, 1, 0)
    assert found is not None
    torch.testing.assert_close(torch.tensor(found.rows), shell.user_ns["weights"][1])
    assert any("weights = (q @ k" in file["text"] for file in scene["files"])


def test_the_magic_lets_an_error_be_the_cells_own(
    shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown(shell, "", CELL + "\nraise KeyError('own')\n", monkeypatch)
    assert "KeyError" in capsys.readouterr().out


@pytest.mark.parametrize(("line", "part"), [("--wide", "takes --lang"), ("--lang fr", "'fr'")])
def test_the_magic_used_wrongly_runs_nothing(
    shell: InteractiveShell,
    line: str,
    part: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("ATTNLAB_LANG", "en")
    assert shown(shell, line, "ran = True", monkeypatch) == []
    assert part in capsys.readouterr().out
    assert "ran" not in shell.user_ns


def test_a_fault_of_ours_is_a_sentence(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise ZeroDivisionError("of ours")

    monkeypatch.setattr("attnlab.looking.scene_of", fails)
    (text,) = run._repr_mimebundle_().values()
    assert text.startswith("attnlab itself failed and could not finish the explanation (ZeroDivisionError: of ours")
