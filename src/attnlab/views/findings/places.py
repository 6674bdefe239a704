"""Paths as they are told: relative to a folder where they lie beneath it."""

from __future__ import annotations

import os


def relative(path: str, folder: str) -> str:
    """The path from `folder` on, where it lies beneath it; else as it is."""
    if not os.path.isabs(path):
        return path
    inside = os.path.relpath(path, folder)
    return path if inside.startswith(os.pardir) else inside
