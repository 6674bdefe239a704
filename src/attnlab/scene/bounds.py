"""How much of the tensors a page holds: all numbers where they are few, else images, as fine as there is room for."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from torch import Tensor

from attnlab.scene import pictures
from attnlab.scene.data import Picture, Role, Top
from attnlab.scene.tensors import FILL

# So many numbers are kept as they are, over all tensors of a scene.
EXACT = 150_000
# Cells that the images of all weights have together, and the size of one at most.
CELLS = 144 * 256 * 256
SIDE = 256
# Other tensors have this share of the room, and each of their matrices so many cells of it.
_SHARE = 0.1
_LEAST, _MOST = 64, 4096
KEYS = 8
# As many samples have images as have so many cells together; one always.
_SEVERAL = 1_000_000
# Every so many bytes of 255 are used: 255 / step + 1 levels. The finest that fits is taken.
STEPS = (1, 3, 5, 15, 17, 51)
_COARSE = 17
_TRIED = 2
_SMALL_STEP = 5


def allowance(weights: int) -> int:
    """Bytes of a page, in base64, for the tensors of a run that made so many weights."""
    return int(max(600_000, min(0.65 * weights, 10_600_000 + 0.022 * weights)))


class Extent(NamedTuple):
    """The size of a stack, and how many attentions have one like it."""

    samples: int
    heads: int
    height: int
    width: int
    times: int

    @property
    def cells(self) -> int:
        """Of one sample, in all attentions."""
        return self.heads * self.height * self.width * self.times


class Bound(NamedTuple):
    """What is kept: whole numbers of so many samples, or images of them."""

    exact: bool
    samples: int
    side: int = SIDE
    area: int = _LEAST
    step: int = 1
    keys: int = 0

    def picture(self, role: Role, stack: Tensor, finite: bool, bag: pictures.Bag) -> Picture:
        """A tensor within the bound. `finite`: whether all of its numbers are known to be."""
        if self.exact:
            return pictures.exact(stack, self.samples, bag)
        height, width = stack.shape[-2:]
        if role in ("weights", "mask"):
            step = self.step if role == "weights" else 255
            return pictures.image(stack, self.samples, _whole(height, width, self.side), step, finite, bag)
        if role == "masked":  # what a mask filled in would leave no shades for the rest
            stack = stack.masked_fill(stack < -FILL, -math.inf)
        return pictures.image(stack, self.samples, _small(height, width, self.area), _SMALL_STEP, finite, bag)

    def top(self, role: Role, stack: Tensor, bag: pictures.Bag) -> Top | None:
        """The largest keys of each query, where the weights are an image."""
        return None if self.exact or role != "weights" else pictures.top(stack, self.samples, self.keys, bag)


def bound(extents: Sequence[Mapping[Role, Extent]], weights: Sequence[Tensor | None]) -> Bound:
    """What is kept of a scene. `extents`: of each kind of attention; `weights`: theirs, to be tried on."""
    every = [extent for extents_of in extents for extent in extents_of.values()]
    if sum(extent.cells for extent in every) <= EXACT:
        largest = max((extent.cells for extent in every), default=1)
        samples = min(max((extent.samples for extent in every), default=1), EXACT // largest)
        while samples > 1 and sum(min(extent.samples, samples) * extent.cells for extent in every) > EXACT:
            samples -= 1
        return Bound(True, samples)
    grids = [extents_of["weights"] for extents_of in extents if "weights" in extents_of]
    side = SIDE
    while side > 1 and sum(_cells(extent, _whole(extent.height, extent.width, side)) for extent in grids) > CELLS:
        side //= 2
    cells = sum(_cells(extent, _whole(extent.height, extent.width, side)) for extent in grids)
    samples = min(max((extent.samples for extent in every), default=1), max(_SEVERAL // max(cells, 1), 1))
    room = allowance(samples * sum(extent.cells for extent in grids)) // samples
    named = [item for extents_of in extents for item in extents_of.items()]
    others = [extent for role, extent in named if role not in ("weights", "mask")]
    matrices = sum(extent.heads * extent.times for extent in others)
    area = min(max(int(_SHARE * room / max(matrices, 1)), _LEAST), _MOST)
    room -= sum(_cells(extent, _small(extent.height, extent.width, area)) for extent in others)  # a byte a cell
    tried = [stack for stack in weights if stack is not None]
    return _fitted(grids, tried, side, room)._replace(area=area, samples=samples)


def _whole(height: int, width: int, side: int) -> int:
    """How much the image of a grid is pooled."""
    return -(-max(height, width) // side)


def _small(height: int, width: int, area: int) -> int:
    """How much another tensor is pooled."""
    return math.ceil(math.sqrt(height * width / area)) if height * width > area else 1


def _cells(extent: Extent, pool: int) -> int:
    """Cells of the images of one sample."""
    return extent.heads * -(-extent.height // pool) * -(-extent.width // pool) * extent.times


def _fitted(grids: list[Extent], weights: list[Tensor], side: int, room: int) -> Bound:
    """The finest levels and the most keys that there is room for: tried on a few heads of one attention of a kind."""

    @cache
    def size(step: int) -> float:
        pairs = zip(weights, grids, strict=True)
        return sum(_image(stack[:, :_TRIED], side, step) * extent.times * extent.heads for stack, extent in pairs)

    step = next((step for step in (_COARSE, *STEPS[-1:]) if size(step) <= room), STEPS[-1])
    left = room - size(step)
    keys = next((keys for keys in (KEYS, 4, 2, 1) if step == _COARSE and _keys(grids, keys) <= left), 0)
    left -= _keys(grids, keys)
    finer = (finer for finer in STEPS if finer < step and size(finer) - size(step) <= left)
    return Bound(False, 1, side=side, step=next(finer, step), keys=keys)


def _image(stack: Tensor, side: int, step: int) -> float:
    """Bytes of one head's image, in base64."""
    bag = pictures.Bag()
    pictures.image(stack, 1, _whole(stack.shape[-2], stack.shape[-1], side), step, False, bag)
    return bag.bytes / stack.shape[1]


def _keys(grids: list[Extent], keys: int) -> float:
    """Bytes of the largest keys, in base64: 6 each, a little deflated."""
    return sum(extent.heads * extent.height * extent.times * keys * 6.7 for extent in grids)
