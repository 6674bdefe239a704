"""Failures of Python itself that a shape explains: `b, l, d = x.shape` where x has four axes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from attnlab.diagnosis.case import Case, bracket, named, written
from attnlab.diagnosis.changes import Chain, Change, Link, Plain, method
from attnlab.diagnosis.data import Attempt, Diagnosis, Message, Row
from attnlab.diagnosis.expression import Expression, one_line
from attnlab.run import Error, Operand, Ref, Run, Size, Source, Span, Step

_UNPACK = re.compile(r"(?:too many|not enough) values to unpack \(expected (\d+)")


def diagnose(run: Run, error: Error, attempt: Attempt) -> Diagnosis | None:
    """A diagnosis of an error that no operation raised; None where no shape explains it."""
    unpack = _UNPACK.search(error.message)
    if error.type == "ValueError" and unpack:
        wanted = int(unpack[1])
        return _sizes(run, error, wanted) or _parts(run, error, wanted, attempt)
    if error.type == "IndexError" and error.message == "tuple index out of range":
        return _axis(run, error)
    return None


def _here(source: Source | None, error: Error) -> bool:
    return source is not None and source.span.file == error.file and source.span.line == error.line


def _sizes(run: Run, error: Error, wanted: int) -> Diagnosis | None:
    """Names for the sizes of a tensor, more or fewer than it has axes."""
    size = run.sizes[-1] if run.sizes else None
    if size is None or size.axis is not None or not _here(size.source, error):
        return None
    if len(size.source.targets) != wanted or len(size.answer) == wanted:
        return None
    row = _row(run, size)
    params = {"input": row.text, "names": wanted, "rank": len(size.answer), "shape": bracket(size.answer)}
    return _told(size.source, row, Message("diagnosis.unpack.shape", params))


def _axis(run: Run, error: Error) -> Diagnosis | None:
    """`x.shape[3]` of a tensor with three axes."""
    size = run.sizes[-1] if run.sizes else None
    if size is None or size.axis is not None or not _here(size.source, error):
        return None
    found = next(_subscripts(run, size.source), None)
    rank = len(size.answer)
    if found is None or -rank <= found[1] < rank:
        return None
    row = _row(run, size)
    params = {"input": row.text, "rank": rank, "low": -rank, "high": rank - 1, "got": found[1]}
    return _told(found[0], row, Message("diagnosis.dim", params))


def _row(run: Run, size: Size) -> Row:
    node = Expression(size.source.text).node
    inner = node.func if isinstance(node, ast.Call) else node
    text = ast.unparse(inner.value) if isinstance(inner, ast.Attribute) else one_line(size.source.text)
    value = run.values[size.value]
    maker = None if value.step is None else run.steps[value.step].source
    made = "" if maker is None else written(maker)
    return Row(text, value.id, value.shape, named(value), "", (), maker, made, value.kind)


def _told(source: Source, row: Row, reason: Message) -> Diagnosis:
    return Diagnosis(source, one_line(source.text), None, (row,), False, reason, (), (), False)


def _parts(run: Run, error: Error, wanted: int, attempt: Attempt) -> Diagnosis | None:
    """A tensor cut into more or fewer parts than there are names; or not cut: Python takes its first axis apart."""
    step = run.steps[-1] if run.steps else None
    if step is None or step.source is None or not _here(step.source, error) or len(step.results) == wanted:
        return None
    if step.op == "unbind" and step.operands[0].text == "":
        return _iterated(run, step, wanted, attempt)
    if step.op in ("chunk", "split", "tensor_split", "unbind") and len(step.source.targets) == wanted:
        case = Case(run, step, step.source, attempt)
        reason = Message("diagnosis.unpack.parts", {"op": step.op, "names": wanted, "parts": len(step.results)})
        fits = case.best(_recut(case, wanted), accept=lambda tried: len(tried.results) == wanted)
        return case.diagnosis([case.row(0)], reason, fits)
    return None


def _recut(case: Case, wanted: int) -> Iterator[Change]:
    shape = case.shape(0)
    if case.step.op == "unbind":
        place = case.place("dim", 1)
        axes = [axis for axis, size in enumerate(shape) if size == wanted]
        for axis in axes if place is not None else ():
            yield Change({place: Plain(axis, str(axis))})
        return
    place = case.place("dim", 2)
    dim = 0 if place is None else case.arg(place)
    if not isinstance(dim, int) or not -len(shape) <= dim < len(shape) or shape[dim] % wanted:
        return
    size = wanted if case.step.op != "split" else shape[dim] // wanted
    yield Change({1: Plain(size, str(size))})


def _iterated(run: Run, step: Step, wanted: int, attempt: Attempt) -> Diagnosis | None:
    """`q, k, v = self.qkv(x)`: Python takes the tensor apart along its first axis."""
    source = None if step.source is None else _assigned(run, step.source)
    arg = step.operands[0].arg
    if source is None or not isinstance(arg, Ref):
        return None
    case = Case(run, step, source, attempt)
    value = run.values[arg.id]
    text = (
        source.text
        if isinstance(Expression(source.text).node, (ast.Name, ast.Call, ast.Attribute, ast.Subscript))
        else f"({source.text})"
    )
    base = Chain(value.id, text, ())
    links: list[tuple[Link, float]] = [
        (method("unbind", axis), 1.0) for axis, size in enumerate(value.shape) if axis and size == wanted
    ]
    if value.shape and value.shape[-1] % wanted == 0:
        links.append((method("chunk", wanted, -1, text=f"{wanted}, dim=-1"), 1.1))
    changes: list[Change] = []
    for link, cost in links:
        passed = (Operand("", Ref(value.id), ""), *link.operands)
        changes.append(
            Change(function=link.function, passed=passed, elsewhere=(source, base.then(link).written), cost=cost)
        )
    fits = case.best(changes, accept=lambda tried: len(tried.results) == wanted)
    made = run.steps[value.step].source if value.step is not None else None
    text_ = "" if made is None else written(made)
    row = Row(one_line(source.text), value.id, value.shape, named(value), "", (0,), made, text_, value.kind)
    params = {"input": row.text, "names": wanted, "parts": len(step.results), "shape": bracket(value.shape)}
    return case.diagnosis([row], Message("diagnosis.unpack.tensor", params), fits)


def _assigned(run: Run, target: Source) -> Source | None:
    """What stands to the right of `q, k, v =`."""
    for node in _nodes(run, target.span.file):
        if isinstance(node, ast.Assign) and _span(run, node.targets[0], target.span.file) == target.span:
            return _source(run, node.value, target)
    return None


def _subscripts(run: Run, source: Source) -> Iterator[tuple[Source, int]]:
    """The subscript of an expression by a plain number, and the number."""
    for node in _nodes(run, source.span.file):
        if isinstance(node, ast.Subscript) and _span(run, node.value, source.span.file) == source.span:
            try:
                number = ast.literal_eval(node.slice)
            except ValueError:
                continue
            if isinstance(number, int):
                yield _source(run, node, source), number


def _nodes(run: Run, file: str) -> Iterator[ast.AST]:
    try:
        yield from ast.walk(ast.parse(run.sources.get(file, "")))
    except (SyntaxError, ValueError):
        return


def _span(run: Run, node: ast.expr, file: str) -> Span:
    lines = run.sources[file].split("\n")
    end_line, end_col = node.end_lineno or node.lineno, node.end_col_offset or 0
    return Span(
        file, node.lineno, _column(lines, node.lineno, node.col_offset), end_line, _column(lines, end_line, end_col)
    )


def _column(lines: list[str], line: int, byte: int) -> int:
    return len(lines[line - 1].encode()[:byte].decode(errors="ignore"))


def _source(run: Run, node: ast.expr, near: Source) -> Source:
    file = near.span.file
    span = _span(run, node, file)
    return Source(span, ast.get_source_segment(run.sources[file], node) or "", (), near.function)
