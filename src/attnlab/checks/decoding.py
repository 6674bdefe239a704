"""Attention that goes on from call to call with a cache of keys and values: which tokens its keys come from.

The calls of one attention, in order, are a chain where each reads keys that earlier calls made. Which row of the keys
comes from which token is tried: what the projection made of one token is nudged, and it is seen which rows move.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from attnlab.attention import Attention
from attnlab.attention.graph import axis_of, refs
from attnlab.checks.case import Case, Name
from attnlab.checks.leaks import nudged
from attnlab.checks.positions import Positions, positions
from attnlab.checks.rows import listed
from attnlab.checks.whole import Whole
from attnlab.run import Step

# So many calls of one attention are followed, and so many tokens of one call.
CALLS = 8
TOKENS = 12

Token = tuple[int, int]


@dataclass
class Call:
    """One call of an attention. A token is (index of the step that projected it, its place there).

    `own`: the tokens that this call projected. `keys`, `values`: for each row the token that it comes from; None where
    it comes from none that is known. `seen`: which rows any query may see.
    """

    case: Case
    project: dict[Name, Step]
    own: tuple[Token, ...]
    keys: list[Token | None]
    values: list[Token | None]
    seen: list[bool]


@dataclass
class Chain:
    """Calls of one attention of which each after the first reads what earlier ones made."""

    calls: list[Call] = field(default_factory=list["Call"])

    def tokens(self, upto: int) -> list[Token]:
        """All tokens up to a call, in order."""
        return [token for call in self.calls[: upto + 1] for token in call.own]


class Decoding:
    """The chains of a run. Made by `decoding`."""

    def __init__(self, whole: Whole) -> None:
        self.whole = whole
        self.positions: Positions = positions(whole)
        self.sites: list[list[Case]] = []
        self._single: set[int] = set()  # projections of a single token
        self._sort()
        self.chains: list[Chain] = [chain for site in self.sites for chain in self._chains(site)]

    def _sort(self) -> None:
        """The calls of each attention, by the weight that makes its keys and the line of its product."""
        sites: dict[int, list[Case]] = {}
        for attention in self.whole.attentions:
            weight = self.weight(attention, "k")
            if weight is not None and attention.style in ("written", "sdpa"):
                sites.setdefault(weight, []).append(Case(self.whole, attention, (attention,)))
        lines: set[object] = set()
        for cases in sites.values():
            source = cases[-1].step(cases[-1].attention.scores.step).source
            made = {case.attention.k.project for case in cases}
            if len(cases) > 1 and len(made) == len(cases) and source is not None and source.span not in lines:
                lines.add(source.span)  # of layers that are alike, one
                self.sites.append(cases)

    def weight(self, attention: Attention, name: Name) -> int | None:
        """The weight that projects q, k or v."""
        role = {"q": attention.q, "k": attention.k, "v": attention.v}[name]
        if role.project is None or role.x is None:
            return None
        step = self.whole.run.steps[role.project]
        return next((number for number in step.refs if number != role.x), None)

    def _chains(self, cases: Sequence[Case]) -> Iterator[Chain]:
        chain = Chain()
        for case in cases[:CALLS]:
            call = self._call(case, chain)
            if call is None:
                return
            earlier = {token for other in chain.calls for token in other.own}
            if chain.calls and not any(token in earlier for token in call.keys):
                if len(chain.calls) > 1:
                    yield chain
                chain = Chain()
            chain.calls.append(call)
        if len(chain.calls) > 1:
            yield chain

    def _call(self, case: Case, chain: Chain) -> Call | None:
        before = [call.project for call in chain.calls]
        own: dict[Name, Step] = {}
        for name in ("k", "v"):
            role = case.input(name)
            if role.project is None:
                return None
            own[name] = case.step(role.project)
        count = self._count(case, "k", own["k"])
        if count is None:
            return None
        ended = [call.case.attention.result for call in chain.calls]
        keys, values = (
            self._rows(case, name, [*(item[name] for item in before), own[name]], ended) for name in ("k", "v")
        )
        allowed = case.allowed
        if keys is None or values is None or allowed is None or len(keys) != len(values):
            return None
        seen = [bool(item) for item in allowed.flatten(0, -2).any(0)]
        if len(seen) != len(keys):
            return None
        ranks = {own[name].index: own["k"].index for name in ("k", "v")}
        ranks |= {item["v"].index: item["k"].index for item in before}
        values = [None if token is None else (ranks.get(token[0], token[0]), token[1]) for token in values]
        count = 1 if own["k"].index in self._single else count
        return Call(case, own, tuple((own["k"].index, place) for place in range(count)), keys, values, seen)

    def _token_axis(self, case: Case, name: Name, number: int) -> int | None:
        """Which axis of a projection's result runs over tokens."""
        tokens = self._tokens(case, name)
        if tokens is None:
            return None
        shape = case.graph.shape(number)
        axes = [place for place in self.positions.tokens_of(number, tokens) if place < len(shape)]
        if len(axes) == 1:
            return axes[0]
        return 1 if not axes and len(shape) == 3 and shape[1] == 1 else None

    def _tokens(self, case: Case, name: Name):
        if name != "v":
            return self.positions.token_axis(case, name)
        axes = self.positions.origins.axes(case.attention.v.entered)
        if not case.written:
            return axes[-2] if len(axes) > 1 else None
        found = case.output_product
        if found is None:
            return None
        own = found.left_letters if found.left == case.attention.v.entered else found.right_letters
        gone = [place for place, letter in enumerate(own) if letter not in found.letters]
        return axes[gone[0]] if len(gone) == 1 else None

    def _count(self, case: Case, name: Name, step: Step) -> int | None:
        """How many tokens a call projected."""
        number = step.results[0]
        axis = self._token_axis(case, name, number)
        return None if axis is None else case.graph.shape(number)[axis]

    def _rows(self, case: Case, name: Name, steps: Sequence[Step], ended: Sequence[int]) -> list[Token | None] | None:
        """For each row of k or v, the token that it comes from; None where that can't be tried.

        What the other projections made, and what earlier calls gave (`ended`), is held as it was.
        """
        entered = case.input(name).entered
        numbers = {step.results[0]: step for step in steps}
        held = {number: case.replay.double(number) for number in (*numbers, *ended)}
        still = {number: value for number, value in held.items() if value is not None}
        if len(still) < len(held):
            return None
        came: dict[int, Token] = {}
        count = 0
        for number, step in numbers.items():
            if not self.positions.reads(entered, number):
                continue
            moved = self._moved(case, name, number, still)
            if moved is None:
                return None
            count, rows = moved
            if len(rows) > 1 and len(set(rows)) == 1:  # not an axis of tokens
                rows = rows[:1]
                self._single.add(step.index)
            came |= {row: (step.index, place) for place, own in enumerate(rows) for row in own}
        return [came.get(row) for row in range(count)] if count else None

    def _moved(
        self, case: Case, name: Name, number: int, still: dict[int, Tensor]
    ) -> tuple[int, list[tuple[int, ...]]] | None:
        """How many rows k or v has, and for each token of what a projection made the rows that feel it."""
        entered, axis = case.input(name).entered, self._token_axis(case, name, number)
        before = case.replay.again(still, [entered])
        if axis is None or before is None:
            return None
        count, found = 0, list[tuple[int, ...]]()
        for place in range(min(case.graph.shape(number)[axis], TOKENS)):
            after = case.replay.again({**still, number: nudged(still[number], axis, place)}, [entered])
            felt = None if after is None else ~torch.isclose(after[entered], before[entered], rtol=1e-9, atol=1e-12)
            arranged = None if felt is None else case.arranged(name, felt)
            if arranged is None:
                return None
            rows = arranged.any(-1).any(0)
            count = len(rows)
            found.append(tuple(listed(rows.nonzero())))
        return count, found

    # -- what joins ----------------------------------------------------------------------------------

    def join(self, case: Case, name: Name) -> Step | None:
        """The step that joins new keys (or values) with those of earlier calls: the last one before the product."""
        return next(iter(self.joins(case, name)), None)

    def _joins(self, step: Step, case: Case, name: Name) -> bool:
        """Whether a step puts rows of tokens together: not halves of the features, as a rotation does."""
        shape = case.graph.shape(step.results[0]) if step.results else ()
        if step.op == "cat":
            axis = axis_of(step.arg("dim", 1, 0), len(shape))
            tokens = self._tokens(case, name)
            return tokens is not None and axis in self.positions.tokens_of(step.results[0], tokens)
        if step.op not in ("setitem", "index_copy", "copy") or not step.operands:
            return False
        written = refs(step.operands[-1].arg)
        own = case.graph.shape(written[0]) if written else ()
        return len(own) > 0 and len(shape) > 0 and own[-1] == shape[-1] and prod(own) < prod(shape)

    def joins(self, case: Case, name: Name) -> list[Step]:
        """The steps that join rows on the way to k or v, last first."""
        graph = case.graph
        waiting, seen, found = [case.input(name).entered], set[int](), list[Step]()
        while waiting and len(seen) < 80:
            number = waiting.pop(0)
            step = graph.maker(number)
            if step is None or number in seen or self.positions.origins.projects(step) is not None:
                continue
            seen.add(number)
            if self._joins(step, case, name):
                found.append(step)
            waiting += [item for item in step.refs if item < number and item not in seen]
        return sorted(found, key=lambda step: -step.index)


def rows_of(case: Case, name: Name) -> Tensor | None:
    """[N, rows, d] of k or v."""
    return case.k if name == "k" else case.v


def grams_differ(one: Tensor, other: Tensor) -> float | None:
    """By which share the products among rows [N, rows, d] differ between two calls; None where they do not."""
    if one.shape != other.shape or one.shape[1] < 1:
        return None
    a, b = one @ one.transpose(-2, -1), other @ other.transpose(-2, -1)
    size = float(a.abs().max())
    share = float((a - b).abs().max()) / max(size, 1e-12)
    return share if share > 1e-3 else None


_KNOWN: WeakKeyDictionary[Whole, Decoding] = WeakKeyDictionary()


def decoding(whole: Whole) -> Decoding:
    """The chains of a run, looked for once."""
    if whole not in _KNOWN:
        _KNOWN[whole] = Decoding(whole)
    return _KNOWN[whole]


def same_rows(one: Tensor, other: Tensor) -> bool:
    """Whether two rows of tables are one."""
    return one.shape == other.shape and bool(torch.allclose(one, other, atol=1e-6))
