"""What the masks of an attention let through, whatever way they are written, and where they come from.

What a query may see is found by experiment: with every q zero the scores are zero, and what stands before the softmax
then is what masks and biases made. For a fused call the same is read off the mask that it was given.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from attnlab.attention.graph import CASTS, VIEWS, Graph, refs
from attnlab.checks.case import Case
from attnlab.checks.editing import own
from attnlab.checks.reference import meeting
from attnlab.run import Step

# A number that is added to scores and is so far below hides; no bias of any length that is checked comes there.
_HIDES = -500.0
# Where only two numbers are added, 0 and one so far below, it hides too: shifted windows add -100.
_BELOW = -20.0
_RANDOM = frozenset(
    ["rand", "rand_like", "randn", "randn_like", "bernoulli", "dropout", "randperm", "uniform", "normal"]
)
_NATIVE = {"native_multi_head_attention": (4, 9), "transformer_encoder_layer_fwd": (2, 18)}
# Where a fused call takes its masks.
_MASKS = {
    "scaled_dot_product_attention": (("attn_mask", 3),),
    "multi_head_attention_forward": (("key_padding_mask", 14), ("attn_mask", 16)),
    "native_multi_head_attention": (("mask", 9),),
    "transformer_encoder_layer_fwd": (("mask", 18),),
}
# Of the second tensor only the shape or the type is taken.
_BY_FIRST = frozenset(["expand_as", "view_as", "reshape_as", "type_as"])
_KNOWN: WeakKeyDictionary[Case, Sight | None] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Sight:
    """`seen` [N, Lq, Lk], bool: which keys a query may see; `lead`: the axes that N was flattened from, in order."""

    seen: Tensor
    lead: tuple[int, ...]

    @property
    def square(self) -> bool:
        """Whether there are as many queries as keys."""
        return self.seen.shape[-2] == self.seen.shape[-1]

    @property
    def any(self) -> Tensor:
        """[Lq, Lk]: what is seen in some sample, some head."""
        return self.seen.any(0)


def sight(case: Case) -> Sight | None:
    """What the queries of an attention may see; None where it can't be told."""
    if case not in _KNOWN:
        _KNOWN[case] = _written(case) if case.written else _fused(case)
    return _KNOWN[case]


def hidden(logits: Tensor) -> Tensor:
    """What hides among numbers that are added to scores (bool, their shape)."""
    below = (logits <= _HIDES) | logits.isnan()
    values = distinct(logits[~logits.isnan()])
    two = len(values) == 2 and values[1] == 0 and values[0] <= _BELOW
    return below | (logits == values[0]) if two else below


def distinct(tensor: Tensor) -> list[float]:
    """The different numbers in a tensor, the smallest first: three of them, where there are more."""
    ordered = tensor.flatten().double().sort().values
    first = torch.ones(ordered.shape, dtype=torch.bool)
    first[1:] = ordered[1:] != ordered[:-1]
    return [float(number) for number in ordered[first][:3]]


def even_logits(case: Case, number: int) -> Tensor | None:
    """A value on the way from scores to weights, in its own layout, where all scores are zero."""
    attention = case.attention
    source = attention.scores.value if attention.additive else attention.q.entered
    tensor = None if source is None else case.replay.double(source)
    if source is None or tensor is None:
        return None
    if number == source:
        return torch.zeros_like(tensor)
    found = case.replay.again({source: torch.zeros_like(tensor)}, [number])
    return None if found is None else found[number]


def _written(case: Case) -> Sight | None:
    grid, number = case.attention.weights, case.attention.weights.value
    if case.attention.blocks > 1 or number is None or grid.key is None or not case.softmax.refs:
        return None
    if case.softmax.op in ("sum", "logsumexp"):
        return None
    before = case.softmax.refs[0]
    logits, weights = even_logits(case, before), even_logits(case, number)
    if logits is None or weights is None:
        return _as_given(case, number)
    if logits.dim() != weights.dim():
        return None
    drawn = case.arranged_grid(logits, grid.query, grid.key)
    made = case.arranged_grid(weights, grid.query, grid.key)
    if drawn is None or made is None or drawn.shape != made.shape:
        return None
    lead = [size for axis, size in enumerate(weights.shape) if axis not in (grid.query, grid.key)]
    away = hidden(drawn) | ((made == 0) & ~made.isnan().any(-1, keepdim=True))
    if drawn.shape[-2] == drawn.shape[-1]:
        away &= ~_only_self(drawn, away)
    return Sight(~away, tuple(lead))


