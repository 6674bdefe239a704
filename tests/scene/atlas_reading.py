"""What the page of a map reads out of bytes, read as `web/src/map/atlas.ts` says that they stand."""

from __future__ import annotations

import math
from typing import Any

import torch
from scene.reading import unpacked
from torch import Tensor


def held(layer: Any, sample: int = 0, head: int = 0) -> dict[str, Tensor]:
    """The numbers of a head, in float64: maps [rows, cols], all else a number for each query that is held, by rank."""
    one = layer["held"][sample * len(layer["heads"]) + head]
    data = _Bytes(unpacked(one["blob"]), layer["exact"])
    side, top = layer["side"], layer["top"]
    size = -(-(layer["first"] % side + layer["queries"]) // side), -(-layer["keys"] // side)
    queries = -(-layer["queries"] // layer["every"])
    found = {"mean": data.map(size, one["mean"])}
    found["max"] = found["mean"] if side == 1 else data.map(size, one["max"])
    about = data.numbers(3, queries, 65520)
    if not layer["exact"]:
        entropy = about[0].sqrt()  # which alone is no root
        about[0] = torch.where(entropy > 1, torch.nan, entropy * math.log(layer["keys"]))
    found["weights"] = data.numbers(top, queries, 65535)
    found["keys"] = data.keys(top, queries, layer["keys"])
    assert data.whole()
    return found | dict(zip(("entropy", "start", "recent"), about, strict=True))


class _Bytes:
    def __init__(self, data: bytearray, exact: bool) -> None:
        self._data, self._exact, self._place = data, exact, 0

    def whole(self) -> bool:
        return self._place == len(self._data)

    def map(self, size: tuple[int, int], most: float) -> Tensor:
        count = math.prod(size)
        if self._exact:
            return self._taken(torch.float32, count).reshape(size).double()
        return (self._taken(torch.uint8, count).reshape(size).double() / 255) ** 2 * most

    def numbers(self, times: int, count: int, whole: int) -> Tensor:
        if self._exact:
            return self._taken(torch.float32, times * count).reshape(times, count).double()
        return (self._planes(times, count, 2).double() / whole) ** 2

    def keys(self, times: int, count: int, keys: int) -> Tensor:
        if self._exact:
            return self._taken(torch.int32, times * count).reshape(times, count).long() - 1
        return self._planes(times, count, -(-keys.bit_length() // 8)) - 1

    def _planes(self, times: int, count: int, planes: int) -> Tensor:
        parts = self._taken(torch.uint8, planes * times * count).reshape(planes, times, count).long()
        return sum((part << (8 * (planes - 1 - at)) for at, part in enumerate(parts)), torch.zeros_like(parts[0]))

    def _taken(self, kind: torch.dtype, count: int) -> Tensor:
        size = count * kind.itemsize
        self._place += size
        return torch.frombuffer(self._data[self._place - size : self._place], dtype=kind)
