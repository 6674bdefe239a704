"""What `attnlab draw` draws of a recorded run: the flow of one attention, or its weights."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import TYPE_CHECKING

from attnlab.commandline import Command, Misused
from attnlab.drawing.flow import flow
from attnlab.drawing.heat import heat
from attnlab.words import Words

if TYPE_CHECKING:
    from attnlab.checks.whole import Whole
    from attnlab.scene.data import Layer, Told


@dataclass(frozen=True)
class Asked:
    """Which picture: the weights or (else) the flow; of which attention, sample and head, counted from 0."""

    weights: bool
    layer: str | None
    sample: int
    head: int | None


def asked(command: Command) -> Asked:
    """The picture that a command asks for. Raises `Misused` where it can be none."""
    name = command.last("output")
    if name is None or not name.lower().endswith((".svg", ".png")):
        raise Misused("draw.output", asked=name or "")
    if name.lower().endswith(".png") and importlib.util.find_spec("resvg_py") is None:
        raise Misused("draw.raster", name=name)
    head = _number(command, "head")
    return Asked("weights" in command.options, command.last("layer"), _number(command, "sample") or 0, head)


def _number(command: Command, option: str) -> int | None:
    text = command.last(option)
    if text is not None and not text.isdecimal():
        raise Misused("draw.number", option=f"--{option}", asked=text)
    return None if text is None else int(text)


def drawing(whole: Whole, ask: Asked, words: Words) -> str:
    """The picture as SVG.

    Raises `Misused` where the run has no such attention, sample or head, and `NoLayer` where `layer` names none.
    """
    from attnlab.explanation.overview import chosen

    if not whole.attentions:
        raise Misused("draw.none")
    first = whole.groups[0][0] if ask.layer is None else chosen(whole.groups, ask.layer)[0][0]
    told, layer = _found(whole, first.index, words)
    shown = layer["tensors"].get("weights")
    kept = None if shown is None else shown["picture"]
    if ask.weights and (shown is None or kept is None):
        raise Misused("draw.unknown")
    if shown is not None and kept is not None:
        _within("sample", ask.sample, shown["samples"], kept["samples"])
        _within("head", ask.head or 0, shown["heads"], kept["heads"])
    if ask.weights:
        return heat(told, layer, ask.sample, ask.head, words)
    return flow(told, layer, ask.sample, ask.head or 0, words)


def _found(whole: Whole, index: int, words: Words) -> tuple[Told, Layer]:
    """What the scene has of the attention with this index."""
    from attnlab.axes import by_flow
    from attnlab.looking import scene_of

    scene = scene_of(whole, by_flow(whole.run, whole.attentions), words.language)
    for group, told in zip(whole.groups, scene["told"], strict=True):
        for attention, layer in zip(group, told["layers"], strict=True):
            if attention.index == index:
                return told, layer
    raise AssertionError(f"attention {index} is in no group")


def _within(option: str, number: int, count: int, kept: int) -> None:
    """`kept`: how many of them are in the scene; of a large run those of the first samples alone."""
    if number >= kept:
        raise Misused(f"draw.{option}_over" if kept == count else f"draw.{option}_kept", asked=number, last=kept - 1)
