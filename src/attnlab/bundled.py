"""Files that travel in the package: in it where it was built, in the repository where it is run from there."""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).parent


def bundled(built: str, source: str) -> Path:
    """Where a file or folder is: `built` in the package, where that is there, else `source` in the repository."""
    packed = _HERE / built
    return packed if packed.exists() else _HERE.parents[1] / source
