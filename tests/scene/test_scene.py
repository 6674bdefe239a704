"""What a scene says beside its numbers: code with exact places, findings, errors, what belongs to no attention."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from runs import DEMO
from scene.reading import recorded, tensors

from attnlab import looking
from attnlab.words import LANGUAGES

# Characters that JavaScript counts as two stand before what is told.
WIDE = """
import torch
torch.manual_seed(0)
q, k, v = (torch.randn(2, 5, 12) for _ in range(3))
𝒘, 𝒐 = "😀", (w := torch.softmax("😀" and q @ k.transpose(1, 2) / 12**0.5, dim=-1)) @ v
"""


def scene_of(path: Path, text: str, findings: bool = False) -> Any:
    script = path / "program.py"
    script.write_text(text, encoding="utf-8")
    run, tape = recorded(script)
    return json.loads((looking.judged if findings else looking.examined)(run, tape))


def texts_at(scene: Any, codes: list[Any]) -> list[str]:
    """What stands in the file at the spans of codes, counted as a page counts."""
    found: list[str] = []
    for code in codes:
        lines = [line.encode("utf-16-le") for line in scene["files"][code["file"]]["text"].split("\n")]
        for first, column, last, end in code["spans"]:
            assert first == last
            found.append(lines[first - 1][2 * column : 2 * end].decode("utf-16-le"))
    return found


def test_the_demo_is_told_part_by_part() -> None:
    run, tape = recorded(DEMO)
    scene = json.loads(looking.examined(run, tape))
    (told,) = scene["told"]
    parts = [(part["names"][0]["en"], part["makes"], part["reads"]) for part in told["parts"]]
    assert parts == [
        ("X", ["x"], []),
        ("Q = X W_Q", ["q", "k", "v"], ["x"]),
        ("Kᵀ", ["kt"], ["k"]),
        ("Q Kᵀ", ["scores"], ["q", "kt"]),
        ("÷ √d_k", ["scaled"], ["scores"]),
        ("softmax", ["weights"], ["scaled"]),
        ("· V", ["output"], ["weights", "v"]),
    ]
    assert tensors(scene)["weights"]["name"] == "attention_weights"
    assert tensors(scene)["weights"]["axes"] == ["B", "L", "L"]
    assert [letter["letter"] for letter in told["letters"]] == ["B", "L", "D", "d_k", "d_v"]
    assert scene["files"][0]["text"] == DEMO.read_text(encoding="utf-8")


FUSED = """
import torch
from torch import nn
from torch.nn import functional as F

class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(12, 36), nn.Linear(12, 12)

    def forward(self, x):
        q, k, v = (part.view(2, 5, 3, 4).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        return self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(2, 5, 12))

x = torch.randn(2, 5, 12)
Attention()(x)
nn.MultiheadAttention(12, 3, batch_first=True)(x, x, x)
"""


def test_a_fused_call_makes_what_is_made_within_it(tmp_path: Path) -> None:
    within = ["scores", "scaled", "weights", "output"]
    sdpa, whole = (
        [(part["makes"], part["reads"]) for part in told["parts"]] for told in scene_of(tmp_path, FUSED)["told"]
    )
    assert sdpa == [
        (["x"], []),
        (["q", "k", "v"], ["x"]),
        (within, ["q", "k", "v"]),
        (["merged"], ["output"]),
        (["projected"], ["merged"]),
    ]
    assert whole == [(["x"], []), (["q", "k", "v", *within, "projected"], ["x"])]


def test_spans_count_as_a_page_counts(tmp_path: Path) -> None:
    scene = scene_of(tmp_path, WIDE)
    codes = tensors(scene)["scores"]["codes"]
    assert texts_at(scene, codes) == ["q @ k.transpose(1, 2)"]


def test_every_sentence_is_in_both_languages() -> None:
    run, tape = recorded(DEMO)

    def check(item: Any) -> None:
        if isinstance(item, dict):
            if item.keys() & set(LANGUAGES):
                assert item.keys() == set(LANGUAGES)
                assert bool(item["zh"]) == bool(item["en"])
            for inner in item.values():
                check(inner)
        elif isinstance(item, list):
            for inner in item:
                check(inner)

    check(json.loads(looking.judged(run, tape)))


def test_what_is_judged_has_the_findings_at_their_lines(tmp_path: Path) -> None:
    text = WIDE.replace("dim=-1", "dim=1")
    scene = scene_of(tmp_path, text, findings=True)
    found = {item["code"]: item for item in scene["findings"]}
    assert found["ATT001"]["line"] == 5
    assert found["ATT001"]["file"] == 0
    assert "dim=-1" in found["ATT001"]["fix"]["en"]
    assert found["ATT001"]["message"]["zh"] != found["ATT001"]["message"]["en"]
    assert scene_of(tmp_path, text)["findings"] == []


def test_an_error_is_told_with_its_diagnosis(tmp_path: Path) -> None:
    scene = scene_of(tmp_path, "import torch\nq, k = torch.randn(2, 4, 8), torch.randn(2, 4, 8)\ns = q @ k\n")
    error = scene["error"]
    assert (error["type"], error["file"], error["line"]) == ("RuntimeError", 0, 3)
    assert "q @ k.transpose(-2, -1)" in error["diagnosis"]["en"]
    assert "q @ k.transpose(-2, -1)" in error["diagnosis"]["zh"]
    assert scene["told"] == []


def test_without_attention_each_step_has_its_reasons(tmp_path: Path) -> None:
    scene = scene_of(tmp_path, "import torch\nx = torch.ones(2, 3)\ny = x.transpose(0, 1)\n")
    (_, last) = scene["rest"]
    assert last["code"]["text"] == "y = x.transpose(0, 1)"
    assert last["code"]["lines"] == [3]
    assert last["shapes"]
    assert last["does"]["en"]
    assert "no attention" in scene["summary"][0]["en"]


@pytest.mark.parametrize("name", ["examined", "judged"])
def test_an_empty_run_has_a_scene(name: str, tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text("import torch\n", encoding="utf-8")
    scene = json.loads(getattr(looking, name)(*recorded(script)))
    assert scene["told"] == scene["rest"] == scene["findings"] == []
    assert scene["files"][0]["name"] == str(script)
