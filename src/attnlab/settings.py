"""Which findings are wanted: what the command line says, `[tool.attnlab]` in pyproject.toml, and comments in the code.

A rule is named by its code (`ATT012`), by how codes begin (`ATT05`), or by its slug (`scale-missing`). Where one is
both selected and ignored, what names it more closely holds.
"""

from __future__ import annotations

import io
import os
import re
import tokenize
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from typing import Any, cast

from attnlab.checks.codes import CODES
from attnlab.checks.finding import Finding
from attnlab.commandline import Command

_COMMENT = re.compile(r"#\s*attnlab:\s*ignore\b(?!\s*\[)|#\s*attnlab:\s*ignore\s*\[([^\]#]*)\]")
_SLUGS = {slug: code for code, slug in CODES.items()}
_TABLE = "[tool.attnlab]"
_KEYS = ("select", "ignore", "per-file-ignores")


class BadSettings(Exception):
    """A setting that cannot be followed: the id of the sentence that says why, and its parameters."""

    def __init__(self, message: str, **params: object) -> None:
        super().__init__(message, params)
        self.id = message
        self.params = params


@dataclass(frozen=True)
class Settings:
    """Which rules are wanted where.

    `select` and `ignore` hold codes or their beginnings (`select` None: every rule); `per_file` pairs of a pattern
    for paths, relative to `folder`, and what is ignored there.
    """

    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    folder: str = ""
    per_file: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def wants(self, code: str, path: str) -> bool:
        """Whether findings of a rule in a file are wanted."""
        select = 0 if self.select is None else _closest(self.select, code)
        if select <= _closest(self.ignore, code):
            return False
        return not any(_closest(codes, code) > 0 for pattern, codes in self.per_file if self._meets(path, pattern))

    def _meets(self, path: str, pattern: str) -> bool:
        inside = os.path.relpath(path, self.folder).replace(os.sep, "/")
        return fnmatch(inside, pattern) or fnmatch(os.path.basename(path), pattern)


