"""How large the page of `attnlab map` is, and how soon it can be used, in a real Chromium with the network off.

python bench/map_page.py [MODEL_FOLDER TEXT_FILE]

Of the model in that folder on that text; without one, of heads made up in its size: 30 layers of 9 heads at 2,048
tokens. And of one layer of 64 heads at 131,072 tokens, made up too.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import torch
from measure import table
from playwright.sync_api import Browser, Page
from report import FRAME, TURNS, chromium, looked_at, rows

from attnlab.maps.data import Atlas, Layer, Products, Span, Summary, Text
from attnlab.maps.streaming import summarise
from attnlab.scene.atlas import atlas_scene, text
from attnlab.scene.pictures import Bag
from attnlab.views.map_page import map_page

LAYERS, HEADS, TOKENS = 30, 9, 2048
LONG, MANY = 131_072, 64

# Whether the map of the head in hand is drawn, and its query told.
_READY = 'drawn(document.querySelector(".map canvas")) && document.querySelector(".tops td")'
_TURN = """(at) => (FRAME)(() => {
    const buttons = document.querySelectorAll(".overview .grid button");
    buttons[at % buttons.length].click();
})""".replace("FRAME", FRAME)
_POINT = """(at) => (FRAME)(() => {
    const box = document.querySelector(".map .matrix").getBoundingClientRect();
    const place = { clientX: box.x + box.width * at / 20, clientY: box.y + box.height * (1 - at / 40), bubbles: true };
    document.elementFromPoint(place.clientX, place.clientY)?.dispatchEvent(new PointerEvent("pointermove", place));
})""".replace("FRAME", FRAME)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model", nargs="?")
    parser.add_argument("text", nargs="?")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, chromium() as browser:
        file = Path(name, "map.html")
        if asked.model:
            command = [sys.executable, "-m", "attnlab", "map", asked.model, "--text-file", asked.text, "-o", str(file)]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        else:
            file.write_text(page_of(like_a_model()), encoding="utf-8")
        shown(browser, file, asked.model or f"{LAYERS} × {HEADS} heads, {TOKENS:,} tokens", 20e6, 1000)
        file.write_text(page_of(long()), encoding="utf-8")
        shown(browser, file, f"one layer of {MANY} heads, {LONG:,} tokens", 25e6, 2000)


def page_of(atlas: Atlas) -> str:
    bag = Bag(apart=True)
    return map_page(text(atlas_scene(atlas, "en", bag)), bag.elements, atlas.name, "en")


def like_a_model() -> Atlas:
    """Heads of all kinds: with a sink and without one, near and far. Three layers are made; they come again."""
    drawn = torch.Generator().manual_seed(0)
    summaries: list[Summary] = []
    for _ in range(3):
        q, k = torch.randn(2, 1, HEADS, TOKENS, 64, generator=drawn)
        place = torch.arange(TOKENS)
        slope = torch.logspace(-4, 0, HEADS)[:, None, None]
        mask = -(slope * (place[:, None] - place).clamp_min(0))
        mask[1::2, :, 0] = 4.0
        mask = mask.masked_fill(place > place[:, None], -torch.inf)[None]
        summaries.append(summarise(Products(q, k, 0.2, mask, 0), cells=512))
    layers = (
        Layer(index, f"model.layers.{index}.self_attn", "sdpa", tuple(range(HEADS)), summaries[index % 3])
        for index in range(LAYERS)
    )
    return Atlas("made up", words(TOKENS), tuple(layers), 1.0)


def long() -> Atlas:
    """What is kept of a long text, without the work of making it."""
    drawn = torch.Generator().manual_seed(0)
    small = summarise(Products(*torch.randn(2, 1, MANY, 512, 8, generator=drawn), 1.0, None, 0), top=2, cells=512)
    times = LONG // 512
    rows = {
        name: getattr(small, name).repeat_interleave(times, 2) for name in ("top_weights", "entropy", "start", "recent")
    }
    keys = (torch.rand(1, MANY, LONG, 2, generator=drawn) * torch.arange(LONG)[:, None]).int()
    summary = replace(small, keys=LONG, side=times, top_keys=keys, **rows)
    return Atlas("long", words(LONG), (Layer(0, "attn", "sdpa", tuple(range(MANY)), summary),), 1.0)


def words(count: int) -> Text:
    pieces = tuple(f"Ġword{place % 977}" for place in range(count))
    return Text(pieces, tuple(Span(place, place + 1, f"word{place % 977}", "text", gap=True) for place in range(count)))


def shown(browser: Browser, file: Path, title: str, size: float, usable: float) -> None:
    seen = looked_at(browser, file, ready=_READY, hands=on_map)
    table(title, rows(seen, size, usable, at="a query"))


def on_map(page: Page) -> tuple[list[float], list[float]]:
    """Milliseconds to turn to another head, and to point at another query."""
    turns, points = ([float(page.evaluate(act, at)) for at in range(1, TURNS + 1)] for act in (_TURN, _POINT))
    return turns, points


if __name__ == "__main__":
    main()
