"""What is said of a map, and written of it. What files need is loaded where there are files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING

from attnlab.commandline import Misused
from attnlab.mapping.asking import Asked
from attnlab.maps.data import Atlas, Text
from attnlab.maps.story import Detail, Window, detail, story
from attnlab.output import colour, width, write_whole
from attnlab.views.map import Told, lines, numbers
from attnlab.views.page import is_page
from attnlab.words import Words

if TYPE_CHECKING:
    from attnlab.maps.store import Writer

# The page in the folder of a map.
PAGE = "map.html"
# So many heads are told query by query on a screen, and so many queries of each.
_HEADS, _QUERIES = 4, 40


def free(ask: Asked) -> None:
    """Find out before anything is computed whether the file may be written. Raises `Misused`."""
    path = ask.file
    if path is None or not path.exists() or not path.stat().st_size:
        return
    from attnlab.maps.store import NotAMap, read

    try:
        if path.suffix.lower() != ".html":
            read(path)
            return
        with open(path, "rb") as file:
            if is_page(file.read(4096)):
                return
    except NotAMap:
        pass
    except OSError as error:
        raise Misused("command.output", name=ask.name, reason=error.strerror or error) from None
    raise Misused("map.there", name=ask.name)


def writer(folder: Path, name: str, text: Text | None, ask: Asked, **more: object) -> Writer:
    """What writes the layers into a folder. `more`: what the numbers depend on besides. Raises `Misused`."""
    from attnlab.maps.store import OtherMap, Writer

    try:
        return Writer(folder, name, text, {**ask.settings, **more})
    except OtherMap:
        raise Misused("map.other" if (folder / "map.json").exists() else "map.there", name=ask.name) from None
    except OSError as error:
        raise Misused("command.output", name=ask.name, reason=error.strerror or error) from None


def saved(atlas: Atlas, ask: Asked, words: Words) -> None:
    """Write the one file that was asked for, or the page into the folder. Raises `Misused`."""
    path = ask.file or (None if ask.folder is None else ask.folder / PAGE)
    if path is None:
        return
    from attnlab.mapping.paging import paged
    from attnlab.maps.store import write

    try:
        if path.suffix.lower() == ".html":
            write_whole(str(path), paged(atlas, words))
        else:
            write(atlas, path)
    except OSError as error:
        raise Misused("map.unwritten", name=ask.name, reason=error.strerror or error) from None


def told(
    atlas: Atlas, windows: Sequence[Window], notes: Sequence[str], ask: Asked, words: Words, stdout: IO[str] | None
) -> str:
    """What is said of a map. `notes`: sentences to end with."""
    chosen = [
        (layer, head)
        for layer in (atlas.layers if ask.layers or ask.heads else ())
        for head in layer.heads
        if ask.heads is None or head in ask.heads
    ]
    shown = chosen if ask.json else chosen[:_HEADS]
    details: list[Detail] = [detail(layer, head, None if ask.json else _QUERIES) for layer, head in shown]
    all_told = Told(atlas, story(atlas.layers), details, windows, len(chosen) - len(shown), notes)
    if ask.json:
        return json.dumps(numbers(all_told), ensure_ascii=False, allow_nan=False) + "\n"
    return "\n".join(lines(all_told, words, width(), stdout is not None and colour(stdout))) + "\n"
