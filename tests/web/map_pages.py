"""Maps as pages for tests, and a server of one: `python map_pages.py` serves what `exact()` and `source()` say."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
import map_data

from attnlab.maps.data import Atlas, Layer, Products, Span, Text
from attnlab.maps.streaming import summarise
from attnlab.scene.atlas import atlas_scene, text
from attnlab.scene.pictures import Bag
from attnlab.views.map_page import map_page
from attnlab.words import Language

# Layers, heads and tokens of the larger one: more than a server computes at once.
LAYERS, HEADS, TOKENS = 3, 2, 600
LOST = (0, 1)


def few(**changes: object) -> Atlas:
    """An atlas of few numbers: every weight is in its page. One sample, and the text's tokens are its keys."""
    layers: list[Layer] = []
    for index in range(2):
        summary = summarise(exact(index), top=4, near=3)
        layers.append(Layer(index, f"layers.{index}.attn", "sdpa", tuple(range(map_data.H)), summary))
    atlas = Atlas("<b>given</b>", Text(map_data.PIECES, map_data.SPANS), tuple(layers), 1.5)
    return replace(atlas, **changes)


def exact(layer: int) -> Products:
    """What its weights are computed from."""
    drawn = torch.Generator().manual_seed(layer)
    q = torch.randn(1, map_data.H, map_data.Q, map_data.D, generator=drawn)
    k = torch.randn(1, map_data.G, map_data.Q, map_data.D, generator=drawn)
    return Products(q, k, 0.9, None, 0)


def source(layer: int) -> Products:
    """What the weights of the larger one are computed from."""
    drawn = torch.Generator().manual_seed(100 + layer)
    q, k = torch.randn(2, 1, HEADS, TOKENS, 6, generator=drawn)
    return Products(q, k, 1.2, None, 0)


def many(cells: int = 128) -> Atlas:
    """An atlas whose maps are pooled, with a word for each token."""
    layers = tuple(
        Layer(index, f"h.{index}", "sdpa", tuple(range(HEADS)), summarise(source(index), top=5, near=9, cells=cells))
        for index in range(LAYERS)
    )
    pieces = tuple(f"w{place}" for place in range(TOKENS))
    spans = tuple(Span(place, place + 1, f"w{place}", "text", gap=True) for place in range(TOKENS))
    return Atlas("many", Text(pieces, spans), layers, 2.5)


def page_of(atlas: Atlas, language: Language = "en") -> str:
    """Its page."""
    bag = Bag(apart=True)
    scene = text(atlas_scene(atlas, language, bag))
    return map_page(scene, bag.elements, atlas.name, language)


def main() -> None:
    """Serve the larger one until it is ended."""
    from attnlab.commandline import Command
    from attnlab.web.live import live
    from attnlab.words import Words

    command = Command("map", {"port": [("0",)], "no-browser": [()]})
    scene = text(atlas_scene(many(), "en", Bag()))
    live(scene, window, command, Words("en"))


def window(layer: int, head: int, rows: slice, keys: slice) -> Tensor:
    """Exact weights; of one head there is nothing that they could be computed from."""
    if (layer, head) == LOST:
        raise LookupError
    return source(layer).heads((head,)).weights(rows, keys)


if __name__ == "__main__":
    main()
