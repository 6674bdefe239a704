"""The topics of `why`, asked about the text in the editor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from attnlab.answers import why
from attnlab.experiments import constants
from attnlab.experiments.changes import BadChange
from attnlab.experiments.lab import Lab, NotAgain
from attnlab.experiments.request import Reply, Request
from attnlab.views.answer import lines
from attnlab.words import LANGUAGES, Language, Words, catalog

WIDTH = 76

Both = dict[Language, str]


def topics() -> list[dict[str, object]]:
    """What can be asked, with the question in each language."""
    return [
        {"topic": topic, "title": {language: _title(topic, language) for language in LANGUAGES}} for topic in why.TOPICS
    ]


def _title(topic: str, language: Language) -> str:
    text = catalog(language)[f"why.{topic}.title"]
    return text.format(axes="L×L") if topic == "scores" else text


class _Edited:
    """Asks for reruns of the text in the editor, where they would be reruns of what is in the file."""

    def __init__(self, ask: Callable[[Sequence[Request]], list[Reply]], path: str, request: Request) -> None:
        self._ask = ask
        self._path = path
        self._base = request

    def ask(self, requests: Sequence[Request]) -> list[Reply]:
        """Run them."""
        return self._ask([self._edited(request) for request in requests])

    def _edited(self, request: Request) -> Request:
        base = self._base
        texts = {self._path: base.texts[self._path], **request.texts}
        return replace(request, texts=texts, memory=base.memory, output=base.output, forks=base.forks)


def answered(
    ask: Callable[[Sequence[Request]], list[Reply]], request: Request, path: str, topic: str
) -> tuple[Both | None, Reply]:
    """The answer to a topic in each language, None where the program did not come to its end; and its first reply.

    `request`: how the text is run; `path`: the file that it stands for.
    """
    edited = _Edited(ask, path, request)
    first = edited.ask([replace(request, measure=True)])[0]
    if first.run is None:
        return None, first
    lab = Lab(edited, first, first.run, False)
    lab.sources[path] = request.texts[path]
    lab.constants = constants.find(lab.sources)
    try:
        answer = why.topic(lab, topic)
    except (why.NoAnswer, NotAgain, BadChange) as error:
        return {language: Words(language).say(error.id, **error.params) for language in LANGUAGES}, first
    return {language: "\n".join(lines(answer, Words(language), WIDTH)) for language in LANGUAGES}, first
