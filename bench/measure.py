"""Measuring pieces of work against one another on a machine that may be busy.

They are run in turns (A B C A B C …), so that a slow moment falls on all alike, and the median of the ratios
of each turn is told. Where a piece of work runs in this process on one thread, its CPU time is the better
clock: it does not count the moments in which another process had the CPU.
"""

from __future__ import annotations

import statistics
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

Work: TypeAlias = Callable[[], object]


def process(command: Sequence[str]) -> Work:
    """The work of running a command, which has to end well."""
    return lambda: subprocess.run(command, check=True, capture_output=True)


def seconds(work: Work, clock: Callable[[], float] = time.perf_counter) -> float:
    """How long a piece of work takes, once."""
    began = clock()
    work()
    return clock() - began


def ratios(
    plain: Work, others: Mapping[str, Work], rounds: int, clock: Callable[[], float] = time.perf_counter
) -> dict[str, float]:
    """How many times as long as `plain` each of the others takes: its name, and the median over `rounds` turns."""
    seconds(plain, clock)  # a first time is like no other
    for work in others.values():
        seconds(work, clock)
    found: dict[str, list[float]] = {name: [] for name in others}
    for _ in range(rounds):
        base = seconds(plain, clock)
        for name, work in others.items():
            found[name].append(seconds(work, clock) / base)
    return {name: statistics.median(each) for name, each in found.items()}


def table(title: str, rows: Iterable[tuple[str, str, str]]) -> None:
    """Print rows of three: what, how much, and the bar that it is held to or another remark."""
    print(f"\n{title}")
    for what, much, remark in rows:
        print(f"    {what:<36} {much:>12}   {remark}".rstrip())
