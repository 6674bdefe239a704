"""The examples of the page run, and print what stands below them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_each_example_prints_what_stands_below_it(language: str, capsys: pytest.CaptureFixture[str]) -> None:
    page = (DOCS / language / "capture.md").read_text(encoding="utf-8")
    examples = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", page, re.DOTALL)
    assert len(examples) == 3
    for code, printed in examples:
        exec(compile(code, "example.py", "exec"), {"__name__": "__main__"})
        assert capsys.readouterr().out.startswith(printed)
