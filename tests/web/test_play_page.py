"""The playground in a real browser: one types, slides, errs and mends, and the picture follows."""

from __future__ import annotations

import http.client
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect
from web.play_fixtures import PATIENCE, Play, playing

SLOW = PATIENCE * 1000


@pytest.fixture(scope="module")
def play() -> Iterator[Play]:
    with playing() as served:
        yield served


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context(
        viewport={"width": 1400, "height": 1000}, permissions=["clipboard-read", "clipboard-write"]
    )
    expect.set_options(SLOW)
    context.set_default_timeout(SLOW)
    yield context
    context.close()
    expect.set_options(5000)  # its own


def opened(context: BrowserContext, address: str) -> Page:
    """A tab with the playground, its first picture drawn; whatever goes wrong in it fails the test."""
    page = context.new_page()
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    page.goto(address)
    picture(page, "fresh")
    return page


wrong: list[str] = []


@pytest.fixture(autouse=True)
def nothing_goes_wrong() -> Iterator[None]:
    wrong.clear()
    yield
    assert wrong == []


def picture(page: Page, state: str) -> None:
    expect(page.locator("#play")).to_have_attribute("data-picture", state, timeout=SLOW)


def text_of(page: Page) -> str:
    """The text that this tab keeps."""
    return page.evaluate("JSON.parse(sessionStorage.getItem(Object.keys(sessionStorage)"
                         ".find(key => key.startsWith('attnlab-play:')))).text")  # fmt: skip


def write(page: Page, text: str) -> None:
    """Another text in the editor, pasted."""
    page.bring_to_front()
    page.evaluate("text => navigator.clipboard.writeText(text)", text)
    page.locator(".cm-content").focus()
    page.keyboard.press("Control+a")
    page.keyboard.press("Control+v")


def at_end(page: Page, text: str) -> None:
    """Type at the end of the text."""
    page.locator(".cm-content").focus()
    page.keyboard.press("Control+End")
    page.keyboard.type(text)


def test_an_edit_that_breaks_and_one_that_mends(context: BrowserContext, play: Play) -> None:
    page = opened(context, play.address)
    expect(page.locator(".flow")).to_be_visible()
    at_end(page, "\ntorch.matmul(x, x)")
    picture(page, "stale")
    trouble = page.locator(".play-trouble")
    expect(trouble).to_contain_text("RuntimeError")
    expect(trouble).to_contain_text("line 62")
    expect(page.locator(".cm-lint-marker-error")).to_have_count(1)
    expect(page.locator(".flow")).to_be_visible()  # the last good picture stays, and is seen to be an older one
    expect(page.get_by_role("status").first).to_contain_text("earlier text")
    for _ in range(4):
        page.keyboard.press("Backspace")
    page.keyboard.type(", x.mT)")
    picture(page, "fresh")
    expect(trouble).to_be_empty()
    expect(page.locator(".cm-lint-marker-error")).to_have_count(0)


def test_half_a_word_is_no_mistake_yet(context: BrowserContext, play: Play) -> None:
    page = opened(context, play.address)
    seen: list[str] = []
    page.expose_function("seen", lambda state: seen.append(state))  # noqa: PLW0108 - Playwright needs a function
    page.evaluate("""() => new MutationObserver(() => window.seen(document.querySelector("#play").dataset.picture))
        .observe(document.querySelector("#play"), {attributeFilter: ["data-picture"]})""")
    at_end(page, "\nprint(1)")
    picture(page, "fresh")
    expect(page.locator(".play-printed")).to_contain_text("1")
    assert "stale" not in seen


def test_sliders(context: BrowserContext, play: Play) -> None:
    page = opened(context, play.address)
    slider = page.get_by_role("slider", name="seq_len")
    assert slider.input_value() == "4"
    slider.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".play-printed")).to_contain_text("Attention Scores shape: torch.Size([2, 6, 6])")
    picture(page, "fresh")
    assert "seq_len = 6 " in text_of(page)
    expect(page.get_by_role("spinbutton", name="seq_len")).to_have_value("6")
    page.get_by_role("spinbutton", name="seed").fill("7")
    expect(page.locator(".play-printed")).not_to_contain_text("0.4007")
    assert "manual_seed(7)" in text_of(page)
    page.get_by_role("spinbutton", name="d_model").fill("0")  # no size
    assert "d_model = 8 " in text_of(page)
    # The slider follows the text too.
    write(page, text_of(page).replace("seq_len = 6 ", "seq_len = 9 "))
    expect(page.get_by_role("spinbutton", name="seq_len")).to_have_value("9")


