"""The data of a page, as it is written in JSON: format 1. The page's own side of it is `web/src/scene.ts`."""

from collections.abc import Mapping
from typing import Literal, NotRequired, TypeAlias, TypedDict

FORMAT = 1

Role: TypeAlias = Literal[
    "x", "memory", "q", "k", "v", "kt", "scores", "scaled", "mask", "masked", "weights", "output", "merged", "projected"
]
Counted: TypeAlias = Literal["query", "key", "feature", "token", ""]
# What a tensor is made of: of the states in each group the first that is there.
READS: Mapping[Role, tuple[tuple[Role, ...], ...]] = {
    "q": (("x",), ("memory",)),
    "k": (("x",), ("memory",)),
    "v": (("x",), ("memory",)),
    "kt": (("k",),),
    "scores": (("q",), ("kt", "k")),
    "scaled": (("scores",),),
    "masked": (("scaled", "scores"), ("mask",)),
    "weights": (("masked", "scaled", "scores"),),
    "output": (("weights",), ("v",)),
    "merged": (("output",),),
    "projected": (("merged", "output"),),
}


class Both(TypedDict):
    """The same sentence in both languages."""

    zh: str
    en: str


class SourceFile(TypedDict):
    """A text that lines point into."""

    name: str
    text: str


class Code(TypedDict):
    """Lines of a file with the expression that stands there; see `scene.ts`."""

    file: int
    lines: list[int]
    spans: list[tuple[int, int, int, int]]
    text: str


class Item(TypedDict):
    """Expressions that do alike things, told together."""

    codes: list[Code]
    equations: list[str]
    says: list[Both]


class Part(TypedDict):
    """One part of the formula: its names, the keys in hand, what was done, and the roles that it makes and reads."""

    names: list[Both]
    marks: list[str]
    items: list[Item]
    makes: list[Role]
    reads: list[Role]


class Piece(TypedDict):
    """A piece of a formula."""

    text: str
    key: str


class Letter(TypedDict):
    """A letter of the shapes."""

    letter: str
    size: int
    meaning: Both
    names: list[str]


class Inline(TypedDict):
    """Bytes that stand here."""

    base64: str


class Element(TypedDict):
    """Bytes that stand in an element of the page."""

    element: str


Blob: TypeAlias = Inline | Element


class Picture(TypedDict):
    """The numbers of a tensor; see `scene.ts`."""

    kind: Literal["f32", "u8"]
    samples: int
    heads: int
    height: int
    width: int
    pool: int
    bounds: list[float]
    blobs: list[Blob]
    step: NotRequired[int]


class Top(TypedDict):
    """The largest keys of each query."""

    count: int
    blobs: list[Blob]


class Tensor(TypedDict):
    """A tensor as a stack of matrices; see `scene.ts`."""

    name: str
    codes: list[Code]
    shape: list[int]
    axes: list[str | None]
    dtype: str
    rows: Counted
    cols: Counted
    samples: int
    heads: int
    height: int
    width: int
    picture: Picture | None
    top: Top | None
    min: float | None
    max: float | None
    computed: NotRequired[bool]


class Layer(TypedDict):
    """One of the attentions that are told together."""

    label: str
    tensors: dict[Role, Tensor]
    divisor: float | None
    factor: NotRequired[float]
    additive: NotRequired[bool]
    changed: NotRequired[bool]


class Told(TypedDict):
    """Attentions of the same lines and shapes."""

    title: Both
    formulas: list[list[Piece]]
    letters: list[Letter]
    parts: list[Part]
    layers: list[Layer]
    notes: list[Both]


class Rest(TypedDict):
    """A step that belongs to no attention."""

    code: Code | None
    does: Both
    shapes: list[str]
    times: int


class Finding(TypedDict):
    """A rule that does not hold."""

    code: str
    slug: str
    file: int
    line: int
    end_line: int
    message: Both
    evidence: list[Both]
    fix: Both | None
    note: NotRequired[bool]


class Why(TypedDict):
    """The answer to a topic of `why`."""

    topic: str
    title: Both
    text: Both | None


class Error(TypedDict):
    """What the program ended in."""

    type: str
    message: str
    file: int
    line: int | None
    diagnosis: Both


class Scene(TypedDict):
    """All that a page shows."""

    attnlab_scene: int
    lang: Literal["zh", "en"]
    program: str
    summary: list[Both]
    files: list[SourceFile]
    told: list[Told]
    rest: list[Rest]
    findings: list[Finding]
    why: list[Why]
    error: Error | None
    printed: str
    notes: list[Both]
