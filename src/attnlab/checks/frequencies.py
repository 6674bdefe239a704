"""At which rates the sines and cosines of a table turn, read from the angles that were computed or from the table."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from attnlab.checks.positions import NEAR, Positions, Sinusoid, sinusoid
from attnlab.run import Step

# From here on a number in the code may be the base of a geometric row of rates.
BASE = 100
# Rates, and what follows from them, agree to this share.
SHARE = 0.01


@dataclass(frozen=True, slots=True)
class Rates:
    """The rates of one table, in the order of its columns: by how many radians position 1 is turned against position 0.

    `whole`: the positions are 0, 1, 2 …, so that the rates are as they are; otherwise they are known up to a factor.
    """

    sines: tuple[float, ...]
    cosines: tuple[float, ...]
    whole: bool


def turned(positions: Positions, table: int) -> tuple[Rates, Step] | None:
    """The rates of a table, and the step that made them; None where it is no table of sines and cosines."""
    return _by_angles(positions, table) or _by_values(positions, table)


def floats(row: Tensor) -> tuple[float, ...]:
    """The numbers of a tensor, flattened."""
    return tuple(float(item) for item in row.reshape(-1))


# -- from the angles --------------------------------------------------------------------------------


def _by_angles(positions: Positions, table: int) -> tuple[Rates, Step] | None:
    graph = positions.graph
    sines: list[tuple[Tensor, bool]] = []
    cosines: list[tuple[Tensor, bool]] = []
    last: Step | None = None
    for number in sorted(positions.made_of(table)):
        step = graph.maker(number)
        if step is None or step.op not in ("sin", "cos", "polar") or number not in step.results:
            continue
        angle = positions.whole.replay.double(step.refs[-1])
        found = None if angle is None else rates(angle)
        if found is None:
            return None
        sines += [found] if step.op != "cos" else []
        cosines += [found] if step.op != "sin" else []
        last = step
    if last is None:
        return None
    if not sines or not cosines:  # a table of one kind: its sister is made of the same angles, or is none of ours
        sines, cosines = sines or cosines, cosines or sines
    whole = all(known for _, known in (*sines, *cosines))
    one, other = _distinct(sines), _distinct(cosines)
    made = _maker_of_rates(positions, last.refs[-1]) or last
    return (Rates(one, other, whole), made) if len(one) > 1 and len(other) > 1 else None


def rates(angle: Tensor) -> tuple[Tensor, bool] | None:
    """The rates of angles [.., features] that are position · rate, and whether the positions are 0, 1, 2 … or not."""
    if angle.dim() < 1 or angle.shape[-1] < 2 or not bool(angle.isfinite().all()):
        return None
    rows = angle.reshape(-1, angle.shape[-1])
    size = rows.abs().amax(-1)
    at = int(size.argmax())
    if float(size[at]) == 0:
        return None
    rate = rows[at]
    lead = int(rate.abs().argmax())
    place = rows[:, lead] / rate[lead]
    if not torch.allclose(place[:, None] * rate, rows, rtol=NEAR, atol=NEAR * float(size[at])):
        return None
    if len(rows) == 1:
        return rate, False
    step = place[1] - place[0]
    even = float(place[0]) == 0 and bool(torch.isclose(place.diff(), step, rtol=1e-3).all())
    return (rows[1], True) if even and float(step) != 0 else (rate, False)


def _distinct(found: list[tuple[Tensor, bool]]) -> tuple[float, ...]:
    """The rates of several angles in order, a rate that follows itself told once."""
    kept: list[float] = []
    for row, _ in found:
        for rate in floats(row):
            if not any(math.isclose(rate, other, rel_tol=1e-5) for other in kept):
                kept.append(rate)
    return tuple(kept)


def _maker_of_rates(positions: Positions, angle: int) -> Step | None:
    """The power or the exponential in which the rates were computed: the last before the angles."""
    found = [
        step
        for number in positions.made_of(angle)
        if (step := positions.graph.maker(number)) is not None and step.op in ("pow", "exp", "float_power", "exp2")
    ]
    return max(found, key=lambda step: step.index, default=None)


# -- from the values --------------------------------------------------------------------------------


def _by_values(positions: Positions, table: int) -> tuple[Rates, Step] | None:
    number = positions.whole_table(table)
    rows = positions.rows(number)
    found = None if rows is None else sinusoid(rows)
    step = _first_step(positions, number)
    if rows is None or found is None or step is None or len(rows) < 3:
        return None
    size = min(len(found.sines), len(found.cosines))
    if size < 2 or abs(len(found.sines) - len(found.cosines)) > 1:
        return None
    sines, cosines = found.sines[:size], found.cosines[:size]
    if bool(((rows[:, sines] ** 2 + rows[:, cosines] ** 2 - 1).abs() < NEAR).all()):
        rate = torch.atan2(rows[1, sines], rows[1, cosines])
        if not _turns(rows, found, rate, rate):
            return None
        together = floats(rate)
        return Rates(together, together, True), step
    one, other = torch.asin(rows[1, sines].clamp(-1, 1)), torch.acos(rows[1, cosines].clamp(-1, 1))
    return (Rates(floats(one), floats(other), True), step) if _turns(rows, found, one, other) else None


def _turns(rows: Tensor, found: Sinusoid, one: Tensor, other: Tensor) -> bool:
    """Whether the columns are the sines and cosines of position · rate at these rates."""
    place = torch.arange(len(rows), dtype=torch.float64)[:, None]
    close = NEAR * max(len(rows), 10)
    sines = (torch.sin(place * one) - rows[:, found.sines[: len(one)]]).abs()
    cosines = (torch.cos(place * other) - rows[:, found.cosines[: len(other)]]).abs()
    return bool((sines < close).all()) and bool((cosines < close).all())


def _first_step(positions: Positions, number: int) -> Step | None:
    """Where a table that was not computed by PyTorch came in: what was written into it first, or what made it."""
    steps = [
        step for item in positions.made_of(number) if (step := positions.graph.maker(item)) and step.source is not None
    ]
    if not steps:  # written in a loop of which only the first rounds are recorded
        shape = positions.graph.shape(number)
        steps = [step for step in positions.whole.run.steps if step.op == "setitem" and step.source is not None]
        steps = [step for step in steps if positions.graph.shape(step.results[0]) == shape]
    written = [step for step in steps if step.op in ("setitem", "copy")]
    return min(written or steps, key=lambda step: step.index, default=None)


# -- the base ---------------------------------------------------------------------------------------


def bases(positions: Positions, table: int, step: Step) -> set[float]:
    """What the program names as the base of the rates: what a power is taken of, or a number in its text."""
    found: set[float] = set()
    for number in positions.made_of(table):
        made = positions.graph.maker(number)
        if made is None or made.op not in ("pow", "exp", "float_power") or number not in made.results:
            continue
        base = made.operands[0].arg if made.operands else None
        if made.op != "exp" and isinstance(base, (int, float)) and not isinstance(base, bool) and base > 1:
            found.add(float(base))
        elif made.op == "exp":
            found |= {number for number in _numbers(made) if number >= BASE}
    if not found and step.op not in ("pow", "exp") and step.source is not None:
        text = positions.whole.run.sources.get(step.source.span.file, "")
        found |= {10000.0} if re.search(r"(?<![\w.])(?:10_?000(?:\.0*)?|1e4|1\.0*e4)(?![\w.])", text) else set()
    return found


def _numbers(step: Step) -> Iterator[float]:
    """The numbers in a step's text."""
    try:
        tree = ast.parse("(" + (step.source.text if step.source else "") + ")", mode="eval")
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
            yield float(node.value)


def ratio(row: tuple[float, ...]) -> float | None:
    """By what each rate of a geometric row is smaller than the one before; None where it is no such row."""
    if len(row) < 2 or any(rate <= 0 for rate in row):
        return None
    steps = [math.log(one / other) for one, other in pairwise(row)]
    mean = sum(steps) / len(steps)
    if abs(mean) < 1e-6 or any(abs(step - mean) > SHARE * abs(mean) for step in steps):
        return None
    return math.exp(mean)
