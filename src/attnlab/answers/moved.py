"""What moved between a run and a rerun, as tables: shapes, values, attention weights, printed lines."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence

from attnlab.answers.data import Block, Cell, Literally, Table, Text
from attnlab.answers.names import Carried
from attnlab.answers.sides import Row, Sides
from attnlab.attention import Attention
from attnlab.explanation.data import Code, Shape, say
from attnlab.explanation.sight import number
from attnlab.run import Value

# Rows of a table, and queries and keys of attention weights, that are shown.
ROWS = 24
WEIGHTS = 8


def shapes(sides: Sides, rows: Sequence[Row], names: Carried) -> Iterator[Block]:
    """The rows as a table of shapes, those of attentions first. `names` are those of the axes of the second run."""
    inside = [row for row in rows if row.attention is not None]
    outside = [row for row in rows if row.attention is None]
    if inside:
        yield from _shapes(sides, inside, names, ROWS)
    if outside:
        if inside:
            yield Text((say("whatif.outside"),))
        yield from _shapes(sides, outside, names, ROWS // 2)


def _shapes(sides: Sides, rows: Sequence[Row], names: Carried, most: int) -> Iterator[Block]:
    times: Counter[tuple[str, ...]] = Counter()
    marked: set[tuple[str, ...]] = set()
    for row in rows:
        one, other = sides.values(row)
        key = (
            _place(row.code),
            row.code.text,
            _axes(sides.shape(row), names.names(other.id), other.shape),
            _sizes(one),
            _sizes(other),
        )
        times[key] += 1
        if one.id in sides.scores:
            marked.add(key)
    table = [(key[0], str(count), _code(key[1]), *key[2:]) for key, count in times.items()]
    columns = [say(f"whatif.column.{name}") for name in ("line", "times", "code", "axes", "before", "after")]
    idle = {1} if set(times.values()) == {1} else set[int]()
    kept = [place for place in range(6) if place not in idle and any(row[place] for row in table)]
    yield Table(
        tuple(columns[place] for place in kept),
        tuple(tuple(row[place] for place in kept) for row in table[:most]),
        "".join(">><<<<"[place] for place in kept),
        frozenset(at for at, key in enumerate(times) if key in marked),
    )
    if len(table) > most:
        yield Text((say("whatif.more", count=len(table) - most),))


def _place(code: Code) -> str:
    line = code.lines[0]
    return f"{os.path.basename(code.file)}:{line}" if code.file else str(line)


def _code(text: str) -> str:
    first, newline, _ = text.partition("\n")
    return first + (" …" if newline else "")


def _axes(shape: Shape, names: tuple[str | None, ...], sizes: tuple[int, ...]) -> str:
    """The names of the axes, and those that stand there now where they are others.

    An axis without a name is shown by its size, or by a dot where that moved.
    """
    if all(axis.name is None for axis in shape):
        return ""
    known = [axis.name or (str(axis.size) if axis.size in sizes[at : at + 1] else "·") for at, axis in enumerate(shape)]
    now = [name for name in names if name is not None]
    before = f"[{', '.join(known)}]"
    return before if len(now) < len(names) or now == known else f"{before} → [{', '.join(now)}]"


def _sizes(value: Value) -> str:
    return f"[{', '.join(map(str, value.shape))}]"


def values(sides: Sides, rows: Sequence[Row]) -> Iterator[Block]:
    """How far values moved: what the first attention that moved computes, or all where none did."""
    roles = {attention.index: _computed(attention) for attention in sides.attentions[0]}
    inside = [row for row in rows if row.attention is not None and sides.values(row)[0].step in roles[row.attention]]
    first = [row for row in inside if row.attention == inside[0].attention]
    table: dict[tuple[Cell, ...], None] = {}
    for row in first or rows:
        stds = [
            number(value.numbers.std) if value.numbers and value.numbers.std is not None else "—"
            for value in sides.values(row)
        ]
        table[_place(row.code), _code(row.code.text), *stds, sides.difference(row)] = None
    columns = [say(f"whatif.column.{name}") for name in ("line", "code", "std_before", "std_after", "difference")]
    yield Table(tuple(columns), tuple(table)[:ROWS], "><>>>")
    if len(table) > ROWS:
        yield Text((say("whatif.more", count=len(table) - ROWS),))
    others = {row.attention for row in inside} - {row.attention for row in first}
    if others:
        yield Text((say("whatif.others", count=len(others)),))


def _computed(attention: Attention) -> set[int | None]:
    """The steps of an attention that compute, and do not only lay out anew."""
    inputs = {item.project for item in (attention.q, attention.k, attention.v)}
    between = {
        *attention.scale,
        *attention.cap,
        *attention.bias,
        *(mask.step for mask in attention.masks),
        *attention.dropout,
    }
    return {*inputs, attention.scores.step, *between, attention.softmax[-1], attention.output, attention.project_out}


def weights(sides: Sides, attention: Attention) -> Iterator[Block]:
    """The weights of one attention before and after, where they are few and moved."""
    value, step = attention.weights.value, attention.weights.step
    if value is None or step not in sides.step_b:
        return
    row = Row(Code("", (), ""), (value, sides.b.steps[sides.step_b[step]].results[0]), None)
    before, after = sides.values(row)
    rank = len(before.shape)
    if (attention.weights.query, attention.weights.key) != (rank - 2, rank - 1) or max(before.shape[-2:]) > WEIGHTS:
        return
    if before.shape != after.shape or before.numbers is None or after.numbers is None or not sides.moved(row):
        return
    grids = _grid(before.numbers.corner), _grid(after.numbers.corner)
    if grids[0] == grids[1]:  # what moved is in another sample or head
        return
    corner = f"[{', '.join('0' * (rank - 2))}]" if rank > 2 else ""
    yield Text((say("whatif.weights.before", text=(sides.name(0, value) or "softmax") + corner),))
    yield grids[0]
    yield Text((say("whatif.weights.after", text=(sides.name(1, after.id) or "softmax") + corner),))
    yield grids[1]


def _grid(corner: tuple[tuple[float, ...], ...]) -> Table:
    columns = ("", *(say("whatif.weights.key", index=i) for i in range(len(corner[0]))), say("whatif.weights.sum"))
    rows = tuple(
        (say("whatif.weights.query", index=i), *(f"{cell:.4f}" for cell in row), f"{sum(row):.4f}")
        for i, row in enumerate(corner)
    )
    return Table(columns, rows, "<" + ">" * (len(columns) - 1))


def printed(pairs: Sequence[tuple[str | None, str | None]], failed: bool, most: int) -> Iterator[Block]:
    """Lines that the program printed otherwise; of a run that failed, not those that it no longer came to."""
    missing = 0
    if failed:
        kept = [pair for pair in pairs if pair[1] is not None]
        missing, pairs = len(pairs) - len(kept), kept
    if pairs:
        yield Text((say("whatif.printed_lines"),))
        lines = [
            mark + line for pair in pairs[:most] for mark, line in zip("-+", pair, strict=True) if line is not None
        ]
        yield Literally("\n".join(f"{line[0]} {line[1:]}" for line in lines))
        if len(pairs) > most:
            yield Text((say("whatif.printed.more", count=len(pairs) - most),))
    if missing:
        yield Text((say("whatif.printed.missing", count=missing),))


def told(sides: Sides, rows: Sequence[Row]) -> list[dict[str, object]]:
    """The rows for whoever asks from a program: file, line, code, both shapes."""
    return [
        {
            "file": row.code.file,
            "line": row.code.lines[0],
            "code": row.code.text,
            "before": one.shape,
            "after": other.shape,
        }
        for row in rows
        for one, other in [sides.values(row)]
    ]
