"""The page's own sentences, as they are written into it: all of both languages, so that it can switch at once."""

from __future__ import annotations

from attnlab.words import LANGUAGES, Language, catalog

_ROOM = "page."


def page_words() -> dict[Language, dict[str, str]]:
    """By language and id, what the page says itself; `{name}` stands for what it fills in."""
    return {language: _own(language) for language in LANGUAGES}


def _own(language: Language) -> dict[str, str]:
    texts = catalog(language)
    names = [name.removeprefix(_ROOM) for name in texts if name.startswith(_ROOM)]
    return {f"page.{name}": texts[f"page.{name}"] for name in names}
