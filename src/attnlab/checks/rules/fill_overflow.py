"""ATT061: what is filled in, or added, is more than the dtype can hold.

Either PyTorch refuses it, or the number becomes -inf. Then a row that is masked whole is NaN, where a number that fits
would have left it alone: decided by the first step on the way of a mask that makes infinity of finite numbers, and by
a row of weights that is NaN. An overflow that does no harm is a note.
"""

from __future__ import annotations

from collections.abc import Iterator

from torch import Tensor

from attnlab.checks.case import Case
from attnlab.checks.editing import argument, code, own, replaced
from attnlab.checks.found import Edit, Found, Rule, Said
from attnlab.checks.masking import given_masks, makers
from attnlab.checks.rules.row_without_key import nan_ends
from attnlab.checks.whole import Whole
from attnlab.run import Opaque, Operand, Step

_MADE = frozenset(["tensor", "full", "full_like", "scalar_tensor", "masked_fill", "fill", "where", "clamp"])
_PASSES = frozenset(["add", "sub", "mul", "div", "rsub", "neg", "to", "half", "type", "type_as"]) | _MADE
_FAR = 1e4


def _look(case: Case) -> Iterator[Found]:
    scores = case.attention.scores.value
    masks = given_masks(case)
    behind = makers(masks, case.graph)
    behind += [case.step(mask.step) for mask in case.attention.masks if case.written]
    behind += [case.step(index) for index in case.attention.bias]
    for step in behind:
        if step.op not in _PASSES or not step.results or not _overflows(step, case):
            continue
        harm = bool(nan_ends(case)) and scores is not None
        dtype = case.graph.values[step.results[0]].dtype
        yield Found(
            step,
            Said("check.fill-overflow.message", {"code": code(step), "dtype": dtype}),
            Said(
                "check.fill-overflow.evidence" if harm else "check.fill-overflow.evidence-harmless",
                {"largest": _largest(dtype)},
            ),
            Said("check.fill-overflow.mend"),
            note=not harm,
        )
        return


def _overflows(step: Step, case: Case) -> bool:
    """Whether a step makes -inf of finite numbers."""
    made = case.replay.value(step.results[0])
    if made is None or not made.is_floating_point() or not bool((made == float("-inf")).any()):
        return False
    read = [case.replay.value(number) for number in step.refs]
    if any(tensor is None or _has_inf(tensor) for tensor in read):
        return False
    numbers = [abs(number) for number in _numbers(step.operands)]
    if step.op in _MADE:
        return any(_FAR <= number < float("inf") for number in numbers)
    return all(number < float("inf") for number in numbers)


def _numbers(operands: tuple[Operand, ...]) -> Iterator[float]:
    for operand in operands:
        if isinstance(operand.arg, (int, float)) and not isinstance(operand.arg, bool):
            yield float(operand.arg)


def _has_inf(tensor: Tensor) -> bool:
    return tensor.is_floating_point() and not bool(tensor.isfinite().all())


def _largest(dtype: str) -> str:
    return {"float16": "65504", "bfloat16": "3.39e38", "float32": "3.40e38", "float64": "1.80e308"}.get(dtype, "?")


def _whole(whole: Whole) -> Iterator[Found]:
    """The program ended because a number does not fit."""
    error = whole.run.error
    step = None if error is None else error.failed
    if error is None or step is None or "without overflow" not in error.message:
        return
    far = [number for number in _numbers(step.operands) if abs(number) >= _FAR]
    asked = step.arg("dtype")
    dtype = asked.text.removeprefix("torch.") if isinstance(asked, Opaque) else ""
    if step.refs and not dtype:
        dtype = whole.graph.values[step.refs[0]].dtype
    if not far or not dtype:
        return
    yield Found(
        step,
        Said("check.fill-overflow.message", {"code": code(step), "dtype": dtype}),
        Said("check.fill-overflow.refused", {"number": f"{far[0]:g}", "largest": _largest(dtype)}),
        Said("check.fill-overflow.mend"),
        _edits(step, dtype),
    )


def _edits(step: Step, dtype: str) -> tuple[Edit, ...]:
    if step.op != "masked_fill" or not own(step):
        return ()
    return replaced(step, argument(step, 2, "value"), f"torch.finfo(torch.{dtype}).min")


RULE = Rule("ATT061", "fill-overflow", attention=_look, whole=_whole)
