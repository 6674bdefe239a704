"""Where positions enter an attention: tensors that depend on no data, and the steps at which they meet the tokens.

A table of positions is added to the tokens (sinusoids, learned embeddings) or multiplied into q and k (rotation). Seen
from q or k one walks back over all that keeps rows what they are, and past projections; each step there that joins what
depends on data with what does not is a meeting.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Literal
from weakref import WeakKeyDictionary

from torch import Tensor

from attnlab.attention.axes import Axis
from attnlab.attention.graph import CASTS, DROPOUT, NORMS, POINTWISE, VIEWS, Graph, refs
from attnlab.checks.case import Case, Name
from attnlab.checks.rows import listed
from attnlab.checks.whole import Whole
from attnlab.run import Step

# Operations that make a tensor of what is written in the program and of nothing else.
WRITTEN = frozenset(
    [
        *("arange", "zeros", "ones", "full", "linspace", "logspace", "eye", "tensor", "as_tensor", "from_numpy"),
        *("zeros_like", "ones_like", "full_like", "new_zeros", "new_ones", "new_full", "new_tensor", "empty_like"),
        *("empty", "new_empty", "scalar_tensor", "tril_indices", "triu_indices", "range"),
    ]
)
# Of these what is read gives a shape and a type alone.
_SHAPED = frozenset(["zeros_like", "ones_like", "full_like", "new_zeros", "new_ones", "new_full", "empty_like"])
# So many steps are walked back over.
_FAR = 240


@dataclass(frozen=True, slots=True)
class Meeting:
    """A step that joins tokens with a table: `stream` and `table` are ids of values, `result` what it made.

    `near`: between the projection and the product; otherwise before the projection. `free`: the table depends on no
    data; otherwise on data in another way than the stream (positions that were counted in a mask).
    """

    step: Step
    stream: int
    table: int
    result: int
    way: Literal["add", "mul"]
    near: bool


class Positions:
    """The tables of a run and where they meet the tokens. Made by `positions`."""

    def __init__(self, whole: Whole) -> None:
        self.whole = whole
        self.graph: Graph = whole.graph
        self.origins = whole.origins
        self._free: dict[int, bool] = {}

    def free(self, number: int) -> bool:
        """Whether a value depends on no data: made of numbers in the program, of parameters and buffers."""
        waiting = [number]
        while waiting:
            near = waiting[-1]
            if near in self._free:
                waiting.pop()
                continue
            before = self._before(near)
            if before is None:
                self._free[near] = False
                waiting.pop()
                continue
            open_ = [item for item in before if item not in self._free]
            if open_:
                waiting += open_
                continue
            self._free[near] = all(self._free[item] for item in before)
            waiting.pop()
        return self._free[number]

    def _before(self, number: int) -> tuple[int, ...] | None:
        """What a value was made of; None where that is data, or can't be known."""
        value = self.graph.values[number]
        step = self.graph.maker(number)
        if step is None:
            return () if value.kind in ("parameter", "buffer") or self._is_waves(number) else None
        if step.op in _SHAPED:
            return ()
        read = tuple(item for item in step.refs if item < number)
        if number not in step.results:
            earlier = self.graph.earlier(number)
            return None if earlier is None else (earlier, *read)
        if read:
            return read
        if step.op not in WRITTEN:
            return None
        return () if step.op not in ("tensor", "as_tensor", "from_numpy") or self._is_table(number) else None

    def _is_waves(self, number: int) -> bool:
        """Whether a tensor whose making was not seen (in a long loop) holds the sines and cosines of positions."""
        rows = self.rows(number) if len(self.graph.shape(number)) > 1 else None
        return rows is not None and sinusoid(rows) is not None

    def _is_table(self, number: int) -> bool:
        """Whether what was written down as a tensor may be a table: ids of words are data, 0 1 2 3 … are positions."""
        value = self.whole.replay.value(number)
        if value is None or value.is_floating_point():
            return True
        flat = value.reshape(-1)
        return len(flat) > 1 and bool((flat.diff() == 1).all())

    # -- meetings ------------------------------------------------------------------------------------

    def meetings(self, case: Case, name: Name) -> tuple[Meeting, ...]:
        """Where tables meet what q or k is made of, nearest first."""
        role = case.input(name)
        return self._walk(role.entered, role.project, True)

    def meetings_of(self, case: Case, name: Name, project: Step) -> tuple[Meeting, ...]:
        """The same for what one projection made, where a cache holds what earlier ones made as well."""
        x = self.origins.projects(project)
        made = project.results[0]
        near = [item for item in self.meetings(case, name) if item.near and self.reads(item.stream, made)]
        return (*near, *(() if x is None else self._walk(x, None, False)))

    def reads(self, number: int, wanted: int) -> bool:
        """Whether a value was made of another one."""
        waiting, seen = [number], {number}
        while waiting:
            near = waiting.pop()
            if near == wanted:
                return True
            step = self.graph.maker(near)
            for item in () if step is None else step.refs:
                if wanted <= item < near and item not in seen:
                    seen.add(item)
                    waiting.append(item)
        return False

    def _walk(self, entered: int, project: int | None, close: bool) -> tuple[Meeting, ...]:
        """Back from a value; `close`: from within, so that what stands behind the projection `project` is far."""
        found: list[Meeting] = []
        seen: set[int] = set()
        base = self.origins.base(entered)
        waiting: list[tuple[int, bool]] = [(entered, close)]
        while waiting and len(seen) < _FAR:
            number, near = waiting.pop(0)
            step = self.graph.maker(number)
            if number in seen or step is None:
                continue
            seen.add(number)
            x = self.origins.projects(step)
            if x is not None:
                waiting.append((x, near and step.index != project and project is not None))
                continue
            if step.op not in VIEWS | POINTWISE | NORMS or step.op in ("softmax", "log_softmax"):
                continue
            near = near and (project is not None or number != base)
            read = self._read(step, number)
            meeting = self._meeting(step, number, read, near)
            if meeting is not None:
                found.append(meeting)
            waiting += [(item, near) for item in read if not self.free(item)]
        return tuple(sorted(found, key=lambda item: -item.step.index))

    def leaves(self, case: Case, name: Name) -> tuple[int, ...]:
        """What q or k was made of, as far back as each element is made of elements: projections and what was given."""
        found: list[int] = []
        waiting = [case.input(name).entered]
        seen = set(waiting)
        while waiting and len(seen) < _FAR:
            number = waiting.pop()
            step = self.graph.maker(number)
            inner = step is not None and step.op in VIEWS | POINTWISE | NORMS and self.origins.projects(step) is None
            read = self._read(step, number) if inner and step is not None else []
            if not read:
                found.append(number)
            for item in read:
                if item not in seen and not self.free(item):
                    seen.add(item)
                    waiting.append(item)
        return tuple(found)

    def _read(self, step: Step, number: int) -> list[int]:
        if number not in step.results:
            earlier = self.graph.earlier(number)
            return [item for item in (earlier, *refs(step.operands[-1].arg)) if item is not None and item < number]
        if step.op in CASTS | DROPOUT | NORMS:
            return [item for item in step.refs[:1] if item < number]
        return [item for item in dict.fromkeys(step.refs) if item < number]

    def _meeting(self, step: Step, number: int, read: Sequence[int], near: bool) -> Meeting | None:
        if step.op not in ("add", "sub", "mul") or len(read) != 2:
            return None
        tables = [item for item in read if self.free(item)]
        if len(tables) != 1 or prod(self.graph.shape(tables[0])) < 2:
            return None
        stream = read[0] if tables[0] == read[1] else read[1]
        return Meeting(step, stream, tables[0], number, "mul" if step.op == "mul" else "add", near)

    # -- axes ----------------------------------------------------------------------------------------

    def token_axis(self, case: Case, name: Name) -> Axis | None:
        """The axis of q or k (as entered) that runs over tokens, as parts that are followed."""
        entered = case.input(name).entered
        axes = self.origins.axes(entered)
        if not case.written:
            if case.attention.style == "mha":
                first = case.softmax.arg("batch_first", None, False) is True
                return axes[1 if first and len(axes) == 3 else 0] if len(axes) > 1 else None
            return axes[-2] if len(axes) > 1 else None
        found = case.scores_product
        letter = case.query_letter if name == "q" else case.key_letter
        if found is None or letter is None:
            return None
        for value, letters in ((found.left, found.left_letters), (found.right, found.right_letters)):
            if value == entered and letter in letters:
                return axes[letters.index(letter)]
        return None

    def tokens_of(self, number: int, tokens: Axis) -> tuple[int, ...]:
        """Which axes of a value run over the tokens of an attention."""
        axes = self.origins.axes(number)
        return tuple(place for place, axis in enumerate(axes) if axis and self.origins.akin(axis, tokens))

    def along(self, meeting: Meeting) -> tuple[int, ...]:
        """The axes of a meeting's result, but for the last, along which its table has more than one element."""
        shape, table = self.graph.shape(meeting.result), self.graph.shape(meeting.table)
        lead = len(shape) - len(table)
        return tuple(
            lead + place for place, size in enumerate(table[:-1]) if size > 1 and lead + place < len(shape) - 1
        )

    # -- tables --------------------------------------------------------------------------------------

    def made_of(self, number: int) -> Iterator[int]:
        """A table and all that it was made of."""
        waiting, seen = [number], {number}
        while waiting and len(seen) < _FAR * 4:
            near = waiting.pop()
            yield near
            for item in self._before(near) or ():
                if item not in seen:
                    seen.add(item)
                    waiting.append(item)

    def whole_table(self, number: int) -> int:
        """The table that a value was cut from: past slices, and other changes of layout and type."""
        while True:
            step = self.graph.maker(number)
            if step is None or number not in step.results or step.op not in VIEWS | CASTS or len(step.refs) != 1:
                return number
            if step.op in ("cat", "stack") or step.refs[0] >= number:
                return number
            number = step.refs[0]

    def rows(self, number: int, axis: int | None = None) -> Tensor | None:
        """A table as [positions, features] in float64: `axis` (from the front) is that of positions.

        Without it, the only axis but the last that has more than one element. None where there are others.
        """
        table = self.whole.replay.double(number)
        if table is None or table.dim() < 2 or table.is_complex():
            return None
        long = [place for place, size in enumerate(table.shape[:-1]) if size > 1]
        if axis is None:
            axis = long[0] if len(long) == 1 else None
        if axis is None:
            return None
        for place in long:
            if place != axis:
                table = table.narrow(place, 0, 1)
        return table.reshape(-1, table.shape[-1])


