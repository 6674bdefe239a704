"""From a recorded program to its findings, in the words of a language."""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from attnlab.checks.finding import Finding, Fix
from attnlab.checks.found import Said
from attnlab.checks.judge import Verdict, judge
from attnlab.checks.mending import all_tried, tried
from attnlab.checks.whole import Whole
from attnlab.recording.ground import ground
from attnlab.run import Run
from attnlab.settings import BadSettings, Comments, Settings, settings, wanted
from attnlab.words import Words, language

_SHAPES = "ATT121"  # the rule that tells of a call that failed on shapes


@dataclass(frozen=True)
class Checked:
    """A run that was checked.

    `verdicts` and `findings` go together; `faults` are rules that failed, a fault of attnlab's own, with what
    they raised.
    """

    whole: Whole
    verdicts: tuple[Verdict, ...]
    findings: tuple[Finding, ...]
    faults: tuple[tuple[str, Exception], ...]

    def together(self, some: Sequence[Finding]) -> bool:
        """Whether the edits of some of the findings do away with all of them when they are made together."""
        return all_tried([self.verdicts[self.findings.index(item)] for item in some], self.whole)


def checked(whole: Whole, words: Words, choice: Settings | None = None, rerun: bool = False) -> Checked:
    """Check a run. `choice`: which findings are wanted; `rerun`: try mends also where the program took long."""
    faults: list[tuple[str, Exception]] = []
    with ground():
        verdicts = judge(whole, faults)
        every = [_finding(*item, words) for item in zip(verdicts, tried(verdicts, whole, rerun), strict=True)]
    comments = Comments(whole.run.sources)
    kept = [pair for pair in zip(verdicts, every, strict=True) if wanted(pair[1], choice or Settings(), comments)]
    return Checked(whole, tuple(verdict for verdict, _ in kept), tuple(item for _, item in kept), tuple(faults))


def findings(whole: Whole, words: Words) -> list[Finding]:
    """What the rules find in a run, notes among it, in the words of one language. A rule that fails raises."""
    with ground():
        verdicts = judge(whole)
        return [_finding(*item, words) for item in zip(verdicts, tried(verdicts, whole), strict=True)]


def _finding(verdict: Verdict, works: bool, words: Words) -> Finding:
    found, span = verdict.found, verdict.span
    here = all(edit.span.file == span.file for edit in found.edits)
    edits = [edit.told for edit in found.edits if here]
    return Finding(
        code=verdict.rule.code,
        slug=verdict.rule.slug,
        path=span.file,
        line=span.line,
        col=span.col,
        end_line=span.end_line,
        end_col=span.end_col,
        message=say(found.message, words),
        evidence=say(found.evidence, words),
        fix=None if found.mend is None else Fix(say(found.mend, words), tuple(edits), works and bool(edits)),
        note=found.note,
    )


def say(said: Said, words: Words) -> str:
    """A sentence, the sentences among its placeholders filled in."""
    params = {name: say(value, words) if isinstance(value, Said) else value for name, value in said.params.items()}
    return words.say(said.id, **params)


def check(module: Callable[..., Any], /, *inputs: Any, lang: str | None = None, **options: Any) -> list[Finding]:
    """Call a module or a function once and check that what it does is attention.

    Returns the findings, by place; those with `note` true may be meant so. Comments `# attnlab: ignore[…]` and the
    `[tool.attnlab]` table of the nearest pyproject.toml above the module's file are followed; a setting that cannot
    be is a `ValueError`. `lang` is "zh" or "en" (None: ATTNLAB_LANG, else the locale). What the call raises is
    raised unchanged, but for an error about shapes, which is a finding.
    """
    words = Words(language(lang, os.environ))
    return list(checked_call(module, inputs, options, words, chosen(module, words))[1].findings)


def checked_call(
    module: Callable[..., Any], inputs: Sequence[Any], options: dict[str, Any], words: Words, choice: Settings
) -> tuple[Run, Checked]:
    """Call a module or a function once and check the run. A rule that fails is told as a warning.

    What the call raises is raised unchanged, but where a finding tells of it.
    """
    from attnlab.recording.api import taped

    run, tape, error = taped(module, *inputs, **options)
    found = checked(Whole(run, tape), words, choice)
    if error is not None and not any(item.code == _SHAPES for item in found.findings):
        raise error
    for code, fault in found.faults:
        sentence = words.say("command.rule_fault", code=code, fault=f"{type(fault).__name__}: {fault}")
        warnings.warn(sentence, RuntimeWarning, stacklevel=3)
    return run, found


def chosen(
    module: Callable[..., Any], words: Words, select: Sequence[str] | None = None, ignore: Sequence[str] = ()
) -> Settings:
    """What is wanted of a module or a function: see `settings.settings`. A bad setting is a `ValueError`."""
    kind: Any = module if inspect.isroutine(module) else type(module)
    try:
        path = inspect.getsourcefile(kind) or ""
    except TypeError:  # it is built into Python or PyTorch
        path = ""
    try:
        return settings(path or "program", select, ignore, ("select", "ignore"))
    except BadSettings as error:
        raise ValueError(words.say(error.id, **error.params)) from None
