"""ATT101: dropout that acts while the model is evaluated.

Decided by what the module's mode was when something was dropped, by whether `eval()` can reach the layer that did it,
and, for a program that never evaluates, by running it again with every module in evaluation mode. Dropout that the
code keeps up on purpose (`training=self.training or self.mc`, a registered `nn.Dropout` put back into training) is
left alone. Outside of any module the mode is what a function is told: it is passed yes by one call and no by another,
and reads it nowhere.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import torch

from attnlab.checks.calls import passed
from attnlab.checks.editing import code, own, replaced
from attnlab.checks.evaluation import evaluated
from attnlab.checks.found import Edit, Found, Rule, Said
from attnlab.checks.modes import Drop, drawn, drops, follows_mode
from attnlab.checks.text import function, parsed, span_of, trees
from attnlab.checks.whole import Whole
from attnlab.diagnosis.expression import Expression
from attnlab.run import Span, Step

# Words by which people say that dropout is to stay on: hints, which turn a finding into a note.
_SAID = re.compile(r"monte[\s_-]?carlo|\bmc\b|mc_|_mc|bayes|uncertain|posterior|蒙特卡洛|贝叶斯|不确定", re.IGNORECASE)


def _look(whole: Whole) -> Iterator[Found]:
    yield from _uncalled(whole)
    yield from _standing(whole)


def _uncalled(whole: Whole) -> Iterator[Found]:
    """`model.eval` without the brackets that would call it, where something was dropped afterwards."""
    kept = [drop for drop in drops(whole.run, whole.tape) if drop.layer and drop.training]
    for file, tree in trees(whole.run) if kept else ():
        for node in ast.walk(tree):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Attribute) and node.value.attr == "eval":
                span = span_of(node.value, file, whole.run)
                text = ast.unparse(node.value)
                yield Found(
                    span,
                    Said("check.dropout-in-eval.uncalled", {"code": text}),
                    Said("check.dropout-in-eval.still", {"code": code(kept[-1].step), "share": _percent(kept[-1])}),
                    Said("check.dropout-in-eval.mend", {"code": f"{text}()"}),
                    (Edit(Span(file, span.end_line, span.end_col, span.end_line, span.end_col), "()"),),
                )


def _standing(whole: Whole) -> Iterator[Found]:
    """Steps that drop in evaluation mode."""
    seen: set[Span] = set()
    waiting: dict[Span, tuple[Step, float]] = {}
    for drop in drops(whole.run, whole.tape):
        span = drop.step.source.span if drop.step.source else None
        if span is None or span in seen:
            continue
        told = _told(drop, whole)
        if told is not None:
            seen.add(span)
            yield told
        elif _open(drop):
            waiting[span] = (drop.step, drop.share)
    for item in drawn(whole.run, whole.tape, whole.graph):
        span = item.step.source.span if item.step.source else None
        if span is None or span in seen or not item.dropping:
            continue
        if item.training:
            waiting[span] = (item.step, 0.0)
        else:
            seen.add(span)
            yield _drawn(item.step, whole)
    open_ones = {span: item for span, item in waiting.items() if span not in seen}
    if not open_ones:
        return
    rerun = evaluated(whole)
    found = None if rerun is None else rerun.standing
    for span, (step, share) in open_ones.items():
        if found is not None and span in found.drops:
            yield _by_rerun(step, share)
        elif found is not None and span in found.drawn:
            yield _drawn(step, whole)


def _told(drop: Drop, whole: Whole) -> Found | None:
    """What can be said without running anything again."""
    if drop.unregistered:
        return Found(
            drop.step,
            Said("check.dropout-in-eval.layer", {"code": code(drop.step)}),
            Said("check.dropout-in-eval.unreached", {"share": _percent(drop)}),
            Said("check.dropout-in-eval.register"),
        )
    ignored = None if drop.layer or drop.training is not None else _ignored(drop, whole)
    if ignored is not None:
        name = {"code": f"training={ignored}"}
        return Found(
            drop.step,
            Said("check.dropout-in-eval.message", {"code": code(drop.step)}),
            Said("check.dropout-in-eval.ignored", {"name": ignored, "share": _percent(drop)}),
            Said("check.dropout-in-eval.mend", name),
        )
    if drop.layer or drop.training is None:
        return None  # a registered layer follows its own mode; outside any module there is no mode
    if _chosen_by_mode(drop):
        return None
    if drop.training is False:
        return _finding(drop, "off", whole)
    if drop.step.op == "scaled_dot_product_attention":
        return None  # its share may be chosen elsewhere
    if drop.switch is None:
        return _finding(drop, "default", whole)
    return _finding(drop, "always", whole) if drop.switch.text == "True" else None


def _ignored(drop: Drop, whole: Whole) -> str | None:
    """What the function around a step is passed as yes and as no, and never reads, where the step always drops."""
    source = drop.step.source
    if drop.switch is None or drop.switch.text != "True" or source is None:
        return None
    passed_as: dict[str, set[bool]] = {}
    for call in passed(whole):
        for name, value in call.arguments.items() if call.callee == source.function else ():
            if isinstance(value, ast.Constant) and isinstance(value.value, bool):
                passed_as.setdefault(name, set()).add(value.value)
    tree = parsed(whole.run.sources.get(source.span.file, ""))
    scope = None if tree is None else function(tree, source.function)
    read = {node.id for node in ast.walk(scope) if isinstance(node, ast.Name)} if scope is not None else set[str]()
    return next((name for name, values in passed_as.items() if len(values) == 2 and name not in read), None)


def _chosen_by_mode(drop: Drop) -> bool:
    """Whether the module's mode has a say in the switch or the share, and is not turned round."""
    share = drop.step.operand("dropout_p", 4) if drop.step.op == "scaled_dot_product_attention" else None
    return bool(follows_mode(drop.switch)) or (share is not None and ".training" in share.text)


