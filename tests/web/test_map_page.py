"""The page of a map in a real browser: what a person reads, points at and chooses, from a file without a network."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import map_data
import pytest
import torch
from playwright.sync_api import Browser, Locator, Page, expect
from torch import Tensor
from web.conftest import Open
from web.map_pages import HEADS, LAYERS, TOKENS, exact, few, many, page_of, source
from web.pages import ASSETS

from attnlab.maps.data import Layer, Products, Span, Text
from attnlab.maps.streaming import summarise
from attnlab.scene import atlas_held
from attnlab.views.map_page import map_words
from attnlab.words import LANGUAGES

WEB = Path(__file__).parents[2] / "web" / "src"
SOURCES = [WEB / "map.tsx", *sorted((WEB / "map").glob("*.ts*"))]


@pytest.fixture
def page(opened: Open) -> Page:
    return opened(page_of(few()))


def picture(page: Page) -> Locator:
    return page.locator(".map .matrix")


def choose(page: Page, layer: int, head: int) -> None:
    page.get_by_role("button", name=f"Layer {layer} · head {head}").click()


def point(page: Page, query: int, key: int, queries: int = map_data.Q, keys: int = map_data.Q) -> None:
    """Point at a cell of the map."""
    place = picture(page)
    place.scroll_into_view_if_needed()
    box = place.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * (key + 0.5) / keys, box["y"] + box["height"] * (query + 0.5) / queries)


def tops(page: Page) -> list[tuple[int, str]]:
    """Of the query in hand the keys, and their weights as they are written."""
    rows = page.locator(".tops tbody tr").all()
    return [(int(row.locator("th").inner_text()), row.locator("td:not(.reads, .bar)").inner_text()) for row in rows]


def expected(weights: Tensor, count: int) -> list[tuple[int, str]]:
    found = weights.topk(count)
    return [(int(key), f"{weight:.4f}") for weight, key in zip(*found, strict=True) if weight > 0]


def test_it_shows_every_layer_and_head(page: Page) -> None:
    expect(page.locator(".top h1")).to_have_text("<b>given</b>")
    expect(page.locator(".top .summary")).to_have_text("2 × 6 heads over 11 tokens")
    expect(page.locator(".overview .grid button")).to_have_count(12)
    expect(page.locator(".story")).to_contain_text(re.compile("attention sink", re.IGNORECASE))


@pytest.mark.parametrize(("layer", "head", "query"), [(0, 0, 10), (1, 4, 7), (1, 5, 3)])
def test_a_query_shows_its_largest_keys_exactly(page: Page, layer: int, head: int, query: int) -> None:
    choose(page, layer, head)
    point(page, query, 1)
    weights = exact(layer).weights()[0, head, query].double()
    assert tops(page) == expected(weights, 4)
    entropy = float(-torch.xlogy(weights, weights).sum())
    facts = page.locator(".query .facts dd")
    expect(facts.nth(0)).to_contain_text(f"{entropy:.2f}")
    expect(facts.nth(1)).to_have_text(f"{weights[0]:.3f}")
    expect(facts.nth(2)).to_have_text(f"{weights[query - 2 : query + 1].sum():.3f}")
    expect(page.locator(".map .pointed")).to_have_text(f"query {query}, key 1: weight {weights[1]:.4f}")
    expect(page.locator(".map .says")).to_have_text("Each cell is one weight, exactly.")


def test_a_word_in_pieces_is_read_as_one_with_its_pieces_beneath(page: Page) -> None:
    point(page, 3, 0)
    named = page.locator(".query h3 .named")
    expect(named.locator(".token")).to_have_text("意")
    expect(named.locator("code")).to_have_text(["æ", "Ħ", "ı"])
    expect(named.locator("code.on")).to_have_text("Ħ")
    expect(page.locator(".reading .word")).to_have_count(len(map_data.SPANS))
    page.get_by_label("with the tokenizer's pieces").check()
    expect(page.locator(".reading .word").nth(2).locator("small")).to_have_text("æ Ħ ı")


def test_white_space_and_special_tokens_are_seen(page: Page) -> None:
    words = page.locator(".reading .word")
    expect(words.nth(0)).to_have_class(re.compile(r"\bx\b"))
    expect(words.nth(5)).to_have_text("␣")
    point(page, 7, 0)
    expect(page.locator(".query h3")).to_contain_text("white space")


def test_a_word_that_is_clicked_is_the_query_and_colours_the_others(page: Page) -> None:
    choose(page, 1, 2)
    words = page.locator(".reading .word")
    words.nth(4).click()  # piece 6
    expect(page.locator(".query h3")).to_contain_text("Query 6")
    expect(page.locator(".word.chosen")).to_have_text("is")
    weights = exact(1).weights()[0, 2, 6]
    sums = [float(weights[span.start : span.stop].sum()) for span in map_data.SPANS]
    for index, total in enumerate(sums):
        shown = f"{total:.4f}" if total > 0.002 * max(sums) else ""
        assert (words.nth(index).get_attribute("title") or "") == shown
    darkest = [words.nth(index).evaluate("(word) => word.style.background") for index in range(len(sums))]
    assert darkest[5:] == [""] * 4
    assert darkest[sums.index(max(sums))] == "rgb(4, 47, 51)"
    page.keyboard.press("Tab")
    page.locator(".reading .words").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".query h3")).to_contain_text("Query 7")


def test_it_is_used_by_keys_alone(page: Page) -> None:
    page.locator(".overview .grid button[aria-pressed=true]").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".head h2")).to_contain_text("Layer 1 · head 1")
    picture(page).focus()
    page.keyboard.press("PageUp")
    page.keyboard.press("PageUp")
    for _ in range(5):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".query h3")).to_contain_text("Query 5")
    assert tops(page) == expected(exact(1).weights()[0, 1, 5], 4)
    expect(page.locator(".map .pointed")).to_contain_text("key 1: weight")


def test_a_cell_can_be_kept(page: Page) -> None:
    point(page, 6, 2)
    page.mouse.down()
    page.mouse.up()
    point(page, 9, 3)
    expect(page.locator(".query h3")).to_contain_text("Query 6")
    page.mouse.down()
    page.mouse.up()
    page.mouse.down()
    page.mouse.up()
    point(page, 8, 3)
    expect(page.locator(".query h3")).to_contain_text("Query 8")


def test_the_overview_shows_a_number_of_each_head_and_has_a_table(page: Page) -> None:
    page.get_by_label("What is shown of each head").select_option("start")
    starts = exact(1).weights()[0, :, 1:, 0].mean(-1)
    buttons = page.locator(".overview .grid button")
    for head in range(map_data.H):
        expect(buttons.nth(map_data.H + head)).to_have_text(f"{starts[head]:.2f}")
    page.get_by_text("These numbers as a table").click()
    cells = page.locator(".overview table tbody tr").nth(1).locator("td")
    for head in range(map_data.H):
        expect(cells.nth(head)).to_have_text(f"{starts[head]:.4f}")
    page.get_by_label("What is shown of each head").select_option("entropy")
    weights = exact(1).weights()[0, :, 1:]
    entropy = -torch.xlogy(weights, weights).sum(-1).mean(-1)
    expect(buttons.nth(map_data.H + 3)).to_have_text(f"{entropy[3]:.2f}")


def test_the_queries_of_a_head_have_a_table(page: Page) -> None:
    choose(page, 1, 3)
    page.get_by_text("Its queries as a table").click()
    cells = page.locator(".map details tbody tr").nth(9).locator("th, td")
    weights = exact(1).weights()[0, 3, 9]
    key = int(weights.argmax())
    entropy = float(-torch.xlogy(weights, weights).sum())
    start, recent = f"{weights[0]:.3f}", f"{weights[7:10].sum():.3f}"
    word = next(span.text for span in map_data.SPANS if span.start <= key < span.stop).replace(" ", "␣")
    expect(cells).to_have_text(["9", "&", f"{entropy:.2f}", start, recent, str(key), word, f"{weights[key]:.4f}"])


def test_what_is_pooled_says_so(opened: Open) -> None:
    page = opened(page_of(many()))
    expect(page.locator(".overview .grid button")).to_have_count(LAYERS * HEADS)
    choose(page, 2, 1)
    expect(page.locator(".map .says")).to_have_text("Pooled: each cell is the mean of 8 × 8 weights.")
    weights = source(2).weights()[0, 1].double()
    query, key = 210, 101
    point(page, query, key, TOKENS, TOKENS)
    cell = weights[208:216, 96:104]
    said = page.locator(".map .pointed")
    if key not in weights[query].topk(5).indices:
        expect(said).to_contain_text(f"in this cell of 8 × 8 the mean is {cell.mean():.5f}")
        expect(said).to_contain_text(f"the largest {cell.max():.4f}")
    assert tops(page) == expected(weights[query], 5)
    rest = 1 - float(weights[query].topk(5).values.sum())
    expect(page.locator(".query")).to_contain_text(f"All other keys together: {rest:.4f}")
    page.get_by_role("button", name="largest").click()
    expect(page.locator(".map .says")).to_have_text("Pooled: each cell is the largest of 8 × 8 weights.")
    expect(page.locator(".zoom")).to_have_count(0)
    expect(page.locator(".more")).to_contain_text("its 5 largest keys")


def test_a_pixel_of_the_picture_is_its_cell(opened: Open) -> None:
    page = opened(page_of(many()))
    choose(page, 0, 0)
    means = source(0).weights()[0, 0].reshape(75, 8, 75, 8).mean((1, 3))
    lit = int(means[25, :25].argmax())
    colours = page.evaluate(
        """([row, col]) => {
            const canvas = document.querySelector(".map canvas");
            const at = (cell, size) => Math.floor((cell * 8 + 4) / 600 * size);
            const { data, width } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
            const pixel = (r, c) => {
                const place = 4 * (at(r, canvas.height) * width + at(c, canvas.width));
                return [...data.slice(place, place + 4)];
            };
            return [pixel(row, col), pixel(2, 30)];
        }""",
        [25, lit],
    )
    assert sum(colours[0][:3]) < sum(colours[1][:3])
    assert colours[1][:3] == [245, 247, 242]


def test_a_long_text_is_shown_in_parts(opened: Open) -> None:
    pieces = tuple(f"p{place}" for place in range(6100))
    far = torch.zeros(1, 1, 6100, 4)
    summary = summarise(Products(far, far, 1.0, None, 0), cells=64)
    spans = tuple(Span(place, place + 1, text, "text") for place, text in enumerate(pieces))
    page = opened(page_of(few(text=Text(pieces, spans), layers=(Layer(0, "", "sdpa", (0,), summary),))))
    expect(page.locator(".turn")).to_contain_text("part 2 of 3")
    assert page.locator(".reading .word").count() == 2500
    page.get_by_role("button", name="the part behind").click()
    expect(page.locator(".turn")).to_contain_text("part 3 of 3")
    expect(page.locator(".word.chosen")).to_have_text("p5000")


def test_rows_are_drawn_when_they_come_into_view(opened: Open) -> None:
    one = few().layers[0]
    layers = tuple(Layer(index, f"layers.{index}.attn", "sdpa", one.heads, one.summary) for index in range(60))
    page = opened(page_of(few(layers=layers)))
    expect(page.locator(".overview .row")).to_have_count(60)
    expect(page.locator(".overview canvas").first).to_be_visible()
    assert page.locator(".overview canvas").count() <= 40 * map_data.H
    page.locator(".overview .row").nth(59).scroll_into_view_if_needed()
    expect(page.locator(".overview .row").nth(59).locator("canvas")).to_have_count(map_data.H)


def test_what_is_rounded_is_not_said_to_be_exact(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atlas_held, "EXACT", 0)
    page = opened(page_of(few()))
    expect(page.locator(".map .says")).to_have_text("Each cell is one weight, rounded to a shade.")
    weights = exact(0).weights()[0, 0, 10]
    most, least = int(weights.argmax()), int(weights.argmin())
    point(page, 10, most)
    expect(page.locator(".map .pointed")).to_have_text(f"query 10, key {most}: weight {weights[most]:.4f}")
    point(page, 10, least)
    expect(page.locator(".map .pointed")).to_contain_text(f"query 10, key {least}: weight about ")


def test_the_language_and_the_colours_change_at_once_and_colours_are_remembered(page: Page) -> None:
    expect(page.locator("#attnlab")).to_have_attribute("data-theme", "light")
    page.get_by_role("button", name="中文").click()
    expect(page.locator(".head h2")).to_contain_text("层")
    expect(page.locator("#attnlab")).to_have_attribute("lang", "zh-CN")
    page.locator(".switches .theme").click()
    page.locator(".switches .theme").click()
    expect(page.locator("#attnlab")).to_have_attribute("data-theme", "dark")
    page.reload()
    expect(page.locator("#attnlab")).to_have_attribute("data-theme", "dark")
    page.locator(".switches .theme").click()
    page.reload()
    expect(page.locator("#attnlab")).to_have_attribute("data-theme", "light")


def test_where_nothing_can_be_remembered_the_page_is_whole(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(page_of(few()), encoding="utf-8")
    context = browser.new_context(offline=True)
    context.add_init_script("Object.defineProperty(window, 'localStorage', { get() { throw new Error('none'); } })")
    page = context.new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(f"{error}"))
    page.goto(file.as_uri())
    page.locator(".switches .theme").first.click()
    expect(page.locator("#attnlab")).to_have_attribute("data-theme", "light")
    context.close()
    assert faults == []


@pytest.mark.parametrize("width", [360, 700, 1100, 1900])
def test_nothing_sticks_out(opened: Open, width: int) -> None:
    for atlas in (few(), many()):
        page = opened(page_of(atlas), width=width, dark=True)
        expect(picture(page)).to_be_visible()
        expect(page.locator("#attnlab")).to_have_attribute("data-theme", "dark")
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_what_a_text_holds_stays_text(opened: Open) -> None:
    hostile = "</script><img src=x onerror='window.pwned=1'>"
    pieces = (hostile, *(f"\u202e{place}" for place in range(map_data.Q - 1)))
    spans = tuple(Span(place, place + 1, piece, "text") for place, piece in enumerate(pieces))
    layers = tuple(replace(layer, name=f"{hostile}{layer.index}") for layer in few().layers)
    missed = ((hostile, "report.noscript"),)
    atlas = few(name=hostile, text=Text(pieces, spans), layers=layers, missed=missed)
    page = opened(page_of(atlas))
    expect(page.locator(".top h1")).to_have_text(hostile)
    expect(page.locator(".reading .word").first).to_have_text(hostile)
    point(page, 5, 0)
    expect(page.locator(".query h3")).to_contain_text("‹U+202E›")
    assert page.locator("body img").count() == 0
    assert page.evaluate("window.pwned") is None
    assert page.title() == "script><img src=x onerror='window.pwned=1'> · attnlab"


def test_nothing_is_fetched(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(page_of(many()), encoding="utf-8")
    context = browser.new_context(offline=True)
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri())
    choose(page, 2, 0)
    expect(page.locator(".tops tbody tr")).to_have_count(5)
    context.close()
    assert asked == [file.as_uri()]


def test_without_a_text_there_are_numbers(opened: Open) -> None:
    page = opened(page_of(few(text=None)))
    point(page, 4, 2)
    expect(page.locator(".query h3")).to_have_text("Query 4")
    expect(page.locator(".reading")).to_have_count(0)
    assert tops(page) == expected(exact(0).weights()[0, 0, 4], 4)


def test_an_atlas_of_nothing_is_a_page(opened: Open) -> None:
    page = opened(page_of(few(layers=())))
    expect(page.locator(".top h1")).to_have_text("<b>given</b>")
    expect(page.locator(".panes")).to_have_count(0)


def test_it_can_stand_in_a_page() -> None:
    script, style = ((ASSETS / name).read_text(encoding="utf-8") for name in ("map.js", "map.css"))
    assert len(script) + len(style) <= 120_000
    assert not re.search(r"</(script|style)|<!--|\]\]>|@import|url\(|document\.write|XMLHttpRequest", script + style)
    text = "\n".join(file.read_text(encoding="utf-8") for file in SOURCES)
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|DOMParser|\beval\b", text, re.IGNORECASE)


def test_no_text_that_the_page_says_is_missing_or_left_over() -> None:
    text = "\n".join(file.read_text(encoding="utf-8") for file in SOURCES)
    whole = set(re.findall(r'"((?:map\.)?page\.[\w.]+)"', text))
    starts = set(re.findall(r"`((?:map\.)?page\.[\w.]+\.)\$\{", text))
    for language in LANGUAGES:
        known = set(map_words()[language])
        assert whole - known == set()
        own = {name for name in known if name.startswith("map.")}
        assert {name for name in own - whole if not any(name.startswith(start) for start in starts)} == set()
