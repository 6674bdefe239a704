"""What a Run shows of itself, in the frames that notebooks put it into: each has its own sandbox or policy."""

from __future__ import annotations

import html
from pathlib import Path

import pytest
import torch
from playwright.sync_api import Browser, expect

import attnlab

# VS Code's policy for the outputs of notebooks (`notebook.experimental.enableCsp`), and its sandbox of webviews.
_VSCODE = (
    "default-src 'none'; script-src https://*.vscode-cdn.net 'unsafe-inline' 'unsafe-eval'; "
    "style-src https://*.vscode-cdn.net 'unsafe-inline'; img-src https://*.vscode-cdn.net https: http: data:; "
    "font-src https://*.vscode-cdn.net https:; connect-src https:; child-src https: data:"
)
_OF_THE_HOST = (
    "An iframe which has both allow-scripts and allow-same-origin for its sandbox attribute can escape its sandboxing."
)
HOSTS = {
    "JupyterLab": ("", None),
    "VS Code": (f'<meta http-equiv="Content-Security-Policy" content="{_VSCODE}">', "allow-same-origin allow-scripts"),
    "Colab": ("", "allow-downloads allow-forms allow-modals allow-popups allow-same-origin allow-scripts"),
    "a sandbox of its own origin": ("", "allow-scripts"),
}


@pytest.mark.parametrize("host", HOSTS)
def test_it_draws_itself(browser: Browser, tmp_path: Path, host: str) -> None:
    torch.manual_seed(0)
    q, k, v = torch.randn(3, 2, 5, 7)
    with attnlab.record() as run:
        (q @ k.transpose(-2, -1) / 7**0.5).softmax(-1) @ v
    head, sandbox = HOSTS[host]
    output = f"<!doctype html><html><head>{head}</head><body>{run._repr_mimebundle_()['text/html']}</body></html>"
    if sandbox is not None:
        output = f'<!doctype html><iframe sandbox="{sandbox}" srcdoc="{html.escape(output)}"></iframe>'
    (tmp_path / "notebook.html").write_text(output, encoding="utf-8")
    context = browser.new_context(offline=True)
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text) if message.text != _OF_THE_HOST else None)
    page.on("pageerror", lambda error: said.append(f"{error}"))
    page.goto((tmp_path / "notebook.html").as_uri())
    frame = page.frame_locator("iframe")
    if sandbox is not None:
        frame = frame.frame_locator("iframe")
    expect(frame.locator(".flow .tensor canvas").first).to_be_visible()
    cell = "c => [...c.getContext('2d').getImageData(0, 0, c.width, c.height).data].some((byte) => byte)"
    assert frame.locator(".flow .tensor canvas").first.evaluate(cell)
    assert said == []
    context.close()
