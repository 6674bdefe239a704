"""X, and how Q, K and V are made of it: told together where they are made alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from attnlab.attention import Attention, Input
from attnlab.explanation.alike import compared
from attnlab.explanation.data import Equation, Item, Message, Part, Shape, say
from attnlab.explanation.formula import formula
from attnlab.explanation.sight import TRIVIAL, Sight, joined, merged_codes
from attnlab.explanation.steps import across, reason
from attnlab.run import Step


def sources(sight: Sight, attention: Attention, told: set[int]) -> Iterator[Part]:
    """X: what Q, K and V are projected from; X and Y where queries come from another tensor than keys."""
    for value, letter in source_letters(attention).items():
        made = sight.run.values[value].step
        told.update(() if made is None else (made,))
        code = None if made is None else sight.code(sight.run.steps[made])
        says = (
            _counted(sight.shape(value)) if code is not None else (say("inputs.given"), *_counted(sight.shape(value)))
        )
        item = Item((code,) if code else (), (Equation((), (sight.shape(value),)),), says)
        yield Part((letter,), formula(attention), frozenset(), (item,))


def source_letters(attention: Attention) -> dict[int, str]:
    """X, Y, Z for the values that something is projected from, and for one that serves two roles as it is."""
    inputs = (attention.q, attention.k, attention.v)
    found = [item.value if item.x is None else item.x for item in inputs]
    shared = dict.fromkeys(
        value for item, value in zip(inputs, found, strict=True) if item.x is not None or found.count(value) > 1
    )
    return dict(zip(shared, "XYZ", strict=False))


def projected_names(attention: Attention) -> tuple[str, ...]:
    """`Q = X W_Q` and its like, where all three are projected within one call."""
    letters = source_letters(attention)
    inputs = zip("QKV", (attention.q, attention.k, attention.v), strict=True)
    return tuple(f"{letter} = {letters[item.x]} W_{letter}" for letter, item in inputs if item.x is not None)


def _counted(shape: Shape) -> tuple[Message, ...]:
    sizes = {axis.name: axis.size for axis in shape}
    tokens = sizes.get("L") or sizes.get("L_q") or sizes.get("L_k")
    width = sizes.get("D") or sizes.get("D_kv") or sizes.get("d_k") or sizes.get("d_v")
    if tokens is None or width is None:
        return ()
    if "B" in sizes and len(shape) == 3:
        return (say("inputs.x", samples=sizes["B"], tokens=tokens, width=width),)
    return (say("inputs.x_one", tokens=tokens, width=width),) if len(shape) == 2 else ()


@dataclass
class _Way:
    """How one of Q, K and V came about: from X, Y or nothing known, by steps in groups of one expression each."""

    letter: str
    source: str
    input: Input
    steps: list[tuple[Step, ...]]

    @property
    def name(self) -> str:
        if not self.source:
            return self.letter
        return f"{self.letter} = {self.source}" + (f" W_{self.letter}" if self.input.project is not None else "")


def projections(sight: Sight, attention: Attention, told: set[int]) -> Iterator[Part]:
    """How Q, K and V are made. `told` grows by the steps that were told."""
    ways = [_way(sight, attention, letter) for letter in "QKV"]
    items = tuple(_Teller(sight, attention, told).items(ways))
    if items:
        yield Part(tuple(way.name for way in ways), formula(attention), frozenset("qkv"), items)


def _way(sight: Sight, attention: Attention, letter: str) -> _Way:
    item = {"Q": attention.q, "K": attention.k, "V": attention.v}[letter]
    letters = source_letters(attention)
    if item.x is None and item.value in letters:
        return _Way(letter, letters[item.value], item, [])
    found = {item.project, item.step, *item.layout} - {None, *item.scale}
    steps = [sight.run.steps[index] for index in sorted(index for index in found if index is not None)]
    kept = [step for step in steps if step.op not in TRIVIAL or step is steps[-1]]
    return _Way(letter, "" if item.x is None else letters[item.x], item, joined(kept))


@dataclass
class _Teller:
    """Tells several ways at once: what is one step is told once, what is alike is told together."""

    sight: Sight
    attention: Attention
    told: set[int]
    _said: set[object] = field(default_factory=set[object], init=False)

    def items(self, ways: list[_Way]) -> Iterator[Item]:
        rest = {way.letter: list(way.steps) for way in ways}
        while any(rest.values()):
            first = min((steps[0] for steps in rest.values() if steps), key=lambda group: group[0].index)
            ops = [step.op for step in first]
            letters = [letter for letter, steps in rest.items() if steps and [step.op for step in steps[0]] == ops]
            groups = {letter: rest[letter].pop(0) for letter in letters}
            yield self._item(groups)
            self.told.update(step.index for group in groups.values() for step in group)
        yield from self._without_steps([way for way in ways if not way.steps])

    def _without_steps(self, ways: list[_Way]) -> Iterator[Item]:
        """What is X itself, a parameter, or was given from outside."""
        for source in dict.fromkeys(way.source for way in ways if way.source):
            letters = tuple(way.letter for way in ways if way.source == source)
            yield Item((), (), (say("inputs.plain", letters=letters, source=source),))
        for way in ways:
            value = self.sight.run.values[way.input.value]
            if way.source:
                continue
            shape = Equation((), (self.sight.shape(value.id),))
            if value.kind == "parameter":
                yield Item((), (shape,), (say("inputs.parameter", letter=way.letter, name=value.name),))
            else:
                yield Item((), (shape,), (say("inputs.outside", letter=way.letter),))

    def _item(self, groups: dict[str, tuple[Step, ...]]) -> Item:
        """Alike steps of several roles; where they are the same step (a fused projection) it is told once."""
        sight = self.sight
        distinct = {group[-1].index: group for group in groups.values()}
        codes = merged_codes(code for group in distinct.values() if (code := sight.code(group[-1], self.told)))
        equations = {letter: across(sight, group) for letter, group in groups.items()}
        first = next(iter(groups.values()))
        if len(distinct) == 1:
            return Item(codes, tuple(equations.values())[:1], self._says(first, len(groups) == 3, ()))
        shown, differ = compared(equations)
        return Item(codes, shown, self._says(first, False, differ))

    def _once(self, said: tuple[Message, ...]) -> tuple[Message, ...]:
        """Those that were not said before."""
        new = tuple(message for message in said if _key(message) not in self._said)
        self._said.update(map(_key, new))
        return new

    def _says(self, group: tuple[Step, ...], fused: bool, differ: tuple[Message, ...]) -> tuple[Message, ...]:
        first = group[0]
        if first.index in {self.attention.q.project, self.attention.k.project, self.attention.v.project}:
            purpose = _purpose(self.attention)
            laid = self._laid(group[1:]) if len(group) > 1 else ()
            return self._once((*_projected(self.sight, first, fused, differ), purpose, *laid))
        return self._once((*self._laid(group), *differ))

    def _laid(self, group: tuple[Step, ...]) -> tuple[Message, ...]:
        """What became of the axes."""
        first, last = group[0], group[-1]
        if not first.refs:
            return ()
        before, after = self.sight.shape(first.refs[0]), self.sight.shape(last.results[0])
        special = _repeated(first, before, after) or head_split(before, after) or heads_first(before, after)
        return special or tuple(message for step in group for message in reason(self.sight, step))


def _purpose(attention: Attention) -> Message:
    """What Q, K and V are for."""
    letters = source_letters(attention)
    queries, keys = (None if item.x is None else letters[item.x] for item in (attention.q, attention.k))
    if queries == keys:
        return say("inputs.roles")
    if queries is None or keys is None:
        return say("inputs.roles_given")
    return say("inputs.roles_cross", queries=queries, keys=keys)


def _key(message: Message) -> object:
    """What is general is said once; what tells numbers, once with each."""
    return message.id if message.id in ("inputs.each", "inputs.stored") else message


def _projected(sight: Sight, step: Step, fused: bool, differ: tuple[Message, ...]) -> Iterator[Message]:
    """Why a projection is legal, and how its weight is kept."""
    if step.op == "linear":
        x, weight = sight.shape(step.refs[0]), sight.shape(step.refs[1])
        yield say("inputs.project", inner=str(x[-1]), out=str(weight[0]))
        yield from differ
        if any(axis.name in _TOKENS for axis in x[:-1]):
            yield say("inputs.each", kept=tuple(axis.name or str(axis.size) for axis in x[:-1]))
        name = sight.run.values[step.refs[1]].name
        if name:
            yield say("inputs.stored", name=name, sizes=str([axis.size for axis in weight]))
    else:
        yield from reason(sight, step)
        yield from differ
    if fused:
        yield say("inputs.fused")


_TOKENS = ("L", "L_q", "L_k")


def head_split(before: Shape, after: Shape) -> tuple[Message, ...]:
    """`view(B, L, H, d_k)`: features are cut into heads."""
    names = [axis.name for axis in after]
    for whole in before:
        heads, product, width = (whole.name or "").partition("·")
        if product and heads in ("H", "H_kv") and heads in names and width in names and whole.name not in names:
            sizes = {axis.name: axis.size for axis in after}
            said = say("inputs.split", whole=str(whole), heads=sizes[heads], width=f"{width}={sizes[width]}")
            return (said, *heads_first(before, after))
    return ()


def heads_first(before: Shape, after: Shape) -> tuple[Message, ...]:
    """`transpose(1, 2)`: heads come to stand before tokens, among the axes over which products are repeated."""
    names, old = ([axis.name for axis in shape] for shape in (after, before))
    head = next((name for name in names if name in ("H", "H_kv")), None)
    tokens = next((name for name in names if name in _TOKENS), None)
    if head is None or tokens is None or names.index(head) > names.index(tokens):
        return ()
    whole = any(name is not None and name.startswith(f"{head}·") for name in old)
    if not whole and (head not in old or tokens not in old or old.index(head) < old.index(tokens)):
        return ()
    return (say("inputs.heads_first", heads=head, tokens=tokens),)


def _repeated(step: Step, before: Shape, after: Shape) -> tuple[Message, ...]:
    """Each head of keys and values is repeated for the query heads that share it."""
    old, new = ({axis.name: axis.size for axis in shape} for shape in (before, after))
    if step.op not in ("repeat_interleave", "expand", "repeat") or "H_kv" not in old or "H" not in new:
        return ()
    return (say("inputs.repeat", kv=old["H_kv"], heads=new["H"], times=new["H"] // old["H_kv"]),)
