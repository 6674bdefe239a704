"""Names for axes: letters by their part in an attention, and the user's own names beside them.

    axes = by_flow(run, attentions)

    flow ───── which axes are one and the same ──┬── Axes
    letters ── which of them is B, H, L, D …   ──┤
    evidence ─ what the user calls their sizes ──┘

A letter is given where data flow shows the part. An axis of which it shows none has no name: it is never guessed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from attnlab.attention import Attention
from attnlab.axes.evidence import Called, called
from attnlab.axes.flow import Axis, Flow
from attnlab.axes.letters import letters
from attnlab.run import Run

_Letters = Mapping[Axis, str]


@dataclass(frozen=True)
class Axes:
    """The names of all axes of a run. An axis's name may differ from one attention to another."""

    _flow: Flow
    _letters: Mapping[int | None, _Letters]
    _called: Mapping[Axis, tuple[Called, ...]]

    def names(self, value: int, attention: int | None = None) -> tuple[str | None, ...]:
        """The name of each axis of a value, None where it is not known.

        With `attention` (its index) the letters are those of that attention; else only letters that
        mean one size all over the run.
        """
        known = self._letters.get(attention, {})
        return tuple(self._name(root, known) for root in self._flow.axes(value))

    def called(self, value: int, axis: int) -> tuple[Called, ...]:
        """The user's own names for the size of an axis, in the order of the program, each text once."""
        found = self._called.get(self._flow.root(Axis(value, axis)), ())
        return tuple({name.text: name for name in reversed(found)}.values())[::-1]

    def _name(self, root: Axis, known: _Letters) -> str | None:
        if root in known:
            return known[root]
        parts = [self._name(part, known) for part in self._flow.parts(root)]
        return "·".join(part for part in parts if part) if parts and all(parts) else None


def by_flow(run: Run, attentions: Sequence[Attention]) -> Axes:
    """Names from the data flow of a run and the attentions found in it."""
    flow = Flow(run)
    names: dict[Axis, list[Called]] = {}
    for axis, name in called(run):
        known = names.setdefault(flow.root(axis), [])
        if (name.text, name.frame) not in [(other.text, other.frame) for other in known]:
            known.append(name)
    each: dict[int | None, _Letters] = {
        attention.index: _same_variable(letters(run, flow, attention), names, flow) for attention in attentions
    }
    each[None] = _everywhere(list(each.values()), flow)
    return Axes(flow, each, {root: tuple(known) for root, known in names.items()})


def _same_variable(known: _Letters, names: Mapping[Axis, Sequence[Called]], flow: Flow) -> _Letters:
    """The letters, and `D` for further axes whose size is the user's same variable in the same call of a function."""
    width: dict[tuple[int | None, str], int] = {}
    for root, letter in known.items():
        for name in names.get(root, ()):
            if letter == "D" and name.frame is not None and name.simple:
                width[name.frame, name.text] = flow.size(root)
    same = {
        root
        for root, found in names.items()
        if any(width.get((name.frame, name.text)) == flow.size(root) for name in found)
    }
    more = {root: "D" for root in same if known.get(root, "D_kv") == "D_kv" and not flow.parts(root)}
    return {**known, **more}


def _everywhere(each: Sequence[_Letters], flow: Flow) -> _Letters:
    """The letters on which all attentions agree, and that mean one size all over the run."""
    found: dict[Axis, set[str]] = {}
    sizes: dict[str, set[int]] = {}
    for known in each:
        for root, letter in known.items():
            found.setdefault(root, set()).add(letter)
            sizes.setdefault(letter, set()).add(flow.size(root))
    agreed = {root: next(iter(letters)) for root, letters in found.items() if len(letters) == 1}
    return {root: letter for root, letter in agreed.items() if len(sizes[letter]) == 1}
