"""What `attnlab.capture` gives: a `Capture`, the sequence of every attention that was `Captured`."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, overload

import torch
from torch import Tensor

from attnlab.capturing.parts import Part, joined
from attnlab.maps.data import Source, Style

if TYPE_CHECKING:
    from attnlab.maps.data import Summary


class Captured:
    """One attention of a program: the calls of one place in one module that a key/value cache joins, or one call.

    `name`     the path of the module that called it, from the outermost one that ran, as "layers.0.self_attn"; outside
               any module the name of the function. Where a module holds several attentions the second is "name:2"
    `style`    how it was computed: "written", "sdpa", "mha", "layer" (the fast path of `nn.TransformerEncoderLayer`),
               "flex"
    `index`    its number among the attentions of one pass of the outermost module
    `calls`    how many calls were joined
    `first`    number of the first of its rows, where a cache holds the rows before; 0 otherwise
    `result`   what `each` returned, where that was asked for (`Capturing`)
    """

    __slots__ = ("_parts", "_source", "calls", "first", "index", "name", "result", "style")

    def __init__(self, name: str, style: Style, index: int, first: int, source: Source | None) -> None:
        self.name = name
        self.style: Style = style
        self.index = index
        self.first = first
        self.calls = 1
        self.result: Any = None
        self._source = source
        self._parts: list[Part] = []

    @property
    def source(self) -> Source | None:
        """Where the weights come from: q and k (`Products`), or the program itself (`Given`). None after `each`."""
        if self._source is None and self._parts:
            self._source = joined(self._parts)
        return self._source

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """B, H, Q, K."""
        return self._known().shape

    @property
    def weights(self) -> Tensor:
        """The exact weights [B, H, Q, K] before any dropout, in float32 or more. A row that sees no key is 0."""
        return self.window()

    def window(self, rows: slice = slice(None), keys: slice = slice(None)) -> Tensor:
        """The exact weights [B, H, rows, keys] of some queries and keys; the others are not computed."""
        source = self._known()
        with plainly():
            return source.weights(rows, keys)

    def summary(self, **options: Any) -> Summary:
        """What there is to say of the weights, without the whole matrix; see `attnlab.maps.streaming.summarise`."""
        from attnlab.maps.streaming import summarise

        source = self._known()
        with plainly():
            return summarise(source, **options)

    def _known(self) -> Source:
        source = self.source
        if source is None:
            raise RuntimeError(
                f"expected weights that are kept, got {self.name!r}, of which only the result of each=… was kept: "
                "read .result, or capture it without each"
            )
        return source

    def forget(self) -> None:
        """Let go of all tensors."""
        self._source = None

    def begin(self, part: Part) -> None:
        """Keep a first call."""
        self._source, self._parts = None, [part]

    def move(self, by: int) -> None:
        """Put the rows at a later position."""
        first = self._parts[0]
        self._source = None
        self._parts[0] = replace(first, source=replace(first.source, position=first.source.position + by))
        self.first += by

    def go_on(self, part: Part) -> None:
        """Keep a call that a cache joins to those before."""
        self._source = None
        self._parts.append(part)
        self.calls += 1

    def __repr__(self) -> str:
        kept = self.source
        shape = "" if kept is None else f", {list(kept.shape)}"
        calls = f", calls={self.calls}" if self.calls > 1 else ""
        return f"Captured({self.name!r}, {self.style!r}{shape}{calls})"


class Capture(Sequence[Captured]):
    """Every attention that was captured, in the order in which they were first called.

    `output`   what the call returned that was captured; None for a `with` block
    `missed`   (name, id of a sentence in `attnlab.words`) of each place where the weights of an attention, or what may
               be one, cannot be had
    """

    def __init__(self) -> None:
        self.output: Any = None
        self._found: list[Captured] = []
        self._missed: dict[tuple[str, str], None] = {}

    @property
    def missed(self) -> tuple[tuple[str, str], ...]:
        """See the class."""
        return tuple(self._missed)

    @overload
    def __getitem__(self, index: int) -> Captured: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Captured]: ...
    def __getitem__(self, index: int | slice) -> Captured | Sequence[Captured]:
        return self._found[index]

    def __len__(self) -> int:
        return len(self._found)

    def __repr__(self) -> str:
        return f"Capture({self._found!r}, missed={self.missed!r})"

    def add(self, captured: Captured) -> None:
        """Add an attention."""
        self._found.append(captured)

    def miss(self, name: str, reason: str) -> None:
        """Note that weights cannot be had."""
        self._missed[name, reason] = None


@contextmanager
def plainly() -> Generator[None]:
    """Within it nothing leaves a gradient or is recorded, and autocast lowers no precision."""
    devices = [device for device in ("cpu", "cuda", "mps", "xpu") if torch.is_autocast_enabled(device)]
    with torch._C.DisableTorchFunction(), torch.no_grad():
        if not devices:
            yield
            return
        with torch.autocast(devices[0], enabled=False):
            yield