class Comments:
    """The comments `# attnlab: ignore[…]` of the files that findings point into."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        """`sources`: the texts of files by their paths; one that is not among them is read."""
        self._sources = sources
        self._lines: dict[str, dict[int, tuple[str, ...]]] = {}

    def ignore(self, code: str, path: str, line: int, end_line: int) -> bool:
        """Whether a comment on one of these lines says that the rule is to be ignored there."""
        if path not in self._lines:
            self._lines[path] = comments(self._sources.get(path) or _read(path))
        named = self._lines[path]
        return any(_closest(named.get(number, ()), code) > 0 for number in range(line, end_line + 1))


def comments(text: str) -> dict[int, tuple[str, ...]]:
    """By its number, each line of a source with a comment that ignores rules: the codes, or their beginnings."""
    found: dict[int, tuple[str, ...]] = {}
    if "attnlab:" not in text:
        return found
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                for match in _COMMENT.finditer(token.string):
                    codes = _ignored(match[1])
                    found[token.start[0]] = (*found.get(token.start[0], ()), *codes)
    except (tokenize.TokenError, SyntaxError):  # what stands before the fault counts
        pass
    return found


def _ignored(listed: str | None) -> tuple[str, ...]:
    if listed is None:
        return ("ATT",)
    names = [name.strip() for name in listed.split(",")]
    return tuple(code for name in names if (code := code_of(name)) is not None)


def code_of(name: str) -> str | None:
    """The code, or the beginning of codes, that a name of a rule stands for; None where there is no such rule."""
    name = name.strip()
    if name.lower() in _SLUGS:
        return _SLUGS[name.lower()]
    code = name.upper()
    return code if len(code) >= 3 and any(known.startswith(code) for known in CODES) else None


def rule(name: str, place: str) -> str:
    """The code of the one rule of that name. Raises `BadSettings`; `place` is where the name stands."""
    code = code_of(name)
    if code not in CODES:
        raise _unknown(name, place)
    return code


def named(names: Iterable[str], place: str) -> tuple[str, ...]:
    """The codes, or their beginnings, that names of rules stand for. Raises `BadSettings` for one that there is not."""
    found: list[str] = []
    for name in names:
        code = code_of(name)
        if code is None:
            raise _unknown(name, place)
        found.append(code)
    return tuple(found)


def asked(command: Command) -> Settings:
    """What holds for a command. Raises `BadSettings`."""
    path = command.program if command.kind == "script" else os.path.join(os.getcwd(), command.program)
    if os.path.isdir(path):
        path = os.path.join(path, "__main__.py")
    select = _names(command, "select") if "select" in command.options else None
    return settings(path, select, _names(command, "ignore"), ("--select", "--ignore"))


def _names(command: Command, option: str) -> list[str]:
    """What an option names, which may be given several times, and several names at once."""
    values = [value for (value,) in command.options.get(option, [])]
    return [name for value in values for name in (list(filter(str.strip, value.split(","))) or [value])]


def settings(
    path: str, select: Sequence[str] | None = None, ignore: Sequence[str] = (), places: tuple[str, str] = ("", "")
) -> Settings:
    """What holds for a program: the table of the nearest pyproject.toml above it, and what was asked for besides.

    `select` takes the place of the table's, `ignore` is added to the table's; `places` are what the two are called
    where one is wrong. Raises `BadSettings`.
    """
    table = _table(path)
    return Settings(
        table.select if select is None else named(select, places[0]),
        (*table.ignore, *named(ignore, places[1])),
        table.folder,
        table.per_file,
    )


def _closest(named: Iterable[str], code: str) -> int:
    """How much of a code the closest of these names gives; -1 where none is of it."""
    return max((len(name) for name in named if code.startswith(name)), default=-1)


def _unknown(name: str, place: str) -> BadSettings:
    import difflib

    near = difflib.get_close_matches(name.lower(), [*_SLUGS, *map(str.lower, CODES)], n=1)
    if near:
        return BadSettings(
            "settings.near", place=place, asked=name, near=near[0] if near[0] in _SLUGS else near[0].upper()
        )
    return BadSettings("settings.unknown", place=place, asked=name)


def _table(path: str) -> Settings:
    """The settings in the nearest pyproject.toml above a path that has a table for attnlab."""
    folder = os.path.dirname(os.path.abspath(path))
    while True:
        file = os.path.join(folder, "pyproject.toml")
        table = _attnlabs(file) if os.path.isfile(file) else None
        if table is not None:
            return _read_table(table, file)
        above = os.path.dirname(folder)
        if above == folder:
            return Settings()
        folder = above


def _attnlabs(file: str) -> dict[str, Any] | None:
    try:
        with open(file, "rb") as opened:
            whole = tomllib.load(opened)
    except (OSError, ValueError) as error:
        raise BadSettings("settings.toml", file=_shown(file), reason=" ".join(str(error).split())) from None
    table = whole.get("tool", {}).get("attnlab") if isinstance(whole.get("tool"), dict) else None
    if table is not None and not isinstance(table, dict):
        raise BadSettings("settings.table", file=_shown(file))
    return cast("dict[str, Any] | None", table)


def _read_table(table: dict[str, Any], file: str) -> Settings:
    for key in table:
        if key not in _KEYS:
            raise BadSettings("settings.key", file=_shown(file), asked=key, keys=", ".join(_KEYS))
    files = table.get("per-file-ignores", {})
    if not isinstance(files, dict):
        raise BadSettings("settings.files", file=_shown(file), asked=repr(files))
    listed = cast("dict[str, Any]", files)
    select = _listed(table["select"], "select", file) if "select" in table else None
    ignore = _listed(table.get("ignore", []), "ignore", file)
    per_file = tuple((pattern, _listed(codes, "per-file-ignores", file)) for pattern, codes in listed.items())
    return Settings(select, ignore, os.path.dirname(file), per_file)


def _listed(value: object, key: str, file: str) -> tuple[str, ...]:
    shown = repr(value)
    names = cast("list[object]", value) if isinstance(value, list) else None
    if names is None or not all(isinstance(name, str) for name in names):
        raise BadSettings("settings.list", file=_shown(file), key=key, asked=shown)
    return named(cast("list[str]", names), f"{key} ({_TABLE}, {_shown(file)})")


def _shown(file: str) -> str:
    inside = os.path.relpath(file)
    return file if inside.startswith("..") else inside


def _read(path: str) -> str:
    try:
        with tokenize.open(path) as file:
            return file.read()
    except (OSError, SyntaxError, ValueError):
        return ""


def wanted(found: Finding, choice: Settings, noted: Comments) -> bool:
    """Whether a finding is wanted: by the settings, and by the comments on its lines."""
    return choice.wants(found.code, found.path) and not noted.ignore(found.code, found.path, found.line, found.end_line)
