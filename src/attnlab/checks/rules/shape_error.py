"""ATT121: an operation that PyTorch refused because its operands do not fit.

Decided by `attnlab.diagnosis`, which tries changes on the recorded operands; the first that fits is the mend. An error
that the program catches itself is its own affair.
"""

from __future__ import annotations

from collections.abc import Iterator

from attnlab.checks.found import Edit, Found, Rule, Said
from attnlab.checks.whole import Whole
from attnlab.diagnosis import Diagnosis, Suggestion, diagnose
from attnlab.recording.trial import Trials
from attnlab.run import Error

# PyTorch's own messages may be long: so much of one is told.
LONG = 200


def _look(whole: Whole) -> Iterator[Found]:
    error = whole.run.error
    diagnosis = None if error is None else diagnose(whole.run, Trials(whole.run))
    if error is None or diagnosis is None:
        return
    fitting = [item for item in diagnosis.suggestions if item.verdict == "fits"]
    yield Found(
        diagnosis.source.span,
        Said("check.shape-error.message", {"code": _line(diagnosis.text), "operands": _operands(diagnosis)}),
        _evidence(diagnosis, error),
        _mend(fitting),
        _edits(fitting),
    )


def _operands(diagnosis: Diagnosis) -> str:
    """The operands with their shapes: "Q [2, 4, 8], K [2, 4, 8]"."""
    return ", ".join(f"{_line(row.text)} {list(row.shape)}" for row in diagnosis.rows)


def _evidence(diagnosis: Diagnosis, error: Error) -> Said:
    if diagnosis.reason.id != "diagnosis.unknown":
        return Said(diagnosis.reason.id, dict(diagnosis.reason.params))
    return Said("check.shape-error.raised", {"type": error.type, "said": _line(error.message)[:LONG]})


def _mend(fitting: list[Suggestion]) -> Said | None:
    if not fitting:
        return None
    code = "; ".join(_line(item.shown) for item in fitting[:1])
    result = ", ".join(str(list(shape)) for shape in fitting[0].results)
    if len(fitting) == 1:
        return Said("check.shape-error.mend", {"code": code, "shape": result})
    others = ", ".join(f"`{_line(item.shown)}`" for item in fitting[1:])
    return Said("check.shape-error.choice", {"code": code, "shape": result, "others": others})


def _edits(fitting: list[Suggestion]) -> tuple[Edit, ...]:
    """The mend as an edit, where one fits and no other."""
    return (Edit(fitting[0].source.span, fitting[0].text),) if len(fitting) == 1 else ()


def _line(text: str) -> str:
    return " ".join(text.split())


RULE = Rule("ATT121", "shape-error", whole=_look, unless=frozenset({"ATT045", "ATT061", "ATT093", "ATT094"}))
