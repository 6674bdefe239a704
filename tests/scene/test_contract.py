"""What Python writes and what the page reads is one form: `data.py` and `web/src/scene.ts` have the same fields."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args, is_typeddict

import pytest

from attnlab.scene import data

CONTRACT = (Path(__file__).parents[2] / "web" / "src" / "scene.ts").read_text(encoding="utf-8")
RECORDS = {name: kind for name, kind in vars(data).items() if is_typeddict(kind)}
# `Both` and `Blob` stand there as types of one line.
INTERFACES = dict(re.findall(r"export interface (\w+) \{\n(.*?)\n\}", CONTRACT, re.DOTALL))


def names(text: str) -> set[str]:
    return set(re.findall(r'"([a-z_]+)"', text))


@pytest.mark.parametrize("name", INTERFACES)
def test_a_record_has_the_fields_of_the_contract(name: str) -> None:
    record = RECORDS[name]
    fields = re.findall(r"^  (\w+)(\??):", INTERFACES[name], re.MULTILINE)
    assert {field for field, optional in fields if not optional} == record.__required_keys__
    assert {field for field, optional in fields if optional} == record.__optional_keys__


def test_the_roles_are_those_of_the_contract() -> None:
    (found,) = re.findall(r"export type Role =(.*?);", CONTRACT, re.DOTALL)
    assert names(found) == set(get_args(data.Role))


def test_the_format_is_that_of_the_contract() -> None:
    assert re.findall(r"export const FORMAT = (\d+);", CONTRACT) == [str(data.FORMAT)]
