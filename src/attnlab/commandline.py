"""A command line, taken apart: which verb, attnlab's own options, the program and its arguments."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal


class Misused(Exception):
    """The command was used wrongly: the id of the sentence that says how, and its parameters."""

    def __init__(self, message: str, **params: object) -> None:
        super().__init__(message, params)
        self.id = message
        self.params = params


@dataclass
class Command:
    """A command line, taken apart: the verb, attnlab's own options, the program and its arguments."""

    verb: str
    options: dict[str, list[tuple[str, ...]]] = field(default_factory=dict[str, list[tuple[str, ...]]])
    kind: Literal["script", "module"] = "script"
    program: str = ""
    argv: tuple[str, ...] = ()

    def last(self, option: str) -> str | None:
        """The value of an option, the last one where it was given more than once; None where it was not."""
        return self.options[option][-1][0] if option in self.options else None

    @property
    def page(self) -> str:
        """The file that a report is written to: the one asked for, else one named after the program."""
        name = self.program.replace("\\", "/").rstrip("/").rpartition("/")[2].removesuffix(".py")
        return self.last("output") or f"{name.rpartition('.')[2] if self.kind == 'module' else name}.html"


# Every option by its names, and how many values it takes.
_OPTIONS = {
    "-o": ("output", 1),
    "--output": ("output", 1),
    "--lang": ("lang", 1),
    "--layer": ("layer", 1),
    "--all": ("all", 0),
    "--json": ("json", 0),
    "--set": ("set", 1),
    "--replace": ("replace", 2),
    "--line": ("line", 1),
    "--rerun": ("rerun", 0),
    "--format": ("format", 1),
    "--select": ("select", 1),
    "--ignore": ("ignore", 1),
    "--explain": ("explain", 1),
    "--diff": ("diff", 0),
    "--fix": ("fix", 0),
    "--run": ("run", 0),
    "--copy": ("copy", 0),
    "--host": ("host", 1),
    "--port": ("port", 1),
    "--no-browser": ("no-browser", 0),
    "--weights": ("weights", 0),
    "--sample": ("sample", 1),
    "--head": ("head", 1),
    "--text": ("text", 1),
    "--text-file": ("text-file", 1),
    "--top": ("top", 1),
    "--near": ("near", 1),
    "--cells": ("cells", 1),
    "--window": ("window", 1),
    "--live": ("live", 0),
    "-h": ("help", 0),
    "--help": ("help", 0),
}
_VERBS: dict[str, frozenset[str]] = {
    "explain": frozenset({"output", "lang", "layer", "all", "json", "rerun", "help"}),
    "whatif": frozenset({"output", "lang", "set", "replace", "line", "rerun", "help"}),
    "why": frozenset({"output", "lang", "layer", "rerun", "help"}),
    "check": frozenset({"output", "lang", "rerun", "format", "select", "ignore", "explain", "diff", "fix", "help"}),
    "report": frozenset({"output", "lang", "rerun", "help"}),
    "draw": frozenset({"output", "lang", "layer", "weights", "sample", "head", "help"}),
    "map": frozenset({"output", "lang", "text", "text-file", "layer", "head", "top", "near", "cells", "window"})
    | {"live", "host", "port", "no-browser", "json", "help"},
    "lesson": frozenset({"output", "lang", "run", "copy", "help"}),
    "play": frozenset({"lang", "host", "port", "no-browser", "help"}),
}
_ALONE = frozenset({"lesson", "play"})  # these need no program


def parse(argv: list[str]) -> Command:
    """Take a command line apart. Raises `Misused`.

    attnlab's options may stand before the program or after it; what it does not know, and all that
    follows `--`, is the program's.
    """
    if not argv or argv[0] in ("-h", "--help", "help"):
        return Command("help", _taken(argv[1:]))
    if argv[0] in ("-V", "--version"):
        return Command("version")
    if argv[0] not in _VERBS:
        raise Misused("command.verb", verbs=", ".join(_VERBS), asked=argv[0])
    command = Command(argv[0])
    known = _VERBS[command.verb]
    rest: list[str] = []
    items = iter(argv[1:])
    for item in items:
        name, equals, value = item.partition("=") if item.startswith("--") else (item, "", "")
        option, takes = _OPTIONS.get(name, ("", 0))
        if item == "--":
            rest.extend(items)
        elif option in known and (takes or not equals):
            values = [value] if equals else []
            values += [_value(name, next(items, None)) for _ in range(takes - len(values))]
            command.options.setdefault(option, []).append(tuple(values))
        elif not command.program and item == "-m" and command.verb not in _ALONE:
            command.kind, command.program = "module", _value(item, next(items, None))
        elif not command.program and item.startswith("-") and item != "-":
            raise Misused("command.option", asked=item, verb=command.verb)
        elif not command.program:
            command.program = item
        else:
            rest.append(item)
    if not command.program and rest:
        command.program = rest.pop(0)
    if not command.program and command.verb not in _ALONE and not command.options.keys() & {"help", "explain"}:
        raise Misused("command.program", verb=command.verb)
    command.argv = tuple(rest)
    return command


def _taken(argv: list[str]) -> dict[str, list[tuple[str, ...]]]:
    """The language that help was asked for in."""
    return {"lang": [(argv[1],)]} if argv[:1] == ["--lang"] and len(argv) > 1 else {}


def _value(option: str, value: str | None) -> str:
    if value is None:
        raise Misused("command.value", option=option)
    return value
