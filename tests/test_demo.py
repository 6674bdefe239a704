"""The smallest self-attention: what it prints, what it computes, and how its page is laid out."""

import ast
import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch
from torch.nn import functional as F

DEMO = Path(__file__).parents[1] / "self_attention_demo.py"
TEXT = DEMO.read_text(encoding="utf-8")
LINES = TEXT.splitlines()

SHAPES = [
    ("Input X shape:", (2, 4, 8)),
    ("Q shape:", (2, 4, 8)),
    ("K shape:", (2, 4, 8)),
    ("V shape:", (2, 4, 8)),
    ("Attention Scores shape:", (2, 4, 4)),
    ("Attention Weights shape:", (2, 4, 4)),
    ("Output shape:", (2, 4, 8)),
]
WEIGHTS = [
    [0.4007, 0.1787, 0.1869, 0.2338],
    [0.2372, 0.2397, 0.2912, 0.2320],
    [0.2026, 0.2724, 0.3226, 0.2025],
    [0.0956, 0.2436, 0.4014, 0.2594],
]


@pytest.fixture(scope="module")
def demo() -> ModuleType:
    spec = importlib.util.spec_from_file_location("self_attention_demo", DEMO)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_prints_the_shapes_then_the_first_samples_weights(tmp_path: Path) -> None:
    # Copied alone to an empty folder, and isolated from this one, it must work all the same.
    alone = shutil.copy(DEMO, tmp_path)
    done = subprocess.run(
        [sys.executable, "-I", "-X", "utf8", alone], cwd=tmp_path, capture_output=True, encoding="utf-8", check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(tmp_path.iterdir()) == [tmp_path / DEMO.name]

    lines = done.stdout.splitlines()
    assert lines[: len(SHAPES)] == [f"{label} torch.Size({list(shape)})" for label, shape in SHAPES]
    weights = "".join(lines[len(SHAPES) :]).partition("tensor(")[2]
    assert "grad_fn" not in weights
    assert [float(number) for number in re.findall(r"\d\.\d{4}\b", weights)] == [n for row in WEIGHTS for n in row]


@pytest.mark.parametrize(("batch", "length", "width"), [(2, 4, 8), (1, 1, 1), (3, 7, 5), (2, 33, 16)])
def test_computes_scaled_dot_product_attention(demo: ModuleType, batch: int, length: int, width: int) -> None:
    torch.manual_seed(0)
    model = demo.SelfAttention(width).double()
    x = torch.randn(batch, length, width, dtype=torch.float64)
    output, weights = model(x)

    query, key, value = model.W_q(x), model.W_k(x), model.W_v(x)
    torch.testing.assert_close(output, F.scaled_dot_product_attention(query, key, value), rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(weights @ value, output, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(weights.sum(-1), torch.ones(batch, length, dtype=torch.float64), rtol=1e-12, atol=0)


def test_has_three_projections_of_its_own_and_nothing_else(demo: ModuleType) -> None:
    model = demo.SelfAttention(8)
    shapes = {name: tuple(parameter.shape) for name, parameter in model.named_parameters()}
    assert shapes == {"W_q.weight": (8, 8), "W_k.weight": (8, 8), "W_v.weight": (8, 8)}


def test_uses_only_the_smallest_parts_of_torch() -> None:
    used = {
        f"{node.value.id}.{node.attr}"
        for node in ast.walk(ast.parse(TEXT))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }
    assert {name for name in used if name.startswith(("nn.", "F."))} == {"nn.Module", "nn.Linear", "F.softmax"}


def test_is_one_short_page() -> None:
    assert len(LINES) < 90


@pytest.mark.parametrize("code", ["self.W_q =", "K.transpose(", "math.sqrt(", "F.softmax("])
def test_says_in_chinese_why_above_the_line(code: str) -> None:
    (at,) = [number for number, line in enumerate(LINES) if code in line]
    above = LINES[at - 1].strip()
    assert above.startswith("#")
    assert re.search(r"[\u4e00-\u9fff]", above), f"the comment above `{code}` is not in Chinese: {above}"


def test_the_shape_stands_beside_each_tensor_in_one_column() -> None:
    made = [
        line
        for line in LINES
        if re.match(r"\s+(x|Q|K|V|scores|attention_weights|output) = ", line)
        or line.lstrip().startswith("def forward(")
    ]
    assert len(made) == 9
    assert [line for line in made if not re.search(r"# .*\[B, L, [DL]\]$", line)] == []
    assert len({line.index("#") for line in made}) == 1
