"""An SVG as PNG, by the package resvg-py (the extra `draw`)."""

from __future__ import annotations

import unicodedata
from html import escape
from typing import Any, cast
from xml.etree import ElementTree

SCALE = 2  # pixels for each unit of the SVG: sharp in print

# The last character for private use: fonts have nothing there, so it looks as whatever a font does not have.
_NOWHERE = "\U0010fffd"
# Letters, numbers, punctuation and symbols: what has to be seen. Spaces and marks may rightly leave nothing.
_SEEN = "LNPS"


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


def missing(drawing: str) -> str:
    """The characters of the picture's texts that no font of this machine has: `png` draws boxes, or nothing.

    It says nothing of it, so each character is drawn alone and compared with one that is in no font.
    """
    root = ElementTree.fromstring(drawing)
    family = root.get("font-family", "")
    lines = (element.text or "" for element in root.iter() if element.tag.endswith("}text"))
    nothing = _alone(_NOWHERE, family)
    return "".join(
        letter
        for letter in dict.fromkeys("".join(lines))
        if unicodedata.category(letter)[0] in _SEEN and _alone(letter, family) == nothing
    )


def _alone(letter: str, family: str) -> bytes:
    return png(
        '<svg xmlns="http://www.w3.org/2000/svg" width="24" height="24">'
        f'<text x="4" y="18" font-size="16" font-family="{escape(family)}">{escape(letter)}</text></svg>'
    )
