"""How large the page of `attnlab map` is, and how soon it can be used, in a real Chromium with the network off.

python bench/map_page.py [MODEL_FOLDER TEXT_FILE]

Of the model in that folder on that text; without one, of heads made up in its size: 30 layers of 9 heads at 2,048
tokens. And of one layer of 64 heads at 131,072 tokens, made up too.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
from measure import table
from playwright.sync_api import Browser
from report import chromium, memory

from attnlab.maps.data import Atlas, Layer, Products, Span, Summary, Text
from attnlab.maps.streaming import summarise
from attnlab.scene.atlas import atlas_scene, text
from attnlab.scene.pictures import Bag
from attnlab.views.map_page import map_page

LAYERS, HEADS, TOKENS = 30, 9, 2048
LONG, MANY = 131_072, 64
OPENED, TURNS = 3, 15

# Notes when the map of the head in hand is drawn, and long tasks.
_WATCH = """
    window.seen = { first: 0, tasks: [] };
    new PerformanceObserver((list) => {
        for (const task of list.getEntries()) window.seen.tasks.push([task.startTime, task.duration]);
    }).observe({ type: "longtask", buffered: true });
    const look = () => {
        const [map, words] = [document.querySelector(".map canvas"), document.querySelector(".tops td")];
        const drawn = map && map.width > 1 && map.getContext("2d").getImageData(1, 1, 1, 1).data[3] > 0;
        if (drawn && words) window.seen.first = performance.now();
        else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
"""
_FRAME = """(act) => new Promise((done) => {
    const began = performance.now();
    act();
    requestAnimationFrame(() => setTimeout(() => done(performance.now() - began)));
})"""
_TURN = """(at) => (FRAME)(() => {
    const buttons = document.querySelectorAll(".overview .grid button");
    buttons[at % buttons.length].click();
})""".replace("FRAME", _FRAME)
_POINT = """(at) => (FRAME)(() => {
    const box = document.querySelector(".map .matrix").getBoundingClientRect();
    const place = { clientX: box.x + box.width * at / 20, clientY: box.y + box.height * (1 - at / 40), bubbles: true };
    document.elementFromPoint(place.clientX, place.clientY)?.dispatchEvent(new PointerEvent("pointermove", place));
})""".replace("FRAME", _FRAME)


class Seen(NamedTuple):
    """What was measured of a page: milliseconds, and bytes of memory of its tab."""

    first: float
    usable: float
    task: float
    memory: int
    turn: float
    point: float


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
    seen = looked_at(browser, file)
    table(title, rows(seen, file.stat().st_size, size, usable))


def rows(seen: Seen, is_size: int, size: float, usable: float) -> Iterator[tuple[str, str, str]]:
    yield "size", f"{is_size / 1e6:.2f} MB", f"bar: {size / 1e6:.0f} MB"
    yield "first picture", f"{seen.first:.0f} ms", f"bar: {usable:.0f} ms"
    yield "usable (no long task after that)", f"{seen.usable:.0f} ms", f"bar: {usable:.0f} ms"
    yield "longest task on the main thread", f"{seen.task:.0f} ms", "bar: 200 ms"
    yield "memory of the tab", f"{seen.memory / 1e6:.0f} MB", "bar: 250 MB"
    yield f"another head, median of {TURNS}", f"{seen.turn:.0f} ms", "bar: 50 ms to the next frame"
    yield f"pointing at a query, median of {TURNS}", f"{seen.point:.0f} ms", "bar: 50 ms to the next frame"


def looked_at(browser: Browser, file: Path) -> Seen:
    """Open a page from its file, and measure: several times, as the machine may be busy."""
    seen = [opened(browser, file) for _ in range(OPENED)]
    return Seen(*(statistics.median(numbers) for numbers in zip(*seen, strict=True)))


def opened(browser: Browser, file: Path) -> Seen:
    context = browser.new_context(viewport={"width": 1400, "height": 1000}, offline=True)
    page = context.new_page()
    page.add_init_script(_WATCH)
    page.goto(file.as_uri(), wait_until="commit")
    while not page.evaluate("window.seen.first"):
        page.wait_for_timeout(100)
    page.wait_for_timeout(3000)
    seen: Any = page.evaluate("window.seen")
    tasks: list[tuple[float, float]] = seen["tasks"]
    usable = max([seen["first"], *(start + length for start, length in tasks)])
    turns = [float(page.evaluate(_TURN, at)) for at in range(1, TURNS + 1)]
    points = [float(page.evaluate(_POINT, at)) for at in range(1, TURNS + 1)]
    every: list[tuple[float, float]] = page.evaluate("window.seen.tasks")
    found = Seen(
        seen["first"],
        usable,
        max((length for _, length in every), default=0.0),
        memory(),
        statistics.median(turns),
        statistics.median(points),
    )
    context.close()
    return found


if __name__ == "__main__":
    main()
