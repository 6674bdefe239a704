"""A process that has torch loaded and has not used it yet; every rerun is a child of it.

Forking it is quick, and safe where forking the program's own process is not: its thread pools have not
started. What a rerun prints is held back. What would outlive it is not done again: where the program
would write a file, start another program or open a connection, the rerun ends, and says so.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pickle
import random
import resource
import select
import shutil
import signal
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeAlias

from attnlab.descriptors import out_of_the_way
from attnlab.experiments.changes import Mode, Nudge, Seed
from attnlab.recording.program import Conditions, Halt, run_program
from attnlab.run import Program, Run

Ended: TypeAlias = Literal["whole", "time", "memory", "effect", "died"]

PRINTED = 1 << 20  # bytes that are kept of what a rerun prints
_POLL = 0.01  # seconds between looks at whether a rerun has ended
_TOLD = struct.Struct("!Q")


@dataclass(frozen=True)
class Request:
    """One rerun: what to run with which texts and changes, within which bounds (seconds, bytes of memory).

    `measure`: take the measures of `interventions.MEASURES` of every softmax. `examine`: "module:function" that
    is called in the rerun's process with its Run and its Tape; what it returns comes back in the reply.
    """

    program: Program
    texts: Mapping[str, str] = field(default_factory=dict[str, str])
    changes: Sequence[Nudge | Seed | Mode] = ()
    numbers: bool = True
    measure: bool = False
    examine: str = ""
    seconds: float = 10.0
    memory: int = 4 << 30


@dataclass(frozen=True)
class Reply:
    """How a rerun ended.

    `ended`: "whole"; over its bound of "time" or "memory"; at an "effect" (`detail` says which); or "died"
    of a signal. `run` is None for "time", "died" and where memory ran out for good.
    `measures`: by the index of the step, where they were asked for. `files`: the user's modules it imported.
    `examined`: what `Request.examine` returned.
    """

    ended: Ended
    run: Run | None
    printed: str
    detail: str = ""
    measures: Mapping[int, Mapping[str, float]] = field(default_factory=dict[int, Mapping[str, float]])
    files: tuple[str, ...] = ()
    examined: Any = None


@dataclass(frozen=True)
class Start:
    """The state of the process before the program began: what a rerun starts from."""

    folder: str
    environ: Mapping[str, str]
    path: Sequence[str]
    modules: frozenset[str]
    randomness: Any

    @staticmethod
    def now() -> Start:
        """The state at this moment."""
        return Start(os.getcwd(), dict(os.environ), list(sys.path), frozenset(sys.modules), random.getstate())

    def restore(self) -> None:
        """Bring the state back, and forget the modules of the user's that were imported since."""
        os.chdir(self.folder)
        os.environ.clear()
        os.environ.update(self.environ)
        sys.path[:] = self.path
        random.setstate(self.randomness)
        for name in self.imported_since:
            sys.modules.pop(name, None)

    @cached_property
    def imported_since(self) -> list[str]:
        """The modules of the user's that were imported since. Asked for first by the server, once for all reruns."""
        return list(_own_modules(self.modules))


def _own_modules(before: Collection[str]) -> dict[str, str]:
    """The user's modules that were imported since, with their files."""
    libraries = (sys.prefix, sys.base_prefix, os.path.dirname(os.path.dirname(__file__)))
    files = {name: getattr(sys.modules[name], "__file__", None) for name in set(sys.modules) - set(before)}
    return {name: file for name, file in files.items() if file and not file.startswith(libraries)}


