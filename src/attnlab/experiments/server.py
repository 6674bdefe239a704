"""A process that has torch loaded and has not used it yet; every rerun is a child of it.

Forking it is quick, and safe where forking the program's own process is not: its thread pools have not
started. What a rerun prints is held back. What would outlive it is not done again: where the program
would write a file, start another program or open a connection, the rerun ends, and says so.

Several may ask at once, and an ask whose answer nobody waits for any longer can be dropped.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import math
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
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeAlias

from attnlab.descriptors import out_of_the_way
from attnlab.experiments.changes import Mode, Nudge, Seed
from attnlab.recording.program import Conditions, Halt, run_program
from attnlab.run import Program, Run

Ended: TypeAlias = Literal["whole", "time", "memory", "output", "effect", "died", "dropped"]

PRINTED = 1 << 20  # bytes that are kept of what a rerun prints
_POLL = 0.01  # seconds between looks at whether a rerun has ended
_TOLD = struct.Struct("!Q")


@dataclass(frozen=True)
class Request:
    """One rerun: what to run with which texts and changes, within which bounds (seconds, bytes of memory).

    `measure`: take the measures of `interventions.MEASURES` of every softmax. `examine`: "module:function" that
    is called in the rerun's process with its Run and its Tape; what it returns comes back in the reply, and with
    `keep` false comes back alone, without the Run. `output`: bytes that it may print; without that bound it may
    print any number, and the first are kept. `forks`: how often a process of it, or those that it comes from, may
    fork.
    """

    program: Program
    texts: Mapping[str, str] = field(default_factory=dict[str, str])
    changes: Sequence[Nudge | Seed | Mode] = ()
    numbers: bool = True
    measure: bool = False
    examine: str = ""
    keep: bool = True
    seconds: float = 10.0
    memory: int = 4 << 30
    output: int | None = None
    forks: int | None = None


@dataclass(frozen=True)
class Reply:
    """How a rerun ended.

    `ended`: "whole"; over its bound of "time", "memory" or "output"; at an "effect" (`detail` says which);
    "died" of a signal or of `os._exit`; or "dropped". `run` is None for "time", "output", "died" and "dropped",
    where memory ran out for good, and where it was not to be kept.
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
        asks, ask = map(out_of_the_way, os.pipe())
        answer, answers = map(out_of_the_way, os.pipe())
        self._connect(ask, answer)
        child = os.fork()
        if child == 0:
            # A grandchild that belongs to nobody: the program's own os.wait() does not meet it.
            if os.fork() == 0:
                os.close(ask)
                os.close(answer)
                _guarded(lambda: serve(asks, answers, start))
            os._exit(0)
        os.waitpid(child, 0)
        os.close(asks)
        os.close(answers)

    @classmethod
    def over(cls, ask: int, answer: int) -> Server:
        """A process that `serve` runs in already, at the other ends of these two.

        A thread reads its replies as they come: where many ask, none of them can be relied on to read.
        """
        server = cls.__new__(cls)
        server._connect(ask, answer)
        server._reading = True
        threading.Thread(target=server._read_all, daemon=True).start()
        return server

    def _read_all(self) -> None:
        try:
            while True:
                came, replies = _receive(self._answer)
                with self._told:
                    self._answered[came] = replies
                    self._told.notify_all()
        except (EOFError, OSError, pickle.UnpicklingError):
            with self._told:
                self._ended = True
                self._told.notify_all()

    def _connect(self, ask: int, answer: int) -> None:
        self._ask, self._answer = ask, answer
        self._sending = threading.Lock()  # another than that of those who read: what is sent may wait for them
        self._told = threading.Condition()
        self._reading = False
        self._ended = False
        self._count = 0
        self._answered: dict[int, list[Reply]] = {}

    def ask(self, requests: Sequence[Request]) -> list[Reply]:
        """Run all of them, as many at once as there are processors; their replies in order."""
        return self.wait(self.submit(requests))

    def submit(self, requests: Sequence[Request]) -> int:
        """Begin to run them; the number by which to `wait` for the replies, or to `drop` them."""
        with self._sending:
            self._count += 1
            number = self._count
            _send(self._ask, (number, list(requests)))
        return number

    def drop(self, number: int) -> None:
        """End what is left of these runs. Whoever waits for them is told at once."""
        with self._sending:
            _send(self._ask, (number, None))

    def wait(self, number: int) -> list[Reply]:
        """The replies, when all are there. Raises `EOFError` when the process has ended."""
        with self._told:
            while number not in self._answered:
                if self._ended:
                    raise EOFError
                if self._reading:
                    self._told.wait()
                    continue
                # One of those who wait reads for all of them.
                self._reading = True
                self._told.release()
                try:
                    came, replies = _receive(self._answer)
                finally:
                    self._told.acquire()
                    self._reading = False
                    self._told.notify_all()
                self._answered[came] = replies
            return self._answered.pop(number)

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


