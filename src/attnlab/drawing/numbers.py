"""The matrices of a scene, as numbers again."""

from __future__ import annotations

import base64
import struct
import zlib
from dataclasses import dataclass

from attnlab.scene.data import Blob, Picture, Tensor


@dataclass(frozen=True)
class Matrix:
    """One matrix of a tensor: rows of numbers. `pool`: each is the mean of pool × pool cells of the whole one."""

    rows: tuple[tuple[float, ...], ...]
    pool: int
    exact: bool

    @property
    def height(self) -> int:
        """How many rows are here."""
        return len(self.rows)

    @property
    def width(self) -> int:
        """How many columns are here."""
        return len(self.rows[0]) if self.rows else 0


def matrix(tensor: Tensor, sample: int, head: int) -> Matrix | None:
    """The matrix of a sample and a head, counted from 0; of the only head where there is one. None: it is not here."""
    picture = tensor["picture"]
    if picture is None:
        return None
    sample, head = (0 if picture["samples"] == 1 else sample), (0 if picture["heads"] == 1 else head)
    if sample >= picture["samples"] or head >= picture["heads"]:
        return None
    size = picture["height"] * picture["width"]
    numbers = _numbers(picture, _bytes(picture["blobs"][sample]), sample, head, size)
    width = picture["width"]
    rows = tuple(tuple(numbers[start : start + width]) for start in range(0, size, width)) if width else ()
    return Matrix(rows, picture["pool"], picture["kind"] == "f32")


def _numbers(picture: Picture, data: bytes, sample: int, head: int, size: int) -> list[float]:
    if picture["kind"] == "f32":
        return list(struct.unpack_from(f"<{size}f", data, 4 * size * head))
    place = 2 * (sample * picture["heads"] + head)
    low, high = picture["bounds"][place : place + 2]
    return [low + byte * (high - low) / 255 for byte in data[size * head : size * (head + 1)]]


def _bytes(blob: Blob) -> bytes:
    return zlib.decompress(base64.b64decode(blob.get("base64", "")), -15)
