"""`scale`: why the scores are divided by √d_k, shown with d_k from 8 to 512, with the division and without it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from math import isclose, log, sqrt
from typing import TypeAlias

from attnlab.answers.data import Answer, Bars, Block, Cell, Table, Title
from attnlab.answers.why import meeting, unscaled
from attnlab.answers.why.bench import Bench, Tried
from attnlab.answers.why.levers import Lever, levers
from attnlab.answers.why.opening import hidden, on_bench
from attnlab.answers.why.rewriting import Rewrite
from attnlab.answers.why.telling import codes, number, shown, text
from attnlab.attention import Attention
from attnlab.experiments.lab import Lab
from attnlab.explanation.data import Message, say
from attnlab.run import CORNER, Source

SIZES = (8, 16, 32, 64, 128, 256, 512)
DRAWN = (8, 32, 128, 512)
# Rows are narrower where their entropy is less than this share of what it is with the scaling.
MUCH = 0.97
# No further size is begun after so many seconds, and none is waited for longer.
BUDGET = 8.0

Measures: TypeAlias = "Mapping[str, float]"
# Of one d_k: without the scaling, and with it.
Pair: TypeAlias = "tuple[Measures, Measures]"
_MEASURES = ("std", "entropy", "gradient")


def answer(lab: Lab, attention: Attention) -> Answer:
    """The answer.

    `numbers`: by d_k, the "plain" and the "scaled" "std" of the scores, and the mean "entropy" (nats), "gradient"
    (Frobenius norm of the softmax's Jacobian) and "largest" weight of the rows.

    Raises `NotAgain` for a program that is too long to be run again.
    """
    bench, told = on_bench(lab, attention)
    blocks: list[Block] = [Title(say("why.scale.title"))]
    if hidden(bench):
        return Answer("scale", (*blocks, *told))
    attention = bench.attention
    step = bench.step(attention.scores.step)
    if attention.additive or attention.d_k is None:
        return Answer("scale", (*blocks, *(told or codes(bench, [step])), text(say("why.scale.additive"))))
    taken = unscaled.without(bench)
    blocks += told or codes(bench, [bench.step(item) for item in attention.scale or [attention.scores.step]])
    blocks.append(text(_own(attention)))
    if taken is None or (not taken and unscaled.scaled(bench, 1) is None):
        return Answer("scale", (*blocks, text(say("why.scale.form"))))
    pairs, lever = _measured(bench, taken)
    blocks += [Title(_experiment(lever, pairs)), *(shown(bench, source, rewrite) for source, rewrite in taken)]
    blocks += _told(bench, pairs)
    numbers = {str(size): {"plain": plain, "scaled": scaled} for size, (plain, scaled) in pairs.items()}
    return Answer("scale", tuple(blocks), numbers)


def _own(attention: Attention) -> Message:
    """What the code multiplies the scores by, and whether that is 1/√d_k."""
    assert attention.d_k is not None
    root = sqrt(attention.d_k)
    if not attention.scale and attention.factor in (None, 1):
        return say("why.scale.own.none", d_k=attention.d_k, root=number(root))
    if attention.factor is None:
        return say("why.scale.own.unknown", d_k=attention.d_k, root=number(root))
    if isclose(attention.factor * root, 1, rel_tol=1e-3):
        return say("why.scale.own.root", d_k=attention.d_k, root=number(root))
    return say("why.scale.own.other", d_k=attention.d_k, root=number(root), divisor=number(1 / attention.factor))


def _measured(bench: Bench, taken: list[tuple[Source, Rewrite]]) -> tuple[dict[int, Pair], Lever | None]:
    """The measures by d_k, as far as the time goes; and what d_k is set by, None where it could not be changed."""
    own = bench.attention.d_k or 1
    met = meeting.of_scores(bench)
    found = levers(bench, met.first.value, met.first.summed)[:1] if met is not None else []
    lever = found[0] if found else None
    pairs: dict[int, Pair] = {}
    until = time.monotonic() + BUDGET
    for size in sorted({own, *SIZES}) if lever is not None else [own]:
        value = None if lever is None else lever.number(size)
        left = until - time.monotonic()
        if left <= 0 or (lever is not None and (value is None or value < 1)):
            continue
        sets = () if lever is None or value is None else lever.set(value)
        out = tuple(rewrite for _, rewrite in taken)
        into = () if taken else unscaled.scaled(bench, size) or ()
        plain, scaled = bench.each([(*sets, *out), (*sets, *into)], seconds=max(left, 1.0))
        pair = _measures(bench, plain), _measures(bench, scaled)
        if all(pair):
            pairs[size] = pair
    return pairs, lever


def _measures(bench: Bench, tried: Tried) -> Measures:
    """What was measured in one run; nothing where it did not come to the scores."""
    attention = bench.attention
    scores = tried.step(attention.scores.step)
    if scores is None or tried.run is None:
        return {}
    scaled = [
        item for index in attention.scale if index > attention.scores.step and (item := tried.step(index)) is not None
    ]
    added = [item for item in tried.run.steps if item.op == "div" and scores.results[0] in item.refs]
    last = (scaled or added or [scores])[-1]
    numbers = tried.run.values[last.results[0]].numbers
    found = {} if numbers is None or numbers.std is None else {"std": numbers.std}
    return {**found, **(tried.measures(attention.softmax[-1]) or _by_rows(bench, tried))}


def _by_rows(bench: Bench, tried: Tried) -> dict[str, float]:
    """The same measures of a softmax that is written out, over the rows of the first sample, where they are whole."""
    grid = bench.attention.weights
    weights = None if grid.value is None else tried.value(grid.value)
    if weights is None or weights.numbers is None or grid.key != len(weights.shape) - 1 or weights.shape[-1] > CORNER:
        return {}
    rows = weights.numbers.corner
    entropies = [-sum(p * log(p) for p in row if p > 0) for row in rows]
    squares = [sum(p * p for p in row) for row in rows]
    gradients = [
        sqrt(max(0.0, sum((p * (1 - p)) ** 2 - p**4 for p in row) + square**2))
        for row, square in zip(rows, squares, strict=True)
    ]
    means = {"entropy": entropies, "gradient": gradients, "largest": [max(row) for row in rows]}
    return {name: sum(items) / len(items) for name, items in means.items()}


def _experiment(lever: Lever | None, pairs: Mapping[int, Pair]) -> Message:
    if lever is None:
        return say("why.scale.experiment.one")
    low, high = min(pairs), max(pairs)
    return say("why.scale.experiment.many", name=lever.name, low=low, high=high)


def _told(bench: Bench, pairs: Mapping[int, Pair]) -> list[Block]:
    """The measures as a table and as bars, and what they show."""
    if not pairs:
        return [text(say("why.scale.unmeasured"))]
    kinds = [kind for kind in _MEASURES if all(kind in plain and kind in scaled for plain, scaled in pairs.values())]
    rows: list[tuple[Cell, ...]] = [
        (str(size), *(number(measures[kind]) for kind in kinds for measures in pair)) for size, pair in pairs.items()
    ]
    heads = [say(f"why.scale.{kind}.{which}") for kind in kinds for which in ("plain", "scaled")]
    own = {at for at, size in enumerate(pairs) if size == bench.attention.d_k}
    blocks: list[Block] = [Table(("d_k", *heads), tuple(rows), ">" * (1 + len(heads)), frozenset(own))]
    low, high = min(pairs), max(pairs)
    if low < high and "std" in kinds:
        blocks += [text(*_spread(pairs)), Title(say("why.scale.bars")), _bars(pairs)]
    if {"entropy", "gradient"} <= set(kinds):
        says = _narrow(bench, pairs[high], high)
        blocks += [text(*says)] if says else []
    return blocks


def _spread(pairs: Mapping[int, Pair]) -> list[Message]:
    """Whether the spread of the scores grows as √d_k, and what the division makes of it."""
    low, high = min(pairs), max(pairs)
    first, last = pairs[low][0]["std"], pairs[high][0]["std"]
    ratio, root = last / first if first else 0.0, sqrt(high / low)
    kind = "root" if 0.5 * root < ratio < 2 * root else "other"
    scaled = [pair[1]["std"] for pair in pairs.values()]
    return [
        say(
            f"why.scale.grows.{kind}",
            low=low,
            high=high,
            first=number(first),
            last=number(last),
            ratio=number(ratio, 1),
            root=number(root, 1),
        ),
        say("why.scale.stays", least=number(min(scaled)), most=number(max(scaled))),
    ]


def _bars(pairs: Mapping[int, Pair]) -> Bars:
    rows: list[tuple[Cell, float | None, Cell]] = []
    for size in [size for size in DRAWN if size in pairs] or list(pairs):
        for which, measures in zip(("plain", "scaled"), pairs[size], strict=True):
            value = measures["std"]
            rows.append((say(f"why.scale.bar.{which}", d_k=size), value, number(value)))
    return Bars(tuple(rows))


def _narrow(bench: Bench, pair: Pair, size: int) -> list[Message]:
    """What becomes of the weights where the scores spread, if they do narrow."""
    plain, scaled = pair
    if plain["entropy"] >= MUCH * scaled["entropy"]:
        return [say("why.scale.little", d_k=size, plain=number(plain["entropy"]), scaled=number(scaled["entropy"]))]
    values = {
        f"{kind}_{which}": number(measures[kind])
        for kind in ("largest", "entropy", "gradient")
        for which, measures in (("plain", plain), ("scaled", scaled))
    }
    found = [say("why.scale.narrow", d_k=size, **values)]
    keys = bench.attention.keys
    if keys is not None and not bench.attention.masks:
        found.append(say("why.scale.even", keys=keys, entropy=number(log(keys))))
    return found
