"""Scenes for tests of the page, with numbers that torch computed: the demo, and models of many layers and heads."""

from __future__ import annotations

import base64
import math
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

Scene = dict[str, Any]

DEMO = Path(__file__).parents[2] / "self_attention_demo.py"


def demo_tensors() -> dict[str, torch.Tensor]:
    """What the demo computes, by role."""
    torch.manual_seed(42)
    x = torch.randn(2, 4, 8)
    query, key, value = (torch.nn.Linear(8, 8, bias=False) for _ in range(3))
    with torch.no_grad():
        q, k, v = query(x), key(x), value(x)
        scores = q @ k.transpose(-2, -1)
        scaled = scores / math.sqrt(8)
        weights = scaled.softmax(-1)
        output = weights @ v
    return {
        "x": x,
        "q": q,
        "k": k,
        "v": v,
        "kt": k.transpose(-2, -1),
        "scores": scores,
        "scaled": scaled,
        "weights": weights,
        "output": output,
    }


_COUNTED = {
    "x": ("token", "feature"),
    "q": ("query", "feature"),
    "k": ("key", "feature"),
    "v": ("key", "feature"),
    "kt": ("feature", "key"),
    "scores": ("query", "key"),
    "scaled": ("query", "key"),
    "mask": ("query", "key"),
    "masked": ("query", "key"),
    "weights": ("query", "key"),
    "memory": ("token", "feature"),
    "output": ("query", "feature"),
}
_AXES = {"query": "L", "key": "L", "token": "L", "feature": "d_k", "": None}
_FORMULA = [
    {"text": "Attention(Q, K, V) = ", "key": ""},
    {"text": "softmax( ", "key": "softmax"},
    {"text": "Q", "key": "q"},
    {"text": " Kᵀ", "key": "k"},
    {"text": " / √d_k", "key": "scale"},
    {"text": " )", "key": "softmax"},
    {"text": " V", "key": "v"},
]
# Name, marks, makes, reads, and the text by which a line is found.
_PARTS: Sequence[tuple[str, str, str, str, str]] = (
    ("X", "", "x", "", "x = torch.randn("),
    ("Q = X W_Q|K = X W_K|V = X W_V", "q k v", "q k v", "x", "Q = self.W_q(x)"),
    ("Kᵀ", "k", "kt", "k", "K.transpose(-2, -1)"),
    ("Q Kᵀ", "q k scores", "scores", "q kt", "torch.matmul(Q, K.transpose(-2, -1))"),
    ("÷ √d_k", "scale", "scaled", "scores", "scores / math.sqrt(K.size(-1))"),
    ("softmax", "softmax", "weights", "scaled", "F.softmax(scores, dim=-1)"),
    ("· V", "v", "output", "weights v", "torch.matmul(attention_weights, V)"),
)
_NAMES = {"x": "x", "q": "Q", "k": "K", "v": "V", "output": "output", "weights": "attention_weights"}


def demo() -> Scene:
    """The demo as the page gets it."""
    source = DEMO.read_text(encoding="utf-8")
    tensors = demo_tensors()
    made = {role: code for _, _, makes, _, code in _PARTS for role in makes.split()}
    made |= {"k": "K = self.W_k(x)", "v": "V = self.W_v(x)"}
    layer = {
        "label": "",
        "divisor": math.sqrt(8),
        "tensors": {
            role: tensor(
                role,
                value,
                name=_NAMES.get(role, "K.transpose(-2, -1)" if role == "kt" else "scores"),
                codes=[code(source, made[role])],
            )
            for role, value in tensors.items()
        },
    }
    return scene(source, [layer], program="self_attention_demo.py")


def scene(source: str, layers: list[dict[str, Any]], program: str) -> Scene:
    """A scene of one attention."""
    letters = [
        {"letter": letter, "size": size, "meaning": both(meaning, meaning), "names": names}
        for letter, size, meaning, names in (
            ("B", 2, "samples", ["batch_size"]),
            ("L", 4, "tokens", ["seq_len"]),
            ("d_k", 8, "features", ["d_model"]),
        )
    ]
    told = {
        "title": both("自注意力 · 单头", "self-attention · one head"),
        "formulas": [_FORMULA],
        "letters": letters,
        "parts": [part(source, *given) for given in _PARTS],
        "layers": layers,
        "notes": [],
    }
    return {
        "attnlab_scene": 1,
        "lang": "zh",
        "program": program,
        "summary": [both("找到 1 次注意力", "1 attention found")],
        "files": [{"name": program, "text": source}],
        "told": [told],
        "rest": [],
        "findings": [],
        "why": [],
        "error": None,
        "printed": "",
        "notes": [],
    }


def part(source: str, name: str, marks: str, makes: str, reads: str, text: str) -> dict[str, Any]:
    """A step, with a sentence in each language."""
    said = both(f"这一步得到 {makes}。", f"This step makes {makes}.")
    item = {"codes": [code(source, text)], "equations": ["[B, L, d_k]"], "says": [said]}
    return {
        "names": [both(one, one) for one in name.split("|")],
        "marks": marks.split(),
        "items": [item],
        "makes": makes.split(),
        "reads": reads.split(),
    }


