"""One number after another in the place of a constant, and what an attention costs with each, as a table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from attnlab.answers.data import Answer, Block, Cell, Table, Text, Title
from attnlab.attention import Attention, find
from attnlab.experiments.changes import Change, Replace, SetConstant
from attnlab.experiments.lab import Lab, Trial
from attnlab.experiments.request import Request
from attnlab.explanation.data import Message, say
from attnlab.run import Run

COLUMNS = ("shape", "scores", "flops", "bytes", "time", "entropy")
_BYTES = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2}


@dataclass(frozen=True, slots=True)
class Cost:
    """What one attention is and costs; None where that can't be told.

    `shape` of the scores, `scores` how many there are, `flops` of the products with k and with v (a multiplication
    and an addition each count one), `bytes` that the scores take (None where a fused operation never holds them),
    `keys` that a row of weights is spread over, `entropy` of a row on average, in nats.
    """

    shape: tuple[int, ...] | None
    scores: int | None
    flops: int | None
    bytes: int | None
    keys: int | None
    entropy: float | None


def cost(run: Run, attention: Attention, entropy: float | None) -> Cost:
    """The cost of one attention, from the recorded shapes."""
    grid = attention.scores if attention.scores.value is not None and attention.blocks == 1 else None
    value = None if grid is None or grid.value is None else run.values[grid.value]
    d_k, d_v, keys = attention.d_k, attention.d_v, attention.keys
    scores = flops = None
    if value is not None:
        scores = math.prod(value.shape)
    elif d_k and keys:
        scores = math.prod(run.values[attention.q.entered].shape) // d_k * keys
    if scores is not None and d_k and d_v and not attention.additive:
        flops = 2 * scores * (d_k + d_v)
    held = None if value is None or value.dtype not in _BYTES else math.prod(value.shape) * _BYTES[value.dtype]
    return Cost(None if value is None else value.shape, scores, flops, held, keys, entropy)


def answer(lab: Lab, asked: Sequence[Sequence[Change]], trials: Sequence[Trial], seconds: float) -> Answer:
    """The table of all reruns; `seconds` is the time that each was given."""
    names = [change.constant.name for change in asked[0] if isinstance(change, SetConstant)]
    numbers = [[str(change.value) for change in changes if isinstance(change, SetConstant)] for changes in asked]
    costs = [_cost(trial) for trial in trials]
    told = range(6) if any(costs) else range(4, 5)  # without an attention there are only times
    columns: list[Cell] = [*names, *(say(f"whatif.sweep.{COLUMNS[place]}") for place in told)]
    rows = [
        (*number, *(_row(trial, found)[place] for place in told))
        for number, trial, found in zip(numbers, trials, costs, strict=True)
    ]
    now = [
        changes
        for changes in asked
        if all(
            isinstance(c, Replace) or c.value == c.constant.value
            for c in changes
            if isinstance(c, (SetConstant, Replace))
        )
    ]
    marked = frozenset(asked.index(changes) for changes in now)
    table = Table(tuple(columns), tuple(rows), ">" * len(names) + "".join("<>>>>>"[place] for place in told), marked)
    blocks: list[Block] = [Title(_title(names, asked[0])), *_about(lab), table, *_ended(numbers, trials, seconds)]
    blocks += [Text((message,)) for message in _growth(names, numbers, costs)]
    found = [
        {
            "set": dict(zip(names, number, strict=True)),
            "ended": trial.ended,
            "seconds": trial.run.seconds if trial.run else None,
            "cost": item,
        }
        for number, trial, item in zip(numbers, trials, costs, strict=True)
    ]
    question = "; ".join(
        f"{name} = {', '.join(dict.fromkeys(column))}"
        for name, column in zip(names, zip(*numbers, strict=True), strict=True)
    )
    return Answer(question, tuple(blocks), {"rows": found})


def _title(names: Sequence[str], changes: Sequence[Change]) -> Message:
    replaced = next((change for change in changes if isinstance(change, Replace)), None)
    if replaced is None:
        return say("whatif.title.sweep", names=tuple(names))
    return say("whatif.title.sweep_replace", names=tuple(names), old=replaced.old, new=replaced.new)


def _about(lab: Lab) -> Iterator[Block]:
    """Which attention the table is about, where there are several or none."""
    count = len(lab.attentions)
    if count == 0:
        yield Text((say("whatif.sweep.none"),))
    elif count > 1:
        source = lab.run.steps[lab.attentions[0].scores.step].source
        yield Text((say("whatif.sweep.first", count=count, line=source.span.line if source else 0),))


def _cost(trial: Trial) -> Cost | None:
    if trial.run is None or trial.run.error is not None:
        return None
    attention = next(iter(find(trial.run)), None)
    if attention is None:
        return None
    measured = trial.reply.measures.get(attention.weights.step)
    return cost(trial.run, attention, None if measured is None else measured["entropy"])


def _row(trial: Trial, found: Cost | None) -> tuple[Cell, ...]:
    time = "—" if trial.run is None or trial.run.error is not None else _time(trial.run.seconds)
    if found is None:
        return ("—", "—", "—", "—", time, "—")
    shape = "—" if found.shape is None else f"[{', '.join(map(str, found.shape))}]"
    entropy = (
        "—" if found.entropy is None or not found.keys else f"{abs(found.entropy):.2f} / {math.log(found.keys):.2f}"
    )
    return (
        shape,
        "—" if found.scores is None else f"{found.scores:,}",
        "—" if found.flops is None else _scaled(found.flops),
        "—" if found.bytes is None else _scaled(found.bytes) + "B",
        time,
        entropy,
    )


def _times(factor: float) -> str:
    return f"{factor:,.0f}" if math.isclose(factor, round(factor), rel_tol=1e-6) else f"{factor:,.4g}"


def _scaled(number: int) -> str:
    """A number with three digits and a letter: 67.1 M."""
    value, letters = float(number), iter(("", "k", "M", "G", "T", "P"))
    letter = next(letters)
    while value >= 999.5:
        value, letter = value / 1000, next(letters)
    return f"{value:.3g} {letter}"


def _time(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"


def _ended(numbers: Sequence[Sequence[str]], trials: Sequence[Trial], seconds: float) -> Iterator[Block]:
    """The rows that did not run to the end, and why."""
    says: list[Message] = []
    for number, trial in zip(numbers, trials, strict=True):
        at, error = tuple(number), trial.run and trial.run.error
        if trial.ended == "time":
            says.append(say("whatif.sweep.long", at=at, bound=f"{seconds:.0f}"))
        elif trial.ended == "memory":
            says.append(say("whatif.sweep.memory", at=at, bound=Request.memory >> 30))
        elif trial.ended == "died":
            says.append(say("whatif.sweep.died", at=at, detail=trial.reply.detail))
        elif error is not None:
            says.append(say("whatif.sweep.error", at=at, line=error.line or 0, error=f"{error.type}: {error.message}"))
    yield from (Text((message,)) for message in says)


def _growth(names: Sequence[str], numbers: Sequence[Sequence[str]], costs: Sequence[Cost | None]) -> Iterator[Message]:
    """How the scores grow with the number, where one number alone was varied and the power is plain."""
    known = [
        (float(number[0]), found.scores) for number, found in zip(numbers, costs, strict=True) if found and found.scores
    ]
    if len(names) == 1 and len(known) > 1:
        (low, few), (high, many) = min(known), max(known)
        if 0 < low < high:
            power = math.log(many / few) / math.log(high / low)
            if math.isclose(power, round(power), abs_tol=1e-6) and round(power) in (1, 2):
                yield say(
                    f"whatif.sweep.power{round(power)}",
                    name=names[0],
                    times=_times(high / low),
                    scores=_times(many / few),
                )
    if any(found and found.entropy is not None for found in costs):
        yield say("whatif.sweep.explained")
    if any(found and found.shape is None for found in costs):
        yield say("whatif.sweep.fused")
