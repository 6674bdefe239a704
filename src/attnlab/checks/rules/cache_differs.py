"""ATT099: decoding with a cache of keys and values does not give what one pass over all tokens gives.

Decided by following which token each row of the keys and of the values comes from, call by call. A pass over all
tokens has each of them once, in order; a window has the last ones. What is neither is a fault: a cache that holds the
last call alone, a slot that is overwritten, slots that nothing was written into yet, values in another order than
their keys, another layer's keys, keys that change on their way.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from attnlab.checks.decoding import TOKENS, Call, Chain, Decoding, Token, decoding, grams_differ, rows_of
from attnlab.checks.editing import code
from attnlab.checks.found import Found, Rule, Said
from attnlab.checks.whole import Whole
from attnlab.run import Step


def _look(whole: Whole) -> Iterator[Found]:
    if len(whole.attentions) < 2:
        return
    bench = decoding(whole)
    for chain in bench.chains:
        for at in range(len(chain.calls)):
            found = (
                _empty(chain, at)
                or _foreign(chain, at, bench)
                or _lost(chain, at, bench)
                or _order(chain, at, bench)
                or _changed(chain, at)
            )
            if found is not None:
                yield found
                break


def _tried(tokens: list[Token]) -> list[Token]:
    return [token for token in tokens if token[1] < TOKENS]


def _ranks(chain: Chain, at: int) -> dict[Token, int]:
    return {token: place for place, token in enumerate(chain.tokens(at))}


def _row(tokens: list[Token], ranks: dict[Token, int]) -> str:
    return ", ".join(str(ranks[token]) for token in tokens if token in ranks)


def _empty(chain: Chain, at: int) -> Found | None:
    """Slots that nothing was written into, and that queries may see."""
    call = chain.calls[at]
    k, v = call.case.k, call.case.v
    if k is None or v is None:
        return None
    empty = [
        row
        for row, (token, seen) in enumerate(zip(call.keys, call.seen, strict=True))
        if seen and token is None and not bool(k[:, row].any()) and not bool(v[:, row].any())
    ]
    weights = call.case.weights
    if not empty or len(empty) == len(call.keys) or weights is None:
        return None
    step = call.case.step(call.case.attention.scores.step)
    share = float(weights[..., empty].sum(-1).mean())
    return Found(
        step,
        Said("check.cache-differs.empty", {"code": code(step), "count": len(empty), "keys": len(call.keys)}),
        Said("check.cache-differs.empty-evidence", {"share": share, "tokens": len(chain.tokens(at))}),
        Said("check.cache-differs.empty-mend", {"tokens": len(chain.tokens(at))}),
    )


def _foreign(chain: Chain, at: int, bench: Decoding) -> Found | None:
    """Rows of the keys that another attention's weights made for its own tokens."""
    call = chain.calls[at]
    attention = call.case.attention
    own = bench.weight(attention, "k")
    others = {weight for other in bench.whole.attentions if (weight := bench.weight(other, "k")) not in (None, own)}
    strange: list[Step] = []
    for leaf in bench.positions.leaves(call.case, "k"):
        step = bench.whole.graph.maker(leaf)
        x = None if step is None else bench.positions.origins.projects(step)
        weight = None if step is None or x is None else next((item for item in step.refs if item != x), None)
        if step is not None and weight in others:
            strange.append(step)
    join = bench.join(call.case, "k")
    if not strange or join is None or any(token is None for token in call.keys) is False:
        return None
    return Found(
        join,
        Said("check.cache-differs.foreign", {"code": code(join)}),
        Said(
            "check.cache-differs.foreign-evidence",
            {
                "keys": len(call.keys),
                "tokens": len(chain.tokens(at)),
                "count": len(strange),
                "other": _name(strange[0]),
            },
        ),
        Said("check.cache-differs.foreign-mend"),
    )


def _name(step: Step) -> str:
    return step.module or code(step)


