"""Every sentence that the tool says: one catalog a language, flat ids, `str.format` placeholders.

A catalog is the files `words/<language>/*.toml`, one a subject. A table's name and a key joined by
a dot make an id: `[step]` with `matmul = "…"` is the id `step.matmul`. Nothing is ever said
without its words: an id or a parameter that is missing, or one too many, is an error.
"""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Literal, TypeAlias, cast

Language: TypeAlias = Literal["zh", "en"]

LANGUAGES: tuple[Language, ...] = ("zh", "en")


class UnknownLanguage(ValueError):
    """A language was asked for that there is no catalog of. `str()` is a sentence for the user."""


class Words:
    """The catalog of one language, read when there is something to say."""

    def __init__(self, language: Language) -> None:
        self.language: Language = language

    def say(self, id: str, /, **params: object) -> str:  # noqa: A002 - positional only
        """The text of a message with its placeholders filled.

        Raises `LookupError` where there is no such id, and where the parameters are not just the
        placeholders of its text.
        """
        text = catalog(self.language).get(id)
        if text is None:
            raise LookupError(f"no words for {id!r} in {self.language}")
        if _fields(text) != params.keys():
            raise LookupError(f"{id!r} takes {sorted(_fields(text))}, got {sorted(params)}")
        return text.format(**params)


def language(option: str | None, environ: Mapping[str, str]) -> Language:
    """The language to speak: `--lang`, else `ATTNLAB_LANG`, else the locale; English where none is known.

    Raises `UnknownLanguage` where one of the first two names a language that there is none of.
    """
    locale = environ.get("LC_ALL") or environ.get("LC_MESSAGES") or environ.get("LANG") or ""
    fallback = _known(locale) or "en"
    for asked, place in ((option, "--lang"), (environ.get("ATTNLAB_LANG") or None, "ATTNLAB_LANG")):
        if asked is not None:
            known = _known(asked)
            if known is None:
                expected = ", ".join(LANGUAGES)
                raise UnknownLanguage(
                    Words(fallback).say("language.unknown", place=place, expected=expected, asked=asked)
                )
            return known
    return fallback


def _known(name: str) -> Language | None:
    # "zh_CN.UTF-8", "zh-Hans" and "zh" are one language here.
    tag = name.replace("-", "_").partition("_")[0].partition(".")[0].lower()
    return next((language for language in LANGUAGES if language == tag), None)


@cache
def catalog(language: Language) -> Mapping[str, str]:
    """All texts of a language by id. Raises `ValueError` where two files have the same id."""
    import tomllib
    from importlib.resources import files

    texts: dict[str, str] = {}
    for file in sorted(files(__name__).joinpath(language).iterdir(), key=lambda item: item.name):
        if not file.name.endswith(".toml"):
            continue
        for name, text in _flat(tomllib.loads(file.read_text(encoding="utf-8")), ""):
            if name in texts:
                raise ValueError(f"{language}/{file.name}: the id {name!r} stands in another file too")
            texts[name] = text
    return texts


def _flat(table: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, str]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flat(cast("dict[str, Any]", value), f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


@cache
def _fields(text: str) -> frozenset[str]:
    return frozenset(name for _, name, _, _ in string.Formatter().parse(text) if name is not None)
