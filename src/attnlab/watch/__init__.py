"""Watching a program from its first line to its last: `attnlab explain`, `check`, `report`, `draw`, `map`.

`launch.py` turns the process into `python FILE`, with the hook of `hook/` in it; there `attach` begins
to record, and when the program has ended says what happened.
"""

from __future__ import annotations

import importlib
import json
import os

from attnlab.commandline import parse
from attnlab.watch.watching import Watch
from attnlab.words import Words, catalog, language


def attach(request: str) -> None:
    """Begin to watch the program that this process is about to run."""
    # Now, while no module of the program's can stand in the way of Python's own; and later, running any text as
    # code (as dataclasses do) would make Python forget that an interrupt ended the program.
    argv, output = json.loads(request)
    command = parse(argv)
    kind = _kind(command.verb)
    for name in kind.needed():
        importlib.import_module(name)
    words = Words(language(command.last("lang"), os.environ))
    catalog(words.language)
    kind(command, words, output)


def _kind(verb: str) -> type[Watch]:
    """What watches for a verb; of the others nothing is loaded."""
    match verb:
        case "check":
            from attnlab.watch.checking import Checking

            return Checking
        case "report":
            from attnlab.watch.showing import Reporting

            return Reporting
        case "draw":
            from attnlab.watch.showing import Drawing

            return Drawing
        case "map":
            from attnlab.watch.mapping import Mapping

            return Mapping
        case _:
            from attnlab.watch.explaining import Explaining

            return Explaining
