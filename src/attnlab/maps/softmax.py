"""The softmax of products of q and k, chunk by chunk of the keys."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from attnlab.maps.columns import Block, Columns, Room, Wanted, chosen, recent_of
from attnlab.maps.data import Change, Products

_LOG2E = math.log2(math.e)
# 2 to the power of this is 0, in float64 too; and unlike -inf times 0, this times 0 is 0.
_NOTHING = -2000.0


class Softmax:
    """The weights of a block of `Products`.

    Each chunk of keys has a shift of its own: its largest score, so that no power of a score below it is too large. At
    the end all chunks are brought to the largest shift.
    """

    def __init__(self, source: Products, block: Block, wanted: Wanted, room: Room) -> None:
        self.source, self.block, self.wanted, self.room, self.size = source, block, wanted, room, wanted.bin
        # Powers of 2 are computed quicker than those of e. A change and a mask of numbers are for scores as they are.
        binary = source.change is None and (source.mask is None or source.mask.dtype == torch.bool)
        self.unit = 1.0 if binary else _LOG2E
        self.k = source.k[block.sample, block.heads, : block.keys]
        self.q = self._queries(source.scale * (_LOG2E if binary else 1.0))
        (heads, _, columns), bins = self.q.shape, -(-block.keys // self.size)
        self.step = min(bins, max(1, room.chunk // (heads * columns * self.size)))
        self.scores = room.take("scores", (heads, bins, self.size, columns), self.k)
        self.powers = room.take("powers", (heads, self.step, self.size, columns), self.k)
        self.most, self.sums = (room.take(name, (heads, bins, columns), self.k) for name in ("most", "sums"))
        self.start = self.k.new_zeros(heads, columns)
        self.recent: list[tuple[int, Tensor]] = []

    def columns(self) -> Columns:
        """All of it. What it returns lies in the room in part."""
        keys = self.k.split(self.step * self.size, 1)
        by_chunk = (each.split(self.step, 1) for each in (self.scores, self.most, self.sums))
        done = [self._chunk(*chunk) for chunk in zip(range(len(keys)), keys, *by_chunk, strict=True)]
        shifts, masses, products = (torch.stack(each, 1) for each in zip(*done, strict=True))
        shift = shifts.amax(1, keepdim=True)
        lower = ((shifts - shift) * self.unit).clamp_(min=_NOTHING)
        shares = lower.exp2()
        mass = (masses * shares).sum(1)
        unseen = mass == 0
        mass.masked_fill_(unseen, 1.0)
        shares /= mass[:, None]
        product = ((products + masses * lower) * shares).sum(1)
        for sums, share in zip(self.sums.split(self.step, 1), shares.split(1, 1), strict=True):
            sums.mul_(share)
        most = self.most.sub_(shift)
        if self.unit != 1.0:
            most *= self.unit

        def weights(bins: Tensor) -> Tensor:
            exponents = chosen(self.scores.permute(0, 3, 1, 2), bins)
            return exponents.exp2_().mul_(chosen(shares.mT, bins // self.step)[..., None])

        return Columns(
            self.sums,
            most.exp2_().div_(mass[:, None]),
            ((mass.log2() - product).clamp_(min=0.0) / _LOG2E).masked_fill_(unseen, torch.nan),
            self.start * shares[:, 0],
            sum((powers * shares[:, number] for number, powers in self.recent), torch.zeros_like(mass)),
            weights,
        )

    def _queries(self, scale: float) -> Tensor:
        """[g, d, columns], scaled; in float64 first, so that what is lost is lost once."""
        q = self.source.q[self.block.sample, :, self.block.rows].unflatten(0, (self.source.k.shape[1], -1))
        return (q[self.block.heads].flatten(1, 2).double() * scale).to(self.k.dtype).mT

    def _chunk(
        self, number: int, k: Tensor, scores: Tensor, most: Tensor, sums: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Fill in a chunk: its scores, below its shift and as exponents of 2; of each bin the largest and Σ power.

        Returned: the shift, Σ power and Σ power · exponent of the whole chunk.
        """
        begin = number * self.step * self.size
        sure = self._score(begin, k, scores.flatten(1, 2))
        torch.amax(scores, 2, out=most)
        shift = most.amax(1, keepdim=True).clamp_(min=torch.finfo(most.dtype).min)
        flat = scores.flatten(1, 2).sub_(shift)
        if self.unit != 1.0:
            flat *= self.unit
        if sure < flat.shape[1]:
            flat[:, sure:].clamp_(min=_NOTHING)
        powers = torch.exp2(scores, out=self.powers[:, : scores.shape[1]])
        torch.sum(powers, 2, out=sums)
        flat_powers = powers.flatten(1, 2)
        if begin == 0:
            self.start = flat_powers[:, 0].clone()
        recent = recent_of(flat_powers, begin, self.block, self.source, self.wanted.near, self.room)
        if recent is not None:
            self.recent.append((number, recent))
        return shift[:, 0], sums.sum(1), flat_powers.mul_(flat).sum(1)

    def _score(self, begin: int, k: Tensor, scores: Tensor) -> int:
        """Fill in the scores of a chunk, -inf where a row does not see a key. Returned: so many keys all rows see."""
        source, block, sure = self.source, self.block, k.shape[1]
        if sure < scores.shape[1]:
            scores[:, sure:] = -torch.inf
            scores = scores[:, :sure]
        torch.bmm(k, self.q, out=scores)
        if source.change is None and source.mask is None and source.causal is None:
            return sure
        scores = scores.unflatten(2, (-1, block.height))
        if source.change is not None:
            scores.copy_(_changed(source.change, scores, begin, block))
        if source.mask is not None:
            mask = _cut(source.mask, scores, begin, block)
            _ = scores.masked_fill_(~mask, -torch.inf) if mask.dtype == torch.bool else scores.add_(mask)
        if source.causal is not None:
            seen_by_first = block.rows.start + source.causal + 1 - begin
            sure = min(sure, max(0, seen_by_first))
            if sure < scores.shape[1]:
                # A block that sees no key has one nevertheless, which the last line hides from all.
                line = min(sure - seen_by_first, block.height - 1)
                hidden = self.room.later(block.height, scores)[line : line + scores.shape[1] - sure]
                scores[:, sure:] += hidden[:, None]
        return sure if source.change is None and source.mask is None else 0