def test_an_endless_loop_and_the_edit_after_it(context: BrowserContext, play: Play) -> None:
    page = opened(context, play.address)
    before = play.text
    write(page, "while True:\n    pass\n")
    picture(page, "stale")
    expect(page.locator(".play-trouble")).to_contain_text("more than 5 seconds")
    write(page, before)
    picture(page, "fresh")
    expect(page.locator(".play-trouble")).to_be_empty()


def test_a_newer_edit_does_not_wait_for_an_endless_loop(context: BrowserContext, play: Play) -> None:
    page = opened(context, play.address)
    write(page, "while True:\n    pass\n")
    page.wait_for_timeout(1000)
    write(page, "print('at once')\n")
    expect(page.locator(".play-printed")).to_contain_text("at once", timeout=3500)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("import os\nos._exit(3)", "exit code 3"),
        ("import ctypes\nctypes.string_at(0)", "SIGSEGV"),
        ("while True:\n    print('x' * 1000000)", "8 MiB"),
        ("open('left', 'w')", "writes no files"),
        ("import sys\nsys.exit(4)", "exit code 4"),
    ],
)
def test_a_program_that_ends_itself(context: BrowserContext, play: Play, text: str, says: str) -> None:
    page = opened(context, play.address)
    write(page, text)
    picture(page, "stale")
    expect(page.locator(".play-trouble")).to_contain_text(says)
    write(page, play.text)
    picture(page, "fresh")


def test_two_tabs_at_once(context: BrowserContext, play: Play) -> None:
    left, right = opened(context, play.address), opened(context, play.address)
    write(left, "print('mine')\nwhile True:\n    pass\n")
    for number in range(3):
        write(right, f"print('here', {number})\n")
        expect(right.locator(".play-printed")).to_contain_text(f"here {number}", timeout=4000)
    picture(right, "fresh")
    picture(left, "stale")
    expect(left.locator(".play-printed")).to_contain_text("mine")
    assert "here" in text_of(right)
    assert "mine" in text_of(left)


def test_the_newest_text_wins_however_fast_one_types(context: BrowserContext, play: Play) -> None:
    page = opened(context, play.address)
    write(page, "print('a')\n")
    page.keyboard.type("".join(f"print({number})\n" for number in range(25)), delay=5)
    expect(page.locator(".play-printed pre")).to_have_text("a\n" + "".join(f"{number}\n" for number in range(25)))
    picture(page, "fresh")


def test_findings_stand_at_their_line(context: BrowserContext, play: Play) -> None:
    page = opened(context, play.address)
    write(page, play.text.replace("dim=-1)", "dim=-2)"))
    expect(page.locator(".cm-lint-marker-warning")).to_have_count(1)
    write(page, play.text)
    expect(page.locator(".cm-lint-marker-warning")).to_have_count(0)


def test_why_is_answered_about_the_text_in_the_editor(context: BrowserContext, play: Play) -> None:
    page = opened(context, play.address)
    page.get_by_role("spinbutton", name="d_model").fill("12")
    picture(page, "fresh")
    page.get_by_role("button", name="Why divide by √d_k?").click()
    expect(page.locator(".why")).to_contain_text("d_k = 12")


def test_the_language_is_switched_at_once(context: BrowserContext, play: Play) -> None:
    page = opened(context, play.address)
    at_end(page, "\n1/0")
    expect(page.get_by_role("button", name="line 62")).to_be_visible()
    page.get_by_role("button", name="中文").click()
    expect(page.get_by_role("button", name="第 62 行")).to_be_visible()
    expect(page.get_by_role("slider", name="随机种子")).to_be_visible()
    assert page.evaluate("document.documentElement.lang") == "zh-Hans"
    page.locator(".cm-content").focus()
    page.keyboard.press("Control+f")
    expect(page.get_by_placeholder("查找")).to_be_visible()
    page.reload()
    expect(page.get_by_role("button", name="下载")).to_be_visible()


def test_the_keyboard_leaves_the_editor(context: BrowserContext, play: Play) -> None:
    page = opened(context, play.address)
    page.locator(".cm-content").focus()
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    assert page.evaluate("!document.activeElement.closest('.cm-editor')")


