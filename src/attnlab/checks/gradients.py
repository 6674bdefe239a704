"""Which way a gradient can go back: along the recorded steps, but for those that hold it up."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cached_property

from attnlab.attention import Attention
from attnlab.checks.text import span_of, trees
from attnlab.checks.whole import Whole
from attnlab.run import Span, Step

# No gradient goes through these.
STOPS = frozenset(
    [
        *("detach", "data", "argmax", "argmin", "argsort", "one_hot", "round", "floor", "ceil", "sign", "long", "int"),
        *("bool", "eq", "ne", "lt", "le", "gt", "ge", "bernoulli", "multinomial", "searchsorted", "bucketize"),
        *("isnan", "isinf"),
    ]
)
# By these a slow copy of weights is kept: its weights are not learned, on purpose.
_COPIES = frozenset(["mul", "lerp", "copy"])
_SWITCHES = frozenset(["no_grad", "inference_mode", "set_grad_enabled"])
FAR = 4000


class Gradients:
    """The ways of the gradients of a run."""

    def __init__(self, whole: Whole) -> None:
        self.whole = whole
        self.graph = whole.graph

    def passes(self, step: Step) -> bool:
        """Whether a gradient goes back through a step."""
        return step.grad and step.op not in STOPS

    def onward(self, start: Iterable[int], live: bool) -> set[int]:
        """The values that come of others; `live`: only along steps through which a gradient goes back."""
        seen = set(start)
        waiting = list(seen)
        for number in waiting:  # grows while it is walked
            for step in self.graph.consumers(number):
                if live and not self.passes(step):
                    continue
                fresh = [result for result in step.results if result not in seen]
                seen.update(fresh)
                waiting += fresh
            if len(seen) > FAR:
                break
        return seen

    @cached_property
    def frozen(self) -> set[str]:
        """The names of parameters that are not to be learned."""
        return {
            name
            for root in self.whole.roots
            for name, parameter in root.named_parameters(remove_duplicate=False)
            if not parameter.requires_grad
        }

    def learned(self, number: int) -> bool:
        """Whether a value is a weight that is to be learned."""
        value = self.whole.run.values[number]
        if value.kind == "parameter":
            return value.name not in self.frozen and not self._is_copy(number)
        seen = number
        for _ in range(6):
            step = self.graph.maker(seen)
            if step is None:
                return False
            if step.arg("requires_grad") is True or step.op == "requires_grad":
                return not self._is_copy(number)
            if len(step.refs) != 1 or not self.graph.given(seen):
                return False
            seen = step.refs[0]
        return False

    def _is_copy(self, number: int) -> bool:
        """Whether a weight is moved along by the program itself, as the slow copy of another is."""
        memory = {number}
        for step in self.whole.run.steps:
            if step.inplace and not step.grad and step.via is None and step.op in _COPIES:
                written = self.whole.run.values[step.inplace[0]]
                value = self.whole.run.values[number]
                if step.inplace[0] in memory or (value.name and written.name == value.name):
                    return True
        return False

    def held_up(self, start: int, target: int) -> Step | None:
        """The first step that holds a gradient up on all ways from one value to another; None where one is open."""
        live = self.onward([start], live=True)
        if target in live:
            return None
        blocked = [
            step
            for number in sorted(live)
            for step in self.graph.consumers(number)
            if not self.passes(step) and step.results
        ]
        for step in sorted(blocked, key=lambda item: item.index):
            if target in self.onward(step.results, live=False):
                return step
        return None

    def output(self, attention: Attention) -> Step:
        """The step that makes an attention's result."""
        return self.whole.run.steps[attention.output]


def switch(step: Step, whole: Whole) -> Span | None:
    """Where the gradient was switched off around a step: a `with` or a decorator of the function that it is in."""
    if step.grad or step.source is None:
        return None
    span = step.source.span
    best: ast.expr | None = None
    for file, tree in trees(whole.run):
        if file != span.file:
            continue
        for node in ast.walk(tree):
            for expression in _switches(node):
                end = getattr(node, "end_lineno", 0) or 0
                if node.lineno <= span.line <= end and (best is None or expression.lineno >= best.lineno):  # type: ignore[attr-defined]
                    best = expression
        if best is not None:
            return span_of(best, file, whole.run)
    return None


def _switches(node: ast.AST) -> Iterator[ast.expr]:
    found: list[ast.expr] = []
    if isinstance(node, ast.With):
        found = [item.context_expr for item in node.items]
    elif isinstance(node, ast.FunctionDef):
        found = list(node.decorator_list)
    for expression in found:
        called = expression.func if isinstance(expression, ast.Call) else expression
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        if name in _SWITCHES:
            yield expression
