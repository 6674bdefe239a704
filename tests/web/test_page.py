"""The page in a real browser: what a person points at, steps through and reads."""

from __future__ import annotations

import copy
import time
from typing import Any

import pytest
import torch
from playwright.sync_api import Locator, Page, expect
from web.conftest import Open
from web.scenes import both, code, demo, demo_tensors, large, part, tensor

MINUS = "\u2212"


@pytest.fixture
def page(opened: Open) -> Page:
    return opened(demo())


def step_to(page: Page, step: int) -> None:
    """Goes to a step, counted from 1."""
    page.locator(".flow .step").nth(step - 1).click()


def matrix(page: Page, role: str) -> Locator:
    return page.locator(f".stage .matrix[data-role={role}]")


def point(page: Page, role: str, row: int, col: int) -> None:
    """Points at a cell of the step in hand."""
    place = matrix(page, role)
    place.scroll_into_view_if_needed()
    box = place.bounding_box()
    rows, cols = demo_tensors()[role].shape[-2:]
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * (col + 0.5) / cols, box["y"] + box["height"] * (row + 0.5) / rows)


def worked(page: Page) -> str:
    """What the page says of the cell in hand, with plain minus signs."""
    return page.locator(".work").inner_text().replace(MINUS, "-")


def said(value: float) -> str:
    return f"{value:.4f}"


def test_it_shows_the_flow_beside_the_source(page: Page) -> None:
    expect(page.locator(".top h1")).to_have_text("self_attention_demo.py")
    expect(page.locator(".flow .step")).to_have_count(7)
    expect(page.locator(".flow .tensor")).to_have_count(9)
    expect(page.locator(".source .line")).to_have_count(len(demo()["files"][0]["text"].split("\n")))


def test_nothing_is_fetched(opened: Open) -> None:
    page = opened(demo())
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.reload()
    for _ in range(7):
        page.keyboard.press("ArrowRight")
    page.get_by_role("button", name="English").click()
    assert [url for url in asked if url != page.url] == []


def test_arrow_keys_step_and_the_formula_follows(page: Page) -> None:
    heading = page.locator(".stepper h2")
    marked = page.locator(".formula .piece.on")
    expect(heading).to_contain_text("X")
    expect(marked).to_have_count(0)
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    expect(heading).to_contain_text("Q Kᵀ")
    expect(marked).to_have_text(["Q", "K⊤"])
    expect(page.locator(".flow .step[aria-current=step]")).to_contain_text("Q Kᵀ")
    expect(page.locator(".explanation")).to_contain_text("这一步得到 scores。")
    page.keyboard.press("ArrowLeft")
    expect(heading).to_contain_text("Kᵀ")
    for _ in range(9):
        page.keyboard.press("ArrowLeft")
    expect(heading).to_contain_text("第 1 步，共 7 步")


def test_a_piece_of_the_formula_leads_to_its_step(page: Page) -> None:
    page.locator(".formula .piece", has_text="softmax").click()
    expect(page.locator(".stepper h2")).to_contain_text("softmax")


@pytest.mark.parametrize(("row", "col"), [(0, 1), (2, 3), (3, 0)])
def test_a_score_is_worked_out_from_its_query_and_its_key(page: Page, row: int, col: int) -> None:
    step_to(page, 4)
    point(page, "scores", row, col)
    tensors = demo_tensors()
    q, k, scores = (tensors[role][0] for role in ("q", "k", "scores"))
    text = worked(page)
    assert f"scores[0,{row},{col}]" in text
    assert f"= {said(scores[row, col].item())}" in text
    for one, other in zip(q[row].tolist(), k[col].tolist(), strict=True):
        assert said(one) in text
        assert said(other) in text
        assert said(abs(one * other)) in text
    marks = {role: matrix(page, role).locator(".mark") for role in ("q", "kt", "scores")}
    expect(marks["q"]).to_have_class("mark row")
    expect(marks["kt"]).to_have_class("mark column")
    expect(marks["scores"]).to_have_class("mark cell own")
    for role, along, at, count in (("q", "y", row, 4), ("kt", "x", col, 4)):
        mark, whole = marks[role].bounding_box(), matrix(page, role).bounding_box()
        assert mark is not None
        assert whole is not None
        length = whole["height" if along == "y" else "width"]
        assert mark[along] - whole[along] == pytest.approx(length * at / count, abs=1)


