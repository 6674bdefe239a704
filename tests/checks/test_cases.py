"""Every fault is found at the right line with the right code, and no right script gives a finding."""

from pathlib import Path

import pytest
from check_cases import CASES, differences
from laboratory import called

FILES = sorted(CASES.rglob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(CASES)))
def test_case(file: Path) -> None:
    assert called(differences, file) == []
