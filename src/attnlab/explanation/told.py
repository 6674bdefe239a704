"""One attention told in full: its title, its formula, the letters, each part, the weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attnlab.attention import Attention
from attnlab.explanation.after import after
from attnlab.explanation.body import body
from attnlab.explanation.data import Letter, Message, Part, Told, say
from attnlab.explanation.formula import whole
from attnlab.explanation.fused import fused
from attnlab.explanation.inputs import projections, sources
from attnlab.explanation.overview import title
from attnlab.explanation.sight import TRIVIAL, Sight
from attnlab.explanation.weights import weights

_MEANINGS = {
    "B": "letter.B",
    "L": "letter.L",
    "L_q": "letter.L_q",
    "L_k": "letter.L_k",
    "D": "letter.D",
    "D_kv": "letter.D_kv",
    "H": "letter.H",
    "H_kv": "letter.H_kv",
    "d_k": "letter.d_k",
    "d_v": "letter.d_v",
}
_NAMES = 3


def tell(sight: Sight, group: Sequence[Attention]) -> Told:
    """The first attention of a group, which stands for all of it."""
    attention = group[0]
    told: set[int] = set()
    return Told(
        title=title(sight.run, group),
        formulas=whole(attention),
        letters=_letters(sight, attention),
        parts=tuple(_parts(sight, attention, told)),
        weights=weights(sight, attention),
        notes=tuple(_notes(attention)),
        steps=tuple(sorted({*told, *(step for step in attention.steps if sight.run.steps[step].op in TRIVIAL)})),
    )


def _parts(sight: Sight, attention: Attention, told: set[int]) -> Iterator[Part]:
    yield from sources(sight, attention, told)
    if attention.style in ("mha", "layer"):
        yield fused(sight, attention, told)
        return
    yield from projections(sight, attention, told)
    if attention.style == "written":
        yield from body(sight, attention, told)
    else:
        yield fused(sight, attention, told)
    yield from after(sight, attention, told)


def _notes(attention: Attention) -> Iterator[Message]:
    if (
        attention.style == "written"
        and not attention.scale
        and not attention.additive
        and attention.factor in (None, 1.0)
    ):
        yield say("note.unscaled")
    if attention.blocks > 1:
        yield say("note.blocks", blocks=attention.blocks)


def _letters(sight: Sight, attention: Attention) -> tuple[Letter, ...]:
    """The letters of all shapes that are shown, with their sizes and the user's names for them."""
    sizes: dict[str, int] = {}
    names: dict[str, list[str]] = {}
    values = [
        value for index in attention.steps for step in [sight.run.steps[index]] for value in (*step.refs, *step.results)
    ]
    for value in dict.fromkeys(values):
        for axis, size in enumerate(sight.shape(value)):
            if size.name in _MEANINGS:
                sizes[size.name] = size.size
                known = names.setdefault(size.name, [])
                known += [name for name in sight.called(value, axis) if name not in known]
    if attention.style in ("mha", "layer") and attention.heads is not None and attention.d_k is not None:
        for letter, size in (("H", attention.heads), ("d_k", attention.d_k)):  # within the call: no tensor shows them
            sizes.setdefault(letter, size)
            names.setdefault(letter, [])
    return tuple(
        Letter(letter, sizes[letter], say(meaning), _few(names[letter]))
        for letter, meaning in _MEANINGS.items()
        if letter in sizes
    )


def _few(names: list[str]) -> tuple[str, ...]:
    """The names that say most: plain ones first, `self.d_k` and `d_k` only once."""
    plain = [name for name in names if all(part.isidentifier() for part in name.split("."))]
    found: dict[str, str] = {}
    for name in [*plain, *(name for name in names if name not in plain)]:
        found.setdefault(name.removeprefix("self."), name)
    return tuple(found.values())[:_NAMES]