def test_a_weight_is_worked_out_by_softmax(page: Page) -> None:
    step_to(page, 6)
    point(page, "weights", 1, 2)
    tensors = demo_tensors()
    scores, weights = tensors["scaled"][0, 1], tensors["weights"][0, 1]
    exps = (scores - scores.max()).exp()
    text = worked(page)
    assert f"exp({said(scores[2].item())} - {said(scores.max().item())}) ÷ {said(exps.sum().item())}" in text
    for values in (scores, exps, weights):
        assert all(said(value) in text or f"{value:.0f}" in text for value in values.tolist())


def test_an_output_is_worked_out_as_a_weighted_sum(page: Page) -> None:
    step_to(page, 7)
    point(page, "output", 2, 5)
    tensors = demo_tensors()
    weights, values = tensors["weights"][0, 2], tensors["v"][0, :, 5]
    text = worked(page)
    assert f"= {said(tensors['output'][0, 2, 5].item())}" in text
    for weight, value in zip(weights.tolist(), values.tolist(), strict=True):
        assert said(weight) in text
        assert said(value) in text
    expect(matrix(page, "weights").locator(".mark")).to_have_class("mark row")
    expect(matrix(page, "v").locator(".mark")).to_have_class("mark column")


def test_a_scaled_score_is_divided(page: Page) -> None:
    step_to(page, 5)
    point(page, "scaled", 1, 1)
    tensors = demo_tensors()
    before, after = (said(tensors[role][0, 1, 1].item()) for role in ("scores", "scaled"))
    assert f"{before} ÷ √8 (2.8284) = {after}" in worked(page)


def test_a_number_that_does_not_follow_is_not_explained(opened: Open) -> None:
    scene = demo()
    tensors = scene["told"][0]["layers"][0]["tensors"]
    tensors["q"] = tensors["q"] | {"picture": tensors["x"]["picture"]}
    page = opened(scene)
    step_to(page, 4)
    point(page, "scores", 0, 1)
    assert "中间还有别的运算" in worked(page)
    expect(page.locator(".terms")).to_have_count(0)


def test_another_sample_has_other_numbers(page: Page) -> None:
    step_to(page, 6)
    page.get_by_role("radio", name="第 1 个样本").click()
    point(page, "weights", 3, 0)
    assert f"attention_weights[1,3,0] = {said(demo_tensors()['weights'][1, 3, 0].item())}" in worked(page)


def test_a_line_lights_its_tensor_and_a_tensor_its_line(page: Page) -> None:
    lines = page.locator(".source .line")
    number = next(n for n, line in enumerate(demo()["files"][0]["text"].split("\n")) if "V = self.W_v(x)" in line)
    lines.nth(number).scroll_into_view_if_needed()
    lines.nth(number).locator("code").hover()
    expect(page.locator(".flow .tensor.lit")).to_have_count(1)
    expect(page.locator(".flow .tensor.lit")).to_contain_text("V")
    page.locator(".flow .matrix[data-role=v]").hover()
    expect(page.locator(".source .line.lit")).to_have_attribute("data-line", str(number + 1))


def test_a_line_leads_to_its_step(page: Page) -> None:
    page.locator(".source .line", has_text="F.softmax(scores").locator("code").click()
    expect(page.locator(".stepper h2")).to_contain_text("softmax")


