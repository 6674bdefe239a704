"""A real browser for tests: the Chromium of the machine, which may not be missing in CI."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright
from web.pages import page as frozen

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


@pytest.fixture(scope="module")  # while it is there an event loop runs in this thread, which other tests may not have
def browser() -> Iterator[Browser]:
    path = next(filter(None, map(shutil.which, _NAMES)), None)
    if path is None:
        if os.environ.get("CI"):
            pytest.fail("no Chromium here, and in CI there has to be one: these tests drive a real browser")
        pytest.skip("no Chromium on this machine: these tests drive a real browser")
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=path, headless=True, args=list(_QUIET))
        yield found
        found.close()


Open = Callable[..., Page]


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Open]:
    """Opens a scene, or HTML, as a page in a file, with the network off. What the page complains of fails the test."""
    faults: list[str] = []
    contexts: list[Any] = []

    def open_page(
        scene: Any, elements: dict[str, str] | None = None, *, width: int = 1440, height: int = 900, dark: bool = False
    ) -> Page:
        file = tmp_path / f"page{len(contexts)}.html"
        file.write_text(scene if isinstance(scene, str) else frozen(scene, elements), encoding="utf-8")
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light", offline=True
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("pageerror", lambda error: faults.append(f"{error}"))
        page.on("console", lambda said: faults.append(said.text) if said.type in ("error", "warning") else None)
        page.on("dialog", lambda dialog: faults.append(dialog.message) or dialog.dismiss())
        page.goto(file.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert faults == []
