"""An atlas as the data of a page: each number that it holds is the summary's, and it holds what there is room for."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, is_typeddict

import map_data
import pytest
import torch
from scene.atlas_reading import held
from scene.reading import unpacked

from attnlab.maps.data import Atlas, Layer, Products, Summary
from attnlab.maps.streaming import summarise
from attnlab.scene import atlas_data, atlas_held
from attnlab.scene.atlas import atlas_scene, text
from attnlab.scene.pictures import Bag
from attnlab.words import catalog

CONTRACT = (Path(__file__).parents[2] / "web" / "src" / "map" / "atlas.ts").read_text(encoding="utf-8")
INTERFACES = dict(re.findall(r"export interface (\w+) \{\n(.*?)\n\}", CONTRACT, re.DOTALL))
RECORDS = {name: kind for name, kind in vars(atlas_data).items() if is_typeddict(kind)}


def scene_of(atlas: Atlas) -> Any:
    """The scene as a page reads it."""
    return json.loads(text(atlas_scene(atlas, "en", Bag())))


def atlas_of(*summaries: Summary) -> Atlas:
    layers = (
        Layer(index, f"layers.{index}.attn", "sdpa", tuple(range(summary.shape[1])), summary)
        for index, summary in enumerate(summaries)
    )
    return Atlas("given", None, tuple(layers), 1.0)


def causal(tokens: int, heads: int = 2, seed: int = 3, batch: int = 1) -> Products:
    drawn = torch.Generator().manual_seed(seed)
    q, k = torch.randn(2, batch, heads, tokens, 6, generator=drawn)
    return Products(q, k, 1.5, None, 0)


@pytest.fixture
def little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if everything were too much to be kept as it is."""
    monkeypatch.setattr(atlas_held, "EXACT", 0)


@pytest.mark.parametrize("name", INTERFACES)
def test_a_record_has_the_fields_of_the_contract(name: str) -> None:
    fields = re.findall(r"^  (\w+)(\??):", INTERFACES[name], re.MULTILINE)
    assert {field for field, optional in fields if not optional} == RECORDS[name].__required_keys__
    assert {field for field, optional in fields if optional} == RECORDS[name].__optional_keys__


def test_the_format_is_that_of_the_contract() -> None:
    assert re.findall(r"export const FORMAT = (\d+);", CONTRACT) == [str(atlas_data.FORMAT)]
    assert set(INTERFACES) == set(RECORDS) - {"Both"}


def given() -> Atlas:
    return replace(map_data.atlas(), missed=(("layers.2.attn", "report.noscript"),))


def test_few_numbers_are_as_they_are() -> None:
    atlas = given()
    scene = scene_of(atlas)
    for layer, own in zip(scene["layers"], atlas.layers, strict=True):
        summary = own.summary
        assert layer["exact"]
        assert (layer["samples"], layer["queries"], layer["keys"], layer["side"]) == (2, 11, 13, summary.side)
        for sample in range(2):
            for head in range(6):
                at = sample, head
                found = held(layer, *at)
                for name in ("mean", "max", "entropy", "start", "recent"):
                    assert torch.equal(found[name], getattr(summary, name)[at].double()), name
                assert torch.equal(found["keys"].mT, summary.top_keys[at].long())
                assert torch.equal(found["weights"].mT, summary.top_weights[at].double())


def test_where_a_cell_is_a_weight_the_map_is_the_weights() -> None:
    products = map_data.products()
    layer = scene_of(atlas_of(summarise(products, cells=512)))["layers"][0]
    assert layer["side"] == 1
    assert torch.allclose(held(layer, 1, 4)["mean"], products.weights()[1, 4].double(), rtol=2e-6, atol=0)


