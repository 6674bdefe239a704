"""In a notebook: a Run shows itself as the page, and `%%attnlab` records a cell and explains it.

    %load_ext attnlab
    %%attnlab --lang zh
    …the code of the cell…

The page stands in a frame of its own, which its policy keeps from everything else: JupyterLab, VS Code and Colab
show such frames as they are.
"""

from __future__ import annotations

import html
import math
import os
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import torch

from attnlab import looking
from attnlab.axes import by_flow
from attnlab.checks.whole import Whole
from attnlab.drawing.numbers import matrix
from attnlab.recording.api import Recording
from attnlab.recording.tape import Tape
from attnlab.run import CORNER, Run, Value
from attnlab.scene.data import Scene, Tensor
from attnlab.scene.pictures import Bag, exact
from attnlab.telling import explain
from attnlab.views.page import page
from attnlab.words import Language, UnknownLanguage, Words, language

HEIGHT = 760
# A corner is only laid out for tensors up to so many elements.
_LARGEST = 1 << 18


def mimebundle(run: Run) -> dict[str, str]:
    """What a notebook shows of a Run: the page, and for where there is no HTML the explanation as text.

    A Run has a corner of each tensor: of small ones the page shows the first sample and head, of others no picture.
    """
    lang = language(None, os.environ)

    def scene() -> Scene:
        whole = Whole(run, _corners(run))
        found = looking.scene_of(whole, by_flow(run, whole.attentions), lang)
        for tensor in _tensors(found):
            _only_known(tensor)
        return found

    return _bundle(run, scene, lang)


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext attnlab`: adds the magic `%%attnlab`."""

    def magic(line: str, cell: str) -> None:
        _cell(shell, line, cell)

    shell.register_magic_function(magic, "cell", "attnlab")


class _Page:
    """What a cell shows: the page, and its text."""

    def __init__(self, bundle: dict[str, str]) -> None:
        self._bundle = bundle

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        del include, exclude
        return self._bundle


def _cell(shell: Any, line: str, cell: str) -> None:
    """Run a cell as it would run anyway, and show what happened in it."""
    from IPython.display import display  # type: ignore[import-not-found, unused-ignore]

    lang = _asked(line)
    if lang is None:
        return
    tape = Tape()
    with Recording(True, tape) as run:
        shell.run_cell(cell, store_history=False)

    def scene() -> Scene:
        whole = Whole(run, tape)
        findings, notes = looking.found(whole)
        return looking.scene_of(whole, by_flow(run, whole.attentions), lang, findings=findings, notes=notes)

    display(_Page(_bundle(run, scene, lang)))


def _bundle(run: Run, scene: Callable[[], Scene], lang: Language) -> dict[str, str]:
    """The page and the text; one sentence where attnlab itself fails: the cell has ended well."""
    try:
        return {"text/plain": explain(run, lang=lang), "text/html": _frame(scene(), lang)}
    except Exception as fault:  # noqa: BLE001 - whatever it is, it is not the cell's
        place = traceback.extract_tb(fault.__traceback__)[-1]
        where = f"{os.path.basename(place.filename)}:{place.lineno}"
        told = f"{type(fault).__name__}: {fault}"
        return {"text/plain": Words(lang).say("command.fault", fault=told, where=where)}


def _asked(line: str) -> Language | None:
    """The language that the magic's line asks for. None: it asks for something else, and was told so."""
    words = line.replace("=", " ").split()
    try:
        if not words or (len(words) == 2 and words[0] == "--lang"):
            return language(words[1] if words else None, os.environ)
        print(Words(language(None, os.environ)).say("notebook.line", asked=line.strip()))
    except UnknownLanguage as error:
        print(error)
    return None


def _frame(scene: Scene, lang: Language) -> str:
    """The page of a scene in a frame: it may run its own script, and reach nothing outside."""
    text = page(looking.text(scene), {}, "attnlab", lang)
    style = f"width:100%;height:{HEIGHT}px;border:0;resize:vertical"
    return f'<iframe sandbox="allow-scripts" style="{style}" srcdoc="{html.escape(text, quote=True)}"></iframe>'


def _corners(run: Run) -> Tape:
    """A tape with what a Run has of its values: those whose matrices are whole in their corner."""
    tape = Tape()
    for value in run.values:
        corner = _corner(value)
        if corner is not None:
            tape.values[value.id] = corner
    return tape


def _corner(value: Value) -> torch.Tensor | None:
    """A value with the numbers of its corner, and NaN where no number was kept."""
    size = 1
    for length in value.shape:
        size *= length
    if value.numbers is None or not 0 < size <= _LARGEST or any(length > CORNER for length in value.shape[-2:]):
        return None
    tensor = torch.full(value.shape, float("nan"))
    tensor[(0,) * (len(value.shape) - 2)] = torch.tensor(value.numbers.corner).reshape(value.shape[-2:])
    return tensor


def _tensors(scene: Scene) -> Iterator[Tensor]:
    for told in scene["told"]:
        for layer in told["layers"]:
            yield from layer["tensors"].values()


def _only_known(tensor: Tensor) -> None:
    """Keep the matrix of the first sample and head, where all of it was kept."""
    found = matrix(tensor, 0, 0)
    known = found is not None and not any(math.isnan(value) for row in found.rows for value in row)
    tensor["picture"] = exact(torch.tensor(found.rows)[None, None], 1, Bag()) if found is not None and known else None