def test_a_step_shows_the_file_that_it_stands_in(opened: Open) -> None:
    scene = demo()
    scene["files"].append({"name": "other.py", "text": "def softmax(x):\n    return x.softmax(-1)\n"})
    [item] = scene["told"][0]["parts"][5]["items"]
    item["codes"] = [{"file": 1, "lines": [2], "spans": [[2, 11, 2, 24]], "text": "x.softmax(-1)"}]
    page = opened(scene)
    expect(page.get_by_role("tab", selected=True)).to_have_text("self_attention_demo.py")
    step_to(page, 6)
    expect(page.get_by_role("tab", selected=True)).to_have_text("other.py")
    expect(page.locator(".line.current .on")).to_have_text(["x.softmax(-", "1", ")"])
    step_to(page, 7)
    expect(page.get_by_role("tab", selected=True)).to_have_text("self_attention_demo.py")


def test_a_cell_can_be_kept(page: Page) -> None:
    step_to(page, 4)
    point(page, "scores", 2, 2)
    page.mouse.down()
    page.mouse.up()
    point(page, "scores", 0, 0)
    assert "scores[0,2,2]" in worked(page)
    page.keyboard.press("Escape")
    point(page, "scores", 0, 1)
    assert "scores[0,0,1]" in worked(page)


def test_it_speaks_both_languages_at_once(page: Page) -> None:
    root = page.locator("#attnlab")
    expect(root).to_have_attribute("lang", "zh-CN")
    page.get_by_role("button", name="English").click()
    expect(root).to_have_attribute("lang", "en")
    expect(page.locator(".stepper h2")).to_contain_text("Step 1 of 7")
    expect(page.locator(".summary")).to_have_text("1 attention found")
    page.get_by_role("button", name="中文").click()
    expect(page.locator(".stepper h2")).to_contain_text("第 1 步，共 7 步")


@pytest.mark.parametrize("language", ["中文", "English"])
def test_every_text_has_its_words(page: Page, language: str) -> None:
    page.get_by_role("button", name=language).click()
    for step in range(1, 8):
        step_to(page, step)
        everything = page.locator("#attnlab").evaluate("(root) => root.outerHTML")
        assert "page." not in everything
        assert "{" not in page.locator(".right").inner_text()


def background(page: Page) -> int:
    """How bright the page is, from 0 to 255."""
    colour = page.locator("#attnlab").evaluate("(root) => getComputedStyle(root).backgroundColor")
    return sum(int(part) for part in colour.removeprefix("rgb(").removesuffix(")").split(",")) // 3


def test_it_is_light_or_dark_as_the_system_is(opened: Open) -> None:
    assert background(opened(demo())) > 230
    assert background(opened(demo(), dark=True)) < 40


def test_dark_can_be_chosen_and_is_remembered(page: Page) -> None:
    for expected in ("light", "dark"):
        page.locator(".theme").click()
        expect(page.locator("#attnlab")).to_have_attribute("data-theme", expected)
    assert background(page) < 40
    page.reload()
    expect(page.locator("#attnlab")).to_have_attribute("data-theme", "dark")


@pytest.mark.parametrize("width", [360, 768, 1100, 1920])
def test_the_page_is_never_wider_than_its_window(opened: Open, width: int) -> None:
    page = opened(demo(), width=width, height=740)
    for step in range(1, 8):
        step_to(page, step)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_keyboard_is_enough(page: Page) -> None:
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_text("中文")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    matrix(page, "scores").focus()
    outline = matrix(page, "scores").evaluate("(box) => getComputedStyle(box).outlineStyle")
    assert outline == "solid"
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    scores = demo_tensors()["scores"]
    assert f"scores[0,2,2] = {said(scores[0, 2, 2].item())}" in worked(page)
    page.keyboard.press("Home")
    assert f"scores[0,2,0] = {said(scores[0, 2, 0].item())}" in worked(page)
    expect(page.locator(".stepper h2")).to_contain_text("Q Kᵀ")
    page.get_by_role("radio", name="第 0 个样本").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("radio", name="第 1 个样本")).to_be_focused()
    expect(page.get_by_role("radio", name="第 1 个样本")).to_be_checked()


