"""A finding as it is told: plain data in one language, for every format and for `attnlab.check`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

# Line, column, end line, end column, new text: lines from 1, columns from 0, in characters; the end is past the last.
Edit: TypeAlias = "tuple[int, int, int, int, str]"


@dataclass(frozen=True, slots=True)
class Fix:
    """A mend.

    `edits`: the mend as changes of the file that the finding stands in; empty where it is words only. `tried`: the
    program was run with the edits in it, and the finding was gone and no other there.
    """

    text: str
    edits: tuple[Edit, ...] = ()
    tried: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule of attention that does not hold.

    `code` and `slug` name the rule; `path`, `line`, `col`, `end_line`, `end_col` the expression (lines count from 1,
    columns from 0). `message` is one line, `evidence` what an experiment showed, in numbers; `fix` the mend, None
    where it depends on what was meant. `note`: it may be meant so, and is told without being a finding.
    """

    code: str
    slug: str
    path: str
    line: int
    col: int
    end_line: int
    end_col: int
    message: str
    evidence: str
    fix: Fix | None
    note: bool = False

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.col + 1}: {self.code} {self.slug}  {self.message}"
