"""The user's text as a tree: where an expression stands, and what a name is used for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache

from attnlab.run import Run, Span

_WORDS = {
    "q": ("q", "query", "queries", "que"),
    "k": ("k", "key", "keys"),
    "v": ("v", "value", "values", "val", "vals"),
}
# What people who write Chinese call query, key and value.
_CHINESE = {"q": chr(0x67E5) + chr(0x8BE2), "k": chr(0x952E), "v": chr(0x503C)}
_PREFIX = re.compile(r"^(?:w|x|to|fc|lin|linear|proj|h|m)?(q|k|v)(?:s|h|w|proj|lin)?$")
_MEMORY = re.compile(
    r"(?:^|_)(?:memory|memories|mem|context|ctx|cond|enc|encoder|encoded|encodings|src|source)(?:$|_|\d)"
)
_TARGET = re.compile(r"(?:^|_)(?:dec|decoder|tgt|target|trg|decoded)(?:$|_|\d)")


@lru_cache(maxsize=64)
def parsed(text: str) -> ast.Module | None:
    """The tree of a source; None where it is none."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):
        return None


def trees(run: Run) -> Iterator[tuple[str, ast.Module]]:
    """The user's files, with their trees."""
    for file, text in run.sources.items():
        tree = parsed(text)
        if tree is not None:
            yield file, tree


def span_of(node: ast.AST, file: str, run: Run) -> Span:
    """The place of a node; columns in characters."""
    lines = run.sources[file].splitlines()
    line, end = getattr(node, "lineno", 1), getattr(node, "end_lineno", 1)

    def column(number: int, offset: int) -> int:
        raw = lines[number - 1].encode() if number <= len(lines) else b""
        return len(raw[:offset].decode(errors="ignore"))

    return Span(
        file, line, column(line, getattr(node, "col_offset", 0)), end, column(end, getattr(node, "end_col_offset", 0))
    )


def function(tree: ast.AST, qualified: str) -> ast.AST | None:
    """The definition of a function or a class by its qualified name, such as "Attention.forward"."""
    found: ast.AST | None = tree
    for part in qualified.split("."):
        if part in ("<locals>", "<module>"):
            continue
        found = None if found is None else definitions(found).get(part)
    return found


@lru_cache(maxsize=256)
def definitions(tree: ast.AST) -> dict[str, ast.AST]:
    """The functions and classes in a tree by their names; of several of one name the outermost, then the first."""
    found: dict[str, ast.AST] = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.setdefault(node.name, node)
    return found


def role_of(name: str) -> str | None:
    """Which of q, k and v a name speaks of: "q", "k" or "v"; None where of none, or of several."""
    last = name.removesuffix(".weight").removesuffix(".data").rpartition(".")[2]
    last = last.partition("[")[0] or last
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", last).lower()
    found: set[str] = set()
    for part in re.split(r"[^a-z\u4e00-\u9fff]+", spaced):
        for letter, words in _WORDS.items():
            if part in words or _CHINESE[letter] in part:
                found.add(letter)
        match = _PREFIX.match(part)
        if match:
            found.add(match.group(1))
    return found.pop() if len(found) == 1 else None


def names_several(name: str) -> bool:
    """Whether a name says that it serves two roles, as `qk`, `kv` and `shared` do."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
    return bool(re.search(r"(?:^|[^a-z])(?:to|w|proj)?_?(?:qk|kq|kv|vk|qv|qkv)(?:$|[^a-z])|shared|tied", spaced))


def is_memory(name: str) -> bool:
    """Whether a name speaks of an encoder's side, as `memory`, `context` and `enc_out` do."""
    return bool(_MEMORY.search(_spaced(name)))


def is_target(name: str) -> bool:
    """Whether a name speaks of a decoder's side, as `tgt` and `decoder_hidden` do."""
    return bool(_TARGET.search(_spaced(name)))


def _spaced(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def reads(run: Run, attribute: str) -> bool:
    """Whether an attribute, or a string of its name, is read anywhere in the user's files."""
    for _, tree in trees(run):
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr == attribute and isinstance(node.ctx, ast.Load):
                return True
            if isinstance(node, ast.Constant) and node.value == attribute:
                return True
    return False


def calls(tree: ast.AST) -> Iterator[ast.Call]:
    """All calls in a tree."""
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def called_attribute(call: ast.Call) -> str | None:
    """The last name of what is called: `cross` of `self.cross(x)`."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else None


def assigned(run: Run, span: Span) -> tuple[str, ...]:
    """The names that a statement gives to what the expression at a place makes; none where it is no assignment."""
    tree = parsed(run.sources.get(span.file, ""))
    found: tuple[int, tuple[str, ...]] | None = None
    for node in ast.walk(tree) if tree is not None else ():
        if not isinstance(node, (ast.Assign, ast.AnnAssign)) or not _holds(node, span):
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        size = (node.end_lineno or node.lineno) - node.lineno
        if found is None or size <= found[0]:
            found = size, tuple(ast.unparse(target) for target in targets)
    return () if found is None else found[1]


def _holds(node: ast.stmt, span: Span) -> bool:
    return node.lineno <= span.line and (node.end_lineno or node.lineno) >= span.end_line