def test_the_text_is_kept_over_a_reload_and_can_be_put_back(context: BrowserContext, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("print('as it was')\n")
    with playing(str(file)) as play:
        page = opened(context, play.address)
        write(page, "print('typed')\n")
        expect(page.locator(".play-printed")).to_contain_text("typed")
        assert play.token not in page.url
        page.reload()
        expect(page.locator(".play-printed")).to_contain_text("typed")
        assert file.read_text() == "print('as it was')\n"
        page.get_by_role("button", name="Original text").click()
        expect(page.locator(".play-printed")).to_contain_text("as it was")
        page.close()


def test_saved_with_a_key_and_not_over_somebody_elses_text(context: BrowserContext, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("print('as it was')\n")
    with playing(str(file)) as play:
        page = opened(context, play.address)
        write(page, "print('typed')\n")
        page.keyboard.press("Control+s")
        expect(page.locator(".play-notice")).to_have_text("Saved in mine.py.")
        assert file.read_text() == "print('typed')\n"
        file.write_text("print('from elsewhere')\n")
        at_end(page, "print('more')\n")
        page.get_by_role("button", name="Save").click()
        expect(page.locator(".play-notice")).to_contain_text("changed outside")
        assert file.read_text() == "print('from elsewhere')\n"
        wrong.clear()  # the browser tells of each answer that is no success
        page.get_by_role("button", name="Save").click()
        expect(page.locator(".play-notice")).to_have_text("Saved in mine.py.")
        assert file.read_text() == "print('typed')\nprint('more')\n"
        page.close()


def test_the_demo_is_downloaded(context: BrowserContext, play: Play) -> None:
    page = opened(context, play.address)
    write(page, "print('mine')\n")
    with page.expect_download() as download:
        page.keyboard.press("Control+s")
    assert download.value.suggested_filename == "self_attention_demo.py"
    assert Path(download.value.path()).read_text() == "print('mine')\n"


def test_without_the_token(context: BrowserContext, play: Play) -> None:
    for address in (play.base, f"{play.base}/#token=wrong"):
        page = context.new_page()
        page.goto(address)
        expect(page.get_by_role("alert")).to_contain_text("address that attnlab play printed")
        page.close()


HOSTILE = """
import torch
note = "</script><img src=x onerror='window.hacked = 1'>"
class Attention(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x @ x.mT, -1) @ x  # <img src=x onerror=window.hacked=1>
Attention.__name__ = Attention.__qualname__ = note
net = torch.nn.Sequential()
net.add_module("<img src=x onerror=window[`hacked`]=1>", Attention())
net(torch.ones(1, 2, 2))
print(note)
"""


def test_nothing_of_the_program_is_taken_for_html(context: BrowserContext, tmp_path: Path) -> None:
    file = tmp_path / "<img src=x onerror=hacked=1>.py"
    file.write_text(HOSTILE)
    with playing(str(file)) as play:
        page = opened(context, play.address)
        expect(page.locator(".play-printed")).to_contain_text("</script>")
        at_end(page, "\nraise type(note, (Exception,), {})(note)")
        picture(page, "stale")
        expect(page.locator(".play-trouble")).to_contain_text("</script>")
        assert page.locator("img").count() == 0
        assert page.evaluate("window.hacked") is None
        page.close()


def test_the_server_is_gone(context: BrowserContext) -> None:
    with playing() as play:
        page = opened(context, play.address)
    at_end(page, "\nprint(1)")
    expect(page.locator(".play-notice")).to_contain_text("does not answer")
    picture(page, "stale")
    assert text_of(page).endswith("print(1)")
    page.close()  # which may ask again at any time, for as long as it is open
    assert set(wrong) == {"Failed to load resource: net::ERR_CONNECTION_REFUSED"}
    wrong.clear()


PREFIX = "/user/someone/attnlab/"


class _Proxy(BaseHTTPRequestHandler):
    """Hands on what is asked for under a path, as jupyter-server-proxy does: without the path, with a header."""

    target = ""
    token = ""

    def do_GET(self) -> None:
        self._hand_on()

    def do_POST(self) -> None:
        self._hand_on()

    def log_message(self, *_: object) -> None:
        pass

    def _hand_on(self) -> None:
        self.close_connection = True
        if not self.path.startswith(PREFIX):
            self.send_error(404)
            return
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name: value for name, value in self.headers.items() if name != "Connection"}
        connection = http.client.HTTPConnection(self.target, timeout=PATIENCE)
        connection.request(
            self.command, "/" + self.path.removeprefix(PREFIX), body, {**headers, "X-Attnlab-Token": self.token}
        )
        answer = connection.getresponse()
        data = answer.read()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("content-length", "connection", "date"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        connection.close()
        try:
            self.wfile.write(data)
        except BrokenPipeError:  # the page has given up asking
            pass


def test_behind_a_proxy_under_a_path(context: BrowserContext) -> None:
    with playing() as play:
        _Proxy.target, _Proxy.token = re.sub("https?://", "", play.base), play.token
        with ThreadingHTTPServer(("127.0.0.1", 0), _Proxy) as proxy:
            thread = threading.Thread(target=proxy.serve_forever)
            thread.start()
            try:
                page = opened(context, f"http://127.0.0.1:{proxy.server_address[1]}{PREFIX}#token={play.token}")
                at_end(page, "\nprint('through')")
                expect(page.locator(".play-printed")).to_contain_text("through")
            finally:
                page.close()
                proxy.shutdown()
                thread.join()
