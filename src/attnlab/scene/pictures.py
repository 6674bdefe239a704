"""A stack of matrices as bytes: the numbers as they are where there are few, else pooled and rounded."""

from __future__ import annotations

import base64
import ctypes
import math
import zlib
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.nn.functional import avg_pool2d

from attnlab.scene.data import Blob, Picture, Top

_SHORT = 1 << 16


@dataclass
class Bag:
    """Where blobs go: into the JSON itself, or apart, to be put into elements of a page."""

    apart: bool = False
    elements: dict[str, str] = field(default_factory=dict[str, str], init=False)
    bytes: int = field(default=0, init=False)

    def put(self, *tensors: Tensor) -> Blob:
        """The bytes of tensors, one after another, deflated, each with a code of its own.

        Those of noise repeat nothing but runs: looking for more takes ten times as long, and more room.
        """
        parts = list(map(_bytes, tensors))
        noise = sum(map(len, parts)) > _SHORT or tensors[0].dtype == torch.uint8
        squeeze = zlib.compressobj(6, zlib.DEFLATED, -15, 9, zlib.Z_RLE if noise else zlib.Z_DEFAULT_STRATEGY)
        data = b"".join(squeeze.compress(part) + squeeze.flush(zlib.Z_BLOCK) for part in parts) + squeeze.flush()
        text = base64.b64encode(data).decode("ascii")
        self.bytes += len(text)
        if not self.apart:
            return {"base64": text}
        name = f"blob-{len(self.elements)}"
        self.elements[name] = text
        return {"element": name}


def _bytes(tensor: Tensor) -> bytes:
    """The memory of a tensor in order; little-endian, as every machine is that PyTorch runs on."""
    tensor = tensor.detach().cpu().contiguous()
    return ctypes.string_at(tensor.data_ptr(), tensor.numel() * tensor.element_size())


def exact(stack: Tensor, samples: int, bag: Bag) -> Picture:
    """The numbers as they are, of the first samples."""
    kept = stack[:samples].float()
    return {
        "kind": "f32",
        "samples": kept.shape[0],
        "heads": kept.shape[1],
        "height": kept.shape[2],
        "width": kept.shape[3],
        "pool": 1,
        "bounds": [],
        "blobs": [bag.put(sample) for sample in kept],
    }


def image(stack: Tensor, samples: int, pool: int, step: int, finite: bool, bag: Bag) -> Picture:
    """A byte a cell, of which every `step`-th is used; each cell is the mean of pool × pool numbers.

    `finite`: whether all numbers are known to be finite.
    """
    small = pooled(stack[:samples].float(), pool, finite)
    low, high = small.amin((-2, -1), keepdim=True), small.amax((-2, -1), keepdim=True)
    if not finite:
        known = small.isfinite()
        low = torch.where(known, small, math.inf).amin((-2, -1), keepdim=True)
        high = torch.where(known, small, -math.inf).amax((-2, -1), keepdim=True)
        low, high = (torch.where(end.isfinite(), end, 0.0) for end in (low, high))
        small = torch.where(known, small, low)
    levels = ((small - low) / (high - low).clamp_min(1e-38) * (255 // step)).round()
    bounds = [float(end) for end in torch.cat([low.flatten(2), high.flatten(2)], -1).flatten()]
    return {
        "kind": "u8",
        "samples": small.shape[0],
        "heads": small.shape[1],
        "height": small.shape[2],
        "width": small.shape[3],
        "pool": pool,
        "bounds": [float(f"{number:.9g}") for number in bounds],
        "blobs": [bag.put(sample) for sample in (levels * step).to(torch.uint8)],
        "step": step,
    }


def pooled(stack: Tensor, pool: int, finite: bool = False) -> Tensor:
    """The mean of each pool × pool cells, of those that are finite; not finite where none is."""
    if pool == 1:
        return stack
    if finite:
        return avg_pool2d(stack, pool, ceil_mode=True, count_include_pad=False)
    known = stack.isfinite()
    total = avg_pool2d(torch.where(known, stack, 0.0), pool, ceil_mode=True, count_include_pad=False)
    return total / avg_pool2d(known.float(), pool, ceil_mode=True, count_include_pad=False)


def top(stack: Tensor, samples: int, count: int, bag: Bag) -> Top | None:
    """The largest keys of each query, exactly; None where there are more keys than a uint16 can name."""
    keys = stack.shape[-1]
    if not count or keys > 1 << 16:
        return None
    count = min(count, keys)
    blobs: list[Blob] = []
    for sample in stack[:samples].float():
        found = sample.topk(count, -1)
        blobs.append(bag.put(found.indices.to(torch.int32).to(torch.uint16), found.values))
    return {"count": count, "blobs": blobs}
