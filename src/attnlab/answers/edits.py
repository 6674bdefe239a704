"""The lines of the program that an experiment changes, as they were and as they are then."""

from __future__ import annotations

import difflib
import io
import tokenize
from collections.abc import Iterator, Mapping

from attnlab.answers.data import Shown
from attnlab.explanation.data import Code


def shown(sources: Mapping[str, str], texts: Mapping[str, str], main: str) -> Iterator[Shown]:
    """Each changed line, first as it was, then as it is; comments are left out, and so is what they alone changed."""
    for file, text in texts.items():
        old, new = without_comments(sources[file]), without_comments(text)
        name = "" if file == main else file
        for kind, i, i_end, j, j_end in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            if kind == "equal":
                continue
            margin = min((len(line) - len(line.lstrip()) for line in old[i:i_end] + new[j:j_end] if line), default=0)
            for lines, start, end, changed in ((old, i, i_end, False), (new, j, j_end, True)):
                if start < end:
                    code = "\n".join(line[margin:] for line in lines[start:end])
                    yield Shown(Code(name, (start + 1,), code), changed)


def without_comments(text: str) -> list[str]:
    """The lines of a source without their comments, and without the space before them."""
    lines = text.split("\n")
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                row, col = token.start
                lines[row - 1] = lines[row - 1][:col]
    except (tokenize.TokenError, SyntaxError):  # what stands before the fault is bare already
        pass
    return [line.rstrip() for line in lines]