_KNOWN: WeakKeyDictionary[Whole, Positions] = WeakKeyDictionary()


def positions(whole: Whole) -> Positions:
    """The tables of a run, looked for once."""
    if whole not in _KNOWN:
        _KNOWN[whole] = Positions(whole)
    return _KNOWN[whole]


def sides(case: Case) -> tuple[Name, ...]:
    """The roles whose tokens have positions of their own; none for an attention whose steps are not to be seen."""
    if case.attention.style not in ("written", "sdpa", "mha"):
        return ()
    return ("q", "k") if case.attention.kind == "cross" else ("q",)


# -- what a table holds -----------------------------------------------------------------------------

NEAR = 1e-3


@dataclass(frozen=True, slots=True)
class Sinusoid:
    """A table of sines and cosines of position · rate, from position 0 on. `sines`, `cosines`: their columns."""

    sines: tuple[int, ...]
    cosines: tuple[int, ...]


def sinusoid(table: Tensor) -> Sinusoid | None:
    """Sine and cosine columns of a table [positions, features] whose row 0 is position 0; None where it is no such."""
    if len(table) < 2 or table.shape[1] < 2 or float(table.abs().max()) > 1 + NEAR:
        return None
    first = table[0]
    sines, cosines = first.abs() < 1e-6, (first - 1).abs() < 1e-6
    if not bool((sines | cosines).all()) or not bool(sines.any()) or not bool(cosines.any()):
        return None
    if bool((table[1] == first).all()):
        return None
    return Sinusoid(tuple(listed(sines.nonzero())), tuple(listed(cosines.nonzero())))


def waves(a: Tensor, b: Tensor) -> bool:
    """Whether two tables of one shape are the cosines and the sines of the same angles."""
    if a.shape != b.shape or not a.is_floating_point() or not b.is_floating_point():
        return False
    return bool(((a * a + b * b - 1).abs() < NEAR).all())
