"""An atlas as one HTML file that needs nothing else, as `page` makes one of a scene."""

from __future__ import annotations

from collections.abc import Mapping

from attnlab.views.page import document
from attnlab.words import LANGUAGES, Language, catalog

_ROOM = "map.page."
# What it says as other pages do.
_SHARED = ("page.top.", "page.picture.matrix")


def map_page(scene: str, elements: Mapping[str, str], name: str, language: Language) -> str:
    """The file. `scene`: as JSON; `elements`: by their ids, what it points to; `name`: of the model or program."""
    return document("map", scene, elements, map_words(), name, "atlas.noscript", language)


def map_words() -> dict[Language, dict[str, str]]:
    """By language and id, what the page says itself; `{name}` stands for what it fills in."""
    return {language: _own(language) for language in LANGUAGES}


def _own(language: Language) -> dict[str, str]:
    texts = catalog(language)
    names = [name.removeprefix(_ROOM) for name in texts if name.startswith(_ROOM)]
    shared = {name: text for name, text in texts.items() if name.startswith(_SHARED)}
    return shared | {f"map.page.{name}": texts[f"map.page.{name}"] for name in names}