def _as_given(case: Case, number: int) -> Sight | None:
    """Read off the masks themselves, where the steps give something else when run again: scores of half width, say."""
    grid, shape = case.attention.weights, case.graph.shape(number)
    away = torch.zeros(shape, dtype=torch.bool)
    for mask in case.attention.masks:
        step = case.step(mask.step)
        tensor = None if mask.value is None else case.replay.double(mask.value)
        filled = step.op == "masked_fill" and tensor is not None and tensor.dtype == torch.bool
        if tensor is None or mask.late or not (filled or step.op == "add"):
            return None
        if case.graph.shape(step.results[0]) != shape or tensor.dim() > len(shape):
            return None
        away = away | (tensor if filled else hidden(tensor))
    made = case.arranged_grid(away, grid.query, grid.key) if case.attention.masks else None
    lead = tuple(size for axis, size in enumerate(shape) if axis not in (grid.query, grid.key))
    return None if made is None else Sight(~made, lead)


def _only_self(logits: Tensor, away: Tensor) -> Tensor:
    """Where a query sees itself because all else is hidden deeper still: a token that looks at itself only last."""
    own_key = logits.diagonal(dim1=-2, dim2=-1).unsqueeze(-1)
    eye = torch.eye(logits.shape[-1], dtype=torch.bool)
    deepest = (logits < own_key + _BELOW) | eye
    return (away & deepest).all(-1, keepdim=True) & eye


# -- fused calls ------------------------------------------------------------------------------------


def _fused(case: Case) -> Sight | None:
    step, style = case.softmax, case.attention.style
    if style == "sdpa":
        return _sdpa(case, step)
    if step.op == "multi_head_attention_forward":
        return _mha(case, step)
    if step.op in _NATIVE:
        return _native(case, step)
    return None


def _drops(tensor: Tensor, keeps: bool) -> Tensor:
    """What a mask drops. `keeps`: whether True lets pass."""
    if tensor.dtype == torch.bool:
        return ~tensor if keeps else tensor
    return hidden(tensor)


def _sdpa(case: Case, step: Step) -> Sight | None:
    q, k = (case.graph.shape(number) for number in (case.attention.q.entered, case.attention.k.entered))
    rank = max(len(q), len(k))
    padded = [(1,) * (rank - len(shape)) + tuple(shape[:-2]) for shape in (q, k)]
    lead = tuple(max(pair) for pair in zip(*padded, strict=True))
    if step.arg("enable_gqa", None) is True:
        lead = tuple(q[:-2])
    grid = (*lead, q[-2], k[-2])
    seen = torch.ones(grid, dtype=torch.bool)
    for number in refs(step.arg("attn_mask", 3)):
        mask = case.replay.double(number)
        if mask is None or mask.dim() > len(grid):
            return None
        seen = seen & ~_drops(mask, keeps=True)
    if step.arg("is_causal", 5, False) is True:
        seen = seen & torch.ones(q[-2], k[-2], dtype=torch.bool).tril()
    return Sight(seen.reshape(-1, q[-2], k[-2]), lead)


def _mha(case: Case, step: Step) -> Sight | None:
    """`F.multi_head_attention_forward`: inputs [L, B, D] or [L, D]."""
    q, k = (case.graph.shape(number) for number in (case.attention.q.entered, case.attention.k.entered))
    heads = step.arg("num_heads", 4)
    if step.op != "multi_head_attention_forward" or not isinstance(heads, int):
        return None
    if step.arg("bias_k", 7) is not None or step.arg("add_zero_attn", 9) is True:
        return None
    batch = q[1] if len(q) == 3 else 1
    seen = torch.ones(batch, heads, q[0], k[0], dtype=torch.bool)
    for number in refs(step.arg("key_padding_mask", 14)):
        mask = case.replay.double(number)
        if mask is None:
            return None
        seen = seen & ~_drops(mask, keeps=False).reshape(batch, 1, 1, k[0])
    for number in refs(step.arg("attn_mask", 16)):
        mask = case.replay.double(number)
        if mask is None:
            return None
        drops = _drops(mask, keeps=False)
        seen = seen & ~(drops if mask.dim() == 2 else drops.reshape(batch, heads, q[0], k[0]))
    return Sight(seen.reshape(-1, q[0], k[0]), (batch, heads))


