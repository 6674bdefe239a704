"""The flow of one attention: every tensor to scale, with its name, axes and line, and between them what makes it.

X ─┬─ Q ────────── QKᵀ ── ÷√d_k ── mask ── softmax ── · V ── merge ── W_O
   ├─ K ── Kᵀ ──────┘                                  │
   └─ V ───────────────────────────────────────────────┘
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from attnlab.drawing import svg
from attnlab.drawing.colour import scale
from attnlab.drawing.numbers import matrix
from attnlab.scene.data import READS, Layer, Part, Role, Tensor, Told
from attnlab.views.text import fit
from attnlab.words import Words

# Which line each tensor stands on, from the top, in lines; and which of those that are there it is made from.
_LINES: Mapping[Role, float] = {
    "x": 1, "memory": 2, "q": 0, "k": 1, "v": 2, "kt": 1, "scores": 0.5, "scaled": 0.5, "mask": 1.5,
    "masked": 0.5, "weights": 0.5, "output": 0.5, "merged": 0.5, "projected": 0.5,
}  # fmt: skip
_COLUMNS: tuple[tuple[Role, ...], ...] = (
    ("x", "memory"), ("q", "k", "v"), ("kt",), ("scores",), ("scaled", "mask"), ("masked",), ("weights",), ("output",),
    ("merged",), ("projected",),
)  # fmt: skip
# With a memory, an arrow leads to each from what it is made of, and from nothing else.
_FROM: Mapping[Role, tuple[tuple[Role, ...], ...]] = {
    **READS,
    "q": (("x",),),
    "k": (("memory", "x"),),
    "v": (("memory", "x"),),
}
SYMBOLS: Mapping[Role, str] = {
    "x": "X", "memory": "M", "q": "Q", "k": "K", "v": "V", "kt": "Kᵀ", "scores": "QKᵀ", "scaled": "QKᵀ/√d_k",
    "mask": "mask", "masked": "", "weights": "softmax", "output": "O", "merged": "", "projected": "",
}  # fmt: skip
_LARGEST, _SMALLEST, _CELL = 120.0, 10.0, 16.0  # the longest side of a matrix, the shortest, and the largest cell
_GAP, _MARGIN, _TOP = 30.0, 24.0, 86.0
_STACK = 4.0  # how far the matrices of other samples and heads stand out behind
_LONGEST = 24  # cells of a name


@dataclass
class _Box:
    """A tensor on the picture: its corner and the size of its matrix, its lines of text, and what makes it."""

    role: Role
    tensor: Tensor
    label: str
    says: tuple[str, ...]
    width: float
    height: float
    stacked: int
    x: float = 0.0
    y: float = 0.0

    @property
    def room(self) -> float:
        """How wide it is with what stands under it."""
        return max(self.width + self.stacked * _STACK, *(svg.room(said, 11) for said in self.says))

    @property
    def pill(self) -> float:
        """How wide the name of what makes it is, with the arrows on both sides."""
        return svg.room(self.label, 11) + 16 if self.label else 0.0

    @property
    def middle(self) -> float:
        """The height at which arrows come and go."""
        return self.y + self.height / 2


def flow(told: Told, layer: Layer, sample: int, head: int, words: Words) -> str:
    """One attention as SVG; of each tensor the matrix of `sample` and `head`, counted from 0."""
    boxes = _boxes(told, layer, words)
    width, height = _place(boxes)
    return svg.document(width, height, told["title"][words.language], _drawn(told, boxes, sample, head, words, width))


def _boxes(told: Told, layer: Layer, words: Words) -> dict[Role, _Box]:
    tensors = layer["tensors"]
    sides = [side for tensor in tensors.values() for side in (tensor["height"], tensor["width"])]
    cell = min(_CELL, _LARGEST / max(sides, default=1))
    labels = {role: label for part in told["parts"] for role, label in _labels(part, words)}
    found: dict[Role, _Box] = {}
    for column in _COLUMNS:
        for role in column:
            if role in tensors:
                tensor = tensors[role]
                width, height = (max(_SMALLEST, side * cell) for side in (tensor["width"], tensor["height"]))
                stacked = min(2, tensor["samples"] * tensor["heads"] - 1)
                says = _says(role, tensor, words)
                found[role] = _Box(role, tensor, labels.get(role, ""), says, width, height, stacked)
    return found


def _labels(part: Part, words: Words) -> Iterator[tuple[Role, str]]:
    """What makes each of the tensors of a part, in short: of "Q = X W_Q" the right side."""
    names = [name[words.language].rpartition(" = ")[2] for name in part["names"]]
    makes = part["makes"]
    if len(names) == len(makes):
        yield from zip(makes, names, strict=True)
    elif makes and names:
        yield makes[-1], names[0]


def _says(role: Role, tensor: Tensor, words: Words) -> tuple[str, ...]:
    """What stands under a matrix: its name, its axes, their sizes and its line."""
    name = fit(tensor["name"] or SYMBOLS[role], _LONGEST)
    axes = ", ".join(axis or str(size) for axis, size in zip(tensor["axes"], tensor["shape"], strict=True))
    sizes = "[" + ", ".join(map(str, tensor["shape"])) + "]"
    lines = [line for code in tensor["codes"][:1] for line in code["lines"][:1]]
    place = [words.say("draw.line", line=lines[0])] if lines else []
    named = [f"[{axes}]"] if any(tensor["axes"]) else []
    return (name, *named, " · ".join([sizes, *place]))


def _place(boxes: Mapping[Role, _Box]) -> tuple[float, float]:
    """Give every box its place; the size of the whole."""
    tallest = max((box.height + 16 * len(box.says) for box in boxes.values()), default=0.0)
    pitch = tallest + 26
    x = _MARGIN
    for column in _COLUMNS:
        there = [boxes[role] for role in column if role in boxes]
        if not there:
            continue
        pill = max(box.pill for box in there)
        x += pill + (1.5 * _GAP if pill else _GAP) if x > _MARGIN else 0.0
        room = max(box.room for box in there)
        for box in there:
            line = _LINES[box.role] + (0.6 if box.role == "v" and "mask" in boxes else 0.0)
            box.x = x + (room - box.width) / 2
            box.y = _TOP + line * pitch + (tallest - 16 * len(box.says) - box.height) / 2
        x += room
    bottom = max((box.y + box.height + 16 * len(box.says) for box in boxes.values()), default=_TOP)
    return max(x + _MARGIN, 360.0), bottom + _MARGIN


def _drawn(told: Told, boxes: Mapping[Role, _Box], sample: int, head: int, words: Words, width: float) -> Iterator[str]:
    yield svg.arrowhead()
    yield svg.text(_MARGIN, 32, fit(told["title"][words.language], int(width / 9)), 16, weight="bold")
    formula = "".join(piece["text"] for formula in told["formulas"][:1] for piece in formula)
    yield svg.text(_MARGIN, 54, formula, 13, colour=svg.FAINT, family="mono")
    for box in boxes.values():
        groups = ([boxes[role] for role in group if role in boxes] for group in _FROM.get(box.role, ()))
        yield from _arrows(box, [found[0] for found in groups if found])
    for box in boxes.values():
        yield from _matrix(box, sample, head)
    letters = " · ".join(f"{letter['letter']} = {letter['size']}" for letter in told["letters"])
    yield svg.text(width - _MARGIN, 32, letters, 12, "end", svg.FAINT) if len(letters) * 7 < width / 2 else ""


def _arrows(box: _Box, sources: list[_Box]) -> Iterator[str]:
    """From what a tensor is made of, by way of what makes it."""
    end = box.x - 5
    start = end - 18 - box.pill
    for source in sources:
        begin = source.x + source.width + source.stacked * _STACK + 4
        yield svg.path(_curve(begin, source.middle, start, box.middle), arrow=not box.label)
    if sources and box.label:
        yield svg.path(f"M{start + box.pill:.1f},{box.middle:.1f}H{end:.1f}", arrow=True)
        yield svg.box(start, box.middle - 10, box.pill, 20, "#eef1f4", svg.LINE, 10)
        yield svg.text(start + box.pill / 2, box.middle + 4, box.label, 11, "middle")


def _curve(x: float, y: float, to_x: float, to_y: float) -> str:
    """Straight on, and bent only before the end: so that it passes under what stands between."""
    bend = max(x, to_x - 46)
    if abs(y - to_y) < 1:
        return f"M{x:.1f},{y:.1f}H{to_x:.1f}"
    middle = (bend + to_x) / 2
    return f"M{x:.1f},{y:.1f}H{bend:.1f}C{middle:.1f},{y:.1f},{middle:.1f},{to_y:.1f},{to_x:.1f},{to_y:.1f}"


def _matrix(box: _Box, sample: int, head: int) -> Iterator[str]:
    tensor = box.tensor
    for behind in range(box.stacked, 0, -1):
        shift = behind * _STACK
        yield svg.box(box.x + shift, box.y - shift, box.width, box.height, "#ffffff", svg.LINE)
    found = matrix(tensor, sample, head)
    if found is None:
        yield svg.box(box.x, box.y, box.width, box.height, "#f2f4f6", svg.LINE)
    else:
        shades = scale(box.role == "weights", tensor["min"], tensor["max"])
        yield svg.heat(found, shades, box.x, box.y, box.width, box.height)
        yield svg.box(box.x, box.y, box.width, box.height, "none", svg.LINE)
    for number, said in enumerate(box.says):
        y = box.y + box.height + 15 * (number + 1)
        bold = {"weight": "bold"} if number == 0 else {}
        yield svg.text(box.x + box.width / 2, y, said, 11, "middle", svg.INK if number == 0 else svg.FAINT, **bold)
