"""ATT044: keys or values that a group of query heads shares are repeated in another order than the query heads have."""

from __future__ import annotations

from collections.abc import Iterator

from attnlab.checks.case import Case
from attnlab.checks.found import Edit, Found, Rule, Said
from attnlab.checks.rows import distinct, labels_of_heads, listed, made
from attnlab.run import Step

_COPIES = frozenset(
    ["repeat", "tile", "cat", "stack", "expand", "expand_as", "broadcast_to", "repeat_interleave", "index_select"]
)


def _look(case: Case) -> Iterator[Found]:
    queries = labels_of_heads(case, "q")
    for name in ("k", "v"):
        labels, source = labels_of_heads(case, name), made(case, name)
        if labels is None or source is None:
            continue
        order = list(range(len(labels)))
        if queries is not None and len(queries) == len(labels) and len(distinct(queries)) == len(queries):
            order = listed(queries.argsort())
        groups = _numbered([int(labels[head]) for head in order])
        step = next((step for step in source.steps if _copies(step)), None)
        if step is None or groups == sorted(groups):
            continue
        code, edits = _mended(step, case)
        yield Found(
            step,
            Said("check.kv-heads-order.message", {"role": name, "op": step.op}),
            Said(
                "check.kv-heads-order.evidence",
                {"role": name, "heads": ", ".join(map(str, groups)), "right": ", ".join(map(str, sorted(groups)))},
            ),
            Said("check.kv-heads-order.mend", {"code": code}) if code else Said("check.kv-heads-order.advice"),
            edits,
            note=step.source is not None and "->" in step.source.text,  # einops: the order was written out
        )


def _copies(step: Step) -> bool:
    return step.op in _COPIES and (step.op not in ("cat", "stack") or len(set(step.refs)) == 1)


def _numbered(labels: list[int]) -> list[int]:
    """Labels as 0, 1, 2 … in the order in which they first come."""
    seen = {label: place for place, label in enumerate(dict.fromkeys(labels))}
    return [seen[label] for label in labels]


def _mended(step: Step, case: Case) -> tuple[str, tuple[Edit, ...]]:
    """`k.repeat_interleave(n, dim=1)` for `k.repeat(1, n, 1, 1)`."""
    texts = [operand.text for operand in step.operands]
    old, new = case.graph.shape(step.refs[0]), case.graph.shape(step.results[0])
    axes = [axis for axis, (a, b) in enumerate(zip(old, new, strict=False)) if a != b]
    if step.op != "repeat" or len(old) != len(new) or len(axes) != 1 or not all(texts) or step.source is None:
        return "", ()
    if len(texts) != len(old) + 1:
        return "", ()
    code = f"{texts[0]}.repeat_interleave({texts[axes[0] + 1]}, dim={axes[0]})"
    return code, (Edit(step.source.span, code),)


RULE = Rule("ATT044", "kv-heads-order", attention=_look)
