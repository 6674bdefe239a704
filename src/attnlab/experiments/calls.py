"""A module or a function called again with parts of its input changed: which outputs feel which tokens.

Each call starts from the same random state, so that dropout drops the same. Nothing is asked of how the module is
written: only what goes in is changed, and what comes out compared.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

# At so many tokens, spread evenly, it is tried what feels them.
PLACES = 8
# Two results differ where they do by more than this share of their numbers.
CLOSE = {torch.float64: 1e-10, torch.float16: 1e-2, torch.bfloat16: 5e-2}
CLOSE_ELSE = 1e-5


class Untried(Exception):
    """No experiment can be made: the id of the sentence that says why, and its parameters."""

    def __init__(self, message: str, **params: object) -> None:
        super().__init__(message, params)
        self.id = message
        self.params = params


@dataclass(frozen=True, slots=True)
class Felt:
    """Something in the output that moved.

    `token` of the input was changed (None: those that a mask drops), and `output`, a token of the output (None where
    it has no axis of tokens), moved by `by`.
    """

    sample: int
    token: int | None
    output: int | None
    by: float


class Calls:
    """Calls of one module or function. Raises `Untried` where it can't be experimented on."""

    def __init__(self, module: Callable[..., Any], args: Sequence[Any], options: Mapping[str, Any]) -> None:
        self._module = module
        self._given: dict[int | str, Any] = {**dict(enumerate(args)), **options}
        # In training a call may leave something behind in buffers, such as the running statistics of a norm.
        self._copies = (
            getattr(module, "training", False) and any(True for _ in _buffers(module)) and _can_be_copied(module)
        )
        self._tokens = self._find_tokens()
        self.x: Tensor = self._given[self._tokens[0]]
        self._embeddings = self._find_embeddings()
        self._moved: dict[tuple[int, int], Tensor] = {}
        self.before = self._call(None)
        if not self._copies and not _same(self.before, self._call(None)).all():
            self._copies = _can_be_copied(module)  # it keeps something: each call gets a module of its own
            self.before = self._call(None)
        if not _same(self.before, self._call(None)).all():
            raise Untried("testing.reason.unsteady")

    # -- what feels what -------------------------------------------------------------------------

    def earlier(self) -> Felt | None:
        """An output token that feels a later token of the input; None where there is none."""
        axis = self._axis()
        for place in _spread(self.x.shape[axis]):
            far = self._far(axis, place)[:, :place]
            if far.any():
                sample, output = divmod(int(far.argmax()), place)
                return Felt(sample, place, output, float(far[sample, output]))
        return None

    def masked(self, keep: Tensor) -> Felt | None:
        """An output of a token that is kept (`keep`, bool, [B, L] as the input is laid out) that feels masked ones."""
        axes = _axes(self.x, keep)
        if axes is None:
            raise Untried("testing.reason.mask", mask=list(keep.shape), input=list(self.x.shape))
        keep = keep.to(self.x.device).bool()
        if bool(keep.all()):
            return None
        after = self._call(_laid_over(~keep, axes, self.x))
        moved, far = ~_same(self.before, after), (self.before - after).abs()
        where = _axes(self.before, keep)
        if where is not None:
            moved &= _laid_over(keep, where, self.before).expand_as(moved)
        if not moved.any():
            return None
        index = torch.nonzero(moved)[0].tolist()
        sample = index[where[0]] if where is not None and keep.dim() > 1 else index[0] if index else 0
        return Felt(sample, None, None if where is None else index[where[-1]], float(far[tuple(index)]))

    @property
    def _lead(self) -> int:
        """How many axes of the input are before the features of a token."""
        return self.x.dim() - int(self.x.is_floating_point())

    def _axis(self) -> int:
        """The axis of the tokens: the last one along which a place of the output feels another one of the input."""
        out = self.before.shape
        alike = [axis for axis in range(self._lead) if axis < len(out) and out[axis] == self.x.shape[axis]]
        if not alike:
            raise Untried("testing.reason.length")
        long = [axis for axis in alike if self.x.shape[axis] > 1]
        if not long:
            raise Untried("testing.reason.tokens")
        for axis in reversed(long):
            for place in (0, self.x.shape[axis] - 1):
                moved = (self._far(axis, place) > 0).any(0)
                moved[place] = False
                if moved.any():
                    return axis
        if len(alike) < self._lead:  # nothing is felt along the axes that can be compared, and that of tokens is gone
            raise Untried("testing.reason.length")
        return long[-1]

    def _far(self, axis: int, place: int) -> Tensor:
        """[samples, places]: how far each place along an axis of the output moves when one of the input is changed."""
        if (axis, place) not in self._moved:
            changed = torch.zeros(self.x.shape[axis], dtype=torch.bool, device=self.x.device)
            changed[place] = True
            after = self._call(_laid_over(changed, (axis,), self.x))
            far = (self.before - after).abs().nan_to_num(torch.inf).masked_fill(_same(self.before, after), 0.0)
            sample = 0 if axis else 1
            order = [sample, axis] if sample < min(self._lead, far.dim()) else [axis]
            far = far.permute(*order, *(other for other in range(far.dim()) if other not in order))
            far = far.reshape(*far.shape[: len(order)], -1).amax(-1)
            self._moved[axis, place] = far if len(order) == 2 else far[None]
        return self._moved[axis, place]

    # -- calling ---------------------------------------------------------------------------------

    def _find_tokens(self) -> list[int | str]:
        """Which inputs hold the tokens: the first that can, each that is the same tensor, and with q also k and v."""
        floats = [name for name, item in self._given.items() if _is_float(item)]
        first = next((name for name, item in self._given.items() if _is_float(item) or _is_ids(item)), None)
        if first is None:
            raise Untried("testing.reason.input")
        same = [name for name, item in self._given.items() if item is self._given[first]]
        three = floats[:3]
        alike = len({self._given[name].shape[:-1] for name in three}) == 1 and self._given[first].dim() > 2
        return list(dict.fromkeys((*same, *three))) if len(three) == 3 and three[0] == first and alike else same

    def _find_embeddings(self) -> list[nn.Embedding]:
        """The embeddings that read the ids of the tokens, if ids they are: what they give is changed, not the ids."""
        if self.x.is_floating_point():
            return []
        met: list[nn.Embedding] = []

        def look(module: nn.Module, args: Any, _: Any) -> None:
            if isinstance(module, nn.Embedding) and self._reads(args) and module not in met:
                met.append(module)

        hooks = [item.register_forward_hook(look) for item in _modules(self._module) if isinstance(item, nn.Embedding)]
        try:
            self._call(None)
        finally:
            for hook in hooks:
                hook.remove()
        return met

    def _reads(self, args: Any) -> bool:
        return (
            bool(args)
            and isinstance(args[0], Tensor)
            and args[0].shape == self.x.shape
            and torch.equal(args[0], self.x)
        )

    def _call(self, changed: Tensor | None) -> Tensor:
        """What comes out where the tokens at `changed` (bool, as the input, its last axis 1 wide) are others."""
        module = copy.deepcopy(self._module) if self._copies else self._module
        given = {
            name: item.detach().clone() if isinstance(item, Tensor) else item for name, item in self._given.items()
        }
        hooks: list[Any] = []
        if changed is not None and self._embeddings:
            hooks = list(self._nudging(module, changed))
        elif changed is not None:
            one = self._changed(changed)
            for name in self._tokens:
                given[name] = one if self._given[name] is self.x else _nudged(self._given[name], changed)
        elif len(self._tokens) > 1:
            for name in self._tokens:  # what was one tensor stays one
                given[name] = given[self._tokens[0]] if self._given[name] is self.x else given[name]
        args = [item for name, item in given.items() if isinstance(name, int)]
        options = {name: item for name, item in given.items() if isinstance(name, str)}
        try:
            with torch.random.fork_rng():
                torch.manual_seed(0)
                out = _first(module(*args, **options))
        finally:
            for hook in hooks:
                hook.remove()
        if out is None:
            raise Untried("testing.reason.output")
        return out.detach()

    def _nudging(self, module: Any, changed: Tensor) -> Iterator[Any]:
        """Hooks on the embeddings that change what they give."""

        def nudge(_: nn.Module, args: Any, out: Tensor) -> Tensor:
            return _nudged(out, changed[..., None]) if self._reads(args) else out

        places = [place for place, item in enumerate(_modules(self._module)) if item in self._embeddings]
        modules = _modules(module)  # the same ones, or copies in the same order
        for place in places:
            yield modules[place].register_forward_hook(nudge)

    def _changed(self, changed: Tensor) -> Tensor:
        if self.x.is_floating_point():
            return _nudged(self.x, changed)
        ids = self.x.unique()
        if len(ids) < 2:
            raise Untried("testing.reason.tokens")
        others = ids[(torch.searchsorted(ids, self.x) + 1) % len(ids)]
        return torch.where(changed, others, self.x)