def test_everything_that_is_clicked_is_reached_by_tab(page: Page) -> None:
    step_to(page, 4)
    reached: set[str] = set()
    page.locator("body").click(position={"x": 1, "y": 1})
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.outerHTML.slice(0, 60)"))
    everything = page.evaluate(
        "[...document.querySelectorAll('button, summary, [tabindex=\"0\"]')]"
        ".filter((one) => one.tabIndex === 0 && !one.disabled).map((one) => one.outerHTML.slice(0, 60))"
    )
    assert set(everything) - reached == set()


def test_each_picture_has_its_table(page: Page) -> None:
    step_to(page, 6)
    page.locator(".tables summary").click()
    rows = page.locator(".numbers").nth(1).locator("tbody tr")
    for row, weights in enumerate(demo_tensors()["weights"][0].tolist()):
        expect(rows.nth(row).locator("td")).to_have_text([said(weight) for weight in weights])
    for picture in page.locator(".stage .matrix").all():
        assert picture.get_attribute("aria-label")


def test_a_finding_stands_beneath_its_line(opened: Open) -> None:
    scene = demo()
    place = code(scene["files"][0]["text"], "torch.matmul(Q, K.transpose(-2, -1))")
    [line] = place["lines"]
    scene["findings"] = [
        {
            "code": "ATT011",
            "slug": "scale-missing",
            "file": 0,
            "line": line,
            "end_line": line,
            "message": both("没有除以 √d_k", "not divided by √d_k"),
            "evidence": [both("权重 0.554", "weights 0.554")],
            "fix": both("/ math.sqrt(8)", "/ math.sqrt(8)"),
        }
    ]
    page = opened(scene)
    finding = page.locator(f".line[data-line='{line}'] + .finding")
    for text in ("ATT011", "scale-missing", "没有除以 √d_k", "权重 0.554", "/ math.sqrt(8)"):
        expect(finding).to_contain_text(text)
    expect(page.locator(f".line[data-line='{line}'] .wavy")).to_have_count(1)
    expect(page.locator(".wavy")).to_have_count(1)


def test_an_error_is_told_with_its_diagnosis(opened: Open) -> None:
    scene = demo()
    scene["error"] = {
        "type": "RuntimeError",
        "message": "must match",
        "file": 0,
        "line": 30,
        "diagnosis": both("attnlab：第 30 行对不上。", "attnlab: line 30 does not fit."),
    }
    page = opened(scene)
    expect(page.locator(".failure")).to_contain_text("attnlab：第 30 行对不上。")
    expect(page.locator(".line[data-line='30'] .failed")).to_have_count(1)


HOSTILE = "</script><script>alert('a')</script><img src=x onerror=\"alert('b')\">&amp;"