class Server:
    """The process, seen from the one that asks. Use as a context manager, or `close()` it."""

    def __init__(self, start: Start) -> None:
        """Fork it off. To be called when torch has just been imported."""
        asks, self._ask = map(out_of_the_way, os.pipe())
        self._answer, answers = map(out_of_the_way, os.pipe())
        child = os.fork()
        if child == 0:
            # A grandchild that belongs to nobody: the program's own os.wait() does not meet it.
            if os.fork() == 0:
                _guarded(lambda: _serve(asks, answers, start, (self._ask, self._answer)))
            os._exit(0)
        os.waitpid(child, 0)
        os.close(asks)
        os.close(answers)

    def ask(self, requests: Sequence[Request]) -> list[Reply]:
        """Run all of them, as many at once as there are processors; their replies in order."""
        _send(self._ask, list(requests))
        return _receive(self._answer)

    def close(self) -> None:
        """Let the process end."""
        for end in (self._ask, self._answer):
            with contextlib.suppress(OSError):
                os.close(end)

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _send(end: int, message: Any) -> None:
    data = pickle.dumps(message)
    data = _TOLD.pack(len(data)) + data
    while data:
        data = data[os.write(end, data) :]


def _receive(end: int) -> Any:
    (size,) = _TOLD.unpack(_read(end, _TOLD.size))
    return pickle.loads(_read(end, size))