def _lost(chain: Chain, at: int, bench: Decoding) -> Found | None:
    """Tokens that were in the cache and are no more, though they are not the oldest of a window."""
    if at == 0:
        return None
    call, before = chain.calls[at], chain.calls[at - 1]
    have = [token for token in call.keys if token is not None]  # what a mask hides is another matter
    all_ = _tried(chain.tokens(at))
    lost = [token for token in all_ if token not in have]
    if not lost or not have:
        return None
    ranks = _ranks(chain, at)
    params = {"kept": _row(have, ranks), "lost": _row(lost, ranks), "tokens": len(chain.tokens(at))}
    join = bench.join(call.case, "k")
    if join is None:
        return None
    newest = [token for token in _tried(list(before.own)) if token in before.keys]
    if newest and newest[-1] in lost:
        step = _writing(call, bench) or join
        return Found(
            step,
            Said("check.cache-differs.overwritten", {"code": code(step)}),
            Said("check.cache-differs.lost-evidence", params),
            Said("check.cache-differs.overwritten-mend"),
        )
    earlier = bench.join(before.case, "k")
    if at > 1 and earlier is not None and join.op == "cat" and not _goes_on(before, call, bench):
        return Found(
            join,
            Said("check.cache-differs.short", {"code": code(join)}),
            Said("check.cache-differs.lost-evidence", params),
            Said("check.cache-differs.short-mend"),
        )
    return None


def _goes_on(before: Call, call: Call, bench: Decoding) -> bool:
    """Whether the keys of a call were made of what the call before joined."""
    join = bench.join(before.case, "k")
    return join is None or any(bench.positions.reads(call.case.attention.k.entered, made) for made in join.results)


def _writing(call: Call, bench: Decoding) -> Step | None:
    """The step that wrote this call's own keys into the cache."""
    made = call.project["k"].index
    written = [step for step in bench.joins(call.case, "k") if step.index > made and step.op != "cat"]
    return written[-1] if written else None


def _order(chain: Chain, at: int, bench: Decoding) -> Found | None:
    """Values that stand in another order than their keys."""
    call = chain.calls[at]
    if at == 0 or None in call.keys or None in call.values or call.keys == call.values:
        return None
    if sorted(map(str, call.keys)) != sorted(map(str, call.values)):
        return None
    ranks = _ranks(chain, at)
    keys = [ranks.get(token, -1) for token in call.keys if token is not None]
    name = "v" if keys == sorted(keys) else "k"
    join = bench.join(call.case, name)
    if join is None:
        return None
    return Found(
        join,
        Said("check.cache-differs.order", {"code": code(join)}),
        Said(
            "check.cache-differs.order-evidence",
            {
                "keys": _row([token for token in call.keys if token], ranks),
                "values": _row([token for token in call.values if token], ranks),
            },
        ),
        Said("check.cache-differs.order-mend"),
    )


def _changed(chain: Chain, at: int) -> Found | None:
    """Keys (or values) of tokens that are no longer what they were in the call before."""
    if at == 0:
        return None
    call, before = chain.calls[at], chain.calls[at - 1]
    for name in ("k", "v"):
        now, then = rows_of(call.case, name), rows_of(before.case, name)
        tags = (call.keys, before.keys) if name == "k" else (call.values, before.values)
        pairs = [
            (tags[0].index(token), row)
            for row, token in enumerate(tags[1])
            if token is not None and token in tags[0] and tags[1].count(token) == 1
        ]
        if now is None or then is None or now.shape[0] != then.shape[0] or not pairs:
            continue
        share = grams_differ(then[:, [row for _, row in pairs]], now[:, [row for row, _ in pairs]])
        if share is None or _reordered(then, now, pairs):
            continue
        step = call.case.step(call.case.attention.scores.step)
        return Found(
            step,
            Said("check.cache-differs.changed", {"code": code(step)}),
            Said("check.cache-differs.changed-evidence", {"count": len(pairs), "share": share}),
            Said("check.cache-differs.changed-mend"),
        )
    return None


def _reordered(then: torch.Tensor, now: torch.Tensor, pairs: list[tuple[int, int]]) -> bool:
    """Whether samples (or beams) changed places: each batch of rows is still there, elsewhere."""
    old, new = then[:, [row for _, row in pairs]], now[:, [row for row, _ in pairs]]
    return all(bool(torch.isclose(old, item, atol=1e-6).flatten(1).all(-1).any()) for item in new)


RULE = Rule("ATT099", "cache-differs", whole=_look, unless=frozenset({"ATT075", "ATT097"}))
