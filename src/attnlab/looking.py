"""What a page shows of a recorded run, its tape beside it: for a report, a notebook, the playground.

`examined` and `judged` are called in the process of a rerun (`Request.examine`), and give the scene as JSON text.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from attnlab.answers import why
from attnlab.answers.data import Answer, Title
from attnlab.answers.why import TOPICS, NoAnswer
from attnlab.axes import Axes, by_flow
from attnlab.checking import checked, say
from attnlab.checks.finding import Finding
from attnlab.checks.judge import Verdict
from attnlab.checks.whole import Whole
from attnlab.experiments.changes import BadChange
from attnlab.experiments.lab import Lab, NotAgain
from attnlab.experiments.request import Request
from attnlab.experiments.server import Server
from attnlab.recording.ground import ground
from attnlab.recording.tape import Tape
from attnlab.run import Run
from attnlab.scene.bare import own_text, text
from attnlab.scene.build import Extras, Fact, build
from attnlab.scene.data import Both, Scene, Why
from attnlab.scene.pictures import Bag
from attnlab.scene.texts import EN, both
from attnlab.scene.texts import words as texts
from attnlab.settings import Settings
from attnlab.telling import named
from attnlab.views.answer import lines
from attnlab.views.page import page
from attnlab.views.terminal import sentence
from attnlab.words import LANGUAGES, Language, catalog

# Columns in which answers and diagnoses are laid out.
WIDTH = 76
# A program that took longer (seconds) is not run again unasked.
AGAIN = 2.0
# Seconds that the answers of `why` may take together.
WHY = 30.0


def ready() -> None:
    """Load what is needed, once, before the process is forked off in which scenes are made."""
    from attnlab.checks.rules import rules

    rules()
    for language in LANGUAGES:
        catalog(language)


def examined(run: Run, tape: Tape) -> str:
    """The scene of a run as JSON: without findings, and with names of axes from the data flow alone."""
    whole = Whole(run, tape)
    return text(scene_of(whole, by_flow(run, whole.attentions)))


def judged(run: Run, tape: Tape) -> str:
    """The scene of a run as JSON, with what the rules find in it."""
    whole = Whole(run, tape)
    return text(scene_of(whole, by_flow(run, whole.attentions), findings=found(whole)[0]))


def scene_of(
    whole: Whole,
    axes: Axes,
    lang: Language = "en",
    bag: Bag | None = None,
    findings: Sequence[Fact] = (),
    why: Sequence[Why] = (),
    notes: Sequence[Both] = (),
) -> Scene:
    """The scene of a run. `bag`: where the bytes of its pictures go, into the scene itself where there is none."""
    extras = Extras(findings, why, diagnosed(whole.run), "", own_text(whole.run), notes)
    with ground():
        return build(whole, axes, lang, bag or Bag(), extras)


def diagnosed(run: Run) -> Both:
    """Why the operation that ended a run did not take its operands; empty where shapes are not at fault."""
    if run.error is None:
        return {"zh": "", "en": ""}
    from attnlab.diagnosis import diagnose
    from attnlab.recording.trial import Trials
    from attnlab.views.diagnosis import lines

    diagnosis = diagnose(run, Trials(run))
    if diagnosis is None:
        return {"zh": "", "en": ""}
    return both(lambda words: "\n".join(lines(diagnosis, run, words.say, WIDTH)))


def found(whole: Whole, choice: Settings | None = None, rerun: bool = False) -> tuple[list[Fact], list[Both]]:
    """What the rules find in a run; and what is to be said of rules that failed themselves."""
    result = checked(whole, EN, choice, rerun)
    facts = [_fact(*pair) for pair in zip(result.verdicts, result.findings, strict=True)]
    return facts, [_failed(code, fault) for code, fault in result.faults]


def _failed(code: str, fault: Exception) -> Both:
    named = f"{type(fault).__name__}: {fault}"
    return both(lambda words: words.say("command.rule_fault", code=code, fault=named))


def _fact(verdict: Verdict, finding: Finding) -> Fact:
    told = verdict.found
    mend = told.mend
    return Fact(
        finding.code,
        finding.slug,
        finding.path,
        finding.line,
        finding.end_line,
        both(lambda words: say(told.message, words)),
        both(lambda words: say(told.evidence, words)),
        None if mend is None else both(lambda words: say(mend, words)),
        finding.note,
    )


def answers(server: Server, run: Run, rerun: bool) -> tuple[list[Why], list[Both]]:
    """What `why` answers, as far as it comes in time; and what is to be said where it is not asked."""
    if run.seconds > AGAIN and not rerun:
        return [], [texts("report.slow", seconds=f"{run.seconds:.0f}", bound=f"{AGAIN:.0f}")]
    until = time.monotonic() + max(WHY, 20 * run.seconds)
    first = server.ask([Request(run.program, measure=True, seconds=max(10.0, 5 * run.seconds))])[0]
    if first.run is None or first.ended != "whole" or first.run.error is not None:
        return [], [texts("report.again")] if run.error is None else []
    lab = Lab(server, first, first.run, rerun)
    told: list[Why] = []
    notes: list[Both] = []
    for topic in TOPICS:
        if time.monotonic() > until:
            notes.append(texts("report.late", topics=", ".join(TOPICS[TOPICS.index(topic) :])))
            break
        try:
            told.append(_why(topic, why.topic(lab, topic)))
        except (NoAnswer, NotAgain, BadChange):
            continue
        except Exception as fault:  # noqa: BLE001 - the page is there without this answer too
            notes.append(texts("report.fault", topic=topic, fault=f"{type(fault).__name__}: {fault}"))
    return told, notes


def _why(topic: str, answer: Answer) -> Why:
    first, *rest = answer.blocks
    if not isinstance(first, Title):
        first, rest = None, list(answer.blocks)
    body = replace(answer, blocks=tuple(rest))
    title = both(lambda words: topic if first is None else sentence(first.says, words))
    return {"topic": topic, "title": title, "text": both(lambda words: "\n".join(lines(body, words, WIDTH)))}


def report(run: Run, tape: Tape, server: Server | None, lang: Language, choice: Settings, rerun: bool) -> str:
    """The page of a run that was watched, as HTML. `server`: by which the program is run again."""
    ask = None if server is None else server.ask
    named_run = named(run, ask, rerun)
    whole = Whole(run, tape, ask)
    findings, notes = found(whole, choice, rerun) if run.torch else ([], [])
    told, more = ([], []) if server is None or not named_run.attentions else answers(server, run, rerun)
    bag = Bag(apart=True)
    scene = scene_of(whole, named_run.axes, lang, bag, findings, told, [*notes, *more])
    return page(text(scene), bag.elements, run.program.name, lang)
