"""What was built: its size, what stands in it, and that it says what the catalogs hold."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from web.pages import ASSETS

from attnlab.views.page_words import page_words
from attnlab.words import LANGUAGES, Language

WEB = Path(__file__).parents[2] / "web"
# The page that `play` puts around it is another program, with words of its own.
SOURCES = sorted(path for path in (WEB / "src").rglob("*.ts*") if "play" not in (path.parent.name, path.stem))
TEXT = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES)


def test_script_and_style_are_small() -> None:
    sizes = {name: (ASSETS / name).stat().st_size for name in ("page.js", "page.css")}
    print(f"\n{sizes}")
    assert sum(sizes.values()) <= 250_000


@pytest.mark.parametrize("name", ["page.js", "page.css"])
def test_it_can_stand_in_a_page_and_fetches_nothing(name: str) -> None:
    text = (ASSETS / name).read_text(encoding="utf-8")
    assert not re.search(r"</(script|style)|<!--|\]\]>", text)
    assert set(re.findall(r"https?://[\w./]+", text)) <= {
        "http://www.w3.org/1998/Math/MathML",
        "http://www.w3.org/1999/xhtml",
        "http://www.w3.org/2000/svg",
    }
    assert not re.search(r"\bfetch\(|XMLHttpRequest|WebSocket|@import|url\(|document\.write", text)


def test_nothing_is_ever_taken_for_html() -> None:
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|DOMParser|document\.write|\beval\b", TEXT, re.IGNORECASE
    )


def test_nothing_of_a_registry_is_locked() -> None:
    lock = json.loads((WEB / "package-lock.json").read_text(encoding="utf-8"))
    assert [name for name, package in lock["packages"].items() if "resolved" in package] == []
    wanted = json.loads((WEB / "package.json").read_text(encoding="utf-8"))
    versions = {**wanted["dependencies"], **wanted["devDependencies"]}
    assert {name for name, version in versions.items() if not re.fullmatch(r"\d+\.\d+\.\d+", version)} == set()


def test_no_text_that_the_page_says_is_missing_or_left_over() -> None:
    whole = set(re.findall(r'"(page\.[\w.]+)"', TEXT))
    starts = set(re.findall(r"`(page\.[\w.]+\.)\$\{", TEXT))
    known = set(page_words()["en"])
    assert whole - known == set()
    assert {name for name in known - whole if not any(name.startswith(start) for start in starts)} == set()


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_words_of_the_page_are_all_there(language: Language) -> None:
    words = page_words()[language]
    roles = re.search(r"export type Role =([^;]+);", TEXT)
    counted = re.search(r"export type Counted = ([^;]+);", TEXT)
    assert roles
    assert counted
    for name in re.findall(r'"(\w+)"', roles[1]):
        assert f"page.role.{name}" in words
    for name in re.findall(r'"(\w+)"', counted[1]):
        assert {f"page.axis.{name}", f"page.at.{name}"} <= set(words)


def test_no_sentence_stands_in_the_source() -> None:
    """Text between tags, and Chinese anywhere."""
    without = re.sub(r"/\*.*?\*/|//[^\n]*", "", TEXT, flags=re.DOTALL)
    assert set(re.findall(r"[\u4e00-\u9fff]+", without)) == {"中文"}
    assert re.findall(r">\s*([A-Za-z]{2,}(?: [a-z]{2,}){2,})\s*<", without) == []
