"""Numbers of open files."""

from __future__ import annotations

import fcntl
import os

_HIGH = 200


def out_of_the_way(end: int) -> int:
    """The same file under a high number, so that the program's own files get the numbers they always get."""
    high = fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, _HIGH)
    os.close(end)
    return high
