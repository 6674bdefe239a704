"""A number as a colour: one green that deepens for weights, purple to orange through white for signed numbers.

People with any kind of colour vision can tell the two ends apart, and the lightness alone tells the size. The page
has the same scales.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

_SHARE = ("#f5f7f2", "#d3e8dd", "#98cdbb", "#4ea695", "#17786d", "#07504d", "#042f33")
_SIGNED = ("#3f1d73", "#6f57a6", "#a79fcf", "#d9d8ea", "#f8f6f1", "#fbdfba", "#f2b265", "#cf7615", "#8a4407")
_MASKED = "#c9ccd1"
_BROKEN = "#d6006c"


@dataclass(frozen=True)
class Scale:
    """From `low` to `high`. `shares`: numbers from zero up, else as far below zero as above it."""

    shares: bool
    high: float

    @property
    def low(self) -> float:
        """The number at the other end."""
        return 0.0 if self.shares else -self.high

    def colour(self, value: float) -> str:
        """As #rrggbb. Minus infinity, which a mask leaves, is grey; what is no number is pink."""
        if not math.isfinite(value):
            return _MASKED if value == -math.inf else _BROKEN
        part = (value - self.low) / (self.high - self.low)
        return _between(_SHARE if self.shares else _SIGNED, min(1.0, max(0.0, part)))

    def ink(self, value: float) -> str:
        """Black or white: what can be read on that colour."""
        red, green, blue = _parts(self.colour(value))
        return "#15191f" if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else "#ffffff"


def scale(shares: bool, low: float | None, high: float | None) -> Scale:
    """The scale for numbers from `low` to `high`; None where there is none."""
    most = (high or 0.0) if shares else max(abs(low or 0.0), abs(high or 0.0))
    return Scale(shares, most if most > 0 else 1.0)


def _between(stops: Sequence[str], part: float) -> str:
    place = part * (len(stops) - 1)
    first = min(int(place), len(stops) - 2)
    mixed = (
        round(a + (b - a) * (place - first))
        for a, b in zip(_parts(stops[first]), _parts(stops[first + 1]), strict=True)
    )
    return "#" + "".join(f"{part:02x}" for part in mixed)


def _parts(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