def hostile(value: Any, key: str = "") -> Any:
    """A scene in which every string that a user can write is one that would do harm as HTML."""
    kept = {"base64", "kind", "lang", "makes", "reads", "rows", "cols", "dtype", "element", "marks", "key"}
    if isinstance(value, dict):
        return {name: hostile(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [hostile(item, key) for item in value]
    if isinstance(value, str) and key not in kept:
        return f"{HOSTILE} {value}"
    return value


def test_nothing_of_the_user_is_taken_for_html(opened: Open) -> None:
    scene = demo()
    scene["why"] = [{"topic": "scale", "title": both("为什么", "why"), "text": both("因为", "because")}]
    scene["printed"] = "printed"
    scene["notes"] = [both("注", "note")]
    scene["rest"] = [{"code": None, "does": both("做", "does"), "shapes": ["[4]"], "times": 2}]
    page = opened(hostile(scene))
    for step in range(1, 8):
        step_to(page, step)
        page.locator(".tables summary").click()
    page.locator(".topics button").click()
    for summary in page.locator(".more summary").all():
        summary.click()
    assert page.locator("#attnlab img, #attnlab script").count() == 0
    expect(page.locator(".top h1")).to_contain_text(HOSTILE)
    expect(page.locator(".answer")).to_contain_text(HOSTILE)
    expect(page.locator(".rest")).to_contain_text(HOSTILE)


def test_an_answer_is_one_click_away(opened: Open) -> None:
    scene = demo()
    scene["why"] = [
        {"topic": "scale", "title": both("为什么除以 √d_k？", "why?"), "text": both("实验：改 d_model", "experiment")},
        {"topic": "softmax", "title": both("为什么是 dim=-1？", "why?"), "text": None},
    ]
    page = opened(scene)
    page.get_by_role("button", name="为什么除以 √d_k？").click()
    expect(page.locator(".answer")).to_have_text("实验：改 d_model")
    page.get_by_role("button", name="为什么是 dim=-1？").click()
    expect(page.locator(".why .quiet")).to_be_visible()


def longer(scene: dict[str, Any]) -> dict[str, Any]:
    """The same scene after an edit: another first line."""
    edited = copy.deepcopy(scene)
    edited["files"][0]["text"] = "# edited\n" + edited["files"][0]["text"]
    return edited


MOUNT = """(scene) => {
    document.getElementById("attnlab").remove();
    window.seen = [];
    const root = document.body.appendChild(document.createElement("div"));
    const editor = document.createElement("textarea");
    window.page = window.attnlab.mount(root, scene, JSON.parse(document.getElementById("attnlab-words").textContent), {
        editor,
        language: "en",
        why: (topic) => Promise.resolve({zh: `问 ${topic}`, en: `asked ${topic}`}),
        onHighlight: (codes) => window.seen.push(codes.map((code) => code.text).join()),
    });
}"""


def test_an_update_keeps_what_is_chosen(opened: Open) -> None:
    scene = demo()
    page = opened(scene)
    page.evaluate(MOUNT, scene)
    step_to(page, 6)
    page.get_by_role("radio", name="sample 1").click()
    point(page, "weights", 2, 3)
    before = worked(page)
    took = page.evaluate(
        """async (scenes) => {
            const took = [];
            for (const scene of scenes) {
                const start = performance.now();
                await window.page.update(scene);
                await new Promise((done) => setTimeout(done));
                took.push(performance.now() - start);
            }
            return took;
        }""",
        [longer(demo()) for _ in range(8)],
    )
    print(f"\nupdate of the demo: median {sorted(took)[4]:.1f} ms")
    assert worked(page) == before
    assert "attention_weights[1,2,3]" in before
    expect(page.get_by_role("radio", name="sample 1")).to_be_checked()


def test_a_page_with_an_editor(opened: Open) -> None:
    scene = demo()
    scene["why"] = [{"topic": "scale", "title": both("为什么", "why √d_k"), "text": None}]
    page = opened(scene)
    page.evaluate(MOUNT, scene)
    expect(page.locator(".editor textarea")).to_be_visible()
    page.get_by_role("button", name="why √d_k").click()
    expect(page.locator(".answer")).to_have_text("asked scale")
    step_to(page, 6)
    assert page.evaluate("window.seen.at(-1)") == "F.softmax(scores, dim=-1)"
    page.locator(".editor textarea").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".stepper h2")).to_contain_text("softmax")
    page.evaluate("window.page.highlight(23)")
    expect(page.locator(".flow .tensor.lit")).to_contain_text("V")
    page.evaluate("window.page.language = 'zh'")
    expect(page.locator(".stepper h2")).to_contain_text("第 6 步")
    page.evaluate("window.page.destroy()")
    expect(page.locator(".attnlab > *")).to_have_count(0)


def test_rounded_scores_that_are_hidden_are_told_by_their_mask(opened: Open) -> None:
    scene, elements = large(layers=1, heads=2, length=64)
    tensors = scene["told"][0]["layers"][0]["tensors"]
    hidden = torch.ones(1, 64, 64).triu(1)
    tensors["mask"] = tensor("mask", hidden)
    tensors["masked"] = tensors["scores"]
    scene["told"][0]["parts"].append(part("", "mask", "mask", "mask masked", "scores", "-"))
    page = opened(scene, elements)
    step_to(page, 8)
    box = matrix(page, "masked").bounding_box()
    assert box is not None
    for row, col, shown in ((3, 9, "-∞"), (9, 3, "≈")):
        matrix(page, "masked").hover(
            position={"x": box["width"] * (col + 0.5) / 64, "y": box["height"] * (row + 0.5) / 64}
        )
        text = worked(page)
        assert f"masked[0,0,{row},{col}]" in text
        assert shown in text
        assert ("-∞" in text) == (col > row)


