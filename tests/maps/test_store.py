"""Maps in files: what is read is what was written, and nothing of another's is written over."""

from __future__ import annotations

import json
import resource
from dataclasses import fields, replace
from pathlib import Path

import numpy
import pytest
import torch
from map_data import atlas, products, summary
from safetensors.torch import load_file
from torch import Tensor

from attnlab.maps.data import Atlas, Given, Products, Source
from attnlab.maps.store import NotAMap, OtherMap, Writer, read, sources, write

SETTINGS = {"top": 3, "near": 2, "cells": 4}


def assert_same(one: object, other: object) -> None:
    for field in fields(one):  # type: ignore[arg-type]
        ours, theirs = getattr(one, field.name), getattr(other, field.name)
        if isinstance(ours, Tensor):
            assert ours.dtype == theirs.dtype, field.name
            assert torch.equal(ours, theirs), field.name
        elif field.name == "summary":
            assert_same(ours, theirs)
        elif field.name == "layers":
            assert len(ours) == len(theirs)
            for pair in zip(ours, theirs, strict=True):
                assert_same(*pair)
        else:
            assert ours == theirs, field.name


def written(folder: Path, made: Atlas, source: Source | None = None) -> Atlas:
    writer = Writer(folder, made.name, made.text, SETTINGS)
    for layer in made.layers:
        assert_same(layer, writer.add(layer, source))
    return writer.close(made.seconds, made.missed)


@pytest.mark.parametrize("name", ["folder", "map.npz", "map.safetensors"])
def test_what_is_read_is_what_was_written(tmp_path: Path, name: str) -> None:
    made, path = atlas(), tmp_path / name
    if name == "folder":
        assert_same(made, written(path, made))
    else:
        write(made, path)
    assert_same(made, read(path))
    bare = replace(made, text=None, missed=())
    write(bare, tmp_path / "bare.npz")
    assert_same(bare, read(tmp_path / "bare.npz"))


def test_a_map_is_read_by_whom_the_system_lets(tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    written(tmp_path / "folder", atlas(), products())
    write(atlas(), tmp_path / "map.npz")
    write(atlas(), tmp_path / "map.safetensors")
    modes = {file.stat().st_mode for file in tmp_path.rglob("*") if file.is_file()}
    assert modes == {(tmp_path / "usual").stat().st_mode}


def test_the_numbers_are_had_without_attnlab(tmp_path: Path) -> None:
    made = atlas()
    write(made, tmp_path / "map.npz")
    written(tmp_path / "folder", made)
    second = made.layers[1].summary
    with numpy.load(tmp_path / "map.npz", allow_pickle=False) as arrays:
        assert json.loads(str(arrays["atlas"]))["layers"][1]["name"] == "layers.1.attn"
        assert numpy.array_equal(arrays["0001.top_weights"], second.top_weights.numpy())
    assert torch.equal(load_file(tmp_path / "folder" / "layer-0001.safetensors")["entropy"], second.entropy)
    facts = json.loads((tmp_path / "folder" / "map.json").read_text(encoding="utf-8"))
    assert facts["text"]["spans"][2] == {"start": 2, "stop": 5, "text": "意", "kind": "text", "gap": False}


def test_an_interrupted_run_is_read_and_carried_on(tmp_path: Path) -> None:
    made, folder = atlas(), tmp_path / "deep" / "folder"
    Writer(folder, made.name, made.text, SETTINGS).add(made.layers[1])
    assert_same(replace(made, layers=made.layers[1:], seconds=0.0, missed=()), read(folder))
    again = Writer(folder, made.name, made.text, SETTINGS)
    assert [again.has(index) for index in range(3)] == [False, True, False]
    again.add(made.layers[0])
    assert_same(made, again.close(made.seconds, made.missed))


def test_a_layer_is_written_anew(tmp_path: Path) -> None:
    """As that of a cache that grew."""
    made = atlas()
    writer = Writer(tmp_path, made.name, made.text, SETTINGS)
    before = writer.add(made.layers[0])
    writer.add(replace(made.layers[1], index=0))
    assert_same(made.layers[0], before)
    assert_same(replace(made.layers[1], index=0), writer.close(1.0).layers[0])


@pytest.mark.parametrize("other", [{"name": "another"}, {"text": None}, {"settings": {**SETTINGS, "top": 4}}])
def test_another_map_is_not_written_over(tmp_path: Path, other: dict[str, object]) -> None:
    made = atlas()
    written(tmp_path, made)
    facts = {"name": made.name, "text": made.text, "settings": SETTINGS, **other}
    with pytest.raises(OtherMap):
        Writer(tmp_path, **facts)  # type: ignore[arg-type]
    assert_same(made, read(tmp_path))


def test_what_is_no_map_stays_and_is_said_to_be_none(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "file.npz").write_bytes(b"PK no archive")
    (tmp_path / "file.safetensors").write_bytes(b"\x08\0\0\0\0\0\0\0{}      ")
    numpy.savez(tmp_path / "other.npz", some=numpy.ones(3))
    for path in (tmp_path, *tmp_path.glob("file.*"), tmp_path / "other.npz"):
        with pytest.raises(NotAMap):
            read(path)
    for path in (tmp_path, tmp_path / "notes.txt"):
        with pytest.raises(OtherMap):
            Writer(path, "given", None, SETTINGS)
    assert (tmp_path / "notes.txt").read_text() == "mine"
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "nothing.npz")


@pytest.mark.parametrize("name", ["map.npz", "map.safetensors"])
def test_a_write_that_fails_leaves_what_was_there(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made, path = atlas(), tmp_path / name
    write(made, path)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("numpy.savez", full)
    monkeypatch.setattr("attnlab.maps.store.save_file", full)
    with pytest.raises(OSError, match="No space left"):
        write(replace(made, name="later"), path)
    assert_same(made, read(path))
    assert [file.name for file in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["map.npz", "map.safetensors"])
def test_a_disk_that_is_full_is_an_error_of_the_system(tmp_path: Path, name: str) -> None:
    """safetensors has an error of its own for it."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            write(atlas(), tmp_path / name)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not list(tmp_path.iterdir())


def test_windows_are_computed_from_what_was_kept(tmp_path: Path) -> None:
    made = atlas()
    mask = torch.rand(1, 1, 1, 13, generator=torch.Generator().manual_seed(2)) < 0.7
    masked = products(3, mask=mask)
    given = Given(products(4).weights(), 2)
    changed = replace(products(5), change=lambda scores, *_: scores / 2)
    writer = Writer(tmp_path, made.name, made.text, SETTINGS)
    for index, source in enumerate((masked, given, changed)):
        layer = replace(made.layers[0], index=index, summary=summary(products(index)))
        writer.add(layer, source)
    found = sources(tmp_path)
    assert sorted(found) == [0, 1]  # code is not kept
    assert isinstance(found[0], Products)
    for index, source in enumerate((masked, given)):
        rows, keys = slice(2, 7), slice(3, 9)
        assert torch.equal(found[index].weights(rows, keys), source.weights(rows, keys))
        assert found[index].position == source.position
