"""Messages as text in both languages."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from attnlab.explanation.data import Said
from attnlab.scene.data import Both
from attnlab.views.terminal import sentence
from attnlab.words import Words

ZH, EN = Words("zh"), Words("en")


def both(say: Callable[[Words], str]) -> Both:
    """What is said with the words of each language."""
    return {"zh": say(ZH), "en": say(EN)}


def said(message: Said) -> Both:
    """One message."""
    return both(lambda words: sentence(message, words))


def words(id: str, /, **params: object) -> Both:  # noqa: A002 - positional only
    """The text of an id."""
    return both(lambda one: one.say(id, **params))


def joined(messages: Iterable[Said], sign: str) -> Both:
    """Several messages, a sign between them."""
    every = list(messages)
    return both(lambda words: sign.join(sentence(message, words) for message in every))
