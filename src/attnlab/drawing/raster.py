"""An SVG as PNG, by the package resvg-py (the extra `draw`)."""

from __future__ import annotations

from typing import Any, cast

SCALE = 2  # pixels for each unit of the SVG: sharp in print


class NoRaster(Exception):
    """The package that draws PNG is not installed."""


def png(drawing: str) -> bytes:
    """The picture as PNG, with the fonts of this machine. Raises `NoRaster` where the extra is not installed."""
    try:
        import resvg_py
    except ImportError:
        raise NoRaster from None
    render = cast("Any", resvg_py).svg_to_bytes
    return bytes(render(svg_string=drawing, zoom=SCALE))
