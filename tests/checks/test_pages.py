"""The pages of the rules: what stands there as wrong gives the finding, and what stands there as right gives none."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest
from check_cases import checked
from laboratory import called

from attnlab import pages
from attnlab.words import LANGUAGES

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [page for language in LANGUAGES for page in sorted(DOCS.glob(f"{language}/rules/*.md"))]
# The sections of a page, in both languages by their order.
SECTIONS = ("what", "why", "wrong", "right", "how", "when")


def sections(page: Path) -> dict[str, str]:
    parts = re.split(r"^## .*$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    assert len(parts) == len(SECTIONS), f"{page.name} has {len(parts)} sections, not {len(SECTIONS)}"
    return dict(zip(SECTIONS, parts, strict=True))


def programs(text: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def codes(program: str, folder: Path) -> set[str]:
    file = folder / "program.py"
    file.write_text(program, encoding="utf-8")
    return {item.code for item in called(checked, file) if not item.note}


def same(page: Path, other: Path) -> bool:
    """Whether the programs of two pages are the same but for their comments: they need not be run twice."""
    return other.exists() and [
        [ast.dump(ast.parse(program)) for program in programs(text)] for text in sections(page).values()
    ] == [[ast.dump(ast.parse(program)) for program in programs(text)] for text in sections(other).values()]


@pytest.mark.parametrize("page", PAGES, ids=[f"{page.parts[-3]}-{page.stem}" for page in PAGES])
def test_the_examples_of_a_page(page: Path, tmp_path: Path) -> None:
    found = sections(page)
    wrong, right = programs(found["wrong"]), programs(found["right"])
    assert wrong, f"{page.name} shows nothing that is wrong"
    assert right, f"{page.name} shows nothing that is right"
    assert len(page.read_text(encoding="utf-8").splitlines()) <= 80
    if page.parts[-3] == "zh" and same(page, DOCS / "en" / "rules" / page.name):
        return
    for program in wrong:
        assert codes(program, tmp_path) == {page.stem}, program
    for program in right:
        assert codes(program, tmp_path) == set(), program


def test_a_wheel_holds_the_pages_where_they_are_looked_for() -> None:
    project = tomllib.loads((DOCS.parent / "pyproject.toml").read_text(encoding="utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    included = {f"docs/{lang}/rules": f"attnlab/rule_pages/{lang}" for lang in LANGUAGES}
    assert included.items() <= wheel["force-include"].items()
    assert "rule_pages" in Path(pages.__file__).read_text(encoding="utf-8")
