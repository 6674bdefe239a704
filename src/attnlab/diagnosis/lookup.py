"""Places that do not exist: an id beyond an embedding's table, an index beyond an axis; and losses."""

from __future__ import annotations

import re

from attnlab.diagnosis.case import Case, bracket
from attnlab.diagnosis.changes import Change, Fresh, method
from attnlab.diagnosis.data import Diagnosis, Message

_BEYOND = re.compile(r"index (-?\d+) is out of bounds for dimension (\d+) with size (\d+)")
_TOO_MANY = re.compile(r"too many indices for tensor of dimension (\d+)")


def embedding(case: Case) -> Diagnosis | None:
    """A diagnosis of an id that an embedding has no row for; None where that is not what failed."""
    ids, weight = case.place("input", 0), case.place("weight", 1)
    if case.step.op != "embedding" or ids is None or weight is None or "out of range" not in case.message:
        return None
    value, table = case.value(ids), case.value(weight)
    if value is None or table is None or len(table.shape) != 2:
        return None
    rows_ = table.shape[0]
    params: dict[str, str | int] = {"ids": case.name(ids), "last": rows_ - 1}
    rows = [case.row(ids), case.row(weight, (0,))]
    numbers = value.numbers
    if numbers is None or numbers.max is None or numbers.min is None:
        return case.diagnosis(rows, Message("diagnosis.embedding.unknown", {**params, "rows": rows_}))
    if numbers.min < 0:
        return case.diagnosis(rows, Message("diagnosis.embedding.negative", {**params, "least": int(numbers.min)}))
    largest = int(numbers.max)
    made = case.constructor(table.id)
    part = None if made is None else made[1].argument(0, "num_embeddings")
    changes: list[Change] = []
    if made is not None and part is not None:
        needed = str(largest + 1) if part.literal else f"{part.text} + {largest + 1 - rows_}"
        new = Fresh((largest + 1, table.shape[1]), table.dtype)
        changes.append(Change({weight: new}, elsewhere=(made[0], made[1].replaced([(part, needed)]))))
    fits = case.best(changes)
    return case.diagnosis(
        rows, Message("diagnosis.embedding.large", {**params, "rows": rows_, "largest": largest}), fits
    )


def getitem(case: Case) -> Diagnosis | None:
    """A diagnosis of an index beyond an axis, or of too many; None where that is not what failed."""
    if case.step.op not in ("getitem", "setitem", "select", "index_select") or not case.tensors():
        return None
    beyond, many = _BEYOND.search(case.message), _TOO_MANY.search(case.message)
    shape = case.shape(0)
    params: dict[str, str | int] = {"input": case.name(0), "shape": bracket(shape)}
    if beyond and int(beyond[2]) < len(shape):
        at, axis, size = map(int, beyond.groups())
        reason = Message(
            "diagnosis.index.beyond", {**params, "index": at, "axis": axis, "size": size, "last": size - 1}
        )
        return case.diagnosis([case.row(0, (axis,))], reason)
    if many:
        return case.diagnosis([case.row(0)], Message("diagnosis.index.many", {**params, "rank": len(shape)}))
    return None


def cross_entropy(case: Case) -> Diagnosis | None:
    """A diagnosis of classes on the wrong axis; None where that is not what failed."""
    logits, target = case.place("input", 0), case.place("target", 1)
    if case.step.op not in ("cross_entropy", "nll_loss") or logits is None or target is None:
        return None
    a, b = case.shape(logits), case.shape(target)
    params = {"input": case.name(logits), "target": case.name(target), "shape": bracket(a), "target_shape": bracket(b)}
    rows = [case.row(logits), case.row(target)]
    if len(a) > 2 and a[:-1] == b:
        one, other = case.chain(logits), case.chain(target)
        changes: list[Change] = []
        if one is not None and other is not None and len(a) == 3:
            flat = {logits: one.then(method("flatten", 0, 1)), target: other.then(method("flatten"))}
            changes.append(Change(flat))
            changes.append(Change({logits: one.then(method("transpose", 1, 2))}, cost=1.1))
        return case.diagnosis(
            rows, Message("diagnosis.loss.classes", params), case.best(changes) if case.fails_again else []
        )
    if a and b and a[0] != b[0]:
        rows = [case.row(logits, (0,)), case.row(target, (0,))]
        one, other = case.chain(logits), case.chain(target)
        changes = [] if other is None or len(b) < 2 else [Change({target: other.then(method("flatten"))})]
        if one is not None and len(a) == 3:
            changes.append(Change({logits: one.then(method("flatten", 0, 1))}))
        fits = case.best(changes) if case.fails_again else []
        return case.diagnosis(rows, Message("diagnosis.loss.batch", params), fits)
    return None
