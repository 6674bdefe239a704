"""Which call goes on where another ended: its keys are those of the call before and its own, as a cache gives them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from attnlab.maps.data import Given, Products, Source

if TYPE_CHECKING:
    from attnlab.capturing.captured import Captured

# So many of the keys are compared, the first and the last among them.
_PROBES = 16


class Joint(NamedTuple):
    """How many of the joined keys the rows of a call see, and which of its keys are new to them."""

    keys: int
    own: slice


@dataclass(slots=True, eq=False)
class Line:
    """The calls that were joined so far.

    `rows`   the position after the last of their rows
    `shape`  B, H, K of the last call
    `open`   whether its rows see no key after them, so that a call may go on
    `probe`  some of its keys, at `at`; None where the program computed the weights itself
    `when`   the pass of the last call
    `kept`   what is kept of the calls
    """

    name: str
    place: object
    rows: int = 0
    shape: tuple[int, int, int] = (0, 0, 0)
    open: bool = False
    at: Tensor | None = None
    probe: Tensor | None = None
    when: object = None
    kept: Captured | None = None

    def note(self, source: Source, rows: int, when: object) -> None:
        """Note a call, and the position after its last row."""
        batch, heads, _, keys = source.shape
        self.rows, self.shape, self.when = rows, (batch, heads, keys), when
        self.open = keys == rows or (keys > rows and hides(source, rows))
        if isinstance(source, Products):
            places = {keys * i // _PROBES for i in range(_PROBES)} | {min(rows, keys) - 1, keys - 1}
            self.at = torch.tensor(sorted(places) if keys else (), dtype=torch.long)
            self.probe = source.k[:, :, self.at].clone()

    def move(self, rows: int) -> None:
        """Put the last row at another position: the first call had keys before its own."""
        if self.kept is not None:
            self.kept.move(rows - self.rows)
        self.rows = rows

    def goes_on(self, source: Source, when: object, place: object, is_decoding: bool) -> Joint | None:
        """How a call goes on here; None where it does not.

        `is_decoding`: whether another attention of the same pass went on. Then one that reads the same keys as before
        goes on too, as a cross attention does.
        """
        batch, heads, queries, keys = source.shape
        before, seen = self.shape[2], self.rows + queries
        if (batch, heads) != self.shape[:2] or (when is not None and when is self.when):
            return None
        if isinstance(source, Products) and source.change is not None:
            return None  # it counts the queries of its own call
        if not self.open and self.probe is not None and keys == before + queries and self._has(source, before):
            return Joint(keys, slice(before, keys))  # the cache held keys before the first call that was seen
        grown = keys == seen or (keys == before and keys > seen and hides(source, seen))
        if self.open and grown and self._has(source, self.rows):
            return Joint(seen, slice(self.rows, seen))
        again = is_decoding and place == self.place and keys == before
        return Joint(keys, slice(0, 0)) if again and self._has(source, keys) else None

    def _has(self, source: Source, count: int) -> bool:
        """Whether the first `count` keys of a call are those of the last one."""
        if isinstance(source, Given) or self.at is None or self.probe is None:
            return isinstance(source, Given) and self.probe is None
        near = self.at < count
        now, then = with_heads((source.k[:, :, self.at[near]], self.probe[:, :, near]))
        return now.shape == then.shape and bool(((now == then) | (now.isnan() & then.isnan())).all())


def with_heads(items: Sequence[Tensor]) -> list[Tensor]:
    """Keys [B, G, K, d] with as many heads each: where a group of heads shares keys, they are repeated."""
    heads = max(item.shape[1] for item in items)
    return [item if item.shape[1] == heads else item.repeat_interleave(heads // item.shape[1], 1) for item in items]


def hides(source: Source, keys: int) -> bool:
    """Whether no query sees a key from number `keys` on."""
    if isinstance(source, Given):
        return not source.given[..., keys:].any()
    mask = source.mask
    if mask is None or mask.shape[-1] == 1:
        return False
    rest = mask[..., keys:]
    if mask.dtype == torch.bool:
        return not rest.any()
    return bool((rest <= torch.finfo(mask.dtype).min / 2).all())


def position(source: Source) -> int:
    """The key that stands where query 0 stands, as far as a mask tells: the last that it sees, at the diagonal."""
    if isinstance(source, Given):
        return 0
    _, _, queries, keys = source.shape
    if source.causal is not None:
        return max(0, source.causal)
    mask = source.mask
    if mask is None or mask.dim() < 2 or mask.shape[-2] != queries or mask.shape[-1] != keys or not 1 < queries < keys:
        return 0
    corner = mask[(0,) * (mask.dim() - 2)]
    seen = corner if mask.dtype == torch.bool else corner > torch.finfo(mask.dtype).min / 2
    last = [int(row.nonzero().max()) if bool(row.any()) else -1 for row in (seen[0], seen[-1])]
    return last[0] if last == [keys - queries, keys - 1] else 0
