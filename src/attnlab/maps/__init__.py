"""What attention does over long sequences: exact weights row by row, and what is told of them without the matrix."""

from __future__ import annotations
