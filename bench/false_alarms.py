"""`attnlab.check` over attention that others wrote: PyTorch's own, that of transformers, timm and x-transformers.

A finding here is a false alarm, and the program then ends with 1.

    python bench/false_alarms.py              all of it; a library that is not installed is left out, and that is said
    python bench/false_alarms.py bert rotary  the cases with one of these words in their names
    python bench/false_alarms.py --seen       whether any attention is seen in each case, and no check of it
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from multiprocessing import get_context
from typing import Any

from foreign.case import Case
from measure import table

import attnlab
from attnlab.attention import find

# Each library: the file that has its cases, and the package that has to be there.
LIBRARIES = {
    "PyTorch": ("foreign.pytorch", "torch"),
    "transformers": ("foreign.hugging_face", "transformers"),
    "timm": ("foreign.vision", "timm"),
    "x-transformers": ("foreign.x_transformers_", "x_transformers"),
}


@dataclass(frozen=True)
class Result:
    """What came of one case. `found`: a line for each finding; `broken`: why the check did not come to an end."""

    library: str
    name: str
    seconds: float
    found: tuple[str, ...] = ()
    broken: str = ""


def main(words: list[str]) -> int:
    only_seen = "--seen" in words
    words = [word.lower() for word in words if word != "--seen"]
    chosen: list[tuple[str, str]] = []
    for library, (file, package) in LIBRARIES.items():
        if find_spec(package) is None:
            print(f"{library}: left out, since {package} is not installed; make foreign brings it")
            continue
        names = [case.name for case in cases(file)]
        chosen += [(library, name) for name in names if asked_for(f"{library} {name}", words)]
    began = time.perf_counter()
    results = list(each(only_seen, chosen))
    told(results, time.perf_counter() - began)
    return 1 if any(result.found or result.broken for result in results) else 0


def asked_for(title: str, words: list[str]) -> bool:
    return not words or any(word in title.lower() for word in words)


def each(only_seen: bool, chosen: list[tuple[str, str]]) -> Iterable[Result]:
    """The results in order, from as many processes as there are processors."""
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as processes:
        for result in processes.map(tried, [only_seen] * len(chosen), *zip(*chosen, strict=True)):
            for line in (*result.found, *filter(None, [result.broken])):
                print(f"{result.library}: {result.name}: {line}", flush=True)
            yield result


@cache
def cases(file: str) -> tuple[Case, ...]:
    return tuple(importlib.import_module(file).cases())


def tried(only_seen: bool, library: str, name: str) -> Result:
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    warnings.simplefilter("ignore")
    case = next(case for case in cases(LIBRARIES[library][0]) if case.name == name)
    began = time.process_time()
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            asked = case.make()
            began = time.process_time()
            look = seen if only_seen else alarms
            found = look(asked.module, *asked.inputs, **asked.options)
    except Exception as error:  # noqa: BLE001 - each case is told, whatever becomes of another
        where = traceback.extract_tb(error.__traceback__)[-1]
        reason = next(iter(str(error).splitlines()), "")
        broken = f"{type(error).__name__}: {reason} ({where.filename}:{where.lineno})"
        return Result(library, name, time.process_time() - began, (), broken)
    return Result(library, name, time.process_time() - began, tuple(found))


def alarms(module: Callable[..., Any], *inputs: Any, **options: Any) -> list[str]:
    """A line for each finding."""
    return [
        f"{found.code} {found.slug} {found.path}:{found.line} {found.message} | {found.evidence}"
        for found in attnlab.check(module, *inputs, lang="en", **options)
        if not found.note
    ]


def seen(module: Callable[..., Any], *inputs: Any, **options: Any) -> list[str]:
    """A line for a call in which no attention is seen: there is nothing that could be checked."""
    return [] if find(attnlab.record(module, *inputs, **options)) else ["no attention is seen"]


def told(results: list[Result], seconds: float) -> None:
    rows: list[tuple[str, str, str]] = []
    for library in LIBRARIES:
        mine = [result for result in results if result.library == library]
        if not mine:
            continue
        broken = sum(bool(result.broken) for result in mine)
        slowest = max(mine, key=lambda result: result.seconds)
        remark = f"bar: 0; slowest {slowest.seconds:.1f} s: {slowest.name}"
        remark += f"; {broken} did not end well" if broken else ""
        rows.append((f"{library}: {len(mine)} calls", str(sum(len(result.found) for result in mine)), remark))
    table(f"false alarms on attention that others wrote, in {seconds:.0f} s", rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
