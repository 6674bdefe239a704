"""From (code object, instruction) to the expression that a person wrote.

Python keeps the exact span of every instruction. Only after the run are the spans turned into text:
the file is parsed once, and the span looked up among the nodes of its tree. Where the source is not
to be had, the span stands alone; where no node has just that span, its text does. Nothing is guessed.
"""

from __future__ import annotations

import ast
import builtins
import linecache
import threading
import warnings
from collections.abc import Generator, Set
from contextlib import contextmanager
from types import CodeType
from typing import TypeAlias

from attnlab.run import Source, Span

_BUILTINS = frozenset(dir(builtins)) - {"abs", "pow", "divmod", "round"} | {
    "reduce",
    "accumulate",
    "starmap",
    "partial",
}
_PARSING = threading.Lock()

Key: TypeAlias = "tuple[int, int, int, int]"
_Expression: TypeAlias = "ast.expr | ast.stmt"


class File:
    """The lines of one source file, and its expressions by where they stand."""

    def __init__(self, name: str) -> None:
        self.lines = linecache.getlines(name)
        self._nodes: dict[Key, _Expression] = {}
        self._calls: dict[tuple[int, int], list[ast.Call]] = {}
        self._parents: dict[ast.AST, ast.AST] = {}
        try:
            # Python 3.11 cannot parse in two threads at once.
            with _PARSING, _unheard():  # the program has had its own warnings of this file already
                tree = ast.parse("".join(self.lines))
        except (SyntaxError, ValueError, RecursionError, SystemError):  # the last where the program parses meanwhile
            return
        for node in ast.walk(tree):
            for child in ast.iter_child_nodes(node):
                self._parents[child] = node
            if isinstance(node, (ast.expr, ast.AugAssign)):
                self._nodes.setdefault(_key(node), node)
            if isinstance(node, ast.Call):
                self._calls.setdefault(_key(node)[2:], []).append(node)

    def find(self, key: Key) -> _Expression | None:
        """The expression with just this span (UTF-8 columns, as Python counts them)."""
        exact = self._nodes.get(key)
        if exact is not None:
            return exact
        # For a method called on a line of its own, Python's span begins at the method's name.
        for call in self._calls.get(key[2:], ()):
            name = call.func
            if isinstance(name, ast.Attribute) and name.end_lineno == key[0]:
                return call
        return None

    def text(self, span: Span) -> str:
        """The characters of a span."""
        rows = self.lines[span.line - 1 : span.end_line]
        if len(rows) != span.end_line - span.line + 1:
            return ""
        rows[-1] = rows[-1][: span.end_col]
        rows[0] = rows[0][span.col :]
        return "".join(rows)

    def span(self, name: str, key: Key) -> Span:
        """The span in characters."""
        return Span(name, key[0], self._column(key[0], key[1]), key[2], self._column(key[2], key[3]))

    def node_text(self, node: ast.AST) -> str:
        """The text of a node, as written."""
        return self.text(self.span("", _key(node)))

    def targets(self, node: ast.AST) -> tuple[str, ...]:
        """The names that an expression's value was assigned to; none where it was used in place."""
        if isinstance(node, ast.AugAssign):
            return (self.node_text(node.target),)
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):  # `x[0]`, read in `x[0] += 1`
            return ()
        parent = self._parents.get(node)
        if isinstance(parent, (ast.AnnAssign, ast.NamedExpr)):
            return (self.node_text(parent.target),)
        if isinstance(parent, ast.Assign):
            return self._names(parent.targets[0])
        # a, b = f(x), g(x)
        above = self._parents.get(parent) if isinstance(parent, ast.Tuple) else None
        if isinstance(parent, ast.Tuple) and isinstance(above, ast.Assign):
            target = above.targets[0]
            if isinstance(target, (ast.Tuple, ast.List)) and len(target.elts) == len(parent.elts):
                place = next(i for i, item in enumerate(parent.elts) if item is node)
                return self._names(target.elts[place])
        return ()

    def whole(self, node: ast.AST) -> ast.AST:
        """What is shown for a node: of `scores[mask] = 0`, where only `scores[mask]` is at work, the statement."""
        parent = self._parents.get(node)
        stores = isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
        return parent if stores and isinstance(parent, (ast.Assign, ast.AugAssign)) else node

    def stored(self, node: ast.Subscript) -> str:
        """The text of what is put into a subscript; empty where it has no text of its own."""
        parent = self._parents.get(node)
        return self.node_text(parent.value) if isinstance(parent, ast.Assign) and parent.targets[0] is node else ""

    def _names(self, target: ast.expr) -> tuple[str, ...]:
        if isinstance(target, (ast.Tuple, ast.List)):
            return tuple(self.node_text(item) for item in target.elts)
        return (self.node_text(target),)

    def _column(self, line: int, byte: int) -> int:
        row = self.lines[line - 1] if line <= len(self.lines) else ""
        return byte if row.isascii() else len(row.encode()[:byte].decode(errors="ignore"))


