"""The text of an expression, and the same with parts of it replaced."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from attnlab.run import Step

Node: TypeAlias = "ast.expr | ast.AugAssign"

_PRIMARY = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of the text, in bytes of UTF-8 as Python counts them; `primary`: a dot may follow it."""

    start: int
    end: int
    text: str
    primary: bool
    literal: bool


class Expression:
    """An expression (or an augmented assignment) as a person wrote it."""

    def __init__(self, text: str) -> None:
        self._bytes = text.encode()
        self._shift = 1
        self.node: Node | None = None
        try:
            # In brackets: the lines of an expression may lie as they please, and so may a comment.
            self.node = ast.parse(f"({text}\n)", mode="eval").body
        except SyntaxError:
            self._shift = 0
            try:
                statement = ast.parse(text).body[0]
            except (SyntaxError, IndexError):
                return
            self.node = statement if isinstance(statement, ast.AugAssign) else None
        self._starts = [0]
        for line in self._bytes.split(b"\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)

    def operand(self, step: Step, key: int | tuple[int, int]) -> Part | None:
        """Where an operand of `step` stands in the text: `key` is its place, and its place in a list there.

        None where the text at that place is not what was passed.
        """
        place, item = key if isinstance(key, tuple) else (key, None)
        operand = step.operands[place]
        positional, named = self._parts(step)
        passed = dict(enumerate(positional))
        node = named.get(operand.keyword) if operand.keyword else passed.get(place)
        if node is None or self._text(node) != operand.text:
            return None
        if item is not None:
            if not isinstance(node, (ast.List, ast.Tuple)) or item >= len(node.elts):
                return None
            node = node.elts[item]
        return self._part(node)

    def argument(self, index: int, *names: str) -> Part | None:
        """Where an argument of a call stands, by place or by name; None where it was not passed so."""
        if not isinstance(self.node, ast.Call):
            return None
        for keyword in self.node.keywords:
            if keyword.arg in names:
                return self._part(keyword.value)
        given = self.node.args[: index + 1]
        if len(given) <= index or any(isinstance(item, ast.Starred) for item in given):
            return None
        return self._part(given[index])

    def called(self) -> Part | None:
        """Where the name of the function stands that a call with a dot calls: `bmm` in `torch.bmm(q, k)`."""
        if not isinstance(self.node, ast.Call) or not isinstance(self.node.func, ast.Attribute):
            return None
        name = self.node.func.attr
        end = self._offset(self.node.func.end_lineno, self.node.func.end_col_offset)
        return Part(end - len(name.encode()), end, name, True, False)

    def replaced(self, edits: Sequence[tuple[Part, str]], added: str = "") -> str:
        """The text with each part replaced, and with more arguments of the call, on one line."""
        text = self._bytes
        last = text[:-1].rstrip()[-1:]
        between = "" if last == b"(" else " " if last == b"," else ", "
        inserted = [(len(text) - 1, len(text) - 1, between + added)] if added else []
        spans = [(part.start, part.end, new) for part, new in edits] + inserted
        for start, end, new in sorted(spans, reverse=True):
            text = text[:start] + new.encode() + text[end:]
        return one_line(text.decode())

    def _parts(self, step: Step) -> tuple[list[ast.expr], dict[str, ast.expr]]:
        match self.node:
            case ast.BinOp(left=left, right=right):
                return [left, right], {}
            case ast.AugAssign(target=target, value=value):
                return [target, value], {}
            case ast.Compare(left=left, comparators=[right]):
                return [left, right], {}
            case ast.Subscript(value=value, slice=index):
                return [value, index], {}
            case ast.Attribute(value=value):
                return [value], {}
            case ast.Call(func=function, args=arguments, keywords=keywords):
                method = step.via is None and step.function.startswith("torch.Tensor.")
                before = [function.value] if method and isinstance(function, ast.Attribute) else []
                return [*before, *arguments], {item.arg: item.value for item in keywords if item.arg}
            case _:
                return [], {}

    def _part(self, node: ast.expr) -> Part:
        start = self._offset(node.lineno, node.col_offset)
        end = self._offset(node.end_lineno, node.end_col_offset)
        primary = isinstance(node, _PRIMARY)
        if not isinstance(self.node, ast.Call) or node is getattr(self.node.func, "value", None):
            # Brackets around an operand belong to it; around the only argument of a call they do not.
            before, after = self._bytes[:start].rstrip(), self._bytes[end:].lstrip()
            if before.endswith(b"(") and after.startswith(b")"):
                start, end, primary = len(before) - 1, len(self._bytes) - len(after) + 1, True
        return Part(start, end, self._bytes[start:end].decode(), primary, isinstance(node, ast.Constant))

    def _text(self, node: ast.expr) -> str:
        start = self._offset(node.lineno, node.col_offset)
        return self._bytes[start : self._offset(node.end_lineno, node.end_col_offset)].decode()

    def _offset(self, line: int | None, column: int | None) -> int:
        assert line is not None  # a node of parsed text has its place
        assert column is not None
        return self._starts[line - 1] + column - (self._shift if line == 1 else 0)


def one_line(text: str) -> str:
    """The expression on one line, and as it was written where it stands on one already."""
    if "\n" not in text:
        return text
    try:
        return ast.unparse(ast.parse(f"({text}\n)", mode="eval"))
    except SyntaxError:
        pass
    try:
        return ast.unparse(ast.parse(text))
    except SyntaxError:
        return " ".join(text.split())


def bracketed(part: Part) -> str:
    """The text of a part such that a dot or an index may follow it."""
    return part.text if part.primary else f"({part.text})"


def is_expression(text: str) -> bool:
    """Whether the text is one expression, not a statement."""
    try:
        ast.parse(f"({text}\n)", mode="eval")
    except SyntaxError:
        return False
    return True
