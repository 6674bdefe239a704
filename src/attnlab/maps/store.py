"""Maps in files: a folder with a file a layer, or one `.npz` or `.safetensors`; docs/*/map.md has the layout.

A folder is filled layer by layer: a run that was interrupted leaves it readable, and the same command carries it on.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields
from errno import EIO
from pathlib import Path
from typing import Any

import numpy
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, from_numpy

from attnlab.maps.data import Atlas, Given, Layer, Products, Source, Span, Summary, Text

# The layout of the files; a reader takes no other.
FORMAT = 1
_FACTS = "map.json"
_TENSORS = [field.name for field in fields(Summary) if field.type == "Tensor"]
_NUMBERS = [field.name for field in fields(Summary) if field.type == "int"]


class NotAMap(Exception):
    """What lies there is no map that this version of attnlab can read."""


class OtherMap(Exception):
    """The folder holds the map of another text, model or choice: it is not written over."""


class Writer:
    """Puts layers into a folder, each as soon as it is there.

    `settings` says what the numbers depend on besides `name` and `text`. A folder with the same three is carried on.
    Raises `OtherMap` where the folder holds something else, `OSError` where it can't be written.
    """

    def __init__(self, folder: Path, name: str, text: Text | None, settings: Mapping[str, object]) -> None:
        self._folder = folder
        self._facts: dict[str, Any] = {
            "attnlab": FORMAT,
            "name": name,
            "text": None if text is None else asdict(text),
            "settings": dict(settings),
        }
        self._layers: dict[int, dict[str, Any]] = {}
        self._missed: list[list[str]] = []
        if folder.exists():
            self._carry_on()
        else:
            folder.mkdir(parents=True)
        self._write(None)

    def has(self, index: int) -> bool:
        """Whether the layer is there, from an earlier run."""
        return index in self._layers

    def add(self, layer: Layer, source: Source | None = None) -> Layer:
        """Write a layer, over what may be there of it. Returned is the layer in the file, which takes no memory.

        `source`: what windows are computed from later; it is kept beside, but for one with a `change`, which is code.
        """
        path = self._folder / _file(layer.index)
        with _beside(path) as part:
            save_file(_tensors(layer.summary), part)
        if source is not None:
            _keep(source, self._folder / _file(layer.index, "source"))
        self._layers[layer.index] = _facts(layer)
        self._write(None)
        return _layer(self._layers[layer.index], _opened(path))

    def close(self, seconds: float, missed: Sequence[tuple[str, str]] = ()) -> Atlas:
        """All layers are there. `seconds` that this run took; `missed` as in `Atlas`."""
        self._missed = [list(item) for item in missed]
        self._write(seconds)
        return read(self._folder)

    def _carry_on(self) -> None:
        if not self._folder.is_dir():
            raise OtherMap(str(self._folder))
        if not any(self._folder.iterdir()):
            return
        try:
            there = _read_facts(self._folder / _FACTS)
        except NotAMap:
            raise OtherMap(str(self._folder)) from None
        if {name: there.get(name) for name in self._facts} != json.loads(json.dumps(self._facts)):
            raise OtherMap(str(self._folder))
        found = {facts["index"]: facts for facts in there["layers"]}
        self._layers = {index: facts for index, facts in found.items() if (self._folder / _file(index)).exists()}

    def _write(self, seconds: float | None) -> None:
        layers = [self._layers[index] for index in sorted(self._layers)]
        facts = {**self._facts, "layers": layers, "missed": self._missed, "seconds": seconds}
        with _beside(self._folder / _FACTS) as part:
            part.write_text(json.dumps(facts, ensure_ascii=False, indent=1), encoding="utf-8")


def read(path: Path) -> Atlas:
    """The maps in a folder or a file; of a run that was interrupted, those layers that were done.

    Their tensors stay in the file until they are looked at, but for `.npz`. Raises `NotAMap`, `OSError`.
    """
    if path.is_dir():
        facts = _read_facts(path / _FACTS)
        files = [path / _file(layer["index"]) for layer in facts["layers"]]
        return _atlas(facts, [_opened(file) for file in files])
    try:
        facts, tensors = _read_npz(path) if path.suffix == ".npz" else _read_safetensors(path)
    except (SafetensorError, ValueError, KeyError, EOFError, TypeError) as error:
        raise NotAMap(str(path)) from error
    if not isinstance(facts, dict) or facts.get("attnlab") != FORMAT:
        raise NotAMap(str(path))
    prefixes = [_prefix(layer["index"]) for layer in facts["layers"]]
    return _atlas(facts, [{name: tensors[prefix + name] for name in _TENSORS} for prefix in prefixes])


def write(atlas: Atlas, path: Path) -> None:
    """All in one file, `.npz` or `.safetensors` by its name. Raises `OSError`; what was there before then stays."""
    facts = json.dumps(_atlas_facts(atlas), ensure_ascii=False)
    every = {
        _prefix(layer.index) + name: tensor
        for layer in atlas.layers
        for name, tensor in _tensors(layer.summary).items()
    }
    with _beside(path) as part:
        if path.suffix == ".npz":
            with open(part, "wb") as file:
                arrays: dict[str, NDArray[Any]] = {name: tensor.numpy() for name, tensor in every.items()}
                numpy.savez(file, allow_pickle=False, atlas=numpy.array(facts), **arrays)
        else:
            save_file(every, part, metadata={"atlas": facts})


def sources(folder: Path) -> dict[int, Source]:
    """What `Writer.add` kept to compute windows from, by the index of the layer. The tensors stay in the files."""
    found: dict[int, Source] = {}
    for layer in read(folder).layers:
        path = folder / _file(layer.index, "source")
        if not path.exists():
            continue
        with safe_open(path, "pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - it is no dict
            facts = json.loads(file.metadata()["source"])
        found[layer.index] = Given(**tensors, **facts) if "given" in tensors else Products(**tensors, **facts)
    return found


def _keep(source: Source, path: Path) -> None:
    path.unlink(missing_ok=True)
    if isinstance(source, Products) and source.change is not None:
        return
    values = {field.name: getattr(source, field.name) for field in fields(source)}
    # A copy, since of tensors that share their memory, as views of one projection, safetensors takes none.
    tensors = {name: _flat(value) for name, value in values.items() if isinstance(value, Tensor)}
    facts = {name: value for name, value in values.items() if value is not None and not isinstance(value, Tensor)}
    with _beside(path) as part:
        save_file(tensors, part, metadata={"source": json.dumps(facts)})


def _flat(tensor: Tensor) -> Tensor:
    return tensor.detach().cpu().contiguous().clone()


def _file(index: int, kind: str = "layer") -> str:
    return f"{kind}-{index:04}.safetensors"


def _prefix(index: int) -> str:
    return f"{index:04}."


def _tensors(summary: Summary) -> dict[str, Tensor]:
    return {name: getattr(summary, name).detach().cpu().contiguous() for name in _TENSORS}


def _facts(layer: Layer) -> dict[str, Any]:
    facts = {"index": layer.index, "name": layer.name, "style": layer.style, "heads": list(layer.heads)}
    return {**facts, **{name: getattr(layer.summary, name) for name in _NUMBERS}}


def _atlas_facts(atlas: Atlas) -> dict[str, Any]:
    return {
        "attnlab": FORMAT,
        "name": atlas.name,
        "text": None if atlas.text is None else asdict(atlas.text),
        "layers": [_facts(layer) for layer in atlas.layers],
        "missed": atlas.missed,
        "seconds": atlas.seconds,
    }


def _layer(facts: dict[str, Any], tensors: Mapping[str, Tensor]) -> Layer:
    values: dict[str, Any] = {**{name: facts[name] for name in _NUMBERS}, **tensors}
    summary = Summary(**values)
    return Layer(facts["index"], facts["name"], facts["style"], tuple(facts["heads"]), summary)


def _atlas(facts: dict[str, Any], tensors: Sequence[Mapping[str, Tensor]]) -> Atlas:
    text = facts["text"]
    if text is not None:
        text = Text(tuple(text["pieces"]), tuple(Span(**span) for span in text["spans"]))
    layers = tuple(_layer(*pair) for pair in zip(facts["layers"], tensors, strict=True))
    missed = tuple((name, why) for name, why in facts["missed"])
    return Atlas(facts["name"], text, layers, facts["seconds"] or 0.0, missed)


def _read_facts(path: Path) -> dict[str, Any]:
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        raise NotAMap(str(path.parent)) from None
    if not isinstance(facts, dict) or facts.get("attnlab") != FORMAT:
        raise NotAMap(str(path.parent))
    return facts


def _read_npz(path: Path) -> tuple[Any, dict[str, Tensor]]:
    with numpy.load(path, allow_pickle=False) as arrays:
        tensors = {name: from_numpy(arrays[name]) for name in arrays.files if name != "atlas"}
        return json.loads(str(arrays["atlas"])), tensors


def _read_safetensors(path: Path) -> tuple[Any, Mapping[str, Tensor]]:
    with safe_open(path, "pt") as file:
        return json.loads((file.metadata() or {})["atlas"]), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - it is no dict


def _opened(path: Path) -> dict[str, Tensor]:
    try:
        with safe_open(path, "pt") as file:
            return {name: file.get_tensor(name) for name in _TENSORS}
    except SafetensorError as error:
        raise NotAMap(str(path)) from error


@contextmanager
def _beside(path: Path) -> Generator[Path]:
    """A file to write in the same folder; put in the place of `path` at once when all is written, else removed."""
    part = path.with_name(f".{path.name}.part")
    os.umask(hidden := os.umask(0))
    try:
        yield part
        os.chmod(part, 0o666 & ~hidden)  # safetensors makes files that their owner alone can read
        os.replace(part, path)
    except SafetensorError as error:  # what the system said stands in its text
        part.unlink(missing_ok=True)
        raise OSError(EIO, str(error), str(path)) from error
    except BaseException:
        part.unlink(missing_ok=True)
        raise