@pytest.mark.usefixtures("little_room")
def test_many_numbers_are_rounded_by_no_more_than_is_said() -> None:
    products = causal(700)
    weights = products.weights()[0]
    layer = scene_of(atlas_of(summarise(products, top=8, near=16, cells=512)))["layers"][0]
    assert (layer["exact"], layer["side"], layer["top"], layer["every"]) == (False, 2, 8, 1)
    for head in range(2):
        found = held(layer, 0, head)
        exact = weights[head].double()
        cells = exact.reshape(350, 2, 350, 2)
        for name, map_ in (("mean", cells.mean((1, 3))), ("max", cells.amax((1, 3)))):
            most = layer["held"][head][name]
            assert ((found[name] / most).sqrt() - (map_ / most).sqrt()).abs().max() <= 0.51 / 255, name
        values, keys = exact.topk(8)
        seen = values > 0
        assert torch.equal(found["keys"].mT, torch.where(seen, keys, -1))
        assert (found["weights"].mT - values).abs().max() <= 1.6e-5
        entropy = -torch.xlogy(exact, exact).sum(-1)
        assert (found["entropy"] - entropy).abs().max() <= torch.tensor(700.0).log() / 4095
        assert (found["start"].sqrt() - exact[:, 0].sqrt()).abs().max() <= 0.51 / 4095
        recent = exact.tril().triu(-15).sum(-1)
        assert (found["recent"].sqrt() - recent.sqrt()).abs().max() <= 0.51 / 4095


@pytest.mark.usefixtures("little_room")
def test_a_row_that_sees_no_key_is_none() -> None:
    mask = torch.ones(map_data.Q, map_data.K, dtype=torch.bool)
    mask[4] = False
    layer = scene_of(atlas_of(summarise(map_data.products(mask=mask), top=3)))["layers"][0]
    found = held(layer, 0, 3)
    assert found["entropy"].isnan().tolist() == [row == 4 for row in range(map_data.Q)]
    assert found["keys"][:, 4].tolist() == [-1, -1, -1]


def test_the_small_pictures_are_of_every_head() -> None:
    products = causal(90)
    layer = scene_of(atlas_of(summarise(products, cells=512)))["layers"][0]
    assert layer["small_side"] == 4
    data = torch.frombuffer(unpacked(layer["small"][0]), dtype=torch.uint8).reshape(2, 2, 23, 23).double()
    padded = torch.nn.functional.pad(products.weights()[0].double(), (0, 2, 0, 2)).reshape(2, 23, 4, 23, 4)
    most = padded.amax((2, 4))
    expected = (most / most.amax((1, 2), keepdim=True)).sqrt() * 255
    assert (data[:, 1] - expected).abs().max() <= 0.5 * 255 / 63 + 0.51


@pytest.mark.usefixtures("little_room")
@pytest.mark.parametrize("room", [150_000, 60_000, 16_000, 3_000])
def test_a_page_holds_what_there_is_room_for(monkeypatch: pytest.MonkeyPatch, room: int) -> None:
    monkeypatch.setattr(atlas_held, "ROOM", room)
    products = causal(1200, heads=3)
    summary = summarise(products, cells=512)
    bag = Bag()
    layer: Any = atlas_scene(atlas_of(summary), "en", bag)["layers"][0]
    small = len(layer["small"][0]["base64"])
    assert bag.bytes - small <= 1.05 * room
    assert layer["every"] == 1 or layer["top"] <= 8
    found = held(layer, 0, 2)
    queries = torch.arange(0, 1200, layer["every"])
    assert torch.equal(found["keys"].mT, summary.top_keys[0, 2, queries, : layer["top"]].long())
    assert found["entropy"].shape == queries.shape


@pytest.mark.usefixtures("little_room")
def test_less_room_holds_less(monkeypatch: pytest.MonkeyPatch) -> None:
    layer = Layer(0, "", "sdpa", (0, 1, 2), summarise(causal(1200, heads=3), cells=512))
    found: list[tuple[int, int, int]] = []
    for room in (400_000, 100_000, 40_000, 10_000):
        monkeypatch.setattr(atlas_held, "ROOM", room)
        plan, _ = atlas_held.planned([layer])
        found.append((-plan.every, plan.cells, plan.top))
    assert found == sorted(found, reverse=True)
    assert len(set(found)) == 4


@pytest.mark.usefixtures("little_room")
def test_however_little_room_there_is_there_is_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atlas_held, "ROOM", 0)
    summary = summarise(causal(1200, heads=3), cells=512)
    layer = scene_of(atlas_of(summary))["layers"][0]
    assert layer["side"] == 128
    assert held(layer, 0, 1)["keys"].tolist() == [[0]]