def test_all_layers_and_heads_are_seen_at_once(opened: Open) -> None:
    page = opened(*large(layers=3, heads=2, length=64))
    step_to(page, 6)
    page.locator(".atlas summary").click()
    cells = page.locator(".atlas button")
    expect(cells).to_have_count(6)
    expect(page.locator(".atlas canvas[width='22']")).to_have_count(6)
    cells.nth(5).click()
    expect(page.get_by_role("radio", name="blocks.2.attn")).to_be_checked()
    expect(page.get_by_role("radio", name="第 1 个头")).to_be_checked()
    page.keyboard.press("ArrowUp")
    expect(page.get_by_role("radio", name="blocks.1.attn")).to_be_checked()
    expect(page.locator(".stepper h2")).to_contain_text("softmax")


def test_of_many_attentions_one_is_chosen_from_a_list(opened: Open) -> None:
    scene = demo()
    scene["told"] = [scene["told"][0] | {"title": both(f"第 {n} 种", f"kind {n}")} for n in range(9)]
    page = opened(scene)
    step_to(page, 4)
    page.get_by_role("combobox").select_option("8")
    expect(page.get_by_role("combobox")).to_have_value("8")
    expect(page.locator(".stepper h2")).to_contain_text("第 1 步")
    page.get_by_role("button", name="English").click()
    expect(page.get_by_role("combobox").locator("option").last).to_have_text("9 kind 8")


def test_keys_and_values_come_from_the_other_sequence(opened: Open) -> None:
    scene = demo()
    told = scene["told"][0]
    told["layers"][0]["tensors"]["memory"] = told["layers"][0]["tensors"]["x"]
    told["parts"][0]["makes"] = ["x", "memory"]
    told["parts"][1]["reads"] = ["x", "memory"]
    page = opened(scene)
    step_to(page, 2)
    expect(page.locator(".edges .on")).to_have_count(3)


def test_a_large_model_is_quick(opened: Open) -> None:
    started = time.perf_counter()
    scene, elements = large(layers=4, heads=12, length=256)
    made = time.perf_counter()
    page = opened(scene, elements)
    expect(page.locator(".flow .tensor").first).to_be_visible()
    shown = time.perf_counter()
    print(f"\n4 × 12 heads of 256 × 256: made in {made - started:.1f} s, shown in {shown - made:.2f} s")
    step_to(page, 6)
    page.get_by_role("radio", name="blocks.2.attn").click()
    page.get_by_role("radio", name="第 5 个头").click()
    matrix(page, "weights").scroll_into_view_if_needed()
    box = matrix(page, "weights").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 90.5 / 256, box["y"] + box["height"] * 100.5 / 256)
    expect(page.locator(".work h3")).to_contain_text("weights[0,5,100,90] ≈")
    # The largest keys are exact, whatever the picture is.
    largest = page.locator(".work .top span")
    expect(largest).to_have_count(4)
    shown = [float(text.split()[-1]) for text in largest.all_inner_texts()]
    assert shown == sorted(shown, reverse=True)


def test_a_call_that_does_all_is_drawn_one_after_another(opened: Open) -> None:
    scene = demo()
    told = scene["told"][0]
    fused = part("", "SDPA", "q k softmax scale v", "scores scaled weights output", "q k v", "-")
    told["parts"] = [*told["parts"][:2], fused]
    del told["layers"][0]["tensors"]["kt"]
    page = opened(scene)
    step_to(page, 3)
    expect(page.locator(".stage .product")).to_have_count(2)
    expect(page.locator(".stage .beside")).to_have_count(2)
    expect(page.locator(".edges .on")).to_have_count(6)
    matrix(page, "kt").hover()
    assert "同一个数，只是换了位置" in worked(page)
