"""Operands of different dtypes, or on different devices."""

from __future__ import annotations

import re
from collections.abc import Iterator

from attnlab.diagnosis.case import Case
from attnlab.diagnosis.changes import Change, Link, Plain, method
from attnlab.diagnosis.data import Diagnosis, Message
from attnlab.run import Opaque, Operand, Value

_CASTS = {
    "float32": "float",
    "float64": "double",
    "float16": "half",
    "bfloat16": "bfloat16",
    "int64": "long",
    "int32": "int",
    "bool": "bool",
}
# fmt: off
_PRODUCTS = frozenset([
    "matmul", "mm", "bmm", "mv", "dot", "addmm", "addbmm", "baddbmm", "addmv", "linear", "einsum",
    "scaled_dot_product_attention", "multi_head_attention_forward", "conv1d", "conv2d", "bilinear",
])
# fmt: on
_DTYPE = re.compile(r"dtype|scalar type|same type|data type|boolean|to be bool|Float|Double|Half|Long", re.ASCII)


def devices(case: Case) -> Diagnosis | None:
    """A diagnosis of operands on different devices; None where that is not what failed."""
    keys = case.tensors()
    found = {key: value.device for key in keys if (value := case.value(key)) is not None}
    if len(set(found.values())) < 2 or "device" not in case.message:
        return None
    places = list(dict.fromkeys(found.values()))
    params = {"op": case.step.op, "one": places[0], "other": places[1]}
    rows = [case.row(key, detail=found[key]) for key in keys]
    # Parameters stay where they are; what the program makes goes to them.
    home = next((found[key] for key in keys if (v := case.value(key)) and v.kind in ("parameter", "buffer")), places[0])
    if home == "cpu":
        home = next(place for place in places if place != "cpu") if not _held(case) else home
    changes: list[Change] = []
    for key in keys:
        chain, value = case.chain(key), case.value(key)
        if chain is not None and value is not None and found[key] != home:
            other = next((named.text for item in keys if found[item] == home and (named := case.chain(item))), None)
            text = f'.to("{home}")' if other is None else f".to({other}.device)"
            # All of a trial is on one device: what is tried is that everything else fits.
            changes.append(Change({key: chain.then(_to(value.dtype, text))}))
    return case.diagnosis(rows, Message("diagnosis.device", params), case.best(changes))


def dtypes(case: Case) -> Diagnosis | None:
    """A diagnosis of operands of dtypes that do not go together; None where that is not what failed."""
    for special in (_overflow, _ids, _mask):
        found = special(case)
        if found is not None:
            return found
    keys = case.tensors()
    kinds = {key: value.dtype for key in keys if (value := case.value(key)) is not None}
    if case.step.op not in _PRODUCTS or len(set(kinds.values())) < 2 or not _DTYPE.search(case.message):
        return None
    names = list(dict.fromkeys(kinds.values()))
    rows = [case.row(key, detail=kinds[key]) for key in keys]
    params = {"op": case.step.op, "one": names[0], "other": names[1]}
    return case.diagnosis(rows, Message("diagnosis.dtype.differ", params), case.best(_cast(case, kinds)))


def _held(case: Case) -> bool:
    values = [case.value(key) for key in case.tensors()]
    return any(value is not None and value.kind in ("parameter", "buffer") for value in values)


def _to(dtype: str, text: str) -> Link:
    return Link("torch.Tensor.to", (Operand("", Opaque(f"torch.{dtype}"), ""),), text)


def _cast(case: Case, kinds: dict[int | tuple[int, int], str]) -> Iterator[Change]:
    """The operands of other dtypes brought to one of them."""
    for wanted in dict.fromkeys(kinds.values()):
        name = _CASTS.get(wanted)
        others = [key for key in kinds if kinds[key] != wanted]
        chains = [chain for key in others if (chain := case.chain(key)) is not None]
        if name is None or len(chains) != len(others) or not wanted.endswith(("32", "64", "16")):
            continue
        # float32 is what models are made in; a whole number is cast to a float, not the other way.
        cost = 1.0 + 0.5 * (wanted == "float64") + 0.3 * (wanted.endswith("16")) + 2.0 * wanted.startswith("int")
        yield Change({key: chain.then(method(name)) for key, chain in zip(others, chains, strict=True)}, cost=cost)


def _overflow(case: Case) -> Diagnosis | None:
    """A fill that the dtype cannot hold: -1e9 in half precision."""
    place = case.place("value", 2)
    value = case.value(0) if case.tensors() else None
    if case.step.op != "masked_fill" or place is None or value is None or "without overflow" not in case.message:
        return None
    chain = case.chain(0)
    changes = [Change({place: Plain(float("-inf"), 'float("-inf")')}, cost=1.1)]
    text = case.run.sources.get(case.source.span.file, "")
    lowest = {"float16": -65504.0, "bfloat16": -3.3895313892515355e38}.get(value.dtype)
    if chain is not None and lowest is not None and re.search(r"^import torch$", text, re.MULTILINE):
        changes.append(Change({place: Plain(lowest, f"torch.finfo({chain.text}.dtype).min")}))
    params = {"fill": case.step.operands[place].text or str(case.arg(place)), "dtype": value.dtype}
    return case.diagnosis(
        [case.row(0, detail=value.dtype)], Message("diagnosis.dtype.fill", params), case.best(changes)
    )


def _ids(case: Case) -> Diagnosis | None:
    """An embedding that is asked for rows that are no whole numbers."""
    place = case.place("input", 0)
    value = None if place is None else case.value(place)
    if case.step.op != "embedding" or place is None or value is None or not value.dtype.startswith(("float", "bfloat")):
        return None
    return _one(case, place, value, "long", "diagnosis.dtype.ids")


def _mask(case: Case) -> Diagnosis | None:
    """A mask that is not boolean where it has to be."""
    places = {"masked_fill": ("mask", 1), "where": ("condition", 0), "scaled_dot_product_attention": ("attn_mask", 3)}
    name = places.get(case.step.op)
    place = None if name is None else case.place(*name)
    value = None if place is None else case.value(place)
    if place is None or value is None or value.dtype == "bool" or not re.search("bool", case.message):
        return None
    return _one(case, place, value, "bool", "diagnosis.dtype.mask")


def _one(case: Case, place: int, value: Value, cast: str, message: str) -> Diagnosis:
    chain = case.chain(place)
    changes = [] if chain is None else [Change({place: chain.then(method(cast))})]
    params = {"input": case.name(place), "dtype": value.dtype}
    return case.diagnosis([case.row(place, detail=value.dtype)], Message(message, params), case.best(changes))
