"""The steps that belong to no attention: a line each; or, where there is no attention, each with its reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from itertools import groupby

from attnlab.explanation.data import Code, Equation, Item, Line, Message, say
from attnlab.explanation.sight import Sight, holds, joined
from attnlab.explanation.steps import across, reason
from attnlab.run import Span, Step

# What PyTorch does for its own ends while it runs the user's line.
INNER = frozenset(["set_grad_enabled", "record_function_enter_new", "record_function_exit._RecordFunction", "grad"])
_LINES = 12
_ITEMS = 60
_CHAIN = 6


@dataclass(frozen=True)
class _Expression:
    """One of the user's expressions: the steps of its first evaluation, and how often it was evaluated alike."""

    steps: tuple[Step, ...]
    times: int

    @property
    def is_setup(self) -> bool:
        """Whether it only builds a module of PyTorch's: `nn.Linear(8, 8)`."""
        return all(step.via is not None and step.module is None for step in self.steps) and _module(self.steps[0]) != ""


def _module(step: Step) -> str:
    text = "" if step.source is None else step.source.text.partition("(")[0]
    return text if text.rpartition(".")[2][:1].isupper() else ""


def lines(sight: Sight, apart: Collection[int], everything: bool) -> tuple[tuple[Line, ...], int]:
    """A line for each expression of which no step is in `apart`, and how many lines were left out.

    In short, expressions of one place and one shape share a line, and so do modules that are built;
    with `everything` there is a line for each step of the run.
    """
    if everything:
        return tuple(_line(sight, _Expression((step,), 1)) for step in sight.run.steps), 0
    calls = {sight.run.steps[index].call for index in apart}
    spans = {source.span for index in apart if (source := sight.run.steps[index].source) is not None}
    left = [
        step for step in sight.run.steps if step.call not in calls and not (step.source and step.source.span in spans)
    ]
    found = _outermost(_expressions(sight, left))
    setup = [item for item in found if item.is_setup]
    shown = [_line(sight, item) for item in found if not item.is_setup]
    if setup:
        shown.insert(0, _setup(sight, setup))
    return tuple(shown[:_LINES]), max(len(shown) - _LINES, 0)


def items(sight: Sight) -> tuple[tuple[Item, ...], int]:
    """Each expression with its shapes and its reasons, and how many were left out."""
    found = _expressions(sight, sight.run.steps)
    shown: list[Item] = []
    told: set[int] = set()
    for setup, group in groupby(found, key=lambda item: item.is_setup):
        if setup:
            line = _setup(sight, list(group))
            shown.append(
                Item((line.code,) if line.code else (), (), (line.does,) if isinstance(line.does, Message) else ())
            )
        else:
            for expression in group:
                shown.append(_item(sight, expression, told))
                told.update(step.index for step in expression.steps)
    return tuple(shown[:_ITEMS]), max(len(shown) - _ITEMS, 0)


def _expressions(sight: Sight, steps: Iterable[Step]) -> list[_Expression]:
    """The expressions, those of one place with equal shapes once."""
    found: dict[object, _Expression] = {}
    for group in joined(list(steps)):
        if all(step.op in INNER for step in group):
            continue
        shapes = tuple(sight.run.values[value].shape for value in group[-1].results)
        source = group[-1].source
        key = (None if source is None else (source.span.file, source.span.line, source.text), group[-1].op, shapes)
        known = found.get(key, _Expression(group, 0))
        found[key] = replace(known, times=known.times + 1)
    return list(found.values())


def _outermost(found: list[_Expression]) -> list[_Expression]:
    """The expressions that stand within no other: `x * 2` alone of `torch.ones(3)` and `torch.ones(3) * 2`."""
    spans = [source.span for item in found if (source := item.steps[-1].source) is not None]
    by_line: dict[tuple[str, int], list[Span]] = {}
    for span in spans:
        by_line.setdefault((span.file, span.line), []).append(span)

    def inner(item: _Expression) -> bool:
        source = item.steps[-1].source
        return source is not None and any(
            holds(span, source.span) for span in by_line[source.span.file, source.span.line]
        )

    return [item for item in found if not inner(item)]


def _line(sight: Sight, expression: _Expression) -> Line:
    last = expression.steps[-1]
    shapes = tuple(sight.shape(value) for value in last.results)
    return Line(sight.code(last), last.op, shapes, expression.times)


def _setup(sight: Sight, found: list[_Expression]) -> Line:
    """One line for all modules that are built."""
    counts = Counter(name for item in found for name in [_module(item.steps[0])] * item.times)
    codes = [code for item in found if (code := sight.code(item.steps[0])) is not None]
    at = sorted({line for code in codes for line in code.lines})
    modules = ", ".join(name if times == 1 else f"{name} ×{times}" for name, times in counts.items())
    return Line(Code(codes[0].file if codes else "", tuple(at), ""), say("rest.setup", modules=modules), (), 1)


def _item(sight: Sight, expression: _Expression, told: set[int]) -> Item:
    steps = expression.steps
    code = sight.code(steps[-1], told)
    equations = (across(sight, steps),) if steps[0].refs and steps[-1].results else _made(sight, steps[-1])
    says = list(reason(sight, steps[0])) if len(steps) == 1 else [_inside(steps)]
    if expression.times > 1:
        says.append(say("rest.times", times=expression.times))
    return Item((code,) if code else (), equations, tuple(says))


def _made(sight: Sight, step: Step) -> tuple[Equation, ...]:
    return (Equation((), tuple(sight.shape(value) for value in step.results)),) if step.results else ()


def _inside(steps: tuple[Step, ...]) -> Message:
    """What a call of a module does within, in order."""
    ops = [step.op for step in steps if step.op not in INNER]
    chain = " → ".join(ops[:_CHAIN])
    return say("rest.inside", steps=chain if len(ops) <= _CHAIN else f"{chain} → …")
