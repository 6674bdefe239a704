"""The attention weights as a heat map: rows are queries, columns are keys, each labelled; every head, or one."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from attnlab.drawing import svg
from attnlab.drawing.colour import Scale, scale
from attnlab.drawing.numbers import Matrix, matrix
from attnlab.scene.data import Layer, Tensor, Told
from attnlab.words import Words

_MARGIN, _TOP = 24.0, 86.0
_ONE, _OF_MANY = 420.0, 210.0  # the side of a map that stands alone, and of one among several
_WIDEST = 46.0  # a cell
_NUMBERS = 30.0  # cells this wide have their number in them
_BAR = 160.0


@dataclass(frozen=True)
class _Map:
    """One map on the picture: its title, its numbers, and the size of a cell."""

    title: str
    matrix: Matrix
    cell: float

    @property
    def width(self) -> float:
        """Of the cells alone."""
        return self.matrix.width * self.cell

    @property
    def height(self) -> float:
        """Of the cells alone."""
        return self.matrix.height * self.cell


def heat(told: Told, layer: Layer, sample: int, head: int | None, words: Words) -> str:
    """The weights of one attention as SVG, of one sample; of one head, counted from 0, or (None) of every head.

    Raises `LookupError` where they are not in the scene.
    """
    tensor = layer["tensors"].get("weights")
    picture = None if tensor is None else tensor["picture"]
    if tensor is None or picture is None:
        raise LookupError("the weights of this attention are not known")
    heads = range(picture["heads"]) if head is None else [head]
    found = [(one, matrix(tensor, sample, one)) for one in heads]
    side = _ONE if len(found) == 1 else _OF_MANY
    maps: list[_Map] = []
    for one, numbers in found:
        if numbers is None:
            raise LookupError(f"there are no weights of sample {sample} and head {one}")
        title = words.say("draw.head", head=one) if tensor["heads"] > 1 else ""
        cell = min(_WIDEST, side / max(numbers.height, numbers.width, 1))
        maps.append(_Map(title, numbers, cell))
    shades = scale(True, 0.0, tensor["max"])
    return _document(told, layer, tensor, sample, maps, shades, words)


def _document(
    told: Told, layer: Layer, tensor: Tensor, sample: int, maps: list[_Map], shades: Scale, words: Words
) -> str:
    left = max(svg.room(words.say("draw.query", query=one.matrix.height * one.matrix.pool), 11) for one in maps) + 10
    across, down = left + maps[0].width + 26, maps[0].height + 60
    columns = math.ceil(math.sqrt(len(maps)))
    rows = math.ceil(len(maps) / columns)
    title = f"{told['title'][words.language]} · {words.say('draw.sample', sample=sample)}"
    if len(told["layers"]) > 1:
        title += f" · {layer['label']}"
    width = max(_MARGIN + columns * across, 2 * _MARGIN + svg.room(title, 15), 2 * _MARGIN + 2 * _BAR)
    height = _TOP + rows * down + 64

    def parts() -> Iterator[str]:
        yield svg.text(_MARGIN, 32, title, 15, weight="bold")
        shape = "[" + ", ".join(axis or str(size) for axis, size in zip(tensor["axes"], tensor["shape"], strict=True))
        pool = maps[0].matrix.pool
        notes = [f"{tensor['name'] or 'softmax'} {shape}] = [{', '.join(map(str, tensor['shape']))}]"]
        notes += [words.say("draw.pooled", pool=pool)] if pool > 1 else []
        yield svg.text(_MARGIN, 52, " · ".join(notes), 12, colour=svg.FAINT)
        for number, one in enumerate(maps):
            x = _MARGIN + left + (number % columns) * across
            yield from _drawn(one, shades, x, _TOP + (number // columns) * down + 18, words)
        yield from _bar(shades, _MARGIN + left, height - 40, words)

    return svg.document(width, height, title, parts())


def _drawn(one: _Map, shades: Scale, x: float, y: float, words: Words) -> Iterator[str]:
    if one.title:
        yield svg.text(x, y - 24, one.title, 12, weight="bold")
    yield svg.heat(one.matrix, shades, x, y, one.width, one.height)
    yield svg.box(x, y, one.width, one.height, "none", svg.LINE)
    for row in _labelled(one.matrix.height, one.cell):
        said = words.say("draw.query", query=row * one.matrix.pool)
        yield svg.text(x - 6, y + (row + 0.5) * one.cell + 4, said, 11, "end", svg.FAINT)
    labels = [words.say("draw.key", key=key * one.matrix.pool) for key in range(one.matrix.width)]
    widest = max((svg.room(label, 11) for label in labels), default=0.0)
    for column in _labelled(one.matrix.width, one.cell, widest + 6):
        yield svg.text(x + (column + 0.5) * one.cell, y - 6, labels[column], 11, "middle", svg.FAINT)
    if one.cell >= _NUMBERS:
        yield from _cells(one, shades, x, y)


def _cells(one: _Map, shades: Scale, x: float, y: float) -> Iterator[str]:
    """The number in each cell, and behind each row its sum."""
    for row, values in enumerate(one.matrix.rows):
        for column, value in enumerate(values):
            place = x + (column + 0.5) * one.cell, y + (row + 0.5) * one.cell + 4
            yield svg.text(*place, f"{value:.2f}", 11, "middle", shades.ink(value))


def _labelled(count: int, cell: float, room: float = 14.0) -> range:
    """Which rows or columns are labelled: as many as have room."""
    return range(0, count, max(1, math.ceil(room / cell)) if cell else 1)


def _bar(shades: Scale, x: float, y: float, words: Words) -> Iterator[str]:
    """What the colours mean."""
    steps = 40
    row = tuple(shades.high * step / (steps - 1) for step in range(steps))
    yield svg.heat(Matrix((row,), 1, True), shades, x, y, _BAR, 10)
    yield svg.text(x, y + 24, "0", 11, colour=svg.FAINT)
    yield svg.text(x + _BAR, y + 24, f"{shades.high:.3g}", 11, "end", svg.FAINT)
    yield svg.text(x + _BAR + 10, y + 9, words.say("draw.weight"), 11, colour=svg.FAINT)