def serve(asks: int, answers: int, start: Start, ahead: Callable[[], None] | None = None) -> None:
    """Run what is asked for, until nobody can ask any longer.

    `ahead`: fork the next child before it is asked for, and have it do this while it waits.
    """
    if os.getsid(0) != os.getpid():
        os.setsid()  # an interrupt from the terminal is for the program
    null = os.open(os.devnull, os.O_RDWR)
    for end in (0, 1, 2):
        os.dup2(null, end)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _ = start.imported_since
    # What is loaded now is garbage in no rerun: a collection that walked through it there would copy all its memory.
    gc.collect()
    gc.freeze()
    nursery = _Nursery(start, (asks, answers), ahead)
    at_work: dict[int, _Asked] = {}
    while True:
        if not at_work:
            nursery.fill()
        results = [end for asked in at_work.values() for end in asked.results]
        ready = select.select([asks, *results], [], [], _POLL if at_work else None)[0]
        if asks in ready:
            try:
                number, requests = _receive(asks)
            except EOFError:
                for asked in at_work.values():
                    asked.drop()
                nursery.clear()
                _end_strays(set())
                return
            if requests is not None:
                at_work[number] = _Asked(requests, nursery)
            elif number in at_work:
                at_work[number].drop()
        for number, asked in list(at_work.items()):
            if asked.over():
                del at_work[number]
                _send(answers, (number, asked.replies))
                _end_strays({*nursery.processes, *(one for other in at_work.values() for one in other.processes)})


def _end_strays(known: Set[int]) -> None:
    """End what programs have left running, where such processes fall to this one (`PR_SET_CHILD_SUBREAPER`)."""
    while True:
        try:
            with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:
                strays = set(map(int, file.read().split())) - known
        except OSError:
            return  # not told here, and nothing falls to this process
        if not strays:
            return
        for stray in strays:
            os.kill(stray, signal.SIGKILL)
            os.waitpid(stray, 0)


class _Nursery:
    """Where children come from: one may be ready before there is something for it to do."""

    def __init__(self, start: Start, own: tuple[int, int], ahead: Callable[[], None] | None) -> None:
        """`own`: what the server is asked and answers by, which is none of theirs."""
        self._start = start
        self._own = own
        self._ahead = ahead
        self._ready: _Child | None = None

    @property
    def processes(self) -> list[int]:
        """The one that is ready."""
        return [] if self._ready is None else [self._ready.process]

    def fill(self) -> None:
        """Have one ready, where that is wanted."""
        if self._ready is None and self._ahead is not None:
            self._ready = _Child(self._start, self._own, self._ahead)

    def take(self) -> _Child:
        """The one that is ready, else a new one."""
        child, self._ready = self._ready, None
        return child or _Child(self._start, self._own)

    def clear(self) -> None:
        """End the one that is ready."""
        if self._ready is not None:
            self._ready.end()


class _Asked:
    """What was asked for at once, at work."""

    def __init__(self, requests: list[Request], nursery: _Nursery) -> None:
        self._nursery = nursery
        self._waiting = list(enumerate(requests))[::-1]
        self._running: list[_Child] = []
        self._replies: dict[int, Reply] = {}
        self._slots = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)

    @property
    def results(self) -> list[int]:
        """Where there may be something to take."""
        return [child.result for child in self._running if not child.told]

    @property
    def processes(self) -> list[int]:
        """Those that are at work."""
        return [child.process for child in self._running]

    @property
    def replies(self) -> list[Reply]:
        """The replies, in order."""
        return [self._replies[place] for place in sorted(self._replies)]

    def over(self) -> bool:
        """Look at how far they are, and begin the next; whether all have ended."""
        for child in list(self._running):
            child.take()
            reply = child.reply()
            if reply is not None:
                self._running.remove(child)
                self._replies[child.place] = reply
        while self._waiting and len(self._running) < self._slots:
            child = self._nursery.take()
            child.begin(*self._waiting.pop())
            self._running.append(child)
        return not self._running

    def drop(self) -> None:
        """End what has not ended yet."""
        left = [place for place, _ in self._waiting]
        for child in self._running:
            child.end()
            left.append(child.place)
        self._waiting, self._running = [], []
        self._replies.update(dict.fromkeys(left, Reply("dropped", None, "")))


