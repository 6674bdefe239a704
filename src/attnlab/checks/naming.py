"""What the user's names say of q, k, tokens and batch: hints, taken where the flow of data leaves two readings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal
from weakref import WeakKeyDictionary

from attnlab.attention.graph import Graph
from attnlab.axes.axis import Axis
from attnlab.axes.evidence import Called, called
from attnlab.axes.flow import Flow
from attnlab.checks.case import Case, Name
from attnlab.checks.whole import Whole
from attnlab.run import Step

_ROLES = {
    "q": frozenset(["q", "qs", "qh", "wq", "query", "queries", "querys"]),
    "k": frozenset(["k", "ks", "kh", "kt", "wk", "key", "keys"]),
}
_BATCH = frozenset(["b", "bs", "bsz", "bz", "batch", "batches", "batchsize", "nbatch", "nbatches"])
_TOKENS = frozenset(
    ["l", "t", "s", "len", "length", "seq", "seqlen", "sequence", "time", "steps", "tokens", "words", "lq", "lk"]
)
_FEATURES = frozenset(
    [
        "d",
        "dk",
        "dim",
        "dims",
        "dmodel",
        "hidden",
        "embed",
        "emb",
        "embedding",
        "channels",
        "features",
        "width",
        "model",
    ]
)
_SIZES: WeakKeyDictionary[Whole, tuple[Flow, Mapping[Axis, Sequence[Called]]]] = WeakKeyDictionary()
# How far back from a product names are looked for.
_FAR = 24


def words_of(text: str) -> set[str]:
    """The words of which the names in a text are made, in small letters: `self.W_q(x)` has w, q and x."""
    found: set[str] = set()
    for name in re.findall(r"[^\W\d]\w*", text):
        found |= {part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W_A-Za-z]+", name)}
    return found


def role(text: str) -> Literal["q", "k"] | None:
    """Whether a text names queries or keys; None where it names neither, or both."""
    found = words_of(text)
    of_q, of_k = bool(found & _ROLES["q"]), bool(found & _ROLES["k"])
    if of_q == of_k:
        return None
    return "q" if of_q else "k"


def role_of(case: Case, name: Name) -> Literal["q", "k"] | None:
    """What the names say that an operand is: those in the product, of variables on the way, of the projection.

    None where they say nothing, or do not agree.
    """
    told: set[Literal["q", "k"]] = set()
    for text in _texts(case, name):
        found = role(text)
        if found is not None:
            told.add(found)
    return told.pop() if len(told) == 1 else None


def exchanged(case: Case) -> bool:
    """Whether names say that what serves as queries is the keys, and the other way about."""
    return role_of(case, "q") == "k" and role_of(case, "k") == "q"


def sizes(whole: Whole) -> tuple[Flow, Mapping[Axis, Sequence[Called]]]:
    """Which axes of a run are one, and the user's names for the sizes of each, in the order of the program."""
    if whole not in _SIZES:
        flow = Flow(whole.run)
        names: dict[Axis, list[Called]] = {}
        for axis, name in called(whole.run):
            names.setdefault(flow.root(axis), []).append(name)
        _SIZES[whole] = flow, names
    return _SIZES[whole]


def named_axes(whole: Whole, number: int) -> tuple[Literal["place", "features", "unknown"], ...]:
    """What the axes of a value hold by the user's names for their sizes: batch and tokens, features, or not told."""
    flow, names = sizes(whole)
    found: list[Literal["place", "features", "unknown"]] = []
    for axis in range(len(whole.graph.shape(number))):
        texts = [name.text for name in names.get(flow.root(Axis(number, axis)), ())]
        place = size_kind(texts) is not None
        features = any(words_of(text) & _FEATURES for text in texts)
        found.append("unknown" if place == features else "place" if place else "features")
    return tuple(found)


def size_kind(texts: Sequence[str]) -> Literal["batch", "tokens"] | None:
    """What the user's names for a size say that it counts; None where nothing, or not one thing."""
    words = list(map(words_of, texts))
    batch = any(found & _BATCH for found in words)
    tokens = any(found & _TOKENS for found in words)
    if batch == tokens:
        return None
    return "batch" if batch else "tokens"


def _texts(case: Case, name: Name) -> Iterator[str]:
    entered = case.input(name).entered
    graph = case.graph
    product = case.step(case.attention.scores.step)
    for operand in product.operands:
        if operand.text and getattr(operand.arg, "id", None) == entered:
            yield operand.text
    number, project = entered, case.input(name).project
    for _ in range(_FAR):
        step = graph.maker(number)
        if step is None:
            break
        yield from _targets(step, number)
        if step.index == project:
            yield from _projection(step, graph)
            break
        before = [read for read in step.refs if not graph.constant(read)]
        if not before or before[0] >= number:
            break
        number = before[0]


def _targets(step: Step, number: int) -> Iterator[str]:
    targets = () if step.source is None else step.source.targets
    if len(targets) == 1 and step.results[:1] == (number,):
        yield targets[0]
    elif len(targets) > 1 and len(targets) == len(step.results) and number in step.results:
        yield targets[step.results.index(number)]


def _projection(step: Step, graph: Graph) -> Iterator[str]:
    for read in step.refs:
        value = graph.values[read]
        if value.kind == "parameter" and value.name:
            yield value.name
    for operand in step.operands[1:]:
        if operand.text:
            yield operand.text
