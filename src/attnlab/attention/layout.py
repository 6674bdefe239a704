"""Where the axes of a step's results come from: one small rule for each operation that moves axes.

`carry` is used in two ways: over a whole Run, with the axes of every value known; and along one attention, where
only the scores' own axes are labelled, and an operand without labels stands for "some other axis".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

from attnlab.attention.axes import Axes, Axis, Roots, roots_of, size_of
from attnlab.attention.graph import FIRST_ONLY, POINTWISE, Graph, axes_of, axis_of, refs
from attnlab.run import Arg, Opaque, Ref, Slice, Step


class Move(NamedTuple):
    """A step that moves axes: the axes of what it reads (None: not labelled), and the shape of one result."""

    step: Step
    read: tuple[Axes | None, ...]
    roots: Roots
    shape: tuple[int, ...]
    which: int

    @property
    def axes(self) -> Axes:
        """The axes of the tensor that is moved: the first one that is labelled."""
        return next(axes for axes in self.read if axes is not None)


_Rule: TypeAlias = "Callable[[Move], Axes | None]"


def carry(step: Step, graph: Graph, known: Mapping[int, Axes], roots: Roots) -> tuple[Axes | None, ...]:
    """The axes of each result of a step; None where no rule tells.

    `known` holds the axes of the values that it reads, those without an entry are not labelled.
    """
    rule = _RULES.get(step.op) or (_pointwise if step.op in POINTWISE else None)
    read = tuple(known.get(number) for number in step.refs)
    if rule is None or not any(read):
        return (None,) * len(step.results)
    found: list[Axes | None] = []
    for which, result in enumerate(step.results):
        shape = graph.shape(result)
        axes = rule(Move(step, read, roots, shape, which))
        fits = axes is not None and tuple(size_of(axis) for axis in axes) == shape
        found.append(axes if fits else None)
    return tuple(found)


def _pointwise(move: Move) -> Axes:
    read = move.read[:1] if move.step.op in FIRST_ONLY else move.read
    if move.step.op == "where" and len(read) == 3:  # the condition's axes come last
        read = (*read[1:], read[0])
    rank = len(move.shape)
    axes: list[Axis] = []
    for back in range(rank, 0, -1):
        size = move.shape[-back]
        meeting = [labels[-back] for labels in read if labels is not None and len(labels) >= back]
        fitting = [axis for axis in meeting if size_of(axis) == size]
        axes.append(max(fitting, key=bool) if fitting else move.roots.new(size))
    return tuple(axes)


def _reshape(move: Move) -> Axes:
    return move.roots.reshape(move.axes, move.shape)


def _reordered(move: Move, order: list[int | None]) -> Axes | None:
    axes = move.axes
    if None in order or len(order) != len(axes):
        return None
    return tuple(axes[index] for index in order if index is not None)


def _transpose(move: Move) -> Axes | None:
    step, rank = move.step, len(move.axes)
    first = axis_of(step.arg("dim0", 1, step.arg("axis0")), rank)
    second = axis_of(step.arg("dim1", 2, step.arg("axis1")), rank)
    if first is None or second is None:
        return None
    order: list[int | None] = list(range(rank))
    order[first], order[second] = second, first
    return _reordered(move, order)


def _last_two(move: Move) -> Axes:
    return (*move.axes[:-2], *move.axes[-2:][::-1])


def _backwards(move: Move) -> Axes:
    return move.axes[::-1]


def _dims(step: Step, keyword: str) -> tuple[Arg, ...]:
    """Axes or sizes passed one by one, or as one tuple."""
    named = step.arg(keyword)
    if named is None:
        rest = [operand.arg for operand in step.operands[1:] if not operand.keyword]
        named = rest[0] if len(rest) == 1 and isinstance(rest[0], tuple) else tuple(rest)
    return named if isinstance(named, tuple) else (named,)


def _permute(move: Move) -> Axes | None:
    rank = len(move.axes)
    return _reordered(move, [axis_of(item, rank) for item in _dims(move.step, "dims")])


def _movedim(move: Move) -> Axes | None:
    rank = len(move.axes)
    source, target = move.step.arg("source", 1), move.step.arg("destination", 2)
    starts = [axis_of(item, rank) for item in (source if isinstance(source, tuple) else (source,))]
    ends = [axis_of(item, rank) for item in (target if isinstance(target, tuple) else (target,))]
    rest = iter([axis for axis in range(rank) if axis not in starts])
    placed = dict(zip(ends, starts, strict=False))
    return _reordered(move, [placed[axis] if axis in placed else next(rest) for axis in range(rank)])


def _unsqueeze(move: Move) -> Axes | None:
    at = axis_of(move.step.arg("dim", 1), len(move.shape))
    return None if at is None else (*move.axes[:at], (), *move.axes[at:])


def _squeeze(move: Move) -> Axes | None:
    gone = axes_of(move.step, len(move.axes))
    if gone is None:
        return None
    return tuple(axis for index, axis in enumerate(move.axes) if index not in gone or size_of(axis) != 1)


def _expand(move: Move) -> Axes:
    axes = ((),) * (len(move.shape) - len(move.axes)) + move.axes
    return tuple(
        axis if size_of(axis) == size else move.roots.new(size, repeat=True)
        for axis, size in zip(axes, move.shape, strict=True)
    )


def _repeat(move: Move) -> Axes | None:
    times = _dims(move.step, "repeats" if move.step.op == "repeat" else "dims")
    axes = ((),) * (len(times) - len(move.axes)) + move.axes
    if len(axes) != len(times):
        return None
    found: list[Axis] = []
    for axis, count in zip(axes, times, strict=True):
        if not isinstance(count, int):
            return None
        found.append(axis if count == 1 else move.roots.new(count, repeat=True) + axis)
    return tuple(found)


def _repeat_interleave(move: Move) -> Axes | None:
    at, count = axis_of(move.step.arg("dim", 2), len(move.axes)), move.step.arg("repeats", 1)
    if at is None or not isinstance(count, int):
        return None
    axis = move.axes[at] + move.roots.new(count, repeat=True)
    return (*move.axes[:at], axis, *move.axes[at + 1 :])


def _cut(move: Move, axis: Axis, size: int) -> Axis:
    """Some of the elements of an axis."""
    return axis if size_of(axis) == size else move.roots.new(size, parents=roots_of(axis))


def _shortened(move: Move) -> Axes | None:
    """The same axes in the same order, some of them shorter or longer than they were."""
    if len(move.axes) != len(move.shape):
        return None
    return tuple(_cut(move, axis, size) for axis, size in zip(move.axes, move.shape, strict=True))


def _split(move: Move) -> Axes | None:
    # Each piece is a root of its own, though all come from one: so q, k and v of one projection are told apart.
    at = axis_of(move.step.arg("dim", 2, 0), len(move.axes))
    if at is None:
        return None
    piece = move.roots.new(move.shape[at], parents=roots_of(move.axes[at])) if len(move.shape) > at else ()
    return (*move.axes[:at], piece, *move.axes[at + 1 :])


def _without(move: Move) -> Axes | None:
    """`unbind` and `select`: one axis is gone."""
    at = axis_of(move.step.arg("dim", 1, 0), len(move.axes))
    return None if at is None else (*move.axes[:at], *move.axes[at + 1 :])


def _getitem(move: Move) -> Axes | None:
    index = move.step.operands[1].arg if len(move.step.operands) > 1 else None
    items = index if isinstance(index, tuple) else (index,)
    taken = sum(not (item is None or _is_dots(item)) for item in items)
    if not any(_is_dots(item) for item in items):
        items = (*items, Opaque("Ellipsis"))
    waiting = list(move.axes)
    axes: list[Axis] = []
    for item in items:
        if item is None:
            axes.append(())
        elif _is_dots(item):
            kept = len(move.axes) - taken
            axes += waiting[:kept]
            del waiting[:kept]
        elif not waiting:
            return None
        elif isinstance(item, (Slice, Ref)):  # a tensor as index: only the common case, one list of places
            if len(axes) >= len(move.shape):
                return None
            axis = waiting.pop(0)
            axes.append(_cut(move, axis, move.shape[len(axes)]))
        elif isinstance(item, int) and not isinstance(item, bool):
            waiting.pop(0)
        else:
            return None
    return tuple(axes) if len(axes) == len(move.shape) else None


def _is_dots(item: Arg) -> bool:
    return isinstance(item, Opaque) and item.text == "Ellipsis"


def _cat(move: Move) -> Axes | None:
    labelled = [axes for axes in move.read if axes is not None]
    first = labelled[0]
    at = axis_of(move.step.arg("dim", 1, move.step.arg("axis", None, 0)), len(first))
    if at is None or any(len(axes) != len(first) for axes in labelled):
        return None
    size, parts = move.shape[at], len(move.read)
    if len(labelled) == parts and parts > 1 and all(axes[at] == first[at] for axes in labelled):
        # pieces of one kind beside each other: the pieces are an axis too, in front of their own
        axis = _pieces(move, labelled, at) + first[at]
    else:
        axis = move.roots.new(size, parents={root for axes in labelled for root in roots_of(axes[at])})
    return (*first[:at], axis, *first[at + 1 :])


def _pieces(move: Move, labelled: list[Axes], at: int) -> Axis:
    """The axis along which tensors were put together. It comes from what sets the tensors apart: their other axes."""
    differ = {
        root
        for index in range(len(labelled[0]))
        if index != at and len({axes[index] for axes in labelled}) > 1
        for axes in labelled
        for root in roots_of(axes[index])
    }
    return move.roots.new(len(labelled), parents=differ)


def _stack(move: Move) -> Axes | None:
    labelled = [axes for axes in move.read if axes is not None]
    first = labelled[0]
    at = axis_of(move.step.arg("dim", 1, 0), len(move.shape))
    if at is None or any(len(axes) != len(first) for axes in labelled):
        return None
    axis = _pieces(move, labelled, -1) if len(labelled) == move.shape[at] else move.roots.new(move.shape[at])
    return (*first[:at], axis, *first[at:])


def _as_complex(move: Move) -> Axes:
    return move.axes[:-1]


def _as_real(move: Move) -> Axes:
    return (*move.axes, move.roots.new(2))


def _reduced(move: Move) -> Axes | None:
    gone = axes_of(move.step, len(move.axes))
    if gone is None:
        return None
    if len(move.shape) == len(move.axes):
        return tuple(() if index in gone else axis for index, axis in enumerate(move.axes))
    return tuple(axis for index, axis in enumerate(move.axes) if index not in gone)


def _looked_up(move: Move) -> Axes | None:
    """`F.embedding`: the axes of the indices, then one of features."""
    where = [arg for arg in (move.step.arg("input", 0), move.step.arg("weight", 1)) if arg is not None]
    if len(where) != 2 or len(move.read) != 2 or not refs(where[0]):
        return None
    indices = move.read[0] if move.step.refs[0] == refs(where[0])[0] else move.read[1]
    return None if indices is None else (*indices, move.roots.new(move.shape[-1]))


REDUCTIONS = frozenset(["sum", "mean", "amax", "amin", "max", "min", "logsumexp", "nansum"])
_RULES: dict[str, _Rule] = {
    **dict.fromkeys(["view", "reshape", "unsafe_view", "view_as", "reshape_as"], _reshape),
    **dict.fromkeys(["flatten", "unflatten", "ravel"], _reshape),
    **dict.fromkeys(["mT", "mH", "adjoint"], _last_two),
    **dict.fromkeys(["T", "t", "H"], _backwards),
    **dict.fromkeys(["expand", "expand_as", "broadcast_to"], _expand),
    **dict.fromkeys(["repeat", "tile"], _repeat),
    **dict.fromkeys(["split", "split_with_sizes", "chunk", "tensor_split"], _split),
    **dict.fromkeys(["unbind", "select"], _without),
    **dict.fromkeys(["narrow", "index_select", "roll", "flip", "pad"], _shortened),
    **dict.fromkeys(REDUCTIONS, _reduced),
    "transpose": _transpose,
    "permute": _permute,
    "movedim": _movedim,
    "unsqueeze": _unsqueeze,
    "squeeze": _squeeze,
    "repeat_interleave": _repeat_interleave,
    "getitem": _getitem,
    "cat": _cat,
    "stack": _stack,
    "view_as_complex": _as_complex,
    "view_as_real": _as_real,
    "embedding": _looked_up,
}
