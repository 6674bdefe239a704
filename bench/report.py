"""How large the page of `attnlab report` is, and how soon it can be used, in a real Chromium with the network off.

python bench/report.py [TOKENS …] [--cdn FOLDER]

Beside it, where it is installed (`pip install bertviz`), bertviz's head view of the same weights, at 128 tokens: its
page loads its scripts from cdnjs, so it is opened only with `--cdn`, a folder that holds files of the same names.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from measure import table
from playwright.sync_api import Browser, Page, Route, sync_playwright

BENCH = Path(__file__).parent
DEMO = BENCH.parent / "self_attention_demo.py"
TOKENS = (128, 512, 1024)
# Bars: bytes of the page, and milliseconds until it can be used.
BARS = {128: (2e6, 500), 512: (12e6, 1000), 1024: (15e6, 1000)}
# What does not come up in so many seconds does not.
PATIENCE = 60
AFTER_LOAD = 300
TURNS = 15
OPENED = 3

STACK = """
import sys
sys.path.insert(0, {bench!r})
import torch
from models import stack
torch.manual_seed(0)
model, _, _ = stack()
with torch.no_grad():
    model(torch.randn(1, int(sys.argv[1]), 768))
"""

# Notes when the first picture is drawn (READY is what tells), and long tasks.
_WATCH = """() => {
    window.seen = { first: 0, tasks: [] };
    new PerformanceObserver((list) => {
        for (const task of list.getEntries()) window.seen.tasks.push([task.startTime, task.duration]);
    }).observe({ type: "longtask", buffered: true });
    const drawn = (canvas) => canvas && canvas.width > 1 && canvas.height > 1 &&
        canvas.getContext("2d").getImageData(canvas.width >> 1, canvas.height >> 1, 1, 1).data[3] > 0;
    const look = () => {
        if (READY) window.seen.first = performance.now();
        else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
}"""

# A canvas with something in it, or an SVG of bertviz's.
_READY = (
    'drawn(document.querySelector(".stage canvas")) || document.querySelector("#vis rect, svg rect.attentionBoxes")'
)

# From a change to the frame after it.
FRAME = """(act) => new Promise((done) => {
    const began = performance.now();
    act();
    requestAnimationFrame(() => setTimeout(() => done(performance.now() - began)));
})"""
_TURN = """(head) => FRAME(() => {
    document.querySelectorAll("[role=radiogroup]:last-of-type [role=radio]")[head].click();
})""".replace("FRAME", f"({FRAME})")
_POINT = """([role, x, y]) => FRAME(() => {
    const box = document.querySelector(`.stage .matrix[data-role=${role}] canvas`).getBoundingClientRect();
    const down = Math.min(box.height, innerHeight - box.y);
    const at = { clientX: box.x + x * box.width, clientY: box.y + y * down, bubbles: true };
    document.elementFromPoint(at.clientX, at.clientY)?.dispatchEvent(new PointerEvent("pointermove", at));
})""".replace("FRAME", f"({FRAME})")


class Seen(NamedTuple):
    """What was measured of a page: bytes, milliseconds (`load`: until its load event), bytes of memory of its tab."""

    size: int
    load: float
    first: float
    usable: float
    task: float
    memory: int
    turn: float
    point: float


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("tokens", nargs="*", type=int, default=TOKENS)
    parser.add_argument("--cdn", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, chromium() as browser:
        folder = Path(name)
        seen = looked_at(browser, made(DEMO, folder / "demo.html"), hands=on_report)
        table("the demo", [*after_load(seen), *rows(seen, 0.4e6, math.inf)])
        for tokens in asked.tokens:
            script = folder / "stack.py"
            script.write_text(STACK.format(bench=str(BENCH)), encoding="utf-8")
            seen = looked_at(browser, made(script, folder / f"{tokens}.html", str(tokens)), hands=on_report)
            table(f"12 layers × 12 heads, {tokens} tokens", rows(seen, *BARS.get(tokens, (math.inf, math.inf))))
            if tokens == 128:
                beside(browser, seen, folder / "bertviz.html", asked.cdn)


def after_load(seen: Seen) -> Iterator[tuple[str, str, str]]:
    yield "first picture after the load event", f"{seen.first - seen.load:.0f} ms", f"bar: {AFTER_LOAD} ms"


def rows(seen: Seen, size: float, usable: float, at: str = "a cell") -> Iterator[tuple[str, str, str]]:
    yield "size", f"{seen.size / 1e6:.2f} MB", f"bar: {size / 1e6:.1f} MB"
    yield "first picture", f"{seen.first:.0f} ms", ""
    yield (
        "usable (no long task after that)",
        f"{seen.usable:.0f} ms",
        "" if usable == math.inf else f"bar: {usable:.0f} ms",
    )
    yield "longest task on the main thread", f"{seen.task:.0f} ms", "bar: 200 ms"
    yield "memory of the tab", f"{seen.memory / 1e6:.0f} MB", "bar: 250 MB"
    if seen.turn:
        yield f"another head, median of {TURNS}", f"{seen.turn:.0f} ms", "bar: 50 ms to the next frame"
    yield f"pointing at {at}, median of {TURNS}", f"{seen.point:.0f} ms", "bar: 50 ms to the next frame"


def made(script: Path, page: Path, *arguments: str) -> Path:
    """The report of a program."""
    command = [sys.executable, "-m", "attnlab", "report", str(script), *arguments, "-o", str(page), "--lang", "en"]
    subprocess.run(command, check=True, capture_output=True)
    return page


@contextmanager
def chromium() -> Iterator[Browser]:
    path = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield browser
        browser.close()


Hands: TypeAlias = Callable[[Page], tuple[list[float], list[float]]]


def looked_at(
    browser: Browser, file: Path, cdn: Path | None = None, ready: str = _READY, hands: Hands | None = None
) -> Seen:
    """Open a page from its file, and measure: several times, as the machine may be busy.

    `ready`: whether its picture is drawn, in JavaScript; `hands`: turn to other heads and point at other places.
    """
    seen: list[Seen] = []
    for _ in range(OPENED if cdn is None else 1):
        context = browser.new_context(viewport={"width": 1400, "height": 1000}, offline=cdn is None)
        page = context.new_page()
        page.add_init_script(f"({_WATCH.replace('READY', ready)})()")
        if cdn is not None:
            page.route("**/*cdnjs*/**", partial(served, folder=cdn))
        seen.append(opened(page, file, hands))
        context.close()
    return Seen(*(statistics.median(numbers) for numbers in zip(*seen, strict=True)))


def opened(page: Page, file: Path, hands: Hands | None) -> Seen:
    page.goto(file.as_uri(), wait_until="commit", timeout=PATIENCE * 1000)
    until = time.monotonic() + PATIENCE
    while not page.evaluate("window.seen.first"):
        if time.monotonic() > until:
            raise TimeoutError
        page.wait_for_timeout(100)
    page.wait_for_timeout(3000)
    seen = page.evaluate("window.seen")
    load = page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
    tasks: list[tuple[float, float]] = seen["tasks"]
    usable = max([seen["first"], *(start + length for start, length in tasks)])
    turns, points = hands(page) if hands else ([0.0], [0.0])
    every: list[tuple[float, float]] = page.evaluate("window.seen.tasks")  # those of turning and pointing too
    longest = max((length for _, length in every), default=0.0)
    hand = (statistics.median(turns), statistics.median(points))
    return Seen(file.stat().st_size, load, seen["first"], usable, longest, memory(), *hand)


def served(route: Route, *, folder: Path) -> None:
    """A file of the same name, in the place of one on the network; where there is none, nothing."""
    file = folder / route.request.url.rpartition("/")[2]
    if file.is_file():
        route.fulfill(path=file, content_type="text/javascript")
    else:
        print(f"    (a script of the page is missing: {file})")
        route.abort()


def on_report(page: Page) -> tuple[list[float], list[float]]:
    """Milliseconds to turn to another head, and to point at another cell of the weights."""
    page.get_by_role("button", name="softmax").first.click()
    page.wait_for_timeout(500)
    page.locator(".stage .matrix[data-role=weights]").evaluate("(picture) => picture.scrollIntoView()")
    heads = page.locator("[role=radiogroup]:last-of-type [role=radio]").count()
    turns = [page.evaluate(_TURN, turn % heads) for turn in range(1, TURNS + 1)] if heads > 2 else [0.0]
    points: list[Any] = [
        page.evaluate(_POINT, ["weights", (at % 7 + 0.5) / 8, (at % 5 + 0.5) / 6]) for at in range(TURNS)
    ]
    return turns, points


def memory() -> int:
    """Bytes that the largest of Chromium's processes for tabs has to itself."""
    return max((own(process) for process in descendants(os.getpid()) if is_tab(process)), default=0)


def descendants(parent: int) -> Iterator[int]:
    for task in Path(f"/proc/{parent}/task").glob("*/children"):
        for child in task.read_text().split():
            yield int(child)
            yield from descendants(int(child))


def is_tab(process: int) -> bool:
    try:
        return "--type=renderer" in Path(f"/proc/{process}/cmdline").read_text()
    except OSError:
        return False


def own(process: int) -> int:
    lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Private_"))


def beside(browser: Browser, ours: Seen, file: Path, cdn: Path | None) -> None:
    """bertviz's head view of weights of the same size."""
    if importlib.util.find_spec("bertviz") is None:
        print("    (bertviz is not installed: nothing stands beside this)")
        return
    import torch
    from bertviz import head_view

    weights = [torch.randn(1, 12, 128, 128).softmax(-1) for _ in range(12)]
    view = head_view(weights, [f"t{index}" for index in range(128)], html_action="return")
    file.write_text(f"<!doctype html><html><body>{view.data}</body></html>", encoding="utf-8")
    size = file.stat().st_size
    found = [("size", f"{size / 1e6:.1f} MB", f"{size / ours.size:.0f} times")]
    if cdn is None:
        found.append(("first picture", "not tried", "its scripts are on cdnjs: --cdn FOLDER, with copies of them"))
    else:
        found += shown(browser, ours, file, cdn)
    table("bertviz, head view of the same (as many times as attnlab's page)", found)


def shown(browser: Browser, ours: Seen, file: Path, cdn: Path) -> Iterator[tuple[str, str, str]]:
    """How soon bertviz's page shows something, with its scripts from a folder."""
    try:
        theirs = looked_at(browser, file, cdn)
    except Exception as error:  # noqa: BLE001 - whatever it is, it did not come up
        yield "first picture", "none", f"not in {PATIENCE} s ({type(error).__name__})"
        return
    yield "first picture", f"{theirs.first:.0f} ms", f"{theirs.first / ours.first:.1f} times"
    yield "usable", f"{theirs.usable:.0f} ms", f"{theirs.usable / ours.usable:.1f} times"
    yield "longest task", f"{theirs.task:.0f} ms", f"{theirs.task / max(ours.task, 50):.1f} times"
    yield "memory of the tab", f"{theirs.memory / 1e6:.0f} MB", f"{theirs.memory / ours.memory:.1f} times"


if __name__ == "__main__":
    main()
