"""Attention that is written out: which tensor of the program holds its weights, told by the data flow.

A softmax of what may be scores is a candidate. What it made is held until a product reads it; then the finder of
attentions decides, by the record so far. What it said of a place holds for that place from then on, and the weights
are taken there at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

import torch
from torch import Tensor

from attnlab.attention import Attention, find
from attnlab.capturing.forms import Form, form_of, lasting, shaped
from attnlab.maps.data import Given
from attnlab.recording.tap import Place, Tap, Told

_SOFTMAX = frozenset(["softmax", "softmin", "gumbel_softmax", "safe_softmax"])
_POWERS = frozenset(["exp", "exp2"])
# What makes weights of powers.
_DIVIDING = frozenset(["div", "mul", "normalize"])
_PRODUCTS = frozenset(
    [
        *("matmul", "bmm", "mm", "mv", "baddbmm", "addmm", "addmv", "inner", "dot", "linalg_vecdot", "vecdot"),
        *("cosine_similarity", "linear", "tensordot", "einsum", "sum"),
    ]
)
OPS = _SOFTMAX | _POWERS | _DIVIDING | _PRODUCTS
# More steps than lie between a product and its softmax, or between that and the product with v.
_FAR = 48
# The record begins anew after so many steps, where no attention is under way.
_LONG = 4000
# A place is passed over when it was found so often to be no attention.
_SURE = 2

# What is known of a place: weights, and their form; powers, of which weights are made later; so often no attention.
_Known: TypeAlias = "Form | Literal['powers'] | int"


@dataclass(frozen=True, eq=False)
class Call:
    """Where an attention was called.

    `owner`  what tells its module from others, or its function where it is called outside any
    `kind`   the class of the module
    `when`   the pass of the outermost module; None outside any
    """

    name: str
    owner: int
    kind: str
    place: Place
    when: object


@dataclass(frozen=True, eq=False)
class _Candidate:
    op: str
    made: Tensor
    call: Call


class Written:
    """Finds attentions that are written out while a program runs.

    `take(call, source)` is called with each as soon as it is known, `miss(name, reason)` where it cannot be had.
    """

    def __init__(self, tap: Tap, take: Callable[[Call, Given], None], miss: Callable[[str, str], None]) -> None:
        self._tap = tap
        self._take = take
        self._miss = miss
        self._known: dict[object, _Known] = {}
        self._open: dict[int, _Candidate] = {}
        self._looked: set[int] = set()
        self._powers: set[int] = set()
        self._taken = False

    def is_candidate(self, told: Told) -> bool:
        """Whether a step may have made the weights of an attention."""
        if not isinstance(told.result, Tensor) or told.op in _PRODUCTS:
            return False
        if told.op in _DIVIDING:
            return bool(self._powers) and any(step in self._powers for step in self._behind(told.step))
        return any(self._tap.op(step) in _PRODUCTS for step in self._behind(told.step))

    @property
    def is_busy(self) -> bool:
        """Whether a product matters now: there are candidates, or weights on their way to v."""
        return self._taken or len(self._looked) < len(self._open)

    def product(self, told: Told) -> None:
        """A step is no candidate. Where it is a product, the candidates that it reads are decided."""
        if told.op not in _PRODUCTS:
            return
        if len(self._looked) < len(self._open):
            met = {step for step in self._behind(told.step) if step in self._open} - self._looked
            if met:
                self._looked |= met
                self._decide(final=False)
        if self._taken and not self._open:
            self._taken = False
            self.rest()

    def candidate(self, told: Told, call: Call) -> None:
        """A step may have made the weights of an attention."""
        known = self._known.get((call.kind, call.place), self._known.get((call.owner, call.place), 0))
        if told.op in _POWERS:
            self._powers.add(told.step)
        if known == "powers" or (isinstance(known, int) and known >= _SURE):
            return
        weights = shaped(told.result.detach(), known) if isinstance(known, tuple) else None
        if weights is not None:
            self._taken = True
            self._take(call, Given(weights))
        else:
            # a copy: it may be written into before it is known what it is
            self._open[told.step] = _Candidate(told.op, told.result.detach().clone(), call)

    def rest(self) -> None:
        """Nothing is under way: the record may begin anew."""
        if self._tap.length > _LONG and not self._open:
            self._tap.renew()
            self.renewed()

    def renewed(self) -> None:
        """The record begins anew."""
        self._open.clear()
        self._looked.clear()
        self._powers.clear()

    def end(self) -> None:
        """A pass has ended: what is still open is decided."""
        if self._open:
            try:
                self._decide(final=True)
                for candidate in self._open.values():
                    self._not_here(candidate)
            finally:
                self._open.clear()
                self._looked.clear()

    def _not_here(self, candidate: _Candidate) -> None:
        key = (candidate.call.kind, candidate.call.place)
        before = self._known.get(key, 0)
        if isinstance(before, int):
            self._known[key] = before + 1

    def _behind(self, step: int) -> Iterator[int]:
        """The steps that led to a step, nearest first; those before a product are passed over."""
        seen = list(self._tap.read_by(step))
        for near in seen:  # grows while it is walked
            yield near
            if len(seen) < _FAR and self._tap.op(near) not in _PRODUCTS:
                seen += [step for step in self._tap.read_by(near) if step not in seen]

    def _decide(self, final: bool) -> None:
        """Take the weights of the attentions that the record shows. `final`: it shows all of this pass."""
        for attention in find(self._tap.run()):
            step = attention.weights.step
            if attention.style != "written" or step not in self._open:
                continue
            later = _is_divided_later(attention, self._open[step].op)
            if later and not final:  # it may be one block of several
                continue
            candidate = self._open.pop(step)
            self._looked.discard(step)
            self._found(attention, candidate, later)

    def _found(self, attention: Attention, candidate: _Candidate, later: bool) -> None:
        call, form = candidate.call, form_of(attention.weights)
        weights = None if form is None else shaped(candidate.made, form)
        if attention.blocks > 1:
            self._miss(call.name, "capture.missed.blocks")
        elif form is None or weights is None:
            self._miss(call.name, "capture.missed.axes")
        else:
            if later:
                weights = weights.to(torch.promote_types(weights.dtype, torch.float32))
                weights = (weights / weights.sum(-1, keepdim=True)).nan_to_num(0.0)
            else:
                self._known[call.kind if lasting(form) else call.owner, call.place] = form
                self._made_of(attention)
            self._taken = True
            self._take(call, Given(weights))

    def _made_of(self, attention: Attention) -> None:
        """Note the places of the powers that weights were made of."""
        for step in attention.softmax:
            if step in self._open and self._open[step].op in _POWERS:
                call = self._open.pop(step).call
                self._known[call.kind, call.place] = "powers"
                self._looked.discard(step)


def _is_divided_later(attention: Attention, op: str) -> bool:
    """Whether powers met v, and only what came of it was divided by their sum."""
    return op in _POWERS and len(attention.softmax) > 1 and attention.softmax[0] == attention.weights.step
