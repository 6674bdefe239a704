"""A script as operators see it: its tree, the text of each node, and edits of that text."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias, TypeVar

Node = TypeVar("Node", bound=ast.AST)

# From where to where in the text, in characters, and what stands there instead.
Edit: TypeAlias = tuple[int, int, str]


@dataclass(frozen=True)
class Mutant:
    """A script with one slip in it: what stood on that line, and what stands there now."""

    operator: str
    line: int
    was: str
    now: str
    text: str


class Script:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tree = ast.parse(text)
        self._starts = [0]
        for row in text.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(row))
        self._rows = text.splitlines(keepends=True)

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        return {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    def all(self, kind: type[Node]) -> Iterator[Node]:
        """Every node of a kind, in the order of the text."""
        found = [node for node in ast.walk(self.tree) if isinstance(node, kind)]
        yield from sorted(found, key=self.span)

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Where a node stands in the text."""
        return self._at(node.lineno, node.col_offset), self._at(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def _at(self, line: int, byte: int) -> int:
        row = self._rows[line - 1] if line <= len(self._rows) else ""
        return self._starts[line - 1] + len(row.encode()[:byte].decode())

    def of(self, node: ast.AST) -> str:
        """The text of a node."""
        start, end = self.span(node)
        return self.text[start:end]

    def put(self, node: ast.AST, new: str) -> Edit:
        """The edit that writes something else in the place of a node, with parentheses where it needs them."""
        start, end = self.span(node)
        return start, end, new

    def within(self, node: ast.AST, kind: type[Node]) -> Node | None:
        """The nearest node of a kind that a node stands in."""
        at: ast.AST | None = self.parents.get(node)
        while at is not None and not isinstance(at, kind):
            at = self.parents.get(at)
        return at

    def edited(self, edits: tuple[Edit, ...]) -> str:
        text = self.text
        for start, end, new in sorted(edits, reverse=True):
            text = text[:start] + new + text[end:]
        return text

    def mutant(self, operator: str, edits: tuple[Edit, ...]) -> Mutant:
        text = self.edited(edits)
        at = min(start for start, _, _ in edits)
        line = self.text.count("\n", 0, at) + 1
        now = text.splitlines()[line - 1 :][:1]
        return Mutant(operator, line, self._rows[line - 1].strip(), "".join(now).strip(), text)


def name_of(node: ast.AST) -> str:
    """The last name of a function or a variable: `masked_fill` of `scores.masked_fill`."""
    match node:
        case ast.Attribute():
            return node.attr
        case ast.Name():
            return node.id
        case _:
            return ""


def called(node: ast.AST, *names: str) -> bool:
    """Whether a node calls one of these."""
    return isinstance(node, ast.Call) and name_of(node.func) in names


def keyword(node: ast.Call, name: str) -> ast.keyword | None:
    return next((item for item in node.keywords if item.arg == name), None)