def _native(case: Case, step: Step) -> Sight | None:
    """The fast paths of nn.MultiheadAttention and nn.TransformerEncoderLayer: inputs [B, L, D], one mask, of a type."""
    heads_at, mask_at = _NATIVE[step.op]
    shape, heads = case.graph.shape(case.attention.q.entered), step.arg("num_heads", heads_at)
    masks = refs(step.arg("mask", mask_at))
    if len(shape) != 3 or not isinstance(heads, int) or len(masks) > 1:
        return None
    batch, length = shape[:2]
    seen = torch.ones(batch, heads, length, length, dtype=torch.bool)
    for number in masks:
        mask = case.replay.double(number)
        if mask is None:
            return None
        drops = _drops(mask, keeps=False)
        if step.arg("mask_type", mask_at + (1 if step.op == "transformer_encoder_layer_fwd" else 3)) == 1:
            drops = drops.reshape(batch, 1, 1, length)
        seen = seen & ~drops
    return Sight(seen.reshape(-1, length, length), (batch, heads))


# -- where masks come from --------------------------------------------------------------------------


def ancestors(numbers: Iterable[int], graph: Graph) -> set[int]:
    """All values that some values were made from, they themselves among them; not those that gave a shape or type."""
    seen = set(numbers)
    waiting = list(seen)
    while waiting:
        step = graph.maker(waiting.pop())
        if step is None or step.op.endswith("_like") or step.op.startswith("new_"):
            continue
        read = step.refs[:1] if step.op in _BY_FIRST else step.refs
        fresh = [number for number in read if number not in seen]
        seen.update(fresh)
        waiting += fresh
    return seen


def given_masks(case: Case) -> tuple[int, ...]:
    """The values that masks and biases are given as: what meets the scores on their way, and a fused call's masks."""
    return tuple(number for _, numbers in masking_steps(case) for number in numbers)


def masking_steps(case: Case) -> Iterator[tuple[Step, tuple[int, ...]]]:
    """Each step that masks or biases scores, or is given a mask, with the values of those masks."""
    attention, graph = case.attention, case.graph
    if not case.written:
        step = case.softmax
        names = _MASKS.get(step.op, ())
        yield step, tuple(number for name, place in names for number in refs(step.arg(name, place)))
        return
    scores = attention.scores.value
    found = case.scores_product
    if found is not None and found.added is not None:
        yield case.step(found.step), (found.added,)
    for index in sorted({*(mask.step for mask in attention.masks), *attention.bias}):
        step = case.step(index)
        if index == attention.scores.step:
            continue
        others = [number for number in step.refs if scores not in ancestors([number], graph)]
        yield step, tuple(others)


def makers(numbers: Iterable[int], graph: Graph) -> list[Step]:
    """The steps that made some values, and those that made what they were made from, in order."""
    steps = {step.index: step for number in ancestors(numbers, graph) if (step := graph.maker(number)) is not None}
    return [steps[index] for index in sorted(steps)]


def applied(case: Case, wanted: int | None = None) -> Step:
    """The step that applies a mask (one made of the value `wanted`, where that is given); of a fused one the call."""
    if not case.written:
        return case.softmax
    found = case.softmax
    for step, numbers in masking_steps(case):
        if wanted is None or wanted in ancestors(numbers, case.graph):
            found = step
    return found


def path(source: int, target: int, graph: Graph) -> list[Step]:
    """The user's own steps from one value to another, in order."""
    found: list[Step] = []
    reached = {source}
    behind = ancestors([target], graph)
    for step in graph.steps:
        made = [number for number in step.results if number in behind]
        if made and any(number in reached for number in step.refs):
            reached.update(made)
            if own(step):
                found.append(step)
    return found


