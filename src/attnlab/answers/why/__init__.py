"""Why the code is as it is: each topic is answered by experiments on the user's own program, run now.

    topic(lab, "scale", 0)     at_line(lab, 30)     nearest("转置") == "transpose"

A topic is a file with `answer(lab, attention) -> Answer`. What they share: `bench` runs the program again with
expressions rewritten (`rewriting`), `levers` knows which number in the source moves which axis, `reading` reads the
numbers of a tensor, `opening` writes a fused attention out, `meeting` tells which axes of a product meet.
"""

from __future__ import annotations

import os

from attnlab.answers.data import Answer, Block
from attnlab.answers.why import matmul, memory, output, places, qkv, scale, scores, softmax, transpose
from attnlab.answers.why.asking import TOPICS, NoAnswer, nearest
from attnlab.answers.why.telling import text
from attnlab.attention import Attention
from attnlab.experiments.lab import Lab
from attnlab.explanation.data import say

__all__ = ["TOPICS", "NoAnswer", "at_line", "nearest", "topic"]

_ANSWERS = {
    "qkv": qkv.answer,
    "transpose": transpose.answer,
    "scores": scores.answer,
    "scale": scale.answer,
    "softmax": softmax.answer,
    "output": output.answer,
    "memory": memory.answer,
}


def topic(lab: Lab, name: str, attention_index: int = 0) -> Answer:
    """The answer to a topic, asked by its name or another name for it, about one of the attentions.

    Raises `NoAnswer` for an unknown topic and where there is no such attention, and `NotAgain` for a program that is
    too long to be run again.
    """
    known = nearest(name)
    if known == "matmul":
        return matmul.answer(lab, None)
    count = len(lab.attentions)
    if not count:
        raise NoAnswer("why.attention.none", topic=known)
    if not 0 <= attention_index < count:
        raise NoAnswer("why.attention.index", index=attention_index, last=count - 1)
    return _ANSWERS[known](lab, lab.attentions[attention_index])


def at_line(lab: Lab, line: int) -> Answer:
    """The answers to all topics that a line of the program's own file belongs to; `numbers` holds theirs by topic.

    Where it belongs to none the answer says so, and which lines do. Raises `NotAgain`.
    """
    question = f"{os.path.basename(lab.main)}:{line}"
    found = places.topics(lab, line)
    if not found:
        return Answer(question, (_nothing(lab, line),))
    blocks: list[Block] = []
    numbers: dict[str, object] = {}
    for name in (name for name in TOPICS if name in found):
        told = _told(lab, name, found[name], line)
        blocks += told.blocks
        numbers[name] = told.numbers
    return Answer(question, tuple(blocks), numbers)


def _told(lab: Lab, name: str, attention: Attention | None, line: int) -> Answer:
    return matmul.answer(lab, None, line) if attention is None else _ANSWERS[name](lab, attention)


def _nothing(lab: Lab, line: int) -> Block:
    """That a line belongs to no topic, and the nearest ones that do."""
    known = places.lines(lab)
    near = sorted(sorted(known, key=lambda other: abs(other - line))[: places.NAMED])
    steps = places.on_line(lab, line)
    listed = ", ".join(f"{other} ({', '.join(known[other])})" for other in near) or "—"
    if steps and steps[0].source is not None:
        return text(say("why.line.other", line=line, code=" ".join(steps[0].source.text.split()), near=listed))
    return text(say("why.line.none", line=line, near=listed))