def code(source: str, text: str) -> dict[str, Any]:
    """The place of a text, which stands in one line of the source; without a place where it stands in none."""
    for number, line in enumerate(source.splitlines(), 1):
        if text in line:
            column = line.index(text)
            end = min(len(line), column + len(text))
            return {"file": 0, "lines": [number], "spans": [[number, column, number, end]], "text": line[column:end]}
    return {"file": 0, "lines": [], "spans": [], "text": text}


def both(zh: str, en: str) -> dict[str, str]:
    """The same in both languages."""
    return {"zh": zh, "en": en}


def packed(data: bytes) -> str:
    """As a page holds bytes: raw deflate, in base64."""
    squeezed = zlib.compressobj(6, zlib.DEFLATED, -15)
    return base64.b64encode(squeezed.compress(data) + squeezed.flush()).decode()


def tensor(role: str, value: torch.Tensor, name: str = "", codes: Sequence[Any] = ()) -> dict[str, Any]:
    """A tensor with all its numbers; its axes are samples, heads where there are four, rows, columns."""
    stack = value if value.dim() == 4 else value[:, None]
    samples, heads, height, width = stack.shape
    blobs = [{"base64": packed(sample.contiguous().numpy().tobytes())} for sample in stack]
    picture = {
        "kind": "f32",
        "samples": samples,
        "heads": heads,
        "height": height,
        "width": width,
        "pool": 1,
        "bounds": [],
        "blobs": blobs,
    }
    return _tensor(role, list(value.shape), samples, heads, picture, value) | {"name": name, "codes": list(codes)}


def _tensor(
    role: str, shape: list[int], samples: int, heads: int, picture: dict[str, Any], value: torch.Tensor
) -> dict[str, Any]:
    rows, cols = _COUNTED[role]
    leading: list[str | None] = ["B", "H"][: len(shape) - 2]
    finite = value[value.isfinite()]
    return {
        "name": "",
        "codes": [],
        "shape": shape,
        "axes": [*leading, _AXES[rows], _AXES[cols]],
        "dtype": "float32",
        "rows": rows,
        "cols": cols,
        "samples": samples,
        "heads": heads,
        "height": shape[-2],
        "width": shape[-1],
        "picture": picture,
        "top": None,
        "min": float(finite.min()),
        "max": float(finite.max()),
    }


def large(layers: int = 12, heads: int = 12, length: int = 1024, width: int = 64) -> tuple[Scene, dict[str, str]]:
    """A model's attentions, rounded and pooled, and the elements of the page that hold the bytes, by id."""
    elements: dict[str, str] = {}
    torch.manual_seed(0)
    made: list[dict[str, Any]] = []
    for index in range(layers):
        q, k = (torch.randn(1, heads, length, width) for _ in range(2))
        scaled = q @ k.transpose(-2, -1) / math.sqrt(width)
        weights = (scaled + _nearness(length, heads)).softmax(-1)
        v = torch.randn(1, heads, length, width)
        values = {"q": q, "k": k, "v": v, "scores": scaled, "weights": weights, "output": weights @ v}
        tensors = {role: _rounded(role, value, f"L{index}-{role}", elements) for role, value in values.items()}
        made.append({"label": f"blocks.{index}.attn", "divisor": math.sqrt(width), "tensors": tensors})
    source = DEMO.read_text(encoding="utf-8")
    return scene(source, made, program="model.py"), elements


def _nearness(length: int, heads: int) -> torch.Tensor:
    """Each head looks a different way back, as heads of trained models do."""
    at = torch.arange(length)
    far = (at[:, None] - at[None, :])[None].float()
    way = torch.arange(heads)[:, None, None] * 3.0
    bias = -((far - way) ** 2) / (2 * (2 + way) ** 2) * 4
    return bias.masked_fill(far < 0, float("-inf"))[None]


def _rounded(role: str, value: torch.Tensor, name: str, elements: dict[str, str], most: int = 512) -> dict[str, Any]:
    samples, heads, height, width = value.shape
    pool = max(1, -(-max(height, width) // most))
    small = torch.nn.functional.avg_pool2d(value, pool) if pool > 1 else value
    low, high = small.amin((-2, -1)), small.amax((-2, -1))
    scale = (high - low)[..., None, None].clamp(min=1e-12)
    data = ((small - low[..., None, None]) / scale * 255).round().to(torch.uint8)
    data = (data // 4 * 4).clamp(max=255)
    elements[name] = packed(data.contiguous().numpy().tobytes())
    picture = {
        "kind": "u8",
        "samples": samples,
        "heads": heads,
        "height": small.shape[-2],
        "width": small.shape[-1],
        "pool": pool,
        "bounds": torch.stack([low, high], -1).flatten().tolist(),
        "blobs": [{"element": name}],
    }
    made = _tensor(role, list(value.shape), samples, heads, picture, value)
    if role == "weights":
        found = value[0].topk(4)
        keys = found.indices.flatten().tolist()
        elements[f"{name}-top"] = packed(
            struct.pack(f"<{len(keys)}H", *keys) + found.values.contiguous().numpy().tobytes()
        )
        made["top"] = {"count": 4, "blobs": [{"element": f"{name}-top"}]}
    return made
