"""Texts that are compared with files. `ATTNLAB_REWRITE=1 pytest` writes the files anew: read what changed."""

from __future__ import annotations

import os
from pathlib import Path

GOLDEN = Path(__file__).parent / "golden"


def assert_golden(name: str, text: str) -> None:
    """`text` is what stands in tests/golden/`name`; with ATTNLAB_REWRITE set, it does from now on."""
    file = GOLDEN / name
    if os.environ.get("ATTNLAB_REWRITE"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert file.exists(), f"{file} is missing: ATTNLAB_REWRITE=1 writes it"
    assert text == file.read_text(encoding="utf-8")
