"""A map that was written before: told anew, as a page, or served."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from attnlab.commandline import Command, Misused
from attnlab.mapping.asking import Asked, asked, check_layers, no_text
from attnlab.mapping.paging import served
from attnlab.mapping.telling import free, saved, told
from attnlab.maps.data import Atlas
from attnlab.maps.store import NotAMap, read, sources
from attnlab.maps.story import Window, exact
from attnlab.output import own_stdout, say
from attnlab.words import Words


def of_map(command: Command, words: Words) -> int:
    """Tell the map that a command names. Returns the exit code. Raises `Misused`."""
    no_text(command)
    ask, path = asked(command), Path(command.program)
    if ask.folder is not None:
        raise Misused("map.folder", name=ask.name)
    free(ask)
    try:
        atlas = _chosen(read(path), ask)
        windows = _windows(path, atlas, ask)
    except NotAMap:
        raise Misused("map.not_map", name=command.program) from None
    except OSError:
        raise Misused("command.bad.file", name=command.program) from None
    saved(atlas, ask, words)
    stdout = own_stdout()
    if stdout is not None:
        say(stdout, told(atlas, windows, (), ask, words, stdout))
    if not ask.live:
        return 0
    if not path.is_dir():
        raise Misused("map.no_source", name=command.program)
    return served(atlas, path, command, words)


def _chosen(atlas: Atlas, ask: Asked) -> Atlas:
    """The layers that are asked for. Raises `Misused` where one of them, or a head, is not there."""
    layers = {layer.index: layer for layer in atlas.layers}
    check_layers(ask, layers, ask.program)
    chosen = [layers[number] for number in sorted(layers if ask.layers is None else ask.layers)]
    heads = [(layer, head) for layer in chosen for head in ask.heads or ()]
    for layer, head in [*heads, *((layers[place.layer], place.head) for place in ask.windows)]:
        if head not in layer.heads:
            raise Misused("map.no_head", asked=head, layer=layer.index, last=layer.heads[-1])
    return replace(atlas, layers=tuple(chosen))


def _windows(path: Path, atlas: Atlas, ask: Asked) -> list[Window]:
    """Exact weights, from what the folder keeps of q and k."""
    found: list[Window] = []
    kept = sources(path) if ask.windows and path.is_dir() else {}
    for place in ask.windows:
        if place.layer not in kept:
            raise Misused("map.no_source", name=ask.program)
        layer = next(layer for layer in atlas.layers if layer.index == place.layer)
        *_, queries, keys = layer.summary.shape
        if place.rows[-1] >= queries or place.keys[-1] >= keys:
            raise Misused("map.window_over", asked=place.asked, layer=place.layer, queries=queries - 1, keys=keys - 1)
        rows, columns = slice(place.rows[0], place.rows[-1] + 1), slice(place.keys[0], place.keys[-1] + 1)
        weights = exact(kept[place.layer], layer.heads.index(place.head), rows, columns)
        found.append(Window(place.layer, place.head, place.rows, place.keys, tuple(map(tuple, weights))))
    return found
