"""The numbers in a source file that can be set, and source texts with changes made in them."""

from __future__ import annotations

import ast
import difflib
import keyword
import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence

from attnlab.experiments.changes import BadChange, Change, Constant, Replace, SetConstant

# Of several constants with one name, the one that decides: what is assigned or passed wins over a default.
_RANK = {"name": 0, "option": 1, "field": 2, "item": 2, "keyword": 3, "default": 4, "argument": 5}


def find(sources: Mapping[str, str]) -> tuple[Constant, ...]:
    """Every constant in the files, in the order in which they stand."""
    trees = {file: tree for file, text in sources.items() if (tree := _parsed(text)) is not None}
    parameters = {name: names for tree in trees.values() for name, names in _parameters(tree)}
    found: list[Constant] = []
    for file, tree in trees.items():
        lines = sources[file].split("\n")  # as Python counts them: other ends of lines may stand in a string
        numbers = {
            (*_place(node, lines), name): (kind, node)
            for name, kind, node in _named(tree, parameters)
            if _number(node) is not None
        }
        for (line, col, end_col, name), (kind, node) in sorted(numbers.items(), key=lambda item: item[0]):
            value = _number(node)
            # Inside an f-string, Python 3.11 tells places that are not true.
            if value is not None and node.lineno == node.end_lineno and _reads(lines[line - 1][col:end_col], value):
                found.append(Constant(name, value, kind, file, line, col, end_col))
    return tuple(found)


def _parsed(text: str) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None


def _parameters(tree: ast.AST) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The parameters of each function and each class, by its name: what a number that is passed by place is called."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            init = next(
                (item for item in node.body if isinstance(item, ast.FunctionDef) and item.name == "__init__"), None
            )
            fields = [
                item.target.id
                for item in node.body
                if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
            ]
            if init is not None:
                yield node.name, _names(init.args)
            elif node.decorator_list or node.bases:  # a dataclass, a NamedTuple
                yield node.name, tuple(fields)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, _names(node.args)


def _names(args: ast.arguments) -> tuple[str, ...]:
    names = tuple(item.arg for item in (*args.posonlyargs, *args.args))
    return names[1:] if names[:1] in (("self",), ("cls",)) else names


def choose(constants: Iterable[Constant], name: str) -> Constant:
    """The constant that `--set NAME=…` means; `NAME@LINE` chooses among several. Raises `BadChange`."""
    constants = list(constants)
    plain, at, line = name.partition("@")
    plain = plain.replace("-", "_")
    named = [item for item in constants if item.name == plain]
    if at:
        named = [item for item in named if str(item.line) == line]
    if not named:
        plainly = {item.name for item in constants if item.kind != "argument"}
        names = sorted(plainly or {item.name for item in constants})
        near = difflib.get_close_matches(plain, names, 1)
        if near:
            raise BadChange("change.near", name=name, near=near[0])
        raise BadChange("change.unknown", name=name, names=", ".join(names) or "—")
    best = min(_RANK[item.kind] for item in named)
    named = [item for item in named if _RANK[item.kind] == best]
    if len(named) > 1:
        lines = ", ".join(str(item.line) for item in named)
        raise BadChange("change.several", name=name, lines=lines, first=f"{plain}@{named[0].line}")
    return named[0]


def value(constant: Constant, text: str) -> int | float:
    """The number that a person wrote for a constant. Raises `BadChange` where it cannot be one.

    A size is a whole number from 1; a constant that was no whole number takes any.
    """
    whole = isinstance(constant.value, int)
    try:
        number = int(text) if whole else float(text)
        if not math.isfinite(number):  # `inf` is no Python
            raise ValueError
    except (ValueError, OverflowError):
        raise BadChange("change.whole" if whole else "change.number", name=constant.name, asked=text) from None
    if whole and number < 1 <= constant.value:
        raise BadChange("change.whole", name=constant.name, asked=text)
    return number


def apply(sources: Mapping[str, str], changes: Iterable[Change], main: str) -> dict[str, str]:
    """The files whose text the changes alter, with their new texts. Raises `BadChange`.

    A `Replace` is looked for in the file `main` first, then in the others.
    """
    edits: dict[str, list[tuple[int, int, int, str]]] = {}
    for change in changes:
        if isinstance(change, SetConstant):
            place = change.constant
            edits.setdefault(place.file, []).append((place.line, place.col, place.end_col, repr(change.value)))
    texts: dict[str, str] = {}
    for file, found in edits.items():
        places = set(found)  # a number passed by place has two names
        lines = sources[file].split("\n")
        for line, col, end_col, new in sorted(places, reverse=True):
            lines[line - 1] = lines[line - 1][:col] + new + lines[line - 1][end_col:]
        texts[file] = "\n".join(lines)
    for change in changes:
        if isinstance(change, Replace):
            file, text = _replace({**sources, **texts}, change, main)
            texts[file] = text
    return texts


