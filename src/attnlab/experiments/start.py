"""What a rerun starts from: the state of the process before the program began."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any


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
        return list(own_modules(self.modules))


def own_modules(before: Collection[str]) -> dict[str, str]:
    """The user's modules that were imported since, with their files."""
    libraries = (sys.prefix, sys.base_prefix, os.path.dirname(os.path.dirname(__file__)))
    files = {name: getattr(sys.modules[name], "__file__", None) for name in set(sys.modules) - set(before)}
    return {name: file for name, file in files.items() if file and not file.startswith(libraries)}
