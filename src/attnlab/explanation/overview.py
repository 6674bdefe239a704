"""Which attentions there are: the title of each, a list of all, and the choice of one."""

from __future__ import annotations

from collections.abc import Sequence

from attnlab.attention import Attention
from attnlab.explanation.data import Message, Said, say
from attnlab.run import Run

_STYLES = {
    "sdpa": "F.scaled_dot_product_attention",
    "mha": "nn.MultiheadAttention",
    "layer": "nn.TransformerEncoderLayer",
    "flex": "flex_attention",
}
_KINDS = {"self": "title.self", "cross": "title.cross", None: "title.attention"}
_PATHS = 3


class NoLayer(LookupError):
    """The attention that was asked for is not there. `message` says what there is."""

    def __init__(self, message: Message) -> None:
        super().__init__(message.id)
        self.message = message


def title(run: Run, group: Sequence[Attention]) -> tuple[Said, ...]:
    """What kind of attention it is, how many heads, where it stands, how many there are alike."""
    attention = group[0]
    found: list[Said] = [say(_KINDS[attention.kind])]
    found += _heads(attention)
    if attention.causal:
        found.append(say("title.causal"))
    if attention.additive:
        found.append(say("title.additive"))
    if attention.style in _STYLES:
        found.append(_STYLES[attention.style])
    found.append(_place(run, attention))
    if attention.module and len(group) == 1:
        found.append(attention.module)
    return tuple(found)


def _heads(attention: Attention) -> list[Said]:
    heads, shared = attention.heads, attention.kv_heads
    if heads is None:
        return []
    if heads == 1:
        return [say("title.head")]
    if shared is not None and shared != heads:
        return [say("title.shared", heads=heads, kv=shared)]
    return [say("title.heads", heads=heads)]


def _place(run: Run, attention: Attention) -> Said:
    source = run.steps[attention.scores.step].source
    function = attention.function if attention.function and attention.function != "<module>" else ""
    line = 0 if source is None else source.span.line
    return say("title.place", function=function, line=line) if function else say("title.line", line=line)


def overview(run: Run, groups: Sequence[Sequence[Attention]]) -> tuple[tuple[Said, ...], ...]:
    """Each group in one line: numbers, title, module paths."""
    return tuple((_numbers(group), *title(run, group), *(_paths(group) if len(group) > 1 else ())) for group in groups)


def _numbers(group: Sequence[Attention]) -> str:
    numbers = [attention.index + 1 for attention in group]
    if len(numbers) > 2 and numbers == list(range(numbers[0], numbers[-1] + 1)):
        return f"{numbers[0]}–{numbers[-1]}"
    return ", ".join(map(str, numbers[:_PATHS])) + (", …" if len(numbers) > _PATHS else "")


def _paths(group: Sequence[Attention]) -> list[Said]:
    paths = list(dict.fromkeys(attention.module for attention in group if attention.module))
    return [", ".join(paths) if len(paths) <= _PATHS else f"{paths[0]} … {paths[-1]}"] if paths else []


def chosen(groups: Sequence[Sequence[Attention]], layer: str) -> Sequence[Sequence[Attention]]:
    """The attentions that `layer` names: by number, from 1, or by module path or a part of one.

    Raises `NoLayer` where it names none.
    """
    every = sorted((attention for group in groups for attention in group), key=lambda attention: attention.index)
    if layer.isdecimal():
        named = {attention.index for attention in every if attention.index + 1 == int(layer)}
    else:
        named = {attention.index for attention in every if _within(layer, attention.module or "")}
    found = [picked for group in groups if (picked := [one for one in group if one.index in named])]
    if found:
        return found
    if not every:
        raise NoLayer(say("layer.none"))
    paths = ", ".join(dict.fromkeys(attention.module for attention in every if attention.module)) or "–"
    raise NoLayer(say("layer.unknown", asked=layer, count=len(every), paths=paths))


def _within(asked: str, path: str) -> bool:
    """Whether a module path is the one asked for, or lies within it: `h.5` for `h.5.attn`."""
    parts, wanted = path.split("."), asked.split(".")
    return any(parts[start : start + len(wanted)] == wanted for start in range(len(parts) - len(wanted) + 1))
