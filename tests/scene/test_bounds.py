"""Large tensors as images: pooled, rounded and cut as is said, and within the room that there is."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
import torch
from scene.reading import numbers, scene_of, tensors, unpacked
from torch import Tensor, nn

from attnlab.scene import bounds, pictures


class Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (item(x).view(*x.shape[:2], self.heads, -1).transpose(1, 2) for item in (self.q, self.k, self.v))
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
        return (torch.softmax(scores, dim=-1) @ v).transpose(1, 2).flatten(2)


def stack(layers: int, heads: int, tokens: int, samples: int = 1) -> tuple[Any, list[Tensor]]:
    """The scene of equal layers, and the weights of each."""
    torch.manual_seed(0)
    model = nn.Sequential(*(Attention(8 * heads, heads) for _ in range(layers)))
    x = torch.randn(samples, tokens, 8 * heads)
    weights: list[Tensor] = []
    with torch.no_grad():
        scene = scene_of(model, x)
        for layer in model:
            q, k = (item(x).view(samples, tokens, heads, 8).transpose(1, 2) for item in (layer.q, layer.k))
            weights.append((q @ k.mT / math.sqrt(8)).softmax(-1))
            x = layer(x)
    return scene, weights


def test_few_numbers_are_kept_as_they_are() -> None:
    scene, weights = stack(2, 3, 20, samples=2)
    for layer, expected in zip(scene["told"][0]["layers"], weights, strict=True):
        picture = layer["tensors"]["weights"]["picture"]
        assert (picture["kind"], picture["pool"], picture["samples"]) == ("f32", 1, 2)
        assert torch.allclose(numbers(layer["tensors"]["weights"]), expected.double(), atol=1e-7)
    assert scene["notes"] == []


def test_of_many_samples_the_first_are_kept_and_that_is_said() -> None:
    scene, weights = stack(1, 2, 40, samples=16)
    found = tensors(scene)["weights"]
    kept = found["picture"]["samples"]
    assert 1 < kept < 16 == found["samples"]
    assert torch.allclose(numbers(found), weights[0][:kept].double(), atol=1e-7)
    total = sum(
        math.prod(tensor["picture"][size] for size in ("samples", "heads", "height", "width"))
        for tensor in tensors(scene).values()
    )
    assert total <= bounds.EXACT
    assert f"This page has {kept} of 16 samples, from the first on." in [note["en"] for note in scene["notes"]]


def test_large_weights_are_an_image_with_the_largest_keys_exact() -> None:
    scene, weights = stack(3, 4, 130)
    for layer, expected in zip(scene["told"][0]["layers"], weights, strict=True):
        found = layer["tensors"]["weights"]
        picture, top = found["picture"], found["top"]
        assert (picture["kind"], picture["pool"], picture["height"]) == ("u8", 1, 130)
        low, high = expected.amin((-2, -1), keepdim=True), expected.amax((-2, -1), keepdim=True)
        rounding = picture["step"] / 255 / 2 * (high - low)
        assert bool(((numbers(found) - expected).abs() <= rounding * 1.001 + 1e-9).all())
        keys = torch.frombuffer(unpacked(top["blobs"][0])[: 4 * 130 * top["count"] * 2], dtype=torch.uint16)
        values = torch.frombuffer(unpacked(top["blobs"][0])[4 * 130 * top["count"] * 2 :], dtype=torch.float32)
        wanted = expected[0].topk(top["count"], -1)
        assert torch.allclose(values.reshape(4, 130, -1), wanted.values, atol=1e-7)
        named = expected[0].gather(-1, keys.long().reshape(4, 130, -1))
        assert torch.allclose(named, wanted.values, atol=1e-7)
    said = " ".join(note["en"] for note in scene["notes"])
    assert f"in {255 // picture['step'] + 1} shades" in said
    assert f"The {top['count']} largest weights of each query are exact." in said


def test_images_are_of_as_many_samples_as_there_is_room_for() -> None:
    scene, weights = stack(1, 4, 150, samples=20)
    found = tensors(scene)["weights"]
    kept = found["picture"]["samples"]
    assert kept == len(found["top"]["blobs"]) == 1_000_000 // (4 * 150 * 150)
    difference = (numbers(found) - weights[0][:kept]).abs().amax((-2, -1))
    spread = (weights[0].amax((-2, -1)) - weights[0].amin((-2, -1)))[:kept]
    assert bool((difference <= found["picture"]["step"] / 255 / 2 * spread * 1.001 + 1e-9).all())
    blobs = [blob["base64"] for tensor in tensors(scene).values() for blob in tensor["picture"]["blobs"]]
    blobs += [blob["base64"] for blob in found["top"]["blobs"]]
    assert sum(map(len, blobs)) <= bounds.allowance(kept * 4 * 150 * 150)


def test_weights_of_many_tokens_are_pooled_to_the_mean() -> None:
    scene, weights = stack(1, 1, 600)
    found = tensors(scene)["weights"]
    picture = found["picture"]
    assert (picture["pool"], picture["height"], picture["width"], found["height"]) == (3, 200, 200, 600)
    means = weights[0].double().unfold(2, 3, 3).unfold(3, 3, 3).mean((-2, -1))
    rounding = picture["step"] / 255 / 2 * float(means.max() - means.min())
    assert float((numbers(found) - means).abs().max()) <= rounding * 1.001
    assert "the mean of up to 3 × 3 weights" in " ".join(note["en"] for note in scene["notes"])


def test_a_cell_at_the_edge_is_the_mean_of_what_is_there() -> None:
    matrix = torch.arange(25.0).reshape(1, 1, 5, 5)
    small = pictures.pooled(matrix, 2)
    assert small[0, 0, 0].tolist() == [3.0, 5.0, 6.5]
    assert small[0, 0, 2, 2] == 24.0


def test_what_is_not_finite_is_left_out_of_a_mean() -> None:
    matrix = torch.full((1, 1, 4, 4), -torch.inf)
    matrix[0, 0, 0, 0] = 3.0
    small = pictures.pooled(matrix, 2)
    assert small[0, 0, 0, 0] == 3.0
    assert not bool(small[0, 0, 1].isfinite().any())
    image = pictures.image(matrix, 1, 2, 1, False, pictures.Bag())
    assert image["bounds"] == [3.0, 3.0]


@pytest.mark.parametrize(("tokens", "most"), [(128, 2e6), (512, 12e6), (1024, 15e6)])
def test_twelve_layers_of_twelve_heads_have_room_beside_script_and_words(tokens: int, most: float) -> None:
    # Of a page 250 KB are for script and style, and 150 KB for code, words and what is said of the tensors.
    assert bounds.allowance(144 * tokens * tokens) <= most - 400_000


def test_what_was_reckoned_is_what_it_takes() -> None:
    scene, _ = stack(4, 8, 130)
    blobs = json.dumps([layer["tensors"] for layer in scene["told"][0]["layers"]])
    assert len(blobs) <= bounds.allowance(4 * 8 * 130 * 130) + 60_000
