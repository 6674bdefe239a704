"""How long the playground takes from the last key stroke to the new picture, in a real Chromium.

python bench/play.py
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from measure import table
from playwright.sync_api import Page, sync_playwright

DEMO = Path(__file__).parents[1] / "self_attention_demo.py"
EDITS = 30
PACE = 300  # ms between one picture and the next edit, as a person types

# From when the key was pressed to the frame in which the picture of just that text is on the screen.
_WATCH = """() => {
    let pressed = 0;
    window.took = [];
    addEventListener("keydown", (event) => { pressed = event.timeStamp; }, true);
    new MutationObserver((changes) => {
        const fresh = document.querySelector("#play").dataset.picture === "fresh";
        if (fresh && pressed) {
            const since = pressed;
            pressed = 0;
            requestAnimationFrame(() => setTimeout(() => window.took.push(performance.now() - since)));
        }
    }).observe(document.querySelector("#play"), { attributeFilter: ["data-picture"] });
}"""

# How long the server took each time.
_ANSWERS = """() => performance.getEntriesByType("resource")
    .filter((one) => one.name.endsWith("/look")).map((one) => one.duration)"""


def main() -> None:
    chromium = shutil.which("chromium")
    if chromium is None:
        print("\nthe playground is measured in a Chromium, and there is none on this machine")
        return
    rows: list[tuple[str, str, str]] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-dev-shm-usage"])
        for length in (4, 64):
            took, server = measured(browser.new_page(viewport={"width": 1400, "height": 1000}), length)
            rows.append((f"the demo, seq_len {length}", f"{took:.0f} ms", "bar: 150 ms"))
            rows.append(("    of these the answer of the server", f"{server:.0f} ms", ""))
        browser.close()
    table(f"last key stroke to the new picture, median of {EDITS} edits", rows)


def measured(page: Page, length: int) -> tuple[float, float]:
    """The median times (ms): to the picture, and of these to the server's answer."""
    command = [sys.executable, "-m", "attnlab", "play", "--no-browser", "--port", "0", "--lang", "en"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            server.stdout.readline()
            page.goto(server.stdout.readline().strip())
            page.wait_for_selector("#play[data-picture=fresh]")
            slide(page, "seq_len", length)
            page.wait_for_timeout(2500)
            page.evaluate(_WATCH)
            place_cursor(page)
            for edit in range(EDITS):
                page.wait_for_timeout(PACE)
                page.keyboard.press("Shift+ArrowLeft")
                page.keyboard.press(str(edit % 9 + 1))
                page.wait_for_function("(count) => window.took.length > count", arg=edit)
            took: list[float] = page.evaluate("window.took")
            answers: list[float] = page.evaluate(_ANSWERS)
        finally:
            server.terminate()
            page.close()
    return statistics.median(took), statistics.median(answers[-EDITS:])


def slide(page: Page, name: str, value: Any) -> None:
    page.get_by_role("spinbutton", name=name).fill(str(value))


def place_cursor(page: Page) -> None:
    """Behind the last digit of the seed."""
    before = DEMO.read_text(encoding="utf-8").partition("manual_seed(42")[0]
    page.locator(".cm-content").focus()
    page.keyboard.press("Control+Home")
    for key, times in (("ArrowDown", before.count("\n")), ("ArrowRight", len("    torch.manual_seed(42"))):
        for _ in range(times):
            page.keyboard.press(key)


if __name__ == "__main__":
    main()