def _key(node: ast.AST) -> Key:
    span: tuple[int, int, int, int] = (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
    return span


class Place:
    """One expression: its source, and the texts of its parts where it is a call or an operator."""

    def __init__(self, file: File, name: str, key: Key, code: CodeType) -> None:
        self._file = file
        self.node = file.find(key)
        self.known = bool(file.lines)
        span = file.span(name, key if self.node is None else _key(self.node))
        targets = () if self.node is None else file.targets(self.node)
        self.source = self.statement = Source(span, file.text(span), targets, code.co_qualname)
        if isinstance(self.node, ast.Subscript):  # what stores into it is told as the whole statement
            span = file.span(name, _key(file.whole(self.node)))
            self.statement = Source(span, file.text(span), (file.node_text(self.node.value),), code.co_qualname)

    def tensor_on_the_right(self, tensors: Set[str]) -> bool | None:
        """Of an operator with one tensor and one number, whether the tensor is the right one; None: unknown.

        Python runs `2 * x` as `x.mul(2)`. `tensors`: texts known to be tensors.
        """
        node = self.node
        if isinstance(node, ast.BinOp):
            pair = node.left, node.right
        elif isinstance(node, ast.Compare) and len(node.comparators) == 1:
            pair = node.left, node.comparators[0]
        else:
            return False
        left, right = self._file.node_text(pair[0]), self._file.node_text(pair[1])
        if _is_number(pair[0]) or (right in tensors and left not in tensors):
            return True
        if _is_number(pair[1]) or (left in tensors and right not in tensors):
            return False
        return None

    def operands(self, method: bool) -> tuple[tuple[str, ...], dict[str, str]]:
        """Texts of the arguments by place and by name, as they stand in the source; () where unknown.

        `method`: the function that ran was a tensor's method, so the part before the dot is its first
        argument. What a function of Python's own was given, as in `sum(tensors)`, is not what the
        operation was given.
        """
        text, node = self._file.node_text, self.node
        if isinstance(node, ast.BinOp):
            return (text(node.left), text(node.right)), {}
        if isinstance(node, ast.AugAssign):
            return (text(node.target), text(node.value)), {}
        if isinstance(node, ast.Compare) and len(node.comparators) == 1:
            return (text(node.left), text(node.comparators[0])), {}
        if isinstance(node, ast.UnaryOp):
            return (text(node.operand),), {}
        if isinstance(node, ast.Subscript):
            stored = self._file.stored(node)
            return (text(node.value), text(node.slice), *([stored] if stored else [])), {}
        if isinstance(node, ast.Attribute):
            return (text(node.value),), {}
        if not isinstance(node, ast.Call) or _is_pythons(node.func):
            return (), {}
        places: list[str] = []
        if method and isinstance(node.func, ast.Attribute):
            places.append(text(node.func.value))
        for item in node.args:
            if isinstance(item, ast.Starred):  # what follows has no place of its own
                break
            places.append(text(item))
        return tuple(places), {item.arg: text(item.value) for item in node.keywords if item.arg}

    def only_argument(self) -> str:
        """The text of the one argument of a call, `x` in `self.W_q(x)`; empty where there are more or none."""
        node = self.node
        if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
            return self._file.node_text(node.args[0])
        return ""


def _is_pythons(func: ast.expr) -> bool:
    """Whether a call is of a function that calls another one: `map(torch.neg, tensors)`."""
    if isinstance(func, ast.Name):
        return func.id in _BUILTINS
    return isinstance(func, ast.Attribute) and func.attr in ("reduce", "accumulate", "starmap")


def _is_number(node: ast.expr) -> bool:
    """Whether an expression can only be a number."""
    match node:
        case ast.Constant():
            return True
        case ast.UnaryOp():
            return _is_number(node.operand)
        case ast.BinOp():
            return _is_number(node.left) and _is_number(node.right)
        case (
            ast.Call(func=ast.Attribute(value=ast.Name(id="math")))
            | ast.Call(func=ast.Name(id="float" | "int" | "len"))
        ):
            return True
        case ast.Attribute(value=ast.Name(id="math")):
            return True
        case _:
            return False


class Places:
    """The expressions of one recording, each looked up once."""

    def __init__(self) -> None:
        self._files: dict[str, File] = {}
        self._places: dict[tuple[int, int], Place | None] = {}
        self._codes: list[CodeType] = []  # held, so that their addresses stay their own

    def find(self, code: CodeType, lasti: int) -> Place | None:
        """The expression that an instruction belongs to; None where Python kept no position."""
        key = id(code), lasti
        if key not in self._places:
            self._codes.append(code)
            self._places[key] = self._find(code, lasti)
        return self._places[key]

    def _find(self, code: CodeType, lasti: int) -> Place | None:
        for index, (line, end_line, col, end_col) in enumerate(code.co_positions()):
            if index == lasti // 2:
                if line is None or end_line is None or col is None or end_col is None:
                    return None
                name = code.co_filename
                file = self._files.setdefault(name, File(name)) if name not in self._files else self._files[name]
                return Place(file, name, (line, col, end_line, end_col), code)
        return None

    def text(self, name: str) -> str:
        """The whole text of a file; empty where it is not to be had."""
        file = self._files.get(name)
        return "" if file is None else "".join(file.lines)


@contextmanager
def _unheard() -> Generator[None]:
    """Warnings are dropped. `catch_warnings` would make Python forget which ones the program has shown already."""

    def drop(*_: object, **__: object) -> None:
        pass

    shown, warnings.showwarning = warnings.showwarning, drop
    try:
        yield
    finally:
        warnings.showwarning = shown
