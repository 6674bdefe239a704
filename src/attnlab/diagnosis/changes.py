"""Ways to alter one operation: what would be written, and what is to be tried."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from attnlab.diagnosis.data import Message, Shape
from attnlab.diagnosis.expression import Expression, Part, bracketed
from attnlab.run import Arg, Opaque, Operand, Ref, Slice, Source, Step

# The place of an operand in a step; in a list of tensors, its place there too.
Key: TypeAlias = "int | tuple[int, int]"
ALL = Slice(None, None, None)


@dataclass(frozen=True, slots=True)
class Link:
    """One more operation on an operand, written behind it: `.transpose(-2, -1)`, `[:, None]`."""

    function: str
    operands: tuple[Operand, ...]
    text: str


def method(name: str, *args: int | tuple[int, ...], text: str | None = None) -> Link:
    """A call of a method; `text` of its arguments where it is not that of the numbers."""
    inside = ", ".join(map(str, args)) if text is None else text
    return Link(f"torch.Tensor.{name}", tuple(Operand("", arg, "") for arg in args), f".{name}({inside})")


def index(*items: Slice | None, text: str | None = None) -> Link:
    """Indexing with whole axes (ALL), parts of axes and new axes (None)."""
    inside = ", ".join("None" if item is None else ":" for item in items) if text is None else text
    return Link("torch.Tensor.__getitem__", (Operand("", tuple(items), ""),), f"[{inside}]")


T = Link("torch.Tensor.T", (), ".T")


@dataclass(frozen=True, slots=True)
class Chain:
    """A value, what it is called in the source, and operations on it.

    `last` comes behind all others, and its text stands around them: ("", " == 0"), ("~", "").
    `items` stands in the place of the value, where the first operation takes several.
    """

    value: int
    text: str
    links: tuple[Link, ...]
    last: tuple[Link, str, str] | None = None
    items: Arg = None

    def then(self, *links: Link) -> Chain:
        """The same with more operations behind."""
        return dataclasses.replace(self, links=self.links + links)

    @property
    def operations(self) -> tuple[Link, ...]:
        """All operations, in order."""
        return (*self.links, self.last[0]) if self.last else self.links

    @property
    def written(self) -> str:
        """Its text."""
        inner = self.text + "".join(link.text for link in self.links)
        return f"{self.last[1]}{inner}{self.last[2]}" if self.last else inner


@dataclass(frozen=True, slots=True)
class Plain:
    """An argument that is no tensor, and its text."""

    arg: Arg
    text: str


@dataclass(frozen=True, slots=True)
class Fresh:
    """A new tensor of a shape: a parameter, if it had been made otherwise. It has no text."""

    shape: Shape
    dtype: str


@dataclass(frozen=True, slots=True)
class Change:
    """One way to alter the failing operation.

    `operands`  what is passed instead, by place
    `function`  what is called instead, as PyTorch names it, or ""
    `added`     more arguments, behind the others
    `passed`    all that is passed instead, where that is simpler to say
    `swapped`   two operands exchanged
    `after`     one more operation, on what comes out
    `elsewhere` another expression to rewrite instead, and its new text
    `cost`      how much it asks of the reader: the lowest comes first
    """

    # The keys are `Key`s; a Mapping would refuse a dict of one kind of them.
    operands: Mapping[Any, Chain | Plain | Fresh] = field(default_factory=dict[Any, "Chain | Plain | Fresh"])
    function: str = ""
    added: tuple[Operand, ...] = ()
    passed: tuple[Operand, ...] | None = None
    swapped: tuple[int, int] | None = None
    after: Link | None = None
    elsewhere: tuple[Source, str] | None = None
    cost: float = 1
    note: Message | None = None

    def steps(self, failed: Step, free: int) -> tuple[Step, ...]:
        """The steps to try, the operation itself last; ids from `free` on are given to what they make."""
        steps: list[Step] = []
        operands = list(failed.operands if self.passed is None else self.passed)
        for key, new in self.operands.items():
            arg: Arg = new.arg if isinstance(new, Plain) else None
            if isinstance(new, Fresh):
                steps.append(_zeros(failed, new, free + len(steps)))
                arg = Ref(free + len(steps) - 1)
            elif isinstance(new, Chain):
                arg = Ref(new.value) if new.items is None else new.items
                for link in new.operations:
                    passed = (Operand("", arg, ""), *link.operands)
                    steps.append(_step(failed, link.function, passed, free + len(steps)))
                    arg = Ref(free + len(steps) - 1)
            operands[_place(key)] = _with(operands[_place(key)], key, arg)
        if self.swapped:
            one, other = self.swapped
            operands[one], operands[other] = operands[other], operands[one]
        operands += self.added
        steps.append(_step(failed, self.function or failed.function, tuple(operands), free + len(steps)))
        if self.after:
            result = Operand("", Ref(free + len(steps) - 1), "")
            steps.append(_step(failed, self.after.function, (result, *self.after.operands), free + len(steps)))
        return tuple(steps)

    def text(self, failed: Step, expression: Expression) -> str | None:
        """What would be written; None where a part to be replaced is not to be found in the source."""
        if self.elsewhere:
            return self.elsewhere[1]
        edits: list[tuple[Part, str]] = []
        added = [f"{item.keyword}={item.text}" if item.keyword else item.text for item in self.added]
        for key, new in self.operands.items():
            part, operand = expression.operand(failed, key), failed.operands[_place(key)]
            if isinstance(new, Plain) and part is None and operand.keyword and not operand.text:
                added.append(f"{operand.keyword}={new.text}")  # left to its default
            elif part is None or isinstance(new, Fresh):
                return None
            else:
                edits.append((part, new.text if isinstance(new, Plain) else new.written))
        if self.swapped:
            parts = [expression.operand(failed, place) for place in self.swapped]
            if parts[0] is None or parts[1] is None:
                return None
            edits += [(parts[0], bracketed(parts[1])), (parts[1], bracketed(parts[0]))]
        if self.function:
            called = expression.called()
            if called is None or called.text != failed.function.rpartition(".")[2]:
                return None
            edits.append((called, self.function.rpartition(".")[2]))
        return expression.replaced(edits, ", ".join(added))


def number(arg: int, keyword: str = "") -> Operand:
    """A number as an argument."""
    return Operand(keyword, arg, str(arg))


def _place(key: Key) -> int:
    return key[0] if isinstance(key, tuple) else key


def _with(operand: Operand, key: Key, arg: Arg) -> Operand:
    if isinstance(key, tuple):
        items: Sequence[Arg] = operand.arg if isinstance(operand.arg, tuple) else ()
        arg = tuple(arg if i == key[1] else item for i, item in enumerate(items))
    return Operand(operand.keyword, arg, "")


def _step(like: Step, function: str, operands: tuple[Operand, ...], made: int) -> Step:
    op = like.op if function == like.function else function.rpartition(".")[2].strip("_")
    return dataclasses.replace(like, op=op, function=function, operands=operands, results=(made,), inplace=())


def _zeros(like: Step, new: Fresh, made: int) -> Step:
    operands = (Operand("", new.shape, ""), Operand("dtype", Opaque(f"torch.{new.dtype}"), ""))
    return _step(like, "torch.zeros", operands, made)