def _buffers(module: object) -> Iterator[Tensor]:
    return module.buffers() if isinstance(module, nn.Module) else iter(())


def _can_be_copied(module: object) -> bool:
    try:
        copy.deepcopy(module)
    except Exception:  # noqa: BLE001 - whatever the user's own types raise, they can't be copied
        return False
    return True


def _modules(module: object) -> list[nn.Module]:
    return list(module.modules()) if isinstance(module, nn.Module) else []


def _nudged(x: Tensor, changed: Tensor) -> Tensor:
    """Other numbers of the same size where `changed`."""
    noise = torch.randn(x.shape, generator=torch.Generator().manual_seed(7), dtype=torch.float64)
    scale = float(x.detach().double().std(correction=0)) or 1.0
    other = x.detach().double() + (noise.to(x.device) + 0.5) * scale
    return torch.where(changed, other.to(x.dtype), x.detach())


def _is_float(item: object) -> bool:
    return isinstance(item, Tensor) and item.is_floating_point() and item.dim() >= 2


def _is_ids(item: object) -> bool:
    return isinstance(item, Tensor) and item.dtype in (torch.int64, torch.int32) and item.dim() >= 1


def _first(out: Any) -> Tensor | None:
    """The first tensor of floating-point numbers in what a call returned that has an axis."""
    if isinstance(out, Tensor):
        return out if out.is_floating_point() and out.dim() >= 1 else None
    items: Any = out.values() if isinstance(out, Mapping) else out if isinstance(out, (tuple, list)) else ()
    return next((found for item in items if (found := _first(item)) is not None), None)


