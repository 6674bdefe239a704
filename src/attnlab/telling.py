"""From a Run to what is said of it: attentions found, axes named, the explanation written out."""

from __future__ import annotations

import os
from dataclasses import dataclass

from attnlab.attention import Attention, alike, find
from attnlab.axes import Axes, by_experiment, by_flow
from attnlab.experiments.sizes import Ask, trials
from attnlab.explanation import explain as explain_run
from attnlab.explanation.overview import NoLayer
from attnlab.run import Run
from attnlab.views.terminal import render, sentence
from attnlab.words import Words, language

# Seconds that the experiments behind the names of axes may take.
BUDGET = 2.0


@dataclass(frozen=True)
class Named:
    """A Run whose axes have names, with the attentions found in it."""

    run: Run
    attentions: tuple[Attention, ...]
    axes: Axes


def named(run: Run, ask: Ask | None = None, rerun: bool = False) -> Named:
    """Find the attentions and name the axes of a Run.

    With `ask` the names are put to the test: the program is run again with other sizes. `rerun`: also
    where its first run took long.
    """
    attentions = find(run)
    axes: Axes = by_flow(run, attentions)
    if ask is not None:
        axes = by_experiment(axes, run, trials(run, ask, BUDGET, rerun))
    return Named(run.named(axes.names), attentions, axes)


def tell(
    told: Named, words: Words, width: int, colour: bool, layer: str | None = None, everything: bool = False
) -> str:
    """The explanation of a Run as text for a terminal of `width` columns.

    `layer` chooses one attention by its number (from 1) or the path of its module; where it names none,
    the text says so. `everything`: every step of the run. Where the run ended in an error about shapes,
    what did not fit is told first, and what would.
    """
    run = told.run
    parts: list[str] = []
    if run.error is not None:
        # Loaded where there is an error to tell of: the rest of what is said does not need them.
        from attnlab.diagnosis import diagnose
        from attnlab.recording.trial import Trials
        from attnlab.views.diagnosis import lines as diagnosis_lines

        diagnosis = diagnose(run, Trials(run))
        if diagnosis is not None:
            parts.append("\n".join(diagnosis_lines(diagnosis, run, words.say, width)) + "\n")
    groups = alike(told.attentions, run)
    try:
        parts.append(render(explain_run(run, groups, told.axes, layer, everything), words, width, colour))
    except NoLayer as error:
        parts.append(sentence(error.message, words) + "\n")
    return "\n".join(parts)


def explain(
    run: Run, *, lang: str | None = None, width: int = 80, layer: str | int | None = None, everything: bool = False
) -> str:
    """What happened in a Run, as text: each attention line by line, in the terms of the user's code.

    `lang` is "zh" or "en" (None: ATTNLAB_LANG, else the locale); `width` in columns; `layer` chooses one
    attention by its number, from 1, or the path of its module; `everything` tells every step.
    Raises `attnlab.words.UnknownLanguage` for another language.
    """
    words = Words(language(lang, os.environ))
    return tell(named(run), words, width, False, None if layer is None else str(layer), everything)
