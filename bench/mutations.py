"""How many slips in right scripts `attnlab.check` sees: the mutants of the corpus that change what comes out.

    python bench/mutations.py                  so many mutants of each operator as --each says (24)
    python bench/mutations.py --each 0         all of them, which takes hours
    python bench/mutations.py --survivors FILE write those that nothing was found in to a file, with their texts' place
    python bench/mutations.py softmax          the operators with one of these words in their names

A mutant counts where it runs to its end and a result that nothing read afterwards is another than before, beyond
rounding. It ends with 1 where fewer are found than BAR, or where anything is found in a right script.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import tomllib
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch  # noqa: F401 - every run is a child of a process that has it loaded
from measure import table
from mutation.look import Looked, checked
from mutation.operators import MEANT, mutants
from mutation.script import Mutant

from attnlab.checks.rules import rules
from attnlab.experiments.request import Request
from attnlab.experiments.server import Server
from attnlab.experiments.start import Start
from attnlab.run import Program

ROOT = Path(__file__).parents[1]
BAR = 0.95
AT_ONCE = 16


@dataclass(frozen=True)
class Tried:
    """A mutant that changed what came out, and the codes of what was found in it."""

    file: Path
    mutant: Mutant
    codes: tuple[str, ...]


def scripts() -> list[Path]:
    """The right ones: of the corpus those that hold attention, of the cases those without a fault, the lessons."""
    corpus = [file for file in (ROOT / "tests/corpus").glob("a_*.py") if "no_attention" not in file.name]
    cases = [*(ROOT / "tests/checks/cases").rglob("right_*.py")]
    return sorted([*corpus, *cases, *(ROOT / "lessons").glob("*.py")])


def made(files: Sequence[Path], words: Sequence[str]) -> dict[str, list[tuple[Path, Mutant]]]:
    """The mutants by operator, in an order drawn with a fixed seed."""
    found: dict[str, list[tuple[Path, Mutant]]] = defaultdict(list)
    for file in files:
        for mutant in mutants(file.read_text(encoding="utf-8")):
            if not words or any(word in mutant.operator for word in words):
                found[mutant.operator].append((file, mutant))
    draw = random.Random(0)
    return {operator: draw.sample(all_of, len(all_of)) for operator, all_of in found.items()}


def arguments(file: Path) -> tuple[str, ...]:
    beside = file.with_suffix(".toml")
    return tuple(tomllib.loads(beside.read_text(encoding="utf-8")).get("args", ())) if beside.exists() else ()


def again(each: Tried) -> Tried:
    """With what a whole check finds, which runs the program again: done where a look at one run found nothing."""
    return replace(each, codes=checked(each.file, arguments(each.file), each.mutant.text))


def request(file: Path, text: str | None) -> Request:
    texts = {} if text is None else {str(file): text}
    return Request(Program("script", str(file), arguments(file)), texts, numbers=False, examine="mutation.look:looked")


class Bench:
    """Runs scripts and their mutants. `right`: what was seen in each script; None where it did not come to its end."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self.right: dict[Path, Looked | None] = {}
        self.faults: Counter[str] = Counter()
        self.runs = 0

    def tried(self, all_of: Sequence[tuple[Path, Mutant]], each: int) -> list[Tried]:
        """Those that change what comes out: the first `each`, or all where it is 0. It runs at most 4 times as many."""
        found: list[Tried] = []
        rest = list(all_of[: 4 * each] if each else all_of)
        while rest and not 0 < each <= len(found):
            some, rest = rest[:AT_ONCE], rest[AT_ONCE:]
            new = sorted({file for file, _ in some} - self.right.keys())
            self.right.update(zip(new, self._looks([(file, None) for file in new]), strict=True))
            looks = self._looks([(file, mutant.text) for file, mutant in some])
            self.runs += len(some)
            for (file, mutant), look in zip(some, looks, strict=True):
                whole = self.right[file]
                if whole is not None and look is not None and look.error is None and whole.changed(look):
                    found.append(Tried(file, mutant, tuple(sorted({code for code, _ in look.found}))))
        return found[:each] if each else found

    def _looks(self, asked: Sequence[tuple[Path, str | None]]) -> list[Looked | None]:
        replies = self._server.ask([request(file, text) for file, text in asked])
        looks: list[Looked | None] = [reply.examined if reply.ended == "whole" else None for reply in replies]
        self.faults.update(fault for look in looks if look is not None for fault in look.faults)
        return looks


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("words", nargs="*")
    parser.add_argument("--each", type=int, default=24)
    parser.add_argument("--survivors", type=Path)
    options = parser.parse_args()
    began = time.perf_counter()
    waiting = made(scripts(), options.words)
    rules()  # loaded before the first process is forked off
    with Server(Start.now()) as server:
        bench = Bench(server)
        tried = [each for all_of in waiting.values() for each in bench.tried(all_of, options.each)]
    tried = [each if each.codes else again(each) for each in tried]
    told(tried, bench.runs, time.perf_counter() - began)
    doubtful = [file for file, look in bench.right.items() if look is not None and look.found]
    alarms = {file: checked(file, arguments(file), file.read_text(encoding="utf-8")) for file in doubtful}
    alarms = {file: found for file, found in alarms.items() if found}
    for file in [file for file, look in bench.right.items() if look is None]:
        print(f"left out, since it does not end within {Request.seconds:.0f} s: {file.relative_to(ROOT)}")
    for fault, times in bench.faults.items():
        print(f"a rule failed {times} times: {fault}")
    for file, found in alarms.items():
        print(f"found in a right script: {file.relative_to(ROOT)}: {found}")
    survivors = [each for each in tried if not each.codes]
    if options.survivors:
        options.survivors.write_text("".join(map(line, survivors)), encoding="utf-8")
    return int(bool(alarms or bench.faults) or share(tried) < BAR)


def told(tried: Sequence[Tried], runs: int, seconds: float) -> None:
    rows: list[tuple[str, str, str]] = []
    for operator in dict.fromkeys(each.mutant.operator for each in tried):
        mine = [each for each in tried if each.mutant.operator == operator]
        found = sum(bool(each.codes) for each in mine)
        codes = Counter(code for each in mine for code in each.codes)
        by = ", ".join(f"{code} {times}" for code, times in codes.most_common(5))
        rows.append(
            (operator, f"{found} of {len(mine)}", f"not counted: {MEANT[operator]}" if operator in MEANT else by)
        )
    rows.append(("all that count", f"{share(tried):.1%}", f"bar: {BAR:.0%}; {runs} mutants were run"))
    table(f"mutants in which something is found, in {seconds:.0f} s", rows)


def share(tried: Sequence[Tried]) -> float:
    """How much is found of what can't be meant."""
    counted = [each for each in tried if each.mutant.operator not in MEANT]
    return sum(bool(each.codes) for each in counted) / max(1, len(counted))


def line(each: Tried) -> str:
    place = each.file.relative_to(ROOT)
    return f"{each.mutant.operator} | {place}:{each.mutant.line} | {each.mutant.was} => {each.mutant.now}\n"


if __name__ == "__main__":
    sys.exit(main())
