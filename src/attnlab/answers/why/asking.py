"""What is asked about: the names of the topics, in the words that people use for them."""

from __future__ import annotations

import difflib
import unicodedata
from functools import cache

from attnlab.words import LANGUAGES, catalog

TOPICS = ("qkv", "transpose", "scores", "scale", "softmax", "output", "matmul", "memory")


class NoAnswer(Exception):
    """There is nothing to answer: `id` is a sentence in the catalogs of words, `params` its placeholders."""

    def __init__(self, message: str, **params: object) -> None:
        super().__init__(message, params)
        self.id = message
        self.params = params


def nearest(name: str) -> str:
    """The topic that a name means, in any language. Raises `NoAnswer`, with the nearest topic, where it means none."""
    folded, known = _folded(name), _names()
    if folded in known:
        return known[folded]
    # A question that names one: 为什么要转置 K？
    named = {topic for alias, topic in known.items() if len(alias) > 1 and not alias.isascii() and alias in folded}
    if len(named) == 1:
        return named.pop()
    topics = ", ".join(TOPICS)
    near = difflib.get_close_matches(folded, known, 1)
    if near:
        raise NoAnswer("why.unknown.near", asked=name, near=known[near[0]], topics=topics)
    raise NoAnswer("why.unknown.any", asked=name, topics=topics)


@cache
def _names() -> dict[str, str]:
    """Each name of a topic, folded, with the topic."""
    found = {topic: topic for topic in TOPICS}
    for topic in TOPICS:
        for language in LANGUAGES:
            found |= {_folded(alias): topic for alias in catalog(language)[f"why.alias.{topic}"].split()}
    return found


def _folded(name: str) -> str:
    """Without spaces, question marks, capitals, and raised or full-width forms: "Kᵀ？" is "kt"."""
    plain = unicodedata.normalize("NFKC", name).casefold()
    return "".join(character for character in plain if not character.isspace() and character not in "?!。")
