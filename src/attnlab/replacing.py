"""A file of the user's, put in the place of what was there: it is never half written."""

from __future__ import annotations

import os
import shutil
import tempfile


def replace_file(path: str, data: bytes) -> None:
    """Put bytes in the place of what is in a file, at once; its permissions stay. Raises `OSError` where it can't."""
    path = os.path.realpath(path)
    if not os.access(path, os.W_OK):
        raise PermissionError(13, os.strerror(13), path)
    number, beside = tempfile.mkstemp(prefix=".attnlab-", dir=os.path.dirname(path))
    try:
        with open(number, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        shutil.copymode(path, beside)
        os.replace(beside, path)
    except BaseException:
        os.unlink(beside)
        raise
