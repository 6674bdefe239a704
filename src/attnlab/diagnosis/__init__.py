"""Why an operation did not take its operands, and what would fit.

Reads a Run that ended in an error, and tries what it suggests on the recorded shapes. Data comes out,
no sentence: those stand in the catalogs of words.

    data        what a diagnosis is made of
    expression  the text of an expression, and the same with parts of it replaced
    changes     ways to alter an operation
    case        one failing operation: its operands as the user knows them, changes tried on it
    tracking    which axis is which
    the others  one kind of operation each
"""

from __future__ import annotations

import re
from collections.abc import Callable

from attnlab.diagnosis import (
    attention,
    broadcasting,
    einsum,
    joining,
    layout,
    lookup,
    products,
    types,
    unpacking,
    widths,
)
from attnlab.diagnosis.case import Case
from attnlab.diagnosis.data import Attempt, Diagnosis, Message, Row, Shape, Suggestion
from attnlab.run import Error, Run

__all__ = ["Attempt", "Diagnosis", "Message", "Row", "Shape", "Suggestion", "diagnose"]

_KINDS: tuple[Callable[[Case], Diagnosis | None], ...] = (
    types.devices,
    types.dtypes,
    lookup.embedding,
    layout.dims,
    products.diagnose,
    widths.linear,
    widths.layer_norm,
    einsum.diagnose,
    attention.scaled_dot_product,
    attention.multi_head,
    layout.view,
    layout.permute,
    layout.split,
    broadcasting.diagnose,
    broadcasting.expand,
    joining.diagnose,
    lookup.getitem,
    lookup.cross_entropy,
)
# What PyTorch speaks of when shapes, dtypes, devices or indices are at fault.
_SHAPES = re.compile(
    r"\b(sizes?|shapes?|dims?|dimensions?|dimensional|\d-?D|strides?|index|indices|elements|channels|expand(ed)?|broadcast"
    r"(able)?|batch_?size|dtypes?|scalar type|devices?|overflow|matri(x|ces)|heads)\b",
    re.IGNORECASE,
)
_ERRORS = frozenset(["RuntimeError", "IndexError", "ValueError", "AssertionError"])


def diagnose(run: Run, attempt: Attempt) -> Diagnosis | None:
    """Why the operation that ended `run` did not take its operands; None where shapes are not at fault.

    `attempt` tries steps on the recorded values: `attnlab.recording.trial.Trials(run)`.
    """
    error = run.error
    if error is None or error.type not in _ERRORS:
        return None
    if error.failed is None:
        return unpacking.diagnose(run, error, attempt)
    if error.failed.source is None or not _about_shapes(error):
        return None
    case = Case(run, error.failed, error.failed.source, attempt)
    for kind in _KINDS:
        found = kind(case)
        if found is not None:
            return found
    keys = case.tensors()
    if not keys:
        return None
    return case.diagnosis([case.row(key) for key in keys], Message("diagnosis.unknown", {"op": error.failed.op}))


def _about_shapes(error: Error) -> bool:
    return error.type == "IndexError" or bool(_SHAPES.search(error.message))