def samples(case: Case, count: int, length: int) -> Tensor | None:
    """[N]: the sample that each of N belongs to, where keys are `length` tokens of `count` samples.

    Told by nudging one sample after the other where the keys were projected from something; else by the shape.
    """
    view = sight(case)
    if view is None:
        return None
    size = view.seen.shape[0]
    if count == 1:
        return torch.zeros(size, dtype=torch.long)
    if case.attention.style in ("mha", "layer"):
        return torch.arange(view.lead[0]).repeat_interleave(view.lead[1]) if view.lead[0] == count else None
    for x in _origins(case):
        index = _batch_index(case.graph.shape(x), count, length)
        if index is not None:
            return _nudged(case, x, index, size)
    if len(view.lead) > 1 and view.lead[0] == count:
        return torch.arange(count).repeat_interleave(size // count)
    return torch.arange(count) if view.lead == (count,) else None


def _origins(case: Case) -> Iterator[int]:
    """What the keys were projected from; where no projection was seen, what they were laid out from, farthest first."""
    role = case.attention.k
    if role.x is not None:
        yield role.x
        return
    back = [role.entered]
    step = case.graph.maker(role.entered)
    while step is not None and step.op in VIEWS | CASTS and len(step.refs) == 1 and step.refs[0] < back[-1]:
        back.append(step.refs[0])
        step = case.graph.maker(back[-1])
    yield from reversed(back[1:])


def _batch_index(shape: tuple[int, ...], count: int, length: int) -> list[tuple[int | slice, ...]] | None:
    """For each sample, where it stands in a tensor of a shape."""
    if len(shape) < 2 or count > 16:
        return None
    if shape[0] == count:
        return [(place,) for place in range(count)]
    if shape[:2] == (length, count):
        return [(slice(None), place) for place in range(count)]
    if len(shape) == 2 and shape[0] == count * length:
        return [(slice(place * length, (place + 1) * length),) for place in range(count)]
    return None


def _nudged(case: Case, x: int, where: list[tuple[int | slice, ...]], size: int) -> Tensor | None:
    owner = torch.full((size,), -1)
    for place, index in enumerate(where):
        felt = case.felt(x, index, case.attention.k.entered)
        rows = None if felt is None else case.arranged("k", felt)
        if rows is None or rows.shape[0] != size:
            return None
        owner[rows.flatten(1).any(1)] = place
    return owner if bool((owner >= 0).all()) else None


def met_weights(case: Case, number: int | None = None) -> Tensor | None:
    """[N, Lq, Lk]: the weights as they meet v, with dropout left out; or the value `number` in their layout."""
    found = meeting(case)
    if found is None:
        return case.weights if number is None else None
    wanted = found.weights if number is None else number
    q = case.replay.double(case.attention.q.entered)
    played = None if q is None else case.replay.again({case.attention.q.entered: q}, [wanted])
    tensor = None if played is None else played[wanted]
    if tensor is None or tensor.dim() != len(found.letters) or len(found.summed) != 1:
        return None
    key = found.letters.index(found.summed[0])
    made = found.product
    v_letters = made.right_letters if found.letters == made.left_letters else made.left_letters
    rows = [place for place, letter in enumerate(found.letters) if letter in made.letters and letter not in v_letters]
    if not rows:
        return None
    return case.arranged_grid(tensor, rows[-1], key)


def small_table(number: int, case: Case) -> tuple[float] | None:
    """The one number that a mask adds beside 0, where it is too small to hide and was not learned."""
    value = case.graph.values[number]
    tensor = case.replay.double(number)
    if value.kind == "parameter" or tensor is None or tensor.numel() < 2 or not made_up(number, case):
        return None
    values = distinct(tensor)
    others = [item for item in values if item != 0]
    if len(values) != 2 or len(others) != 1 or others[0] != others[0] or others[0] <= _BELOW:
        return None
    return (others[0],)


def made_up(number: int, case: Case) -> bool:
    """Whether a value was made without anything that is learned or drawn at random."""
    graph = case.graph
    behind = ancestors([number], graph)
    if any(graph.values[near].kind == "parameter" for near in behind):
        return False
    return not random(number, graph)


def random(number: int, graph: Graph) -> bool:
    """Whether a value was drawn at random, or made of such."""
    return any(step.op in _RANDOM for step in makers([number], graph))
