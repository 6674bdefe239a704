"""Ending a rerun where it would do again what outlives it: write a file, start a program, open a connection."""

from __future__ import annotations

import os
import sys
from typing import Any

from attnlab.recording.program import Halt

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


class Effects:
    """While entered, whatever would outlive this process ends the program instead."""

    def __init__(self, folder: str, forks: int | None) -> None:
        """`folder`: what is in it goes with the process. `forks`: how many there may be."""
        self.met = ""
        self._forks = forks
        self._on = False
        self._folder = os.path.join(folder, "")
        sys.addaudithook(self._hook)

    def __enter__(self) -> Effects:
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
