"""The data of a map's page, as it is written in JSON: format 1. The page's own side of it is `web/src/map/atlas.ts`."""

from __future__ import annotations

from typing import Literal, TypedDict

from attnlab.scene.data import Blob, Both

FORMAT = 1


class Reading(TypedDict):
    """The text that the model was given; see `atlas.ts`."""

    pieces: list[str]
    words: list[str]
    sizes: list[int]
    kinds: str
    gaps: str


class Told(TypedDict):
    """A sentence of the story, and the heads that it is about: place of the layer, place of the head."""

    says: Both
    heads: list[tuple[int, int]]


class Facts(TypedDict):
    """Numbers of one head, in the mean; None where no query sees a key."""

    start: float | None
    entropy: float | None
    previous: float | None
    recent: float | None
    kind: Literal["previous", "itself", "next", "broad", ""]
    sink: int | None


class Held(TypedDict):
    """The numbers of one head and sample, with what 1 stands for in its two maps."""

    blob: Blob
    mean: float
    max: float


class Attention(TypedDict):
    """The maps of one attention; see `atlas.ts`."""

    index: int
    name: str
    heads: list[int]
    samples: int
    queries: int
    keys: int
    first: int
    side: int
    near: int
    top: int
    every: int
    exact: bool
    facts: list[Facts]
    small: list[Blob]
    small_side: int
    held: list[Held]


class AtlasScene(TypedDict):
    """All that a map's page shows."""

    attnlab_atlas: int
    lang: Literal["zh", "en"]
    name: str
    summary: Both
    story: list[Told]
    text: Reading | None
    layers: list[Attention]
    notes: list[Both]