def _same(one: Tensor, other: Tensor) -> Tensor:
    share = CLOSE.get(one.dtype, CLOSE_ELSE)
    finite = one[one.isfinite()]
    scale = float(finite.abs().max()) if finite.numel() else 1.0
    return torch.isclose(one, other, rtol=share, atol=share * scale * 0.1, equal_nan=True)


def _axes(x: Tensor, keep: Tensor) -> tuple[int, ...] | None:
    """The axes of x that a mask is laid out along: the first ones, or around the heads of [B, H, L, d]."""
    if keep.dim() <= 2 and x.shape[: keep.dim()] == keep.shape:
        return tuple(range(keep.dim()))
    if x.dim() == 4 and keep.dim() == 2 and (x.shape[0], x.shape[2]) == tuple(keep.shape):
        return (0, 2)
    return None


def _laid_over(mask: Tensor, axes: tuple[int, ...], x: Tensor) -> Tensor:
    """A mask with an axis for each of x, of size 1 but for `axes`."""
    return mask.reshape([x.shape[axis] if axis in axes else 1 for axis in range(x.dim())])


def _spread(length: int) -> list[int]:
    """At most `PLACES` of the places but the first, the second and the last among them."""
    every = range(1, length)
    if len(every) <= PLACES:
        return list(every)
    return sorted({1, length - 1, *every[:: -(-len(every) // (PLACES - 2))]})
