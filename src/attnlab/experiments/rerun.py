"""What a child of the server does: one rerun of a program, within its bounds."""

from __future__ import annotations

import math
import os
import pickle
import resource
import signal
import sys
import tempfile
from collections.abc import Callable, Mapping
from typing import Any

from attnlab.experiments.effects import Effects
from attnlab.experiments.messages import receive
from attnlab.experiments.request import PRINTED, Ended, Request
from attnlab.experiments.start import Start, own_modules
from attnlab.recording.program import Conditions, run_program
from attnlab.run import Run


def rerun(start: Start, ahead: Callable[[], None] | None, asked: int, end: int, printed: int, folder: str) -> None:
    """Wait for the `Request` that comes through `asked`, run it, and write how it ended to `end`.

    `ahead` is done while it waits. What the program prints goes to `printed`; what is in `folder` goes with it.
    """
    _end_with_server()
    start.restore()
    tempfile.tempdir = folder  # files that are not meant to last are let be there
    sys.dont_write_bytecode = True  # an import is no effect
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder  # nor is the folder that PyTorch makes for an optimizer
    os.dup2(printed, 1)
    os.dup2(printed, 2)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - without what the first run left in its buffer
    sys.stdout = open(1, "w", buffering=1, encoding="utf-8", closefd=False)  # noqa: SIM115 - for as long as it lives
    sys.stderr = open(2, "w", buffering=1, encoding="utf-8", closefd=False)  # noqa: SIM115
    resource.setrlimit(resource.RLIMIT_FSIZE, (PRINTED, PRINTED))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    _one_thread()
    if ahead is not None:
        ahead()
        start.restore()
    request: Request = receive(asked)
    os.close(asked)
    processor = math.ceil(request.seconds) + 1  # seconds: where nobody is left to end it, it ends all the same
    resource.setrlimit(resource.RLIMIT_CPU, (processor, processor))
    _limit_memory(request.memory)
    _use_texts(request.texts)
    effects = Effects(folder, request.forks)
    measures: dict[int, dict[str, float]] = {}
    tape = _tape() if request.examine else None

    def on_start(recorder: Any) -> None:
        from attnlab.experiments.interventions import intervene

        recorder.tape = tape
        intervene(recorder, request.changes, measures if request.measure else None)

    conditions = Conditions(request.numbers, texts=request.texts, on_start=on_start)
    with effects:
        run, outcome = run_program(request.program, conditions)
    ended: Ended = "effect" if effects.met else "memory" if _out_of_memory(outcome.error) else "whole"
    files = tuple(file for file in own_modules(start.modules).values() if file.endswith(".py"))
    examined = _examined(request.examine, run, tape) if request.examine else None
    data = pickle.dumps((ended, effects.met, run if request.keep else None, measures, files, examined))
    while data:
        data = data[os.write(end, data) :]


def _tape() -> Any:
    from attnlab.recording.tape import Tape

    return Tape()


def _examined(name: str, run: Run, tape: Any) -> Any:
    import importlib

    module, _, function = name.partition(":")
    return getattr(importlib.import_module(module), function)(run, tape)


def _end_with_server() -> None:
    """Have this process ended when the server is, which the program may have brought about."""
    if sys.platform == "linux":
        import ctypes

        PR_SET_PDEATHSIG = 1
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _one_thread() -> None:
    import torch

    torch.set_num_threads(1)  # reruns go side by side, and small programs would only wait for a pool to start


def _limit_memory(memory: int) -> None:
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            used = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return  # no such bound where the system does not tell what is used
    resource.setrlimit(resource.RLIMIT_AS, (used + memory, used + memory))


def _out_of_memory(error: BaseException | None) -> bool:
    return isinstance(error, MemoryError) or "allocate memory" in str(error)


def _use_texts(texts: Mapping[str, str]) -> None:
    """Let imports and tracebacks see the changed texts in the place of the files."""
    import linecache
    from importlib.machinery import SourceFileLoader

    for name, text in texts.items():
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    real = SourceFileLoader.get_code

    def get_code(self: SourceFileLoader, fullname: str) -> Any:
        text = texts.get(self.path)
        return real(self, fullname) if text is None else compile(text, self.path, "exec", dont_inherit=True)

    SourceFileLoader.get_code = get_code