def _changed(change: Change, scores: Tensor, begin: int, block: Block) -> Tensor:
    """What a change makes of scores [g, keys, heads of each, rows], which it wants as [1, heads, rows, keys]."""
    groups, keys, group, rows = scores.shape
    first = block.heads.start * group
    sample, head, query, key = (
        torch.arange(start, start + count, device=scores.device)
        for start, count in ((block.sample, 1), (first, groups * group), (block.rows.start, rows), (begin, keys))
    )
    plain = scores.permute(0, 2, 3, 1).flatten(0, 1)[None]
    changed = change(plain, sample[:, None, None, None], head[:, None, None], query[:, None], key)
    return changed[0].unflatten(0, (groups, group)).permute(0, 3, 1, 2)


def _cut(mask: Tensor, scores: Tensor, begin: int, block: Block) -> Tensor:
    """What of a mask is for scores [g, keys, heads of each, rows], as it broadcasts to them."""
    groups, keys, group, _ = scores.shape
    mask = mask[(None,) * (4 - mask.dim())]
    heads = slice(block.heads.start * group, block.heads.stop * group)
    parts = (slice(block.sample, block.sample + 1), heads, block.rows, slice(begin, begin + keys))
    mask = mask[tuple(part if size > 1 else slice(None) for part, size in zip(parts, mask.shape, strict=True))][0]
    return mask.unflatten(0, (groups, group) if len(mask) > 1 else (1, 1)).permute(0, 3, 1, 2)