def _read(end: int, size: int) -> bytes:
    parts: list[bytes] = []
    while size:
        part = os.read(end, min(size, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _guarded(work: Callable[[], None]) -> None:
    """Run `work` in a forked process and end it, without ever going back into the program that was forked."""
    try:
        work()
    except BaseException:  # noqa: BLE001 - whatever it is, this process must not go on as the program
        os._exit(1)
    os._exit(0)


def _serve(asks: int, answers: int, start: Start, others: tuple[int, int]) -> None:
    for end in others:
        os.close(end)
    os.setsid()  # an interrupt from the terminal is for the program
    null = os.open(os.devnull, os.O_RDWR)
    for end in (0, 1, 2):
        os.dup2(null, end)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _ = start.imported_since
    while True:
        try:
            requests: list[Request] = _receive(asks)
        except EOFError:
            return
        _send(answers, list(_run_all(requests, start)))


def _run_all(requests: list[Request], start: Start) -> list[Reply]:
    waiting = list(enumerate(requests))[::-1]
    running: list[_Child] = []
    replies: dict[int, Reply] = {}
    slots = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    while waiting or running:
        while waiting and len(running) < slots:
            place, request = waiting.pop()
            running.append(_Child(place, request, start))
        select.select([child.result for child in running], [], [], _POLL)
        for child in list(running):
            child.take()
            reply = child.reply()
            if reply is not None:
                running.remove(child)
                replies[child.place] = reply
    return [replies[place] for place in range(len(requests))]


class _Child:
    """One rerun at work, seen from the server."""

    def __init__(self, place: int, request: Request, start: Start) -> None:
        self.place = place
        self.until = time.monotonic() + request.seconds
        self._folder = tempfile.mkdtemp(prefix="attnlab-")
        self.result, result = os.pipe()
        self._printed, printed = os.pipe()
        self._taken = {self.result: bytearray(), self._printed: bytearray()}
        self._process = os.fork()
        if self._process == 0:
            os.setsid()  # a group of its own: what it starts ends with it
            for end in self._taken:
                os.close(end)
            _guarded(lambda: _rerun(request, start, result, printed, self._folder))
        os.close(result)
        os.close(printed)
        for end in self._taken:
            os.set_blocking(end, False)
        if hasattr(fcntl, "F_SETPIPE_SZ"):  # a program that prints a lot need not wait for each look
            fcntl.fcntl(self._printed, fcntl.F_SETPIPE_SZ, PRINTED)

    def take(self) -> None:
        """Take what has come."""
        for end, taken in self._taken.items():
            with contextlib.suppress(BlockingIOError):
                while part := os.read(end, 1 << 20):
                    if end == self.result or len(taken) < PRINTED:
                        taken.extend(part)

    def reply(self) -> Reply | None:
        """The reply when it has ended or its time is over."""
        over = time.monotonic() >= self.until
        ended, status = os.waitpid(self._process, os.WNOHANG)
        if not ended and not over:
            return None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process, signal.SIGKILL)
        if not ended:
            _, status = os.waitpid(self._process, 0)
        self.take()
        for end in self._taken:
            os.close(end)
        shutil.rmtree(self._folder, ignore_errors=True)
        printed = bytes(self._taken[self._printed][:PRINTED]).decode(errors="replace")
        if over and not ended:
            return Reply("time", None, printed)
        data = bytes(self._taken[self.result])
        if not data:
            signalled = os.WIFSIGNALED(status)
            detail = signal.Signals(os.WTERMSIG(status)).name if signalled else str(os.waitstatus_to_exitcode(status))
            return Reply("died", None, printed, detail)
        ended, detail, run, measures, files, examined = pickle.loads(data)
        return Reply(ended, run, printed, detail, measures, files, examined)


def _rerun(request: Request, start: Start, end: int, printed: int, folder: str) -> None:
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
    _limit_memory(request.memory)
    _use_texts(request.texts)
    _one_thread()
    effects = _Effects(folder)
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
    files = tuple(file for file in _own_modules(start.modules).values() if file.endswith(".py"))
    examined = _examined(request.examine, run, tape) if request.examine else None
    data = pickle.dumps((ended, effects.met, run, measures, files, examined))
    while data:
        data = data[os.write(end, data) :]


def _tape() -> Any:
    from attnlab.recording.tape import Tape

    return Tape()


def _examined(name: str, run: Run, tape: Any) -> Any:
    import importlib

    module, _, function = name.partition(":")
    return getattr(importlib.import_module(module), function)(run, tape)


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


# What would be there after the rerun has ended. Python's audit hook is told before it is done.
_EFFECTS = (
    "os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.truncate", "os.link", "os.symlink", "os.chmod",
    "os.system", "os.exec", "os.posix_spawn", "os.spawn", "subprocess.Popen", "os.kill", "os.killpg",
    "socket.connect", "socket.bind", "shutil.rmtree", "shutil.move", "shutil.copyfile",
)  # fmt: skip
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


_ON_FILES = frozenset(
    ("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.chmod", "shutil.rmtree")
)


def _paths(args: tuple[Any, ...]) -> list[str]:
    """The paths among the arguments of a call; its last one may be an open folder that they are relative to."""
    folder = os.readlink(f"/proc/self/fd/{args[-1]}") if isinstance(args[-1], int) and args[-1] >= 0 else ""
    return [os.path.join(folder, os.fsdecode(item)) for item in args if isinstance(item, (str, bytes, os.PathLike))]


class _Effects:
    """While entered, whatever would outlive this process ends the program instead."""

    def __init__(self, folder: str) -> None:
        """`folder`: what is in it goes with the process."""
        self.met = ""
        self._on = False
        self._folder = os.path.join(folder, "")
        sys.addaudithook(self._hook)

    def __enter__(self) -> _Effects:
        self._on = True
        # These write from C++, which no hook is told of.
        torch = sys.modules["torch"]
        self._real = torch._C.PyTorchFileWriter
        torch._C.PyTorchFileWriter = self._writer
        torch._C.ScriptModule.save = self._saver
        return self

    def __exit__(self, *exc: object) -> None:
        self._on = False

    def _hook(self, event: str, args: tuple[Any, ...]) -> None:
        if not self._on:
            return
        if event == "open":
            path, _, flags = args
            if isinstance(flags, int) and flags & _WRITING and not isinstance(path, int) and not self._lets(path):
                self._stop(f"open({os.fsdecode(path)!r})")
        elif event in _EFFECTS and not (event in _ON_FILES and all(map(self._lets, _paths(args)))):
            self._stop(event)

    def _writer(self, to: object, *rest: object) -> Any:
        if isinstance(to, (str, bytes, os.PathLike)) and not self._lets(to):
            self._stop("torch.save")
        return self._real(to, *rest)  # into memory

    def _saver(self, *_: object, **__: object) -> None:
        self._stop("torch.jit.save")

    def _lets(self, path: str | bytes | os.PathLike[str]) -> bool:
        name = os.fsdecode(path)
        return name == os.devnull or os.path.join(os.path.abspath(name), "").startswith(self._folder)

    def _stop(self, what: str) -> None:
        self.met = self.met or what
        raise Halt(what)
