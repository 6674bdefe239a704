"""What is asked of each run, in the process that ran it: what came out, and what `check` finds."""

from __future__ import annotations

import math
import os
import sys
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch

from attnlab.checks.judge import judge
from attnlab.checks.whole import Whole
from attnlab.experiments.server import Server
from attnlab.experiments.start import Start
from attnlab.recording.program import Conditions, run_program
from attnlab.recording.tape import Tape
from attnlab.run import Program, Run

SECONDS = 60
# What such a tensor holds is left over from before.
LEFT_OVER = ("empty", "new_empty")
# A difference below this share is rounding: most scripts compute in float32.
ROUNDING = 1e-5


@dataclass(frozen=True)
class Print:
    """A tensor in three numbers: its shape, its norm, and its product with noise that depends on the shape alone."""

    shape: tuple[int, ...]
    norm: float
    product: float

    def like(self, other: Print) -> bool:
        bound = ROUNDING * max(self.norm, other.norm, 1e-30)
        if self.shape != other.shape:
            return False
        return all(
            abs(a - b) <= bound or (not math.isfinite(a) and repr(a) == repr(b))
            for a, b in ((self.norm, other.norm), (self.product, other.product))
        )


@dataclass(frozen=True)
class Looked:
    """One run. `last`: what no further operation read; `values`: all that was computed.

    `found`: code and line of each finding; `faults`: rules that failed, and how. `error`: what the run ended in.
    """

    last: tuple[Print, ...]
    values: tuple[Print, ...]
    found: tuple[tuple[str, int], ...]
    faults: tuple[str, ...]
    error: str | None

    def changed(self, other: Looked) -> bool:
        """Whether something that came out at last here is not there at all in the other run."""
        return any(not any(mine.like(theirs) for theirs in other.values) for mine in self.last)


def looked(run: Run, tape: Tape) -> Looked:
    read = {number for step in run.steps for number in step.refs}
    left_over = {number for step in run.steps if step.op.startswith(LEFT_OVER) for number in step.results}
    prints: dict[int, Print] = {}
    for value in run.values:
        tensor = tape.values.get(value.id)
        if value.step is None or tensor is None or value.id in left_over:
            continue
        if tensor.is_floating_point() or tensor.is_complex():
            prints[value.id] = printed(tensor)
    faults: list[tuple[str, Exception]] = []
    verdicts = judge(Whole(run, tape), faults)
    return Looked(
        tuple(each for number, each in prints.items() if number not in read),
        tuple(prints.values()),
        tuple((item.rule.code, item.span.line) for item in verdicts if not item.found.note),
        tuple(f"{code} {fault!r}" for code, fault in faults),
        None if run.error is None else run.error.type,
    )


def printed(tensor: torch.Tensor) -> Print:
    flat = torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor
    flat = flat.detach().to(torch.float64).flatten()
    noise = torch.randn(flat.numel(), dtype=torch.float64, generator=torch.Generator().manual_seed(flat.numel()))
    return Print(tuple(tensor.shape), float(flat.norm()), float(flat @ noise))


def checked(file: Path, argv: tuple[str, ...], text: str) -> tuple[str, ...]:
    """The codes that a whole check finds in a text that stands in the place of a file, its reruns included.

    In a process of its own; to be called in one that has torch loaded and has not used it.
    """
    receiver, sender = get_context("fork").Pipe(duplex=False)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / file.name
        copy.write_text(text, encoding="utf-8")
        process = get_context("fork").Process(target=_check, args=(copy, file.parent, argv, sender))
        process.start()
        codes = receiver.recv() if receiver.poll(SECONDS) else ()
        process.kill()
        process.join()
    return codes


def _check(file: Path, beside: Path, argv: tuple[str, ...], sender: Any) -> None:
    sys.path.append(str(beside))
    server, tape = Server(Start.now()), Tape()

    def keep(recorder: Any) -> None:
        recorder.tape = tape

    with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        run, _ = run_program(Program("script", str(file), argv), Conditions(on_start=keep))
        verdicts = judge(Whole(run, tape, server.ask), [])
    sender.send(tuple(sorted({item.rule.code for item in verdicts if not item.found.note})))
    os._exit(0)
