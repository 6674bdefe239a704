"""What a rule is, and what it finds: data, with the ids of sentences and no sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from attnlab.run import Span, Step

if TYPE_CHECKING:
    from attnlab.checks.case import Case
    from attnlab.checks.whole import Whole


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence: its id in the catalogs of words, and its placeholders (numbers, text of the user's, other ids)."""

    id: str
    params: Mapping[str, object] = field(default_factory=dict[str, object])


@dataclass(frozen=True, slots=True)
class Edit:
    """A mend as a change of the source: `new` in the place of the text at `span`."""

    span: Span
    new: str

    @property
    def told(self) -> tuple[int, int, int, int, str]:
        """As it is told in a `Fix`: place and new text, without the file."""
        return self.span.line, self.span.col, self.span.end_line, self.span.end_col, self.new


@dataclass(frozen=True, slots=True)
class Found:
    """One place where a rule does not hold.

    `at`        the step whose expression is at fault, or its place
    `message`   one line that says what is wrong
    `evidence`  what the experiment showed, in numbers
    `mend`      what to write instead; None where that depends on what was meant
    `edits`     the mend as a change of the source, where it is certain: tried before it is offered
    `note`      it may be meant so: told, and no finding
    """

    at: Step | Span
    message: Said
    evidence: Said
    mend: Said | None = None
    edits: tuple[Edit, ...] = ()
    note: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: a stable code, a slug, and what decides it.

    `attention` is asked once for each kind of attention in a run, `whole` once for the run. A rule is not told of
    where one of the rules `unless` found something in the same attention: that is the same fault seen from nearer.
    """

    code: str
    slug: str
    attention: Callable[[Case], Iterable[Found]] | None = None
    whole: Callable[[Whole], Iterable[Found]] | None = None
    unless: frozenset[str] = frozenset()


def place(found: Found) -> Span | None:
    """Where a finding stands; None where the step has no source."""
    if isinstance(found.at, Span):
        return found.at
    return None if found.at.source is None else found.at.source.span
