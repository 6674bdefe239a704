"""A report as a person opens it: from a file, with the network off, whatever the program holds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Browser, expect

PROGRAM = """
import torch
torch.manual_seed(0)
text = "</script><script>window.pwned = 1</script><img src=x onerror='window.pwned = 1'>"
q, k, v = (torch.randn(2, 5, 12) for _ in range(3))
out = torch.softmax(q @ k.transpose(1, 2) / 12**0.5, -1) @ v
raise ValueError(text + "<!--")
"""


def test_it_opens_from_a_file_and_asks_for_nothing(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "<img src=x onerror=alert(1)>.py").write_text(PROGRAM, encoding="utf-8")
    command = [sys.executable, "-m", "attnlab", "report", "<img src=x onerror=alert(1)>.py", "-o", "page.html"]
    done = subprocess.run([*command, "--lang", "en"], cwd=tmp_path, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 1
    context = browser.new_context(offline=True)
    page = context.new_page()
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(f"{error}"))
    page.on("dialog", lambda dialog: said.append(dialog.message))
    page.on("request", lambda request: asked.append(request.url))
    page.goto((tmp_path / "page.html").as_uri())
    expect(page.locator(".flow .tensor")).not_to_have_count(0)
    expect(page.locator(".source")).to_contain_text("</script><script>window.pwned = 1</script>")
    assert page.title() == "<img src=x onerror=alert(1)>.py · attnlab"
    assert page.locator("body img, body iframe").count() == 0
    assert page.evaluate("window.pwned") is None
    assert said == []
    assert asked == [(tmp_path / "page.html").as_uri()]
    context.close()
