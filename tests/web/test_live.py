"""A map that is served: who is let in, what is computed when it is asked for, and the page that asks."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from playwright.sync_api import Browser, Page, expect
from web.map_pages import HEADS, LAYERS, LOST, TOKENS, source
from web.play_fixtures import PATIENCE, Answer, Play


@pytest.fixture(scope="module")
def served() -> Iterator[Play]:
    program = Path(__file__).with_name("map_pages.py")
    process = subprocess.Popen([sys.executable, str(program)], stdout=subprocess.PIPE, text=True)
    with process:
        assert process.stdout is not None
        try:
            process.stdout.readline()
            yield Play(process, process.stdout.readline().strip())
        finally:
            process.terminate()
            process.wait(PATIENCE)


def window(served: Play, rows: object, keys: object, layer: object = 1, head: object = 1) -> Answer:
    return served.ask("/api/window", {"layer": layer, "head": head, "sample": 0, "rows": rows, "keys": keys})


def test_it_listens_on_loopback_alone(served: Play) -> None:
    assert served.base.startswith("http://127.0.0.1:")
    assert len(served.token) >= 32


def test_the_page_holds_no_text_of_anybodys(served: Play) -> None:
    page = served.ask("/")
    assert page.status == 200
    assert "w299" not in page.text
    assert "h.2" not in page.text
    assert "frame-ancestors 'none'" in page.headers["Content-Security-Policy"]


def test_the_atlas_is_given_to_who_has_the_token(served: Play) -> None:
    answers = [served.ask("/api/atlas", {}) for _ in range(20)]
    assert {answer.text for answer in answers} == {answers[0].text}  # each is whole
    scene = answers[0].json
    assert [layer["name"] for layer in scene["layers"]] == [f"h.{layer}" for layer in range(LAYERS)]
    assert "base64" in scene["layers"][0]["held"][0]["blob"]


@pytest.mark.parametrize("path", ["/api/atlas", "/api/window"])
@pytest.mark.parametrize(
    ("headers", "sentence"),
    [
        ({"X-Attnlab-Token": None}, "token is missing or wrong"),
        ({"X-Attnlab-Token": "x" * 43}, "token is missing or wrong"),
        ({"Origin": None}, "does not come from its own page"),
        ({"Origin": "http://evil.example"}, "does not come from its own page"),
        ({"Host": "evil.example"}, "host that this server is not known by"),
    ],
    ids=["no token", "another token", "no origin", "a foreign origin", "a foreign host"],
)
def test_nobody_else_is_let_in(served: Play, path: str, headers: dict[str, str | None], sentence: str) -> None:
    answer = served.ask(path, {}, headers)
    assert answer.status == 403
    assert sentence in answer.text


@pytest.mark.parametrize(("rows", "keys"), [((0, 1), (0, TOKENS)), ((117, 203), (41, 160)), ((299, 300), (299, 300))])
def test_a_window_is_the_exact_weights(served: Play, rows: tuple[int, int], keys: tuple[int, int]) -> None:
    body = {"layer": 2, "head": 1, "sample": 0, "rows": rows, "keys": keys}
    data = asked(served, body)
    found = torch.frombuffer(bytearray(data), dtype=torch.float32).reshape(rows[1] - rows[0], keys[1] - keys[0])
    assert torch.equal(found, source(2).heads((1,)).weights(slice(*rows), slice(*keys))[0, 0])


def asked(served: Play, body: object) -> bytes:
    headers = {"Origin": served.base, "X-Attnlab-Token": served.token}
    request = urllib.request.Request(served.base + "/api/window", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        assert answer.headers["Content-Type"] == "application/octet-stream"
        return answer.read()


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"layer": LAYERS}, 400),
        ({"layer": -1}, 400),
        ({"layer": True}, 400),
        ({"head": HEADS}, 400),
        ({"head": "0"}, 400),
        ({"rows": [0, TOKENS + 1]}, 400),
        ({"rows": [5, 5]}, 400),
        ({"rows": [9, 3]}, 400),
        ({"keys": [0]}, 400),
        ({"keys": None}, 400),
        ({"keys": [0.0, 4.0]}, 400),
        ({"sample": 1}, 400),
    ],
    ids=str,
)
def test_what_is_not_there_is_refused(served: Play, change: dict[str, object], status: int) -> None:
    body = {"layer": 0, "head": 0, "sample": 0, "rows": [0, 4], "keys": [0, 5], **change}
    assert served.ask("/api/window", body).status == status


@pytest.mark.parametrize("body", [[1], "x", None])
def test_what_is_no_question_is_refused(served: Play, body: object) -> None:
    headers = {"Origin": served.base, "X-Attnlab-Token": served.token}
    assert served.ask("/api/window", body if body is not None else {}, headers).status == 400


def test_a_body_that_is_too_long_is_refused(served: Play) -> None:
    assert window(served, [0, 4], "x" * 10_000).status == 413


@pytest.fixture
def page(browser: Browser, served: Play) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1440, "height": 1000})
    page = context.new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(f"{error}"))
    page.set_default_timeout(10_000)
    page.goto(served.address)
    yield page
    context.close()
    assert faults == []


def test_looking_closer_shows_exact_weights(page: Page) -> None:
    page.get_by_role("button", name="Layer 1 · head 1").click()
    expect(page.locator(".map .says")).to_have_text("Pooled: each cell is the mean of 8 × 8 weights.")
    page.locator(".map .matrix").click(position={"x": 200, "y": 400})
    page.get_by_role("button", name="closer").click()
    expect(page.locator(".map .says")).to_have_text("Exact: each cell is one weight, computed from q and k just now.")
    page.locator(".map .matrix").click(position={"x": 10, "y": 10})
    page.locator(".map .matrix").click(position={"x": 300, "y": 200})
    pointed, weight_of = page.locator(".map .pointed"), re.compile(r"query (\d+), key (\d+): weight (\S+)")
    expect(pointed).to_have_text(weight_of)
    said = weight_of.fullmatch(pointed.inner_text())
    assert said
    weight = source(1).weights()[0, 1, int(said[1]), int(said[2])]
    assert float(said[3].replace("\u2212", "-")) == pytest.approx(float(weight), rel=0.05, abs=5e-5)
    page.get_by_role("button", name="all of it").click()
    expect(page.locator(".map .says")).to_contain_text("Pooled")


def test_of_the_query_in_hand_every_weight_is_had(page: Page) -> None:
    page.get_by_role("button", name="Layer 2 · head 0").click()
    page.locator(".reading .word").nth(120).click()
    weights = source(2).weights()[0, 0, 120]
    rows = page.locator(".tops tbody tr")
    expect(rows).to_have_count(12)
    keys = weights.topk(12).indices.tolist()
    assert [int(row.locator("th").inner_text()) for row in rows.all()] == keys
    expect(page.locator(".reading .quiet")).to_contain_text("Each word in the colour of the weight")


def test_what_cannot_be_computed_is_said(page: Page, served: Play) -> None:
    assert window(served, [0, 4], [0, 4], *LOST).status == 404
    page.get_by_role("button", name="Layer 0 · head 1").click()
    page.get_by_role("button", name="closer").click()
    expect(page.locator(".map .says")).to_have_text(
        "Pooled: each cell is the mean of 8 × 8 weights. The exact weights could not be had."
    )
    expect(page.locator(".tops tbody tr")).to_have_count(5)


def test_the_token_leaves_the_address_and_a_reload_keeps_it(page: Page, served: Play) -> None:
    expect(page.locator(".map")).to_be_visible()
    assert served.token not in page.url
    page.reload()
    expect(page.locator(".map")).to_be_visible()


def test_without_the_token_the_page_says_what_it_needs(browser: Browser, served: Play) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(served.base + "/#token=wrong")
    expect(page.get_by_role("alert")).to_contain_text("needs the address that attnlab map printed")
    context.close()
