"""An atlas as the data of a page: what there is to tell of its heads, its text, the numbers that there is room for."""

from __future__ import annotations

import json
import math
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import get_args

import torch

from attnlab.maps.cells import coarser
from attnlab.maps.data import Atlas, Layer, Summary, Text
from attnlab.maps.story import Head, Kind, Sink, Story, story
from attnlab.scene import atlas_held as held
from attnlab.scene.atlas_data import FORMAT, AtlasScene, Attention, Facts, Reading, Told
from attnlab.scene.data import Both
from attnlab.scene.pictures import Bag
from attnlab.scene.texts import both
from attnlab.scene.texts import words as texts
from attnlab.words import Language, Words

_KINDS = {"text": "t", "space": "s", "special": "x"}
# So many sinks of a model are told.
_SINKS = 3
_RULES: tuple[Kind, ...] = get_args(Kind)


def atlas_scene(atlas: Atlas, lang: Language, bag: Bag) -> AtlasScene:
    """The page of an atlas as data. `bag`: where the bytes of its numbers go."""
    with _one_thread():
        plan, samples = held.planned(atlas.layers) if atlas.layers else (held.Plan(True, 1), 0)
        told = story(atlas.layers)
        return {
            "attnlab_atlas": FORMAT,
            "lang": lang,
            "name": atlas.name,
            "summary": _summary(atlas),
            "story": _story(atlas, told),
            "text": None if atlas.text is None else _reading(atlas.text),
            "layers": [_attention(layer, told, plan, samples, bag) for layer in atlas.layers],
            "notes": _notes(atlas, samples),
        }


@contextmanager
def _one_thread() -> Generator[None]:
    """On a busy machine, many small operations that are shared out take many times as long."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def text(scene: AtlasScene) -> str:
    """As JSON."""
    return json.dumps(scene, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _attention(layer: Layer, told: Story, plan: held.Plan, samples: int, bag: Bag) -> Attention:
    summary = layer.summary
    batch, _, queries, keys = summary.shape
    kept = min(batch, samples)
    small_side = held.fitting(summary, held.SMALL)
    paged = coarser(summary, plan.side(summary))
    facts = [head for head in told.heads if head.layer == layer.index]
    return {
        "index": layer.index,
        "name": layer.name,
        "heads": list(layer.heads),
        "samples": kept,
        "queries": queries,
        "keys": keys,
        "first": summary.first,
        "side": paged.side,
        "near": summary.near,
        "top": min(plan.top, summary.top_keys.shape[-1]),
        "every": plan.every,
        "exact": plan.exact,
        "facts": [_facts(head, previous) for head, previous in zip(facts, _previous(summary), strict=True)],
        "small": [held.small(summary, sample, bag) for sample in range(kept)],
        "small_side": small_side,
        "held": [held.pack(head, plan, bag) for sample in range(kept) for head in held.heads(paged, sample)],
    }


def _facts(head: Head, previous: float) -> Facts:
    return {
        "start": _number(head.start),
        "entropy": _number(head.entropy),
        "previous": _number(previous),
        "recent": _number(head.recent),
        "kind": head.kind or "",
        "sink": head.sink,
    }


def _number(value: float) -> float | None:
    return float(f"{value:.6g}") if math.isfinite(value) else None


def _previous(summary: Summary) -> list[float]:
    """Of each head, at least how much of the weight lies on the key before the query, in the mean."""
    _, _, count, keys = summary.shape
    place = summary.first + torch.arange(count, device=summary.top_keys.device)
    if summary.first + count != keys:  # queries and keys are of two sequences
        return [math.nan] * summary.shape[1]
    before = (summary.top_keys == (place - 1)[:, None]) & (place > 0)[:, None]
    weight = torch.where(before, summary.top_weights, 0.0).sum(-1)
    seen = (~summary.entropy.isnan() & (place > 0)).double()
    return [float(mean) for mean in (weight * seen).sum((0, 2)) / seen.sum((0, 2))]


def _summary(atlas: Atlas) -> Both:
    heads = {len(layer.heads) for layer in atlas.layers}
    tokens = max((layer.summary.keys for layer in atlas.layers), default=0)

    def say(words: Words) -> str:
        count = "–".join(str(end) for end in sorted({min(heads, default=0), max(heads, default=0)}))
        return words.say("atlas.summary", layers=len(atlas.layers), heads=count, tokens=f"{tokens:,}")

    return both(say)


def _story(atlas: Atlas, told: Story) -> list[Told]:
    """What there is to tell of the heads. Sinks first: they are no fault, and nobody shall take them for one."""
    places = {
        (layer.index, head): (at, place)
        for at, layer in enumerate(atlas.layers)
        for place, head in enumerate(layer.heads)
    }

    def of(heads: Iterable[Head]) -> list[tuple[int, int]]:
        return [places[head.layer, head.head] for head in heads]

    count = len(told.heads)
    sinks = told.sinks[:_SINKS]
    found: list[Told] = [
        {"says": _sink(atlas.text, sink, count), "heads": of(head for head in told.heads if head.sink == sink.key)}
        for sink in sinks
    ]
    if sinks:
        found.append({"says": both(lambda words: words.say("atlas.seen", why=words.say("map.no_fault"))), "heads": []})
    elif count:
        found.append({"says": texts("map.no_sink"), "heads": []})
    for kind in _RULES:
        heads = [head for head in told.heads if head.kind == kind]
        if heads:
            share = sum(head.share for head in heads) / len(heads)
            says = texts(f"atlas.{kind}", heads=len(heads), count=count, share=f"{share:.0%}")
            found.append({"says": says, "heads": of(heads)})
    return found


def _sink(text: Text | None, sink: Sink, count: int) -> Both:
    """How many heads put how much of their weight on which token."""

    def say(words: Words) -> str:
        if sink.key == 0:
            where = words.say("atlas.where.first")
        elif text is not None and sink.key < len(text.pieces):
            where = words.say("atlas.where.word", key=sink.key, word=_word(text, sink.key))
        else:
            where = words.say("atlas.where.key", key=sink.key)
        taken = words.say(f"atlas.taken.{'exact' if sink.exact else 'least'}", share=f"{sink.taken:.0%}")
        return words.say("atlas.sink", heads=sink.heads, count=count, taken=taken, where=where)

    return both(say)


def _word(text: Text, piece: int) -> str:
    """What a person reads at a position."""
    return next((span.text for span in text.spans if span.start <= piece < span.stop), text.pieces[piece])


def _reading(text: Text) -> Reading:
    return {
        "pieces": list(text.pieces),
        "words": [span.text for span in text.spans],
        "sizes": [span.stop - span.start for span in text.spans],
        "kinds": "".join(_KINDS[span.kind] for span in text.spans),
        "gaps": "".join("1" if span.gap else "0" for span in text.spans),
    }


def _notes(atlas: Atlas, samples: int) -> list[Both]:
    """What a reader must know of what is not here."""
    most = max((layer.summary.shape[0] for layer in atlas.layers), default=0)
    notes = [texts("atlas.samples", kept=samples, count=most)] if samples < most else []
    for name, why in atlas.missed:
        notes.append(both(lambda words, name=name, why=why: words.say("map.missed", name=name, why=words.say(why))))
    return notes