class _Child:
    """One rerun, seen from the server. Until `begin` tells it what to run, it waits."""

    def __init__(self, start: Start, own: tuple[int, int], ahead: Callable[[], None] | None = None) -> None:
        self.place = 0
        self.told = False  # whether its end of `result` is closed
        self._until = math.inf
        self._output: int | None = None
        self._printed_bytes = 0
        self._folder = tempfile.mkdtemp(prefix="attnlab-")
        asked, self._ask = os.pipe()
        self.result, result = os.pipe()
        self._printed, printed = os.pipe()
        self._taken = {self.result: bytearray(), self._printed: bytearray()}
        self.process = os.fork()
        if self.process == 0:
            os.setsid()  # a group of its own: what it starts ends with it
            for end in (*self._taken, *own, self._ask):
                os.close(end)
            _guarded(lambda: _rerun(start, ahead, asked, result, printed, self._folder))
        os.close(asked)
        os.close(result)
        os.close(printed)
        for end in self._taken:
            os.set_blocking(end, False)
        if hasattr(fcntl, "F_SETPIPE_SZ"):  # a program that prints a lot need not wait for each look
            fcntl.fcntl(self._printed, fcntl.F_SETPIPE_SZ, PRINTED)

    def begin(self, place: int, request: Request) -> None:
        """Tell it what to run."""
        self.place = place
        self._until = time.monotonic() + request.seconds
        self._output = request.output
        with contextlib.suppress(BrokenPipeError):  # it has died while it waited, and is told as dead
            _send(self._ask, request)
        os.close(self._ask)
        self._ask = -1

    def take(self) -> None:
        """Take what has come."""
        with contextlib.suppress(BlockingIOError):
            while part := os.read(self.result, 1 << 20):
                self._taken[self.result].extend(part)
            self.told = True
        printed = self._taken[self._printed]
        with contextlib.suppress(BlockingIOError):
            for _ in range(8):  # not until there is no more: it may print faster than this reads
                if not (part := os.read(self._printed, 1 << 20)):
                    break
                self._printed_bytes += len(part)
                if len(printed) < PRINTED:
                    printed.extend(part)

    def end(self) -> int:
        """End it, and all that it started; its status."""
        # Not yet waited for, so the number is still its own.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.process, signal.SIGKILL)  # where it has not come to have a group of its own yet
        _, status = os.waitpid(self.process, 0)
        self.take()
        for end in (*self._taken, *([self._ask] if self._ask >= 0 else [])):
            os.close(end)
        shutil.rmtree(self._folder, ignore_errors=True)
        return status

    def reply(self) -> Reply | None:
        """The reply when it has ended or is over a bound."""
        bound: Ended | None = None
        if self._output is not None and self._printed_bytes > self._output:
            bound = "output"
        elif time.monotonic() >= self._until:
            bound = "time"
        ended = os.waitid(os.P_PID, self.process, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        if not ended and bound is None:
            return None
        status = self.end()
        printed = bytes(self._taken[self._printed][:PRINTED]).decode(errors="replace")
        if bound == "output" or (bound == "time" and not ended):
            return Reply(bound, None, printed)
        data = bytes(self._taken[self.result])
        if not data:
            signalled = os.WIFSIGNALED(status)
            detail = signal.Signals(os.WTERMSIG(status)).name if signalled else str(os.waitstatus_to_exitcode(status))
            return Reply("died", None, printed, detail)
        how, detail, run, measures, files, examined = pickle.loads(data)
        return Reply(how, run, printed, detail, measures, files, examined)


def _rerun(start: Start, ahead: Callable[[], None] | None, asked: int, end: int, printed: int, folder: str) -> None:
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
    request: Request = _receive(asked)
    os.close(asked)
    processor = math.ceil(request.seconds) + 1  # seconds: where nobody is left to end it, it ends all the same
    resource.setrlimit(resource.RLIMIT_CPU, (processor, processor))
    _limit_memory(request.memory)
    _use_texts(request.texts)
    effects = _Effects(folder, request.forks)
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

    def __init__(self, folder: str, forks: int | None) -> None:
        """`folder`: what is in it goes with the process. `forks`: how many there may be."""
        self.met = ""
        self._forks = forks
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
        elif event == "os.fork" and self._forks is not None:
            self._forks -= 1  # each child goes on from here with a number of its own
            if self._forks < 0:
                self._stop(event)
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
