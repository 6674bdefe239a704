"""Attention in tests: an assertion, and strategies for hypothesis.

from attnlab.testing import assert_attention

def test_attention():
    assert_attention(model, x, causal=True)
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from attnlab.checking import checked_call, chosen
from attnlab.checks.finding import Finding
from attnlab.checks.report import Report
from attnlab.experiments.calls import Calls, Untried
from attnlab.output import width
from attnlab.reporting import report
from attnlab.views.findings.text import text
from attnlab.views.text import plain, wrap
from attnlab.words import Words, language

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ["AttentionError", "Shape", "assert_attention", "dtypes", "inputs", "masks", "shapes"]


class AttentionError(AssertionError):
    """A module or a function does not do what attention does. `findings`: which rules do not hold."""

    def __init__(self, name: str, told: Report, sentences: Sequence[str], words: Words) -> None:
        self.findings: tuple[Finding, ...] = told.findings
        self._name = name
        self._report = told
        self._sentences = tuple(sentences)
        self._words = words
        super().__init__(self.text(width(), False))

    def text(self, columns: int, colour: bool) -> str:
        """What is wrong, for a terminal of so many columns."""
        parts: list[str] = []
        if self.findings:
            head = self._words.say("testing.findings", name=plain(self._name))
            parts.append(f"{head}\n\n{text(self._report, self._words, columns, colour)}")
        parts += ["\n".join(wrap(plain(sentence), columns)) + "\n" for sentence in self._sentences]
        return "\n".join(parts).rstrip("\n")

    @property
    def line(self) -> str:
        """The same in a line: the first of what is wrong, and how many more there are."""
        said = [" ".join((f"{os.path.basename(one.path)}:{one.line}", one.code, one.slug)) for one in self.findings]
        said += self._sentences
        more = f" (+{len(said) - 1})" if len(said) > 1 else ""
        return plain(said[0]) + more


def assert_attention(
    module: Callable[..., Any],
    /,
    *inputs: Any,
    causal: bool | None = None,
    mask: Tensor | None = None,
    select: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    lang: str | None = None,
    **options: Any,
) -> None:
    """Assert that what a module or a function does with these inputs is attention.

    It is called as `module(*inputs, **options)`, and the rules of `attnlab check` are tried on that call. With
    `causal=True` it is called again with later tokens changed, and no earlier output may move; with `causal=False`
    one has to. `mask` is bool, `[B, L]`, True where a token is kept: with the tokens that it drops changed, the
    outputs of those that it keeps may not move. It is laid out as the first axes of the input (`[L, B]` for
    sequence-first code), and is not passed on: the module gets its own mask among its inputs or options, in its own
    terms, as in `assert_attention(attention, x, x, x, key_padding_mask=~keep, mask=keep)`.

    The tokens that are changed are those of the first input of floating-point numbers with two axes or more, or of
    ids; of each other input that is the same tensor; and of k and v where the first three inputs are q, k, v of one
    shape. Every call starts from the same random state. A module that keeps something from call to call is copied.

    `select` and `ignore` name rules by code (`ATT012`), the beginning of codes (`ATT05`) or slug; comments
    `# attnlab: ignore[…]` and `[tool.attnlab]` in pyproject.toml hold as well. `lang` is "zh" or "en".

    Raises `AttentionError`, an `AssertionError` with the findings as text; `ValueError` where what was asked for
    can't be tried on this call. What the call itself raises is raised unchanged.
    """
    __tracebackhide__ = True
    words = Words(language(lang, os.environ))
    choice = chosen(module, words, select, ignore)
    run, found = checked_call(module, inputs, options, words, choice)
    # What was said to be meant is no fault.
    kept = [item for item in found.findings if not item.note and not (causal is False and item.code == "ATT071")]
    name = _name(module)
    sentences = [] if run.error is not None else _tried(module, inputs, options, causal, mask, name, words)
    if kept or sentences:
        raise AttentionError(name, report(run, kept, len(found.whole.attentions), os.getcwd()), sentences, words)


def _tried(
    module: Callable[..., Any],
    args: Sequence[Any],
    options: dict[str, Any],
    causal: bool | None,
    mask: Tensor | None,
    name: str,
    words: Words,
) -> list[str]:
    """What does not hold of what was asked for, a sentence each."""
    if causal is None and mask is None:
        return []
    said: list[str] = []
    try:
        calls = Calls(module, args, options)
        felt = None if causal is None else calls.earlier()
        if causal is True and felt is not None:
            place = {"token": felt.token, "output": felt.output, "sample": felt.sample, "by": felt.by}
            said.append(words.say("testing.causal", name=name, **place))
        if causal is False and felt is None:
            said.append(words.say("testing.never", name=name))
        felt = None if mask is None else calls.masked(mask)
        if felt is not None and felt.output is None:
            said.append(words.say("testing.pooled", name=name, by=felt.by, sample=felt.sample))
        elif felt is not None:
            said.append(words.say("testing.mask", name=name, output=felt.output, by=felt.by, sample=felt.sample))
    except Untried as error:
        reason = words.say(error.id, **error.params)
        raise ValueError(words.say("testing.untried", name=name, reason=reason)) from None
    return said


def _name(module: Callable[..., Any]) -> str:
    return getattr(module, "__qualname__", type(module).__qualname__)


# -- strategies for hypothesis -----------------------------------------------------------------------------------


class Shape(NamedTuple):
    """The sizes of an attention: `[batch, length, width]`, and how many heads divide the width."""

    batch: int
    length: int
    width: int
    heads: int


def shapes(*, most: int = 7) -> SearchStrategy[Shape]:
    """Sizes, all of them different: where two are equal, an axis that was taken for another shows nothing.

    `most` bounds the batch, the length, the heads and the width of a head.
    """
    from hypothesis import strategies as st

    sizes = st.lists(st.integers(1, most), min_size=4, max_size=4, unique=True)
    shape = sizes.map(lambda four: Shape(four[0], four[1], four[2] * four[3], four[2]))
    return shape.filter(lambda one: len({one.batch, one.length, one.width}) == 3)


def dtypes(*, half: bool = False) -> SearchStrategy[torch.dtype]:
    """Dtypes of floating-point numbers; with `half` those of 16 bits too."""
    from hypothesis import strategies as st

    return st.sampled_from([torch.float32, torch.float64, *([torch.bfloat16, torch.float16] if half else [])])


def inputs(*size: int, dtype: torch.dtype = torch.float32) -> SearchStrategy[Tensor]:
    """Tensors of that size, their numbers drawn from the normal distribution."""
    from hypothesis import strategies as st

    def drawn(seed: int) -> Tensor:
        generator = torch.Generator().manual_seed(seed)
        return torch.randn(*size, generator=generator, dtype=torch.float64).to(dtype)

    return st.integers(0, 2**32 - 1).map(drawn)


def masks(batch: int, length: int) -> SearchStrategy[Tensor]:
    """Padding masks, bool, `[batch, length]`, True where a token is kept: padding behind, before or anywhere.

    Each sample keeps a token at least.
    """
    from hypothesis import strategies as st

    def row(kept: list[bool], how: str) -> list[bool]:
        count = max(sum(kept), 1)
        if how == "anywhere":
            return kept if any(kept) else [True, *kept[1:]]
        row = [place < count for place in range(length)]
        return row if how == "behind" else row[::-1]

    def mask(how: str) -> SearchStrategy[Tensor]:
        kept = st.lists(st.booleans(), min_size=length, max_size=length).map(lambda one: row(one, how))
        return st.lists(kept, min_size=batch, max_size=batch).map(torch.tensor)

    return st.sampled_from(["behind", "before", "anywhere"]).flatmap(mask)
