"""What acts only while training, or should: dropout, and numbers drawn at random inside a module."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from attnlab.attention.graph import DROPOUT, POINTWISE, VIEWS, Graph
from attnlab.recording.tape import Tape
from attnlab.run import Operand, Run, Span, Step

# Operations that draw numbers. `multinomial` and permutations choose what comes next, on purpose.
DRAWS = frozenset(["rand", "rand_like", "randn", "randn_like", "bernoulli", "normal", "uniform", "gumbel_softmax"])
# Where each call that may drop has its share and its switch: by name, and by place.
_SHARE = {"scaled_dot_product_attention": ("dropout_p", 4), "multi_head_attention_forward": ("dropout_p", 10)}
_SWITCH = {"multi_head_attention_forward": ("training", 13)}


class Drop(NamedTuple):
    """A step that drops. `step`; `share` of what it drops; `training`: of the module around it, None outside any."""

    step: Step
    share: float
    training: bool | None

    @property
    def switch(self) -> Operand | None:
        """What was passed as the switch between training and evaluation; None where it was left out."""
        name, place = _SWITCH.get(self.step.op, ("train" if self.step.function == "torch.dropout" else "training", 2))
        return None if self.step.op == "scaled_dot_product_attention" else self.step.operand(name, place)

    @property
    def unregistered(self) -> bool:
        """Whether a dropout layer did it that belongs to no module, so that no `eval()` reaches it."""
        return self.layer and self.step.module is None

    @property
    def layer(self) -> bool:
        """Whether a layer such as `nn.Dropout` did it."""
        return self.step.via is not None and (self.step.module_type or "").endswith("Dropout")


def drops(run: Run, tape: Tape) -> Iterator[Drop]:
    """All steps of a run that drop something."""
    for step in run.steps:
        kept = tape.steps.get(step.index)
        if kept is None or step.source is None:
            continue
        share = _share(step)
        if share > 0:
            yield Drop(step, share, kept.training)


def _share(step: Step) -> float:
    """The share that a step drops; 0 for one that drops nothing."""
    if step.op in _SHARE:
        switch = _SWITCH.get(step.op)
        on = True if switch is None else step.arg(*switch, True)
        share = step.arg(*_SHARE[step.op], 0.0)
    elif step.op in DROPOUT:
        name = "train" if step.function == "torch.dropout" else "training"
        on = step.arg(name, 2, True)
        share = step.arg("p", 1, 0.5)
    else:
        return 0.0
    return float(share) if on is True and isinstance(share, (int, float)) else 0.0


class Drawn(NamedTuple):
    """A step that drew numbers inside a module. `dropping`: they decide what is kept of something and what not."""

    step: Step
    training: bool
    dropping: bool


def drawn(run: Run, tape: Tape, graph: Graph) -> Iterator[Drawn]:
    """All steps of the user's own that drew numbers inside a module, from PyTorch's common generator."""
    for step in run.steps:
        kept = tape.steps.get(step.index)
        if kept is None or kept.training is None or step.op not in DRAWS or step.source is None:
            continue
        if step.via is not None or step.arg("generator") is not None or not step.results:
            continue
        yield Drawn(step, kept.training, _dropping(step, graph))


def _dropping(step: Step, graph: Graph) -> bool:
    """Whether what was drawn, as yes and no, is multiplied with something or hides it."""
    waiting = [(number, step.op == "bernoulli") for number in step.results]
    for number, decided in waiting:  # grows while it is walked
        for user in graph.consumers(number):
            if user.op in ("lt", "le", "gt", "ge", "floor", "ceil", "bernoulli"):
                waiting += [(result, True) for result in user.results]
            elif decided and user.op in ("mul", "masked_fill", "where") and len(user.refs) > 1:
                return True
            elif user.op in POINTWISE | VIEWS and len(waiting) < 32:
                waiting += [(result, decided) for result in user.results]
    return False


class Standing(NamedTuple):
    """What acts in evaluation, by place: plain data of a rerun in which every module was in evaluation mode."""

    drops: frozenset[Span]
    drawn: frozenset[Span]


def standing(run: Run, tape: Tape) -> Standing:
    """What acts in a run in which every module was in evaluation mode."""
    inside = [item for item in drops(run, tape) if item.training is False]
    numbers = [item for item in drawn(run, tape, Graph(run)) if not item.training]
    return Standing(frozenset(_spans(item.step for item in inside)), frozenset(_spans(item.step for item in numbers)))


def _spans(steps: Iterator[Step]) -> Iterator[Span]:
    return (step.source.span for step in steps if step.source is not None)


def follows_mode(operand: Operand | None) -> bool | None:
    """Whether a switch is written so that it follows the module's mode, as `self.training` does.

    False where it is the mode turned round; None where the text does not tell.
    """
    if operand is None or ".training" not in operand.text:
        return None
    try:
        tree = ast.parse(operand.text.strip(), mode="eval").body
    except SyntaxError:
        return None
    return not (isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not))
