"""The page of a map: in a file, or served, with exact weights for what it looks closer at."""

from __future__ import annotations

from pathlib import Path

from torch import Tensor

from attnlab.commandline import Command, Misused
from attnlab.maps.data import Atlas
from attnlab.maps.store import sources
from attnlab.scene.atlas import atlas_scene, text
from attnlab.scene.pictures import Bag
from attnlab.views.map_page import map_page
from attnlab.words import Words


def paged(atlas: Atlas, words: Words) -> str:
    """The page as HTML that needs nothing else."""
    bag = Bag(apart=True)
    return map_page(text(atlas_scene(atlas, words.language, bag)), bag.elements, atlas.name, words.language)


def served(atlas: Atlas, folder: Path, command: Command, words: Words) -> int:
    """Serve the page until it is interrupted; weights are computed from what the folder keeps. Raises `Misused`."""
    try:
        from attnlab.web.live import live
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0]
        if name not in ("starlette", "uvicorn"):
            raise
        raise Misused("map.missing", name=name) from None
    kept = sources(folder)
    if not kept:
        raise Misused("map.no_source", name=folder)
    heads = {layer.index: layer.heads for layer in atlas.layers}

    def window(layer: int, head: int, rows: slice, keys: slice) -> Tensor:
        return kept[layer].heads((heads[layer].index(head),)).weights(rows, keys)

    return live(text(atlas_scene(atlas, words.language, Bag())), window, command, words)
