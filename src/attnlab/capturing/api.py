"""`attnlab.capture`: the attention weights of a call or of a block."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, overload

from attnlab.capturing.captured import Capture, Captured
from attnlab.capturing.gathering import Gatherer
from attnlab.recording.tap import Stop


class Capturing:
    """A `with` block in which attention is captured, of this thread. `attnlab.capture()` makes one.

    `each`: called with every attention as soon as it is known, one call at a time; then nothing is kept alive but what
    it returns, as `Captured.result`. What it raises ends the program, and leaves the block unchanged.
    `choose(name, index)`: says which attentions are wanted; `index` counts those of one pass of the outermost module.
    """

    def __init__(
        self,
        *,
        each: Callable[[Captured], Any] | None = None,
        choose: Callable[[str, int], bool] | None = None,
    ) -> None:
        self._found = Capture()
        self._gatherer = Gatherer(self._found, each, choose)

    def __enter__(self) -> Capture:
        self._gatherer.tap.begin()
        return self._found

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._gatherer.tap.end()
        try:
            self._gatherer.close()
        except Stop:
            pass  # it is raised here, as what it carries
        stopped = self._gatherer.stopped
        if stopped is not None:
            before = stopped.__context__
            try:
                raise stopped
            finally:
                stopped.__context__ = before  # Python has put there what carried it here


@overload
def capture() -> Capturing: ...
@overload
def capture(program: Callable[..., Any], /, *inputs: Any, **options: Any) -> Capture: ...
def capture(program: Callable[..., Any] | None = None, /, *inputs: Any, **options: Any) -> Capture | Capturing:
    """Capture attention weights, however they are computed, with no edit of the program.

    `attnlab.capture(module, *inputs, **options)` calls a module or a function once; `.output` is what it returned, and
    whatever it raises is raised unchanged. `with attnlab.capture() as found:` captures in a block, as that of a
    generation, where the rows of all steps over one key/value cache are joined. Either gives a `Capture`.

    The program runs as it does without: the same kernels, bit-identical results, the same random numbers. q, k and
    masks are copied where the attention is called, and its weights are computed from them, exactly, when they are
    asked for; weights that the program computes itself are copied.
    """
    if program is None:
        return Capturing()
    if not callable(program):
        raise TypeError(f"capture expects a module or a function and its inputs; got {type(program).__name__}")
    with Capturing() as found:
        found.output = program(*inputs, **options)
    return found
