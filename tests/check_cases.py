"""Case scripts, each run and checked in a process of its own, forked off one that has torch loaded.

    python tests/check_cases.py [SLUG | FILE] …      says where what was found is not what the script expects

A script says what it expects at the end of the line that a finding should name: `# expect: ATT011`, or
`# note: ATT071`. A script without such a comment must give no finding.
"""

from __future__ import annotations

import importlib
import io
import os
import re
import sys
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import attnlab.checking
from attnlab.checks.finding import Finding
from attnlab.checks.rules import rules
from attnlab.experiments.server import Server
from attnlab.experiments.start import Start

rules()  # loaded, and nothing of torch used, before a process is forked off

CASES = Path(__file__).parent / "checks" / "cases"
MARK = re.compile(r"#\s*(expect|note):\s*(ATT\d{3}(?:\s*,\s*ATT\d{3})*)")
SECONDS = 60


def expected(file: Path) -> tuple[set[tuple[str, int]], set[tuple[str, int]]]:
    """The findings and the notes that a script expects, as (code, line)."""
    wanted: dict[str, set[tuple[str, int]]] = {"expect": set(), "note": set()}
    for line, text in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        for kind, codes in MARK.findall(text):
            wanted[kind] |= {(code.strip(), line) for code in codes.split(",")}
    return wanted["expect"], wanted["note"]


def checked(file: Path, argv: tuple[str, ...] = (), lang: str = "en") -> list[Finding]:
    """What check finds in a script. To be called in a process that has not used torch yet."""
    _server()  # one for all the processes that are forked off: each asks it in its turn
    receiver, sender = get_context("fork").Pipe(duplex=False)
    process = get_context("fork").Process(target=_work, args=(file, argv, lang, sender))
    process.start()
    sender.close()
    try:
        if not receiver.poll(SECONDS):
            raise TimeoutError(f"{file} took longer than {SECONDS} s")
        found = receiver.recv()
    finally:
        process.kill()
        process.join()
    if isinstance(found, str):
        raise RuntimeError(found)
    return found


def _work(file: Path, argv: tuple[str, ...], lang: Any, sender: Any) -> None:
    import traceback

    try:
        sender.send(_found(file, argv, lang))
    except BaseException:  # noqa: BLE001 - whatever it is, the one who asked is told
        sender.send(traceback.format_exc())
    sender.close()
    os._exit(0)


def _found(file: Path, argv: tuple[str, ...], lang: Any) -> list[Finding]:
    import torch

    from attnlab.checks.whole import Whole
    from attnlab.recording.program import Conditions, run_program
    from attnlab.recording.tape import Tape
    from attnlab.run import Program
    from attnlab.words import Words

    # As every rerun does: where the process that was forked has had a pool of threads, ours would wait for it for ever.
    torch.set_num_threads(1)
    tape = Tape()

    def keep(recorder: Any) -> None:
        recorder.tape = tape

    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        run, _ = run_program(Program("script", str(file), argv), Conditions(on_start=keep))
    return attnlab.checking.findings(Whole(run, tape, _server().ask), Words(lang))


@cache
def _server() -> Server:
    return Server(Start.now())


@cache
def warmed() -> None:
    """Load what an optimizer loads, once for all the processes that are forked off after this."""
    importlib.import_module("torch._dynamo")


def differences(file: Path) -> list[str]:
    """Where what was found in a script is not what it expects."""
    warmed()
    wanted, noted = expected(file)
    found = checked(file)
    got = {(item.code, item.line): item for item in found if not item.note}
    notes = {(item.code, item.line) for item in found if item.note}
    told = [f"missed {code} at line {line}" for code, line in sorted(wanted - got.keys())]
    told += [f"missed note {code} at line {line}" for code, line in sorted(noted - notes)]
    told += [f"unexpected {got[key]} | {got[key].evidence}" for key in sorted(got.keys() - wanted)]
    return told


def _files(names: list[str]) -> list[Path]:
    if not names:
        return sorted(CASES.rglob("*.py"))
    return [
        file
        for name in names
        for file in (sorted((CASES / name).glob("*.py")) if (CASES / name).is_dir() else [Path(name)])
    ]


def main() -> int:
    """Run the cases named on the command line, and print where they differ."""
    bad = 0
    files = _files(sys.argv[1:])
    for file in files:
        try:
            told = differences(file)
        except Exception as error:  # noqa: BLE001 - the other cases are still run
            told = [f"failed: {error}"]
        if told:
            bad += 1
            print(file.relative_to(CASES) if file.is_relative_to(CASES) else file)
            for line in told:
                print("    " + line)
    print(f"{len(files) - bad} of {len(files)} as expected")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
