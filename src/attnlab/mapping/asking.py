"""What a command `attnlab map` asks for. Needs no PyTorch."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from attnlab.commandline import Command, Misused

# What is written as one file, by its ending; anything else is a folder.
FILES = (".npz", ".safetensors", ".html")
# Files of a model, which a person may name in the place of its folder.
_OF_MODELS = (".gguf", ".safetensors", ".bin", ".pt", ".pth", ".ckpt")
# Of a safetensors file so many bytes are searched for what says that it is a map.
_HEADER = 1 << 24
# So many weights of windows are printed at most.
_PRINTED = 20_000
_NUMBERS = re.compile(r"\d{1,5}(-\d{1,5})?(,\d{1,5}(-\d{1,5})?)*", re.ASCII)
_WINDOW = re.compile(r"(\d{1,9})\.(\d{1,9}):(\d{1,9})(?:-(\d{1,9}))?,(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)
_NUMBER = re.compile(r"0*[1-9]\d{0,8}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Place:
    """A window that was asked for, and how it was written."""

    asked: str
    layer: int
    head: int
    rows: range
    keys: range


@dataclass(frozen=True, slots=True)
class Asked:
    """What is wanted of a map.

    `program`          the program or the model, as it was named
    `layers`, `heads`  None is all of them
    `output`           where it is written, in full; `name` as it was asked for
    """

    program: str
    layers: frozenset[int] | None
    heads: tuple[int, ...] | None
    top: int
    near: int
    cells: int
    windows: tuple[Place, ...]
    output: Path | None
    name: str
    live: bool
    json: bool

    @property
    def folder(self) -> Path | None:
        """The folder to write to, where it is one."""
        return None if self.output is None or self.output.suffix.lower() in FILES else self.output

    @property
    def file(self) -> Path | None:
        """The one file to write, where it is one."""
        return None if self.output is None or self.folder is not None else self.output

    @property
    def settings(self) -> dict[str, object]:
        """What the numbers depend on besides the model and the text."""
        layers = None if self.layers is None else sorted(self.layers)
        return {"top": self.top, "near": self.near, "cells": self.cells, "layers": layers, "heads": self.heads}

    def serving(self, command: Command) -> list[str]:
        """The arguments that serve what was written, as this command would."""
        given = [f"--{name}={value}" for name in ("host", "port", "lang") if (value := command.last(name)) is not None]
        return ["map", str(self.output), "--live", *given, *(["--no-browser"] * ("no-browser" in command.options))]


def asked(command: Command) -> Asked:
    """What a command asks for. Raises `Misused` where that can't be had of any model or program."""
    output = command.last("output")
    if output is not None:
        _writers(Path(output).suffix.lower())
    layers, heads = _numbers(command, "layer"), _numbers(command, "head")
    windows = tuple(_place(text) for (text,) in command.options.get("window", []))
    for place in windows:
        if layers is not None and place.layer not in layers:
            raise Misused("map.window_left_out", asked=place.asked, layer=place.layer)
    return Asked(
        command.program,
        None if layers is None else frozenset(layers),
        heads,
        _number(command, "top", 8),
        _number(command, "near", 64),
        _number(command, "cells", 256),
        windows,
        None if output is None else Path(output).absolute(),
        output or "",
        "live" in command.options,
        "json" in command.options,
    )


def check_layers(ask: Asked, layers: Collection[int], name: str) -> None:
    """Raise `Misused` where a layer is asked for that is none of these of `name`."""
    for layer in [*sorted(ask.layers or ()), *(place.layer for place in ask.windows)]:
        if layer not in layers:
            raise Misused("map.layer", asked=layer, name=name, last=max(layers, default=0))


def is_model(command: Command) -> bool:
    """Whether a command names a model, and not a program: what is there is nothing that Python runs."""
    path = Path(command.program)
    if command.kind == "module":
        return False
    if path.is_dir():
        return not (path / "__main__.py").is_file()
    return path.suffix.lower() in _OF_MODELS or not path.exists()


def is_map(command: Command) -> bool:
    """Whether a command names a map that attnlab wrote, or what looks like one."""
    path = Path(command.program)
    if command.kind == "module" or not path.exists():
        return False
    if path.suffix.lower() == ".safetensors" and path.is_file():
        with open(path, "rb") as file:
            size = int.from_bytes(file.read(8), "little")
            return b'"atlas"' in file.read(min(size, _HEADER))
    return path.suffix.lower() == ".npz" or (path / "map.json").is_file()


def text_of(command: Command) -> str:
    """The text for a model. Raises `Misused` where there is none that can be read."""
    given, file = command.last("text"), command.last("text-file")
    if given is not None and file is not None:
        raise Misused("map.both")
    if file is None:
        if given is None:
            raise Misused("map.needs_text", path=command.program)
        # What a terminal passes on in another encoding can't be read as text.
        if any("\ud800" <= character <= "\udfff" for character in given):
            raise Misused("map.not_utf8", name="--text")
        return given
    try:
        return Path(file).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise Misused("map.unreadable", name=file, reason=error.strerror or error) from None
    except UnicodeDecodeError:
        raise Misused("map.not_utf8", name=file) from None


def no_text(command: Command) -> None:
    """Raise `Misused` where what is no model is given a text."""
    for option in ("text", "text-file"):
        if option in command.options:
            raise Misused("map.needs_program", option=f"--{option}")


def _writers(suffix: str) -> None:
    """Raise `Misused` where what writes such a file is not installed."""
    for name in ("numpy", "safetensors") if suffix != ".html" else ():
        if importlib.util.find_spec(name) is None:
            raise Misused("map.library", name=name)


def _numbers(command: Command, option: str) -> tuple[int, ...] | None:
    text = command.last(option)
    if text is None:
        return None
    if not _NUMBERS.fullmatch(text):
        raise Misused("map.numbers", option=f"--{option}", asked=text)
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        found |= set(_range(first, last or None))
    if not found:
        raise Misused("map.numbers", option=f"--{option}", asked=text)
    return tuple(sorted(found))


def _number(command: Command, option: str, default: int) -> int:
    text = command.last(option)
    if text is None:
        return default
    if not _NUMBER.fullmatch(text):
        raise Misused("map.number", option=f"--{option}", asked=text)
    return int(text)


def _place(text: str) -> Place:
    found = _WINDOW.fullmatch(text)
    if found is None:
        raise Misused("map.window", asked=text)
    layer, head, row, last_row, key, last_key = found.groups()
    place = Place(text, int(layer), int(head), _range(row, last_row), _range(key, last_key))
    count = len(place.rows) * len(place.keys)
    if not count:
        raise Misused("map.window", asked=text)
    if count > _PRINTED:
        raise Misused("map.window_large", asked=text, count=count, most=_PRINTED)
    return place


def _range(first: str, last: str | None) -> range:
    """The numbers from one to another, both included; one where there is no other."""
    return range(int(first), int(last or first) + 1)
