"""One kind of attention as a page tells it: each part with its code, its shapes and its tensors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor as Torch

from attnlab.attention import Attention
from attnlab.experiments.replay import FAITHFUL, FAITHFUL_ELSE
from attnlab.explanation.data import Formula, Size
from attnlab.explanation.data import Item as ToldItem
from attnlab.explanation.data import Part as ToldPart
from attnlab.explanation.told import tell
from attnlab.scene import texts
from attnlab.scene.bounds import EXACT, Bound, Extent
from attnlab.scene.codes import Placed
from attnlab.scene.data import Both, Item, Layer, Part, Piece, Role, Tensor, Told
from attnlab.scene.parts import tie
from attnlab.scene.pictures import Bag
from attnlab.scene.tensors import FILL, Made, Roles
from attnlab.views.shapes import HARD_SPACE, equation

# Of these it is tried, on so many rows, whether one is the product of others.
_TRIED = frozenset(["q", "k", "v", "scores", "weights", "output"])
_ROWS = 64


def told(
    group: Sequence[Attention], sight: Placed, layers: list[Layer], faults: Mapping[Role, str]
) -> tuple[Told, tuple[int, ...]]:
    """The attentions of a group, told once, and the indices of the steps that were told.

    `faults`: tensors that attnlab failed to lay out.
    """
    attention = group[0]
    found = tell(sight, group)
    there = set[Role]().union(*(layer["tensors"] for layer in layers))
    parts = [_part(part, sight) for part in found.parts]
    tie(parts, attention, there)
    made: Told = {
        "title": texts.joined(found.title, " · "),
        "formulas": [_pieces(formula) for formula in found.formulas],
        "letters": [
            {"letter": item.letter, "size": item.size, "meaning": texts.said(item.meaning), "names": list(item.names)}
            for item in found.letters
        ],
        "parts": parts,
        "layers": layers,
        "notes": [*map(texts.said, found.notes), *_notes(layers, len(group)), *_failed(faults)],
    }
    return made, found.steps


def _pieces(formula: Formula) -> list[Piece]:
    return [{"text": piece.text, "key": piece.key} for piece in formula]


def _part(part: ToldPart, sight: Placed) -> Part:
    return {
        "names": [texts.said(name) for name in part.names],
        "marks": sorted(part.marks),
        "items": [item_of(item, sight) for item in part.items],
        "makes": [],
        "reads": [],
    }


def item_of(item: ToldItem, sight: Placed) -> Item:
    """Expressions told together."""
    return {
        "codes": [sight.placed(code) for code in item.codes],
        "equations": [equation(shapes).replace(HARD_SPACE, " ") for shapes in item.equations],
        "says": [texts.said(message) for message in item.says],
    }


def _failed(faults: Mapping[Role, str]) -> list[Both]:
    return [texts.words("scene.fault", role=role, fault=fault) for role, fault in faults.items()]


def numbered(layers: Sequence[Layer]) -> list[Layer]:
    """The layers of which something is to be seen, the first where that is none; the rounds of one module numbered."""
    seen = [layer for layer in layers if layer["tensors"]] or list(layers[:1])
    labels = [layer["label"] for layer in seen]
    for at, (layer, label) in enumerate(zip(seen, labels, strict=True)):
        if labels.count(label) > 1:
            layer["label"] = f"{label} #{labels[:at].count(label) + 1}"
    return seen


def _notes(layers: Sequence[Layer], count: int) -> list[Both]:
    first = layers[0]["tensors"] if layers else {}
    notes: list[Both] = []
    if len(layers) < count:
        notes.append(texts.words("scene.rounds", shown=len(layers), count=count))
    if "weights" in first and first["weights"].get("computed"):
        notes.append(texts.words("scene.computed"))
    if any(layer.get("changed") for layer in layers) and "weights" in first:
        notes.append(texts.words("scene.changed"))
    if "weights" not in first:
        notes.append(texts.words("scene.no_weights"))
    return notes


class Measured(NamedTuple):
    """One attention of a kind: how large its tensors are, its weights; and the tensors themselves, where small."""

    extents: dict[Role, Extent]
    weights: Torch | None
    made: dict[Role, Made] | None


def measured(roles: Roles, times: int) -> Measured:
    """Look at an attention, of whose kind there are so many."""
    found: dict[Role, Extent] = {}
    kept: dict[Role, Made] | None = {}
    weights: Torch | None = None
    for role, made in roles.made():
        samples, heads, height, width = made.stack.shape
        found[role] = Extent(samples, heads, height, width, times)
        weights = made.stack[:1].float() if role == "weights" else weights
        if kept is not None:
            kept[role] = made
            kept = kept if sum(item.stack.numel() for item in kept.values()) <= EXACT else None
    return Measured(found, weights, kept)


def layer_of(roles: Roles, made: dict[Role, Made] | None, sight: Placed, bound: Bound, bag: Bag) -> Layer:
    """One attention: its tensors, within the bound. `made`: where they are at hand."""
    attention = roles.attention
    tensors: dict[Role, Tensor] = {}
    first: dict[Role, Torch] = {}
    for role, item in roles.made() if made is None else made.items():
        tensors[role] = _tensor(role, item, attention, sight, bound, bag)
        if role in _TRIED:
            rows = None if role in ("k", "v") else _ROWS
            first[role] = item.stack[0, 0, :rows].clone()
    layer: Layer = {"label": attention.module or str(attention.index + 1), "tensors": tensors, "divisor": roles.divisor}
    if roles.factor is not None:
        layer["factor"] = roles.factor
    if attention.additive or not _is_product(first, "q", "k", "scores", roles.factor or 1.0):
        layer["additive"] = True
    if not _is_product(first, "weights", "v", "output", 1.0):
        layer["changed"] = True
    return layer


def _is_product(first: dict[Role, Torch], left: Role, right: Role, result: Role, factor: float) -> bool:
    """Whether a tensor is the product of two others, as far as their first rows tell; also where one is missing."""
    if not {left, right, result} <= first.keys():
        return True
    a, b, recorded = first[left].double(), first[right].double(), first[result]
    made = factor * (a @ (b if right == "v" else b.mT))
    share = FAITHFUL.get(recorded.dtype, FAITHFUL_ELSE) * max(float(made.nan_to_num().abs().max()), 1e-6)
    return torch.allclose(made, recorded.double(), 0, share, equal_nan=True)


def _tensor(role: Role, made: Made, attention: Attention, sight: Placed, bound: Bound, bag: Bag) -> Tensor:
    samples, heads, height, width = made.stack.shape
    axes = sight.shape(made.value) if made.value is not None else _axes(attention, sight, made)
    low, high, finite = _ends(made.stack if role != "masked" else made.stack.masked_fill(made.stack < -FILL, -math.inf))
    found: Tensor = {
        "name": (sight.name(made.value) or "") if made.value is not None else "",
        "codes": sight.of(_place(made, attention)),
        "shape": [axis.size for axis in axes],
        "axes": [axis.name for axis in axes],
        "dtype": sight.run.values[made.value].dtype if made.value is not None else "float64",
        "rows": made.rows,
        "cols": made.cols,
        "samples": samples,
        "heads": heads,
        "height": height,
        "width": width,
        "picture": bound.picture(role, made.stack, finite, bag),
        "top": bound.top(role, made.stack, bag),
        "min": low,
        "max": high,
    }
    if made.value is None and attention.style != "written":
        found["computed"] = True
    return found


def _place(made: Made, attention: Attention) -> int:
    """The value whose code stands for a tensor."""
    if made.value is not None:
        return made.value
    return attention.result if made.place is None else made.place


def _axes(attention: Attention, sight: Placed, made: Made) -> tuple[Size, ...]:
    """The axes of what was worked out: [B, H, L_q, L_k] and its like, as q and k name them."""
    if attention.style == "written":  # a mask that is no tensor of the code's own
        return tuple(Size(None, size) for size in made.stack.shape[-2:])
    q, k = sight.shape(attention.q.entered), sight.shape(attention.k.entered)
    height, width = made.stack.shape[-2:]
    tokens = -2 if attention.style in ("sdpa", "flex") else 1 if attention.style == "layer" else 0
    batch: tuple[Size, ...] = q[:-2]
    if tokens >= 0:
        samples = (q[1 - tokens],) if len(q) == 3 else ()
        batch = (*samples, Size("H", made.stack.shape[1]))
    queries, keys = q[tokens], k[tokens]
    rows = queries if made.rows == "query" else keys
    columns = keys if made.cols == "key" else Size("d_k" if width == attention.d_k else "d_v", width)
    return (*batch, rows if rows.size == height else Size(None, height), columns)


def _ends(stack: Torch) -> tuple[float | None, float | None, bool]:
    """The smallest and the largest finite number, and whether all are finite."""
    low, high = (float(end) for end in stack.aminmax())
    if math.isfinite(low) and math.isfinite(high):
        return low, high, True
    known = stack[stack.isfinite()]
    if not known.numel():
        return None, None, False
    low, high = (float(end) for end in known.aminmax())
    return low, high, False
