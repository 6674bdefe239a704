"""`attnlab why`, asked in a process of its own, and its answers brought back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from attnlab.answers import why
from attnlab.answers.data import Answer
from attnlab.experiments.lab import opened
from attnlab.run import Program


@dataclass(frozen=True)
class Unanswered:
    """Why there is no answer: the id of the sentence, its parameters."""

    id: str
    params: dict[str, object] = field(default_factory=dict[str, object])


def asked(file: str, questions: Sequence[tuple[str, int] | int]) -> list[Answer | Unanswered]:
    """The answers about one program: each question is (topic, index of the attention), or a line."""
    found: list[Answer | Unanswered] = []
    with opened(Program("script", file, ())) as lab:
        for question in questions:
            try:
                found.append(why.at_line(lab, question) if isinstance(question, int) else why.topic(lab, *question))
            except why.NoAnswer as error:
                found.append(Unanswered(error.id, error.params))
    return found