def test_of_many_samples_the_first_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atlas_held, "EXACT", 0)
    monkeypatch.setattr(atlas_held, "_SEVERAL", 6)
    scene = scene_of(atlas_of(summarise(causal(20, heads=2, batch=5))))
    assert scene["layers"][0]["samples"] == 3
    assert len(scene["layers"][0]["held"]) == 6
    assert [note["en"] for note in scene["notes"]] == ["This page has 3 of 5 samples, from the first on."]


def test_rows_behind_a_cache_keep_their_numbers() -> None:
    products = map_data.products()
    summary = replace(map_data.summary(products, side=4), first=2)
    # Two rows of the first cell are not here: the cells begin at row 0.
    whole = torch.nn.functional.pad(products.weights().double(), (0, 3, 2, 3))
    cells = whole.unflatten(-2, (4, 4)).unflatten(-1, (4, 4))
    summary = replace(summary, max=cells.amax((-3, -1)).float(), mean=cells.mean((-3, -1)).float())
    layer = scene_of(atlas_of(summary))["layers"][0]
    assert layer["first"] == 2
    assert torch.equal(held(layer, 0, 5)["max"], summary.max[0, 5].double())


def test_a_sink_is_told_first_with_its_number() -> None:
    products = causal(40, heads=2)
    k = products.k.clone()
    k[:, 1, 0] = 40 * products.q[:, 1].mean(1)
    source = replace(products, k=k, q=torch.cat([products.q[:, :1], products.q[:, 1:].abs() + 1], 1))
    k[:, 1, 0] = 6
    summary = summarise(source)
    share = float(summary.start[0, 1, 1:].mean())
    assert share > 0.5
    told = scene_of(atlas_of(summary))["story"]
    assert told[0]["heads"] == [[0, 1]]
    assert told[0]["says"]["en"] == (
        f"Attention sink: 1 of 2 heads put {share:.0%} of their weight on the first token, in the mean."
    )
    assert f"{share:.0%}" in told[0]["says"]["zh"]
    assert "no fault" in told[1]["says"]["en"]


def test_without_a_sink_that_is_told() -> None:
    told = scene_of(atlas_of(summarise(causal(40))))["story"]
    assert "no attention sink" in told[0]["says"]["en"].lower()


def test_the_weight_on_the_token_before() -> None:
    tokens = 30
    near = torch.full((tokens, tokens), -9.0).tril()
    near.diagonal(-1).fill_(4.0)
    products = causal(tokens)
    source = replace(products, q=products.q * 0, mask=near.masked_fill(near == 0, -torch.inf))
    weights = source.weights()[0, 0].double()
    scene = scene_of(atlas_of(summarise(source)))
    [facts, _] = scene["layers"][0]["facts"]
    assert facts["kind"] == "previous"
    assert facts["previous"] == pytest.approx(weights.diagonal(-1).mean().item(), rel=1e-5)
    assert any("just before" in told["says"]["en"] for told in scene["story"])


def test_queries_and_keys_of_two_sequences_have_no_token_before() -> None:
    layer = scene_of(atlas_of(map_data.summary(map_data.products(causal=None))))["layers"][0]
    assert [facts["previous"] for facts in layer["facts"]] == [None] * 6


def test_a_text_is_in_pieces_and_as_it_reads() -> None:
    reading = scene_of(given())["text"]
    assert reading["pieces"] == list(map_data.PIECES)
    assert reading["words"] == [span.text for span in map_data.SPANS]
    assert sum(reading["sizes"]) == len(map_data.PIECES)
    assert reading["kinds"] == "xttttsttx"
    assert reading["gaps"] == "000010000"


def test_what_has_no_map_is_told() -> None:
    (note,) = scene_of(given())["notes"]
    assert note["en"].startswith("layers.2.attn: ")
    assert catalog("zh")["report.noscript"] in note["zh"]


def test_nothing_at_all_is_a_page_too() -> None:
    scene = scene_of(Atlas("empty", None, (), 0.1))
    assert (scene["layers"], scene["story"], scene["text"]) == ([], [], None)


def test_it_leaves_the_threads_as_they_were() -> None:
    before = torch.get_num_threads()
    scene_of(given())
    assert torch.get_num_threads() == before