def _replace(sources: Mapping[str, str], change: Replace, main: str) -> tuple[str, str]:
    for file in sorted(sources, key=lambda name: name != main):
        text = sources[file]
        places = list(_occurrences(text, change.old))
        if change.line is not None:
            places = [place for place in places if text.count("\n", 0, place) + 1 == change.line]
        if len(places) > 1:
            lines = ", ".join(dict.fromkeys(str(text.count("\n", 0, place) + 1) for place in places))
            raise BadChange("change.often", old=change.old, lines=lines)
        if places:
            new = text[: places[0]] + change.new + text[places[0] + len(change.old) :]
            try:
                compile(new, file, "exec", dont_inherit=True)
            except (SyntaxError, ValueError) as error:
                reason = error.msg if isinstance(error, SyntaxError) else str(error)
                raise BadChange("change.python", new=change.new, reason=reason) from None
            return file, new
    where = "" if change.line is None else f":{change.line}"
    raise BadChange("change.absent", old=change.old, where=main + where)


def _occurrences(text: str, old: str) -> Iterator[int]:
    """Where `old` stands as code of its own: not inside a longer name, a string or a comment."""
    inside = _no_code(text)
    place = text.find(old) if old else -1
    while place >= 0:
        before, after = text[place - 1 : place], text[place + len(old) : place + len(old) + 1]
        if not (_joins(before, old[:1]) or _joins(old[-1:], after) or any(a < place < b for a, b in inside)):
            yield place
        place = text.find(old, place + 1)


def _joins(left: str, right: str) -> bool:
    return bool(left and right) and (left + right).replace("_", "a").isalnum()


def _no_code(text: str) -> list[tuple[int, int]]:
    """Where comments and strings are: from before their first character to behind their last."""
    import io
    import itertools
    import tokenize

    starts = list(itertools.accumulate((len(line) + 1 for line in text.split("\n")), initial=0))
    found: list[tuple[int, int]] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type in (tokenize.COMMENT, tokenize.STRING):
                (row, col), (end_row, end_col) = token.start, token.end
                comment = token.type == tokenize.COMMENT  # a string may be replaced as a whole
                found.append((starts[row - 1] + col - comment, starts[end_row - 1] + end_col))
    except (tokenize.TokenError, SyntaxError):
        pass
    return found


def _named(tree: ast.AST, parameters: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str, ast.expr]]:
    """(name, kind, expression) of everything that gives a name to an expression, in any order."""
    fields = {id(item) for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for item in node.body}
    for node in ast.walk(tree):
        match node:
            case ast.Assign():
                for target in node.targets:
                    yield from _assigned(target, node.value, "field" if id(node) in fields else "name")
            case ast.AnnAssign(value=ast.expr() as item):
                yield from _assigned(node.target, item, "field" if id(node) in fields else "name")
            case ast.NamedExpr():
                yield from _assigned(node.target, node.value, "name")
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                yield from _defaults(node.args)
            case ast.Call():
                yield from _arguments(node, parameters)
            case ast.Dict():
                for key, item in zip(node.keys, node.values, strict=True):
                    if isinstance(key, ast.Constant) and isinstance(key.value, str):
                        yield key.value, "item", item
            case _:
                pass


def _assigned(target: ast.expr, item: ast.expr, kind: str) -> Iterator[tuple[str, str, ast.expr]]:
    if isinstance(target, ast.Name):
        yield target.id, kind, item
        default = (
            next((word.value for word in item.keywords if word.arg == "default"), None)
            if isinstance(item, ast.Call)
            else None
        )
        if kind == "field" and default is not None:  # n: int = field(default=4)
            yield target.id, kind, default
    elif isinstance(target, ast.Attribute):
        yield target.attr, kind, item
    elif (
        isinstance(target, ast.Subscript)
        and isinstance(target.slice, ast.Constant)
        and isinstance(target.slice.value, str)
    ):
        yield target.slice.value, "item", item
    elif isinstance(target, ast.Tuple) and isinstance(item, ast.Tuple) and len(target.elts) == len(item.elts):
        for name, part in zip(target.elts, item.elts, strict=True):
            yield from _assigned(name, part, kind)


def _defaults(args: ast.arguments) -> Iterator[tuple[str, str, ast.expr]]:
    places = [*args.posonlyargs, *args.args]
    for name, item in zip(places[len(places) - len(args.defaults) :], args.defaults, strict=True):
        yield name.arg, "default", item
    for name, item in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        if item is not None:
            yield name.arg, "default", item


def _arguments(call: ast.Call, parameters: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str, ast.expr]]:
    callee = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if callee == "add_argument":
        options = [item.value for item in call.args if isinstance(item, ast.Constant) and isinstance(item.value, str)]
        long = next((item for item in options if item.startswith("--")), options[0] if options else "")
        for word in call.keywords:
            if word.arg == "default" and long:
                yield long.lstrip("-").replace("-", "_"), "option", word.value
        return
    for place, item in enumerate(call.args):
        yield f"{callee}[{place}]", "argument", item
        if place < len(parameters.get(callee, ())):
            yield parameters[callee][place], "keyword", item
    for word in call.keywords:
        if word.arg and not keyword.iskeyword(word.arg):
            yield word.arg, "keyword", word.value


def _number(node: ast.expr) -> int | float | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _number(node.operand)
        return None if inner is None else -inner
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return node.value  # pyright: ignore[reportReturnType]
    return None


def _reads(text: str, value: float) -> bool:
    try:
        return ast.literal_eval(text) == value
    except (SyntaxError, ValueError):
        return False


def _place(node: ast.expr, lines: list[str]) -> tuple[int, int, int]:
    row = lines[node.lineno - 1].encode()
    col = len(row[: node.col_offset].decode(errors="ignore"))
    return node.lineno, col, len(row[: node.end_col_offset or 0].decode(errors="ignore"))
