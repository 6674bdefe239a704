"""Being told when the program imports a module, without importing it first.

The program may set environment variables that torch reads on import, or never import it at all.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any, cast


def when_imported(name: str, then: Callable[[], None]) -> Callable[[], None]:
    """Call `then` once module `name` has been imported: now, or when the program does it. Returns the undoing."""
    if name in sys.modules:
        then()
        return lambda: None
    watcher = _Watcher(name, then)
    sys.meta_path.insert(0, watcher)
    return watcher.leave


class _Watcher:
    def __init__(self, name: str, then: Callable[[], None]) -> None:
        self._name = name
        self._then = then

    def leave(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self._name:
            return None
        self.leave()
        spec = PathFinder.find_spec(fullname, path)
        if spec is not None and spec.loader is not None:
            spec.loader = cast("Any", _Loader(spec, spec.loader, self._then))
        return spec


class _Loader:
    """Loads with the module's own loader, puts that back where it can be seen, then tells."""

    def __init__(self, spec: ModuleSpec, real: Any, then: Callable[[], None]) -> None:
        self._spec = spec
        self._real = real
        self._then = then

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._real.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._spec.loader = module.__loader__ = self._real
        self._real.exec_module(module)
        self._then()
