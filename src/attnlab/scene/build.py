"""A whole run as a scene."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from attnlab.attention import Attention
from attnlab.axes import Axes
from attnlab.checks.case import Case
from attnlab.checks.whole import Whole
from attnlab.explanation import notes, summary
from attnlab.explanation.data import Line
from attnlab.explanation.rest import items, lines
from attnlab.scene import texts
from attnlab.scene.bare import NOTHING, ended
from attnlab.scene.bounds import Bound, bound
from attnlab.scene.codes import Files, Placed, main_of
from attnlab.scene.data import FORMAT, Both, Finding, Layer, Rest, Scene, Told, Why
from attnlab.scene.pictures import Bag
from attnlab.scene.tensors import Roles
from attnlab.scene.told import item_of, layer_of, measured, numbered, told
from attnlab.views.shapes import HARD_SPACE, shape
from attnlab.words import Language


class Fact(NamedTuple):
    """A finding as it is told: its place, and each sentence in both languages. `note`: it may be meant so."""

    code: str
    slug: str
    path: str
    line: int
    end_line: int
    message: Both
    evidence: Both
    fix: Both | None
    note: bool


class Extras(NamedTuple):
    """What a scene says beside the run itself: what was judged, asked and diagnosed, and the texts of files."""

    findings: Sequence[Fact] = ()
    why: Sequence[Why] = ()
    diagnosis: Both = NOTHING
    printed: str = ""
    sources: Mapping[str, str] = {}
    notes: Sequence[Both] = ()


def build(whole: Whole, axes: Axes, lang: Language, bag: Bag, extras: Extras) -> Scene:
    """The scene of a run. `axes`: the names of its axes; `bag`: where the bytes of its pictures go."""
    run = whole.run
    files = Files({**extras.sources, **run.sources}, main_of(run), run.program.name)
    groups = whole.groups
    looks = [_Looks(whole, axes, files, group) for group in groups]
    limits = bound([one.first.extents for one in looks], [one.first.weights for one in looks])
    everything = [one.told(limits, bag) for one in looks]
    steps = {step for one in looks for step in one.steps}
    return {
        "attnlab_scene": FORMAT,
        "lang": lang,
        "program": run.program.name,
        "summary": [texts.said(message) for message in summary(run, groups)],
        "told": everything,
        "rest": _rest(Placed(run, axes, None, files), bool(groups), steps),
        "findings": [_finding(fact, files) for fact in extras.findings],
        "why": list(extras.why),
        "error": ended(run, files, extras.diagnosis),
        "printed": extras.printed,
        "notes": [*map(texts.said, notes(run)), *_left_out(limits, everything, whole), *extras.notes],
        "files": files.listed(),
    }


class _Looks:
    """Attentions of one kind, looked at: first how large they are, then told with what there is room for."""

    def __init__(self, whole: Whole, axes: Axes, files: Files, group: Sequence[Attention]) -> None:
        self._whole = whole
        self._group = group
        kept = [attention for attention in group if attention.q.entered in whole.tape.values]
        self._shown = kept or group[:1]
        self._sights = [Placed(whole.run, axes, attention.index, files) for attention in self._shown]
        roles = self._roles(0)
        self.first = measured(roles, len(self._shown))
        self._faults = roles.faults
        self.steps: tuple[int, ...] = ()

    def _roles(self, which: int) -> Roles:
        attention = self._shown[which]
        return Roles(Case(self._whole, attention, (attention,)), self._sights[which])

    def told(self, limits: Bound, bag: Bag) -> Told:
        """All of them. `steps` are then the steps that were told."""
        layers: list[Layer] = []
        for which, sight in enumerate(self._sights):
            roles = self._roles(which)
            layers.append(layer_of(roles, None if which else self.first.made, sight, limits, bag))
            self._faults |= roles.faults
        found, self.steps = told(self._group, self._sights[0], numbered(layers), self._faults)
        return found


def _rest(sight: Placed, attention: bool, steps: set[int]) -> list[Rest]:
    """The steps that belong to no attention; where there is none, each with its reasons."""
    if attention:
        return [_line(line, sight) for line in lines(sight, steps, False)[0]]
    found: list[Rest] = []
    for item in items(sight)[0]:
        one = item_of(item, sight)
        does = texts.both(lambda words, says=one["says"]: " ".join(said[words.language] for said in says))
        code = one["codes"][0] if one["codes"] else None
        found.append({"code": code, "does": does, "shapes": one["equations"], "times": 1})
    return found


def _line(line: Line, sight: Placed) -> Rest:
    shapes = [shape(axes).replace(HARD_SPACE, " ") for axes in line.results]
    code = None if line.code is None else sight.placed(line.code)
    return {"code": code, "does": texts.said(line.does), "shapes": list(dict.fromkeys(shapes)), "times": line.times}


def _finding(fact: Fact, files: Files) -> Finding:
    found: Finding = {
        "code": fact.code,
        "slug": fact.slug,
        "file": files.number(fact.path),
        "line": fact.line,
        "end_line": fact.end_line,
        "message": fact.message,
        "evidence": [fact.evidence],
        "fix": fact.fix,
    }
    if fact.note:
        found["note"] = True
    return found


def _left_out(limits: Bound, everything: Sequence[Told], whole: Whole) -> list[Both]:
    """What a reader must know of the pictures: what is pooled, rounded, left out."""
    tensors = [tensor for one in everything for layer in one["layers"] for tensor in layer["tensors"].values()]
    samples = max((tensor["samples"] for tensor in tensors), default=1)
    found: list[Both] = []
    if samples > limits.samples:
        found.append(texts.words("scene.samples", kept=limits.samples, count=samples))
    if not limits.exact and tensors:
        found.append(texts.words("scene.images", levels=255 // limits.step + 1))
        grids = [
            one["tensors"]["weights"] for told in everything for one in told["layers"] if "weights" in one["tensors"]
        ]
        pools = [grid["picture"]["pool"] for grid in grids if grid["picture"] is not None]
        if max(pools, default=1) > 1:
            found.append(texts.words("scene.pooled", pool=max(pools)))
        if limits.keys:
            found.append(texts.words("scene.top", keys=limits.keys))
    if whole.tape.full:
        found.append(texts.words("scene.full"))
    return found
