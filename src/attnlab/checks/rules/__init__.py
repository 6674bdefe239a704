"""One rule a file: each module here holds a `RULE`."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from attnlab.checks.found import Rule


@cache
def rules() -> tuple[Rule, ...]:
    """Every rule, by its code."""
    names = [item.name for item in pkgutil.iter_modules(__path__) if not item.name.startswith("_")]
    found: list[Rule] = [importlib.import_module(f"{__name__}.{name}").RULE for name in names]
    return tuple(sorted(found, key=lambda rule: rule.code))
