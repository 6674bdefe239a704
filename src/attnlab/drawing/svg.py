"""SVG as text. Everything that a user wrote is escaped here, and nowhere else."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Iterable
from html import escape

from attnlab.drawing.colour import Scale
from attnlab.drawing.numbers import Matrix
from attnlab.views.text import cells, plain

# Fonts that have Chinese come first to those that have not: one font for a line, on every system.
_SANS = (
    "'Noto Sans CJK SC','Noto Sans SC','Source Han Sans SC','PingFang SC','Microsoft YaHei',Helvetica,Arial,sans-serif"
)
_MONO = "'DejaVu Sans Mono','SF Mono',Menlo,Consolas,'Noto Sans Mono CJK SC',monospace"
INK, FAINT, LINE = "#15191f", "#5a6470", "#8a94a0"
# More cells than this are an image, not rectangles of their own.
_RECTANGLES = 1024


def document(width: float, height: float, title: str, parts: Iterable[str]) -> str:
    """A whole picture on white, with a title for those who cannot see it."""
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family="{_SANS}">',
            f"<title>{_safe(title)}</title>",
            f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>',
            *parts,
            "</svg>\n",
        ]
    )


def text(x: float, y: float, said: str, size: float = 12, anchor: str = "start", colour: str = INK, **more: str) -> str:
    """A line of text with its base line at `y`. `more`: attributes, such as `weight="bold"` and `family="mono"`."""
    weight = f' font-weight="{more["weight"]}"' if "weight" in more else ""
    family = f' font-family="{_MONO}"' if more.get("family") == "mono" else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" text-anchor="{anchor}" fill="{colour}"'
        f"{weight}{family}>{_safe(said)}</text>"
    )


def room(said: str, size: float) -> float:
    """About how wide a text is."""
    return cells(plain(said)) * size * 0.56


def box(x: float, y: float, width: float, height: float, fill: str, stroke: str = "none", round_: float = 0) -> str:
    """A rectangle."""
    corner = f' rx="{round_:g}"' if round_ else ""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{fill}" '
        f'stroke="{stroke}"{corner}/>'
    )


def path(shape: str, arrow: bool = False) -> str:
    """A line along `shape`, with the arrow of `arrowhead` at its end."""
    end = ' marker-end="url(#arrow)"' if arrow else ""
    return f'<path d="{shape}" fill="none" stroke="{LINE}" stroke-width="1.3"{end}/>'


def arrowhead() -> str:
    """What the arrows of a picture end in."""
    return (
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0 0 L8 4 L0 8 z" fill="{LINE}"/></marker></defs>'
    )


def heat(matrix: Matrix, scale: Scale, x: float, y: float, width: float, height: float) -> str:
    """A matrix as colours within a rectangle."""
    if matrix.height * matrix.width > _RECTANGLES:
        return _image(matrix, scale, x, y, width, height)
    across, down = width / max(1, matrix.width), height / max(1, matrix.height)
    parts = [
        f'<rect x="{x + column * across:.2f}" y="{y + row * down:.2f}" width="{across:.2f}" height="{down:.2f}" '
        f'fill="{scale.colour(value)}"/>'
        for row, values in enumerate(matrix.rows)
        for column, value in enumerate(values)
    ]
    return f'<g shape-rendering="crispEdges">{"".join(parts)}</g>'


def _image(matrix: Matrix, scale: Scale, x: float, y: float, width: float, height: float) -> str:
    data = base64.b64encode(_png(matrix, scale)).decode("ascii")
    return (
        f'<image x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" preserveAspectRatio="none" '
        f'style="image-rendering:pixelated" href="data:image/png;base64,{data}"/>'
    )


def _png(matrix: Matrix, scale: Scale) -> bytes:
    """A pixel a cell."""
    known: dict[float, bytes] = {}
    lines = bytearray()
    for row in matrix.rows:
        lines.append(0)
        for value in row:
            colour = known.get(value)
            if colour is None:
                colour = known[value] = bytes.fromhex(scale.colour(value)[1:])
            lines += colour
    header = struct.pack(">IIBBBBB", matrix.width, matrix.height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(bytes(lines), 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in chunks
    )


def _safe(said: str) -> str:
    return escape(plain(said), quote=True)
