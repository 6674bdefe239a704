"""From a report to what is written out, and mends to where they belong. Needs no PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import attnlab
from attnlab.checks.finding import Finding
from attnlab.checks.report import Ended, Report
from attnlab.run import Run
from attnlab.words import Words

FORMATS = ("text", "json", "sarif", "github")


def report(run: Run, found: Sequence[Finding], attentions: int, folder: str) -> Report:
    """What there is to say of a run. `folder`: paths beneath it are told relative to it."""
    ended = None
    if run.error is not None:
        message = " ".join(run.error.message.split()).rstrip(".。")
        error = f"{run.error.type}: {message}" if message else run.error.type
        ended = Ended(error, run.error.file or "", run.error.line or 0)
    return Report(run.program.name, folder, tuple(found), attentions, ended)


def written(item: Report, form: str, words: Words, width: int, colour: bool) -> str:
    """A report in one of `FORMATS`; `width` and `colour` are for text."""
    if form == "json":
        from attnlab.views.findings import json

        return json.text(item, words)
    if form == "github":
        from attnlab.views.findings import github

        return github.text(item, words)
    if form == "sarif":
        from attnlab.pages import page
        from attnlab.views.findings import sarif

        return sarif.text(item, words, attnlab.__version__, lambda code: page(code, words.language))
    from attnlab.views.findings import text

    return text.text(item, words, width, colour)


def diff(
    item: Report, together: Callable[[Sequence[Finding]], bool], sources: Mapping[str, str], words: Words
) -> tuple[str, list[str]]:
    """What the safe mends would change, as a unified diff with relative paths; and sentences on how many there are."""
    from attnlab import mends
    from attnlab.views.findings.places import relative

    files = mends.mended(_safe(item, together), sources)
    safe = sum(len(file.findings) for file in files)
    shown = {file.path: relative(file.path, item.folder) for file in files}
    return mends.diff(files, shown), [words.say("check.diff", safe=safe, count=len(item.findings))]


def fixed(
    item: Report, together: Callable[[Sequence[Finding]], bool], sources: Mapping[str, str], words: Words
) -> tuple[Report, list[str]]:
    """Write the safe mends into their files. The report of what is left, and sentences on what could not be written."""
    from attnlab import mends
    from attnlab.views.findings.places import relative

    safe = _safe(item, together)
    files = mends.mended(safe, sources)
    changed = [path for path in dict.fromkeys(one.path for one in safe) if path not in {file.path for file in files}]
    said = [words.say("check.stale", path=relative(path, item.folder)) for path in changed]
    done: list[mends.Mended] = []
    for file in files:
        try:
            mends.write(file)
            done.append(file)
        except OSError as error:
            reason = error.strerror or error
            said.append(words.say("check.unwritten", path=relative(file.path, item.folder), reason=reason))
    gone = [one for file in done for one in file.findings]
    left = tuple(mends.moved(one, done) for one in item.found if not any(one is other for other in gone))
    return replace(item, found=left, mended=tuple(gone)), said


def _safe(item: Report, together: Callable[[Sequence[Finding]], bool]) -> list[Finding]:
    """The findings whose mends can be written: all that go together, else the first alone."""
    from attnlab.mends import chosen

    safe = chosen(item.found)
    return safe if len(safe) < 2 or together(safe) else safe[:1]
