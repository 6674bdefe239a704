"""The scene of a run that computed nothing: its text, and the error that it ended in. Needs no PyTorch."""

from __future__ import annotations

import json
import linecache
import os

from attnlab.explanation import notes, summary
from attnlab.run import Run
from attnlab.scene import texts
from attnlab.scene.codes import Files, main_of
from attnlab.scene.data import FORMAT, Both, Error, Scene
from attnlab.words import Language

NOTHING: Both = {"zh": "", "en": ""}


def bare(run: Run, lang: Language) -> Scene:
    """The scene of a run without steps."""
    files = Files({**own_text(run), **run.sources}, main_of(run), run.program.name)
    return {
        "attnlab_scene": FORMAT,
        "lang": lang,
        "program": run.program.name,
        "summary": [texts.said(message) for message in summary(run, ())],
        "told": [],
        "rest": [],
        "findings": [],
        "why": [],
        "error": ended(run, files, NOTHING),
        "printed": "",
        "notes": [texts.said(message) for message in notes(run)],
        "files": files.listed(),
    }


def text(scene: Scene) -> str:
    """A scene as JSON."""
    return json.dumps(scene, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def ended(run: Run, files: Files, diagnosis: Both) -> Error | None:
    """The error that a run ended in, and why the failing operation did not take its operands."""
    error = run.error
    if error is None:
        return None
    file = files.number(error.file or "")
    return {"type": error.type, "message": error.message, "file": file, "line": error.line, "diagnosis": diagnosis}


def own_text(run: Run) -> dict[str, str]:
    """The text of a script, which is shown also where no tensor operation stands in it."""
    path = os.path.abspath(run.program.name)
    if run.program.kind != "script" or path in run.sources:
        return {}
    return {path: "".join(linecache.getlines(path))}
