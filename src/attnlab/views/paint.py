"""Colour by ANSI sequences, or none."""

from __future__ import annotations

from dataclasses import dataclass

_CODES = {"strong": "1", "faint": "2", "shape": "36", "code": "32", "mark": "1;33"}


@dataclass(frozen=True)
class Paint:
    """Paints text where colour is wanted, and leaves it as it is where it is not."""

    colour: bool

    def __call__(self, style: str, text: str) -> str:
        """The text in a style: "strong", "faint", "shape", "code", "mark"; "" and "plain" leave it as it is."""
        code = _CODES.get(style)
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour and code and text.strip() else text
