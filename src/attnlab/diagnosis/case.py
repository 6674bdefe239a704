"""One failing operation: its operands as the user knows them, and changes tried on it."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from attnlab.diagnosis.changes import Chain, Change, Key, Link
from attnlab.diagnosis.data import Attempt, Diagnosis, Message, Row, Shape, Suggestion
from attnlab.diagnosis.expression import Expression, bracketed, is_expression, one_line
from attnlab.diagnosis.moves import REARRANGING, Marks, nested
from attnlab.diagnosis.tracking import Tracking
from attnlab.run import Arg, Ref, Run, Source, Step, Value

# At most so many suggestions that fit are offered.
LIMIT = 3
# What PyTorch calls the arguments of functions that a library calls for the user.
_NAMES = {
    "multi_head_attention_forward": ("query", "key", "value"),
    "scaled_dot_product_attention": ("query", "key", "value", "attn_mask"),
    "linear": ("input", "weight", "bias"),
    "embedding": ("input", "weight"),
    "layer_norm": ("input", "normalized_shape"),
}
# What is asked of a mask where it is passed: `mask == 0`, `~mask`.
_MASKS = frozenset(["eq", "ne", "lt", "le", "gt", "ge", "bitwise_not", "logical_not"])


@dataclass(frozen=True, slots=True)
class Tried:
    """A change, and what became of it."""

    change: Change
    text: str
    source: Source
    steps: tuple[Step, ...]
    shapes: tuple[tuple[Shape, ...], ...]
    error: str

    @property
    def fits(self) -> bool:
        """Whether PyTorch took it."""
        return not self.error

    @property
    def operation(self) -> Step:
        """The operation itself, without what is done with its result."""
        return self.steps[-2] if self.change.after else self.steps[-1]

    @property
    def results(self) -> tuple[Shape, ...]:
        """Shapes of what the operation gave; () where it did not."""
        return self.shapes[-1] if self.fits else ()


class Case:
    """A step of a Run that did not take its operands."""

    def __init__(self, run: Run, step: Step, source: Source, attempt: Attempt) -> None:
        self.run = run
        self.step = step
        self.source = source
        self.message = "" if run.error is None else run.error.message
        self.expression = Expression(source.text)
        self._attempt = attempt

    @cached_property
    def tracking(self) -> Tracking:
        """Which axis is which, in the whole Run."""
        return Tracking(self.run)

    def place(self, keyword: str, position: int | None) -> int | None:
        """The place among the operands of what was passed by `keyword` or at `position`; None where it was not."""
        operand = self.step.operand(keyword, position)
        return None if operand is None else next(i for i, item in enumerate(self.step.operands) if item is operand)

    def arg(self, key: Key) -> Arg:
        """What was passed at a place."""
        if isinstance(key, tuple):
            inside = self.step.operands[key[0]].arg
            return inside[key[1]] if isinstance(inside, tuple) else None
        return self.step.operands[key].arg

    def value(self, key: Key) -> Value | None:
        """The tensor passed at a place; None where it is none."""
        arg = self.arg(key)
        return self.run.values[arg.id] if isinstance(arg, Ref) else None

    def shape(self, key: Key) -> Shape:
        """The shape of what was passed at a place; () for a number."""
        value = self.value(key)
        return () if value is None else value.shape

    def tensors(self) -> list[Key]:
        """The places of all tensors that were passed, those in lists too."""
        keys: list[Key] = []
        for place, operand in enumerate(self.step.operands):
            if isinstance(operand.arg, Ref):
                keys.append(place)
            elif isinstance(operand.arg, tuple):
                keys += [(place, i) for i, item in enumerate(operand.arg) if isinstance(item, Ref)]
        return keys

    def maker(self, ref: int) -> Step | None:
        """The step that made a value."""
        step = self.run.values[ref].step
        return None if step is None else self.run.steps[step]

    def inside(self, key: Key) -> bool:
        """Whether the value was made within the library that the user called, so that no name of the user's is its."""
        value = self.value(key)
        maker = None if value is None else self.maker(value.id)
        return maker is not None and self.step.via is not None and maker.call == self.step.call

    def name(self, key: Key) -> str:
        """What an operand is called: in the user's code, else in the module's, else in PyTorch's."""
        part = None if self.inside(key) else self.expression.operand(self.step, key)
        place = key[0] if isinstance(key, tuple) else key
        operand = self.step.operands[place]
        if part is not None:
            return one_line(part.text if isinstance(key, tuple) else operand.text)
        value = self.value(key)
        if value is not None and value.name:
            return value.name
        if value is not None and self.inside(key):
            maker = self.maker(value.id)
            if maker is not None and maker.module_type and maker.module != self.step.module:
                return f"({maker.module}): {maker.module_type}"
        if operand.text and not self.inside(key):
            return f"{one_line(operand.text)}[{key[1]}]" if isinstance(key, tuple) else one_line(operand.text)
        names = _NAMES.get(self.step.op, ())
        return operand.keyword or (names[place] if place < len(names) else f"#{place + 1}")

    def size(self, key: Key, axis: int) -> str:
        """The size of one axis, with its name where it has one: "D = 8"."""
        value = self.value(key)
        size = self.shape(key)[axis]
        name = None if value is None else value.axes[axis]
        return f"{name} = {size}" if name else str(size)

    def row(self, key: Key, marks: Iterable[int] = (), detail: str = "") -> Row:
        """An operand, with the axes that do not fit (from the front or the back)."""
        value = self.value(key)
        if value is None:
            return Row(self.name(key), None, (), (), "", (), None, "", "asked")
        marked = tuple(sorted({axis % len(value.shape) for axis in marks}))
        kind = "inside" if self.inside(key) else value.kind
        origin = None if kind == "inside" else self.origin(value.id)
        return Row(
            text=self.name(key),
            value=value.id,
            shape=value.shape,
            axes=named(value),
            detail=detail,
            marks=marked,
            origin=origin,
            made="" if origin is None else written(origin),
            kind=kind,
        )

    def asked(self, text: str, sizes: Shape, marks: Iterable[int] = ()) -> Row:
        """A row of sizes that were asked for."""
        return Row(text, None, sizes, (), "", tuple(sorted({axis % len(sizes) for axis in marks})), None, "", "asked")

    def origin(self, ref: int) -> Source | None:
        """The expression that made a value; for a parameter, the one that made its module."""
        value = self.run.values[ref]
        if value.kind in ("parameter", "buffer"):
            made = self.constructor(ref)
            return None if made is None else made[0]
        maker = self.maker(ref)
        return None if maker is None else maker.source

    def constructor(self, ref: int) -> tuple[Source, Expression] | None:
        """The call in the user's source that made the module of a parameter: `nn.Linear(8, 16)`.

        None where it was not seen, or where the user's code does not call the module's class there.
        """
        first = maker = self.maker(ref)
        while maker is not None and maker.inplace:
            first = maker
            maker = self.maker(maker.inplace[0])
        source = None if first is None else first.source
        if source is None:
            return None
        expression = Expression(source.text)
        call = expression.node
        if not isinstance(call, ast.Call) or not self.step.module_type:
            return None
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "ref", "")
        return (source, expression) if name == self.step.module_type else None

    def chain(self, key: Key) -> Chain | None:
        """An operand as the user wrote it, for operations to be put behind; None where it has no text."""
        value = self.value(key)
        part = None if self.inside(key) else self.expression.operand(self.step, key)
        return None if value is None or part is None else Chain(value.id, bracketed(part), ())

    def core(self, key: Key) -> Chain | None:
        """As `chain`; but what is put behind a comparison in a call stands inside it: `mask[:, None] == 0`."""
        chain = self.chain(key)
        maker = None if chain is None else self.maker(chain.value)
        if chain is None or maker is None or maker.source is None or maker.op not in _MASKS:
            return chain
        outer, inner = self.expression.operand(self.step, key), Expression(maker.source.text).operand(maker, 0)
        arg = maker.operands[0].arg
        in_call = isinstance(self.expression.node, ast.Call) and key != 0
        if outer is None or inner is None or not in_call or not isinstance(arg, Ref) or len(maker.refs) != 1:
            return chain
        if outer.text != maker.source.text or "\n" in outer.text:
            return chain
        text = outer.text.encode()
        around = text[: inner.start].decode(), text[inner.end :].decode()
        return Chain(arg.id, bracketed(inner), (), (Link(maker.function, maker.operands[1:], ""), *around))

    def bare(self, key: Key, ops: Sequence[str]) -> Chain | None:
        """What an operand was before the operations in `ops` that stand behind it in this very expression."""
        chain = self.chain(key)
        return None if chain is None else self._stripped(chain, ops)

    def bare_in(self, step: Step, ops: Sequence[str]) -> Chain | None:
        """As `bare`, for the first operand of a step that ran."""
        arg = step.operands[0].arg if step.operands else None
        part = None if step.source is None else Expression(step.source.text).operand(step, 0)
        if part is None or not isinstance(arg, Ref):
            return None
        return self._stripped(Chain(arg.id, bracketed(part), ()), ops)

    def _stripped(self, chain: Chain, ops: Sequence[str]) -> Chain:
        while True:
            maker = self.maker(chain.value)
            if maker is None or maker.source is None or maker.source.targets or maker.op not in ops:
                return chain
            inner = self.bare_in(maker, ())
            if inner is None or one_line(maker.source.text) != one_line(chain.text):
                return chain
            chain = inner

    def tail(self, key: Key, bare: Chain) -> tuple[Link, ...]:
        """The operations that lead from what an operand was (see `bare`) to what was passed."""
        links: list[Link] = []
        value = self.value(key)
        ref = -1 if value is None else value.id
        while ref != bare.value and (maker := self.maker(ref)) is not None and isinstance(maker.operands[0].arg, Ref):
            links.insert(0, Link(maker.function, maker.operands[1:], ""))
            ref = maker.operands[0].arg.id
        return tuple(links)

    def try_(self, change: Change) -> Tried | None:
        """Try a change; None where it cannot be written."""
        text = change.text(self.step, self.expression)
        source = change.elsewhere[0] if change.elsewhere else self.source
        if text is None or (text == one_line(source.text)):
            return None
        steps = change.steps(self.step, len(self.run.values))
        shapes, error = self._attempt(steps)
        return Tried(change, text, source, steps, shapes, error)

    @cached_property
    def fails_again(self) -> bool:
        """Whether the operation fails when it is tried as it was: only then does a trial say anything."""
        return bool(self._attempt((self.step,))[1])

    def marks(self, tried: Tried) -> Callable[[int], Marks]:
        """Which axis is which, in what was tried too."""
        return self.tracking.tried(tried.steps, tried.shapes)

    def operands(self, tried: Tried) -> tuple[Shape, ...]:
        """Shapes of the tensors that a change passes, in order."""
        return tuple(self.tried_shape(tried, ref) for ref in tried.operation.refs)

    def tried_shape(self, tried: Tried, ref: int) -> Shape:
        """The shape of a value, or of what a trial made; () where it did not come to that."""
        if ref < len(self.run.values):
            return self.run.values[ref].shape
        pairs = zip(tried.steps, tried.shapes, strict=False)
        return next((shapes[0] for step, shapes in pairs if ref in step.results and shapes), ())

    def suggestion(
        self, tried: Tried, verdict: Literal["fits", "fails", "mixes"], note: Message | None = None
    ) -> Suggestion:
        """A change that was tried, as it is told."""
        elsewhere = tried.source != self.source
        return Suggestion(
            text=tried.text,
            source=tried.source,
            shown=written(replace(tried.source, text=tried.text)) if elsewhere else tried.text,
            verdict=verdict,
            shapes=self.operands(tried),
            results=tried.results,
            note=note or tried.change.note,
        )

    def best(
        self,
        changes: Iterable[Change],
        score: Callable[[Tried], int] = lambda _: 0,
        accept: Callable[[Tried], bool] = lambda _: True,
        limit: int = LIMIT,
    ) -> list[Suggestion]:
        """The changes that fit, those that are best understood first: of equal cost and the highest score.

        `score` is negative where a change fits by luck, and means something else.
        """
        fitting: list[tuple[float, float, Tried]] = []
        seen: set[tuple[str, Source]] = set()
        for change in changes:
            tried = self.try_(change)
            if tried is None or not tried.fits or (tried.text, tried.source) in seen or not accept(tried):
                continue
            seen.add((tried.text, tried.source))
            points = score(tried)
            if points >= 0:
                fitting.append((-points, change.cost, tried))
        if not fitting:
            return []
        fitting.sort(key=lambda item: item[:2])
        first = fitting[0]
        close = [tried for points, cost, tried in fitting if points == first[0] and cost < first[1] + 0.25]
        return [self.suggestion(tried, "fits") for tried in close[:limit]]

    def failing(self, changes: Iterable[Change], limit: int = 1) -> list[Suggestion]:
        """Changes that many would try, and that PyTorch refuses too."""
        found: list[Suggestion] = []
        for change in changes:
            tried = self.try_(change)
            if tried is not None and not tried.fits and len(found) < limit:
                found.append(self.suggestion(tried, "fails"))
        return found

    def diagnosis(
        self,
        rows: Sequence[Row],
        reason: Message,
        suggestions: Sequence[Suggestion] | None = None,
        notes: Sequence[Message] = (),
        aligned: bool = False,
    ) -> Diagnosis:
        """The whole of it. `suggestions`: None where there was nothing to try."""
        marked = [row for row in rows if row.marks]
        return Diagnosis(
            source=self.source,
            text=one_line(self.source.text),
            step=self.step,
            rows=tuple(row for i, row in enumerate(rows) if not _told_already(row, [*rows[:i], *marked])),
            aligned=aligned,
            reason=reason,
            notes=tuple(notes),
            suggestions=tuple(suggestions or ()),
            tried=suggestions is not None,
        )

    def widened(self, key: Key, axis: int) -> Message | None:
        """Where the size of an axis came about, if not in the step that made the operand."""
        value = self.value(key)
        if value is None:
            return None
        size, back, ref = value.shape[axis], axis if axis < 0 else axis - len(value.shape), value.id
        found: Step | None = None
        for maker in self._makers(ref):
            refs = [ref for ref in maker.refs if self.run.values[ref].kind == "result"]
            before = self.run.values[refs[0]].shape if refs else ()
            if len(before) < -back or before[back] != size:
                found = maker
                break
        last = self.maker(ref)
        if found is None or found is last or found.source is None or last is None or found.call == last.call:
            return None
        return Message(
            "diagnosis.note.width",
            {"operand": self.name(key), "size": size, "line": found.source.span.line, "text": written(found.source)},
        )

    def dealt_anew(self, key: Key) -> Message | None:
        """The `view` behind an operand that cut the rows elsewhere, so that its axes are not what they seem."""
        value = self.value(key)
        for maker in () if value is None else self._makers(value.id):
            if maker.op not in REARRANGING or maker.source is None:
                return None
            before, after = (self.run.values[ref].shape for ref in (maker.refs[0], maker.results[0]))
            if maker.op in ("view", "reshape") and not nested(before, after):
                place = {"line": maker.source.span.line, "text": written(maker.source)}
                return Message("diagnosis.note.dealt", {**place, "before": bracket(before), "after": bracket(after)})
        return None

    def _makers(self, ref: int) -> Iterable[Step]:
        for _ in range(64):
            maker = self.maker(ref)
            if maker is None:
                return
            yield maker
            refs = [ref for ref in maker.refs if self.run.values[ref].kind == "result"]
            if not refs:
                return
            ref = refs[0]


def _told_already(row: Row, others: Sequence[Row]) -> bool:
    """Whether an operand was passed twice, and the other row tells at least as much of it."""
    return any(row == replace(other, marks=row.marks) and not row.marks for other in others)


def written(source: Source) -> str:
    """The expression with the name that its value was given: `Q = self.W_q(x)`."""
    text = one_line(source.text)
    names = ", ".join(source.targets)
    return f"{names} = {text}" if names and is_expression(source.text) else text


def named(value: Value) -> tuple[str, ...]:
    """The names of a value's axes, its size for one without; () where none has a name."""
    if not any(value.axes):
        return ()
    return tuple(name or str(size) for name, size in zip(value.axes, value.shape, strict=True))


def bracket(shape: Sequence[int]) -> str:
    """A shape as PyTorch writes it: "[2, 4, 8]"."""
    return f"[{', '.join(map(str, shape))}]"


def count(shape: Sequence[int]) -> int:
    """How many elements there are."""
    return math.prod(shape)


def without(shape: Shape, axis: int) -> Shape:
    """The sizes of all axes but one."""
    return shape[:axis] + shape[axis + 1 :]