def _open(drop: Drop) -> bool:
    """Whether only a run in evaluation mode can tell."""
    return drop.training is True and not drop.layer and own(drop.step) and not _chosen_by_mode(drop)


def _finding(drop: Drop, kind: str, whole: Whole) -> Found:
    mend, edits = _mended(drop.step)
    meant = _on_purpose(drop, whole)
    evidence: dict[str, object] = {"share": _percent(drop)}
    if kind == "off" and not meant:
        evidence["module"] = drop.step.module_type or ""
    return Found(
        drop.step,
        Said("check.dropout-in-eval.message", {"code": code(drop.step)}),
        Said("check.dropout-in-eval.hint" if meant else f"check.dropout-in-eval.{kind}", evidence),
        mend,
        edits,
        note=meant,
    )


def _on_purpose(drop: Drop, whole: Whole) -> bool:
    """Whether it is switched on in so many words, in a program that speaks of sampling with it."""
    switch = drop.switch
    if switch is None or switch.text != "True" or drop.step.source is None:
        return False
    return bool(_SAID.search(whole.run.sources.get(drop.step.source.span.file, "")))


def _mended(step: Step) -> tuple[Said, tuple[Edit, ...]]:
    """The call with its switch put right."""
    text = "" if step.source is None else step.source.text
    if step.op == "scaled_dot_product_attention":
        part = Expression(text).argument(4, "dropout_p") if own(step) else None
        if part is None:
            return Said("check.dropout-in-eval.zero"), ()
        new = " ".join([part.text, "if", "self.training", "else", "0.0"])
        return Said("check.dropout-in-eval.mend", {"code": f"dropout_p={new}"}), _in_method(
            step, replaced(step, part, new)
        )
    new = "training=self.training"
    if not own(step):
        return Said("check.dropout-in-eval.mend", {"code": new}), ()
    name = "train" if step.function == "torch.dropout" else "training"
    place = 13 if step.op == "multi_head_attention_forward" else 2
    part = Expression(text).argument(place, name)
    if part is not None:
        return Said("check.dropout-in-eval.mend", {"code": new}), _in_method(
            step, replaced(step, part, "self.training")
        )
    return Said("check.dropout-in-eval.mend", {"code": new}), _in_method(step, _behind(step, new))


def _behind(step: Step, new: str) -> tuple[Edit, ...]:
    """A further argument, behind the last one of a call that stands on one line."""
    if step.source is None or not step.source.text.endswith(")") or step.source.text.rstrip(")").rstrip().endswith(","):
        return ()
    span = step.source.span
    at = span.end_col - 1
    return (Edit(Span(span.file, span.end_line, at, span.end_line, at), f", {new}"),)


def _in_method(step: Step, edits: tuple[Edit, ...]) -> tuple[Edit, ...]:
    """Edits that speak of `self`, where the step stands in a method."""
    return edits if step.source is not None and step.source.function.endswith(".forward") else ()


def _by_rerun(step: Step, share: float) -> Found:
    mend, edits = _mended(step)
    return Found(
        step,
        Said("check.dropout-in-eval.message", {"code": code(step)}),
        Said("check.dropout-in-eval.rerun", {"share": f"{share:.0%}"}),
        mend,
        edits,
    )


def _drawn(step: Step, whole: Whole) -> Found:
    value = whole.replay.value(step.results[0])
    count = 0 if value is None else int(torch.tensor(value.shape).prod())
    return Found(
        step,
        Said("check.dropout-in-eval.hand", {"code": code(step)}),
        Said("check.dropout-in-eval.draws", {"count": count}),
        Said("check.dropout-in-eval.if"),
    )


def _percent(drop: Drop) -> str:
    return f"{drop.share:.0%}"


RULE = Rule("ATT101", "dropout-in-eval", whole=_look)
