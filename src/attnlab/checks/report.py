"""What there is to say of one run: what every format is made from."""

from __future__ import annotations

from dataclasses import dataclass

from attnlab.checks.finding import Finding


@dataclass(frozen=True, slots=True)
class Ended:
    """The error that a program ended in: "RuntimeError: …" in one line, and where; the line is 0 if unknown."""

    error: str
    path: str
    line: int


@dataclass(frozen=True, slots=True)
class Report:
    """The findings of a run, and what there is to know about them.

    `program`    what was run: a path or a module's name
    `folder`     paths beneath it are told relative to it
    `found`      findings and notes, by place
    `attentions` how many attentions were found
    `ended`      the error that the program ended in; None where it ended well
    `mended`     findings whose mends have been written, which are no longer among `found`
    """

    program: str
    folder: str
    found: tuple[Finding, ...]
    attentions: int
    ended: Ended | None = None
    mended: tuple[Finding, ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is wrong."""
        return tuple(item for item in self.found if not item.note)

    @property
    def notes(self) -> tuple[Finding, ...]:
        """What may be meant so."""
        return tuple(item for item in self.found if item.note)

    @property
    def exit_code(self) -> int:
        """1 where there is a finding or the program failed, else 0."""
        return int(bool(self.findings) or self.ended is not None)
