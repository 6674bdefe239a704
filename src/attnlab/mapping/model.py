"""The map of a model that reads a text."""

from __future__ import annotations

import contextlib
import sys
import tempfile
import time
from pathlib import Path

import torch.distributed as dist
from torch import Tensor

from attnlab.capturing import Capturing
from attnlab.commandline import Command, Misused
from attnlab.mapping.asking import Asked, asked, check_layers, text_of
from attnlab.mapping.collecting import Collector
from attnlab.mapping.paging import served
from attnlab.mapping.progress import Progress
from attnlab.mapping.telling import free, saved, told
from attnlab.mapping.telling import writer as into
from attnlab.maps.data import Atlas, Text
from attnlab.maps.ranks import ranks, shared
from attnlab.maps.store import Writer
from attnlab.models import LoadError, Model, load
from attnlab.output import own_stdout, say
from attnlab.words import Words

# The exit code of what was interrupted.
_STOPPED = 130


def of_model(command: Command, words: Words) -> int:
    """Map the model that a command names, and say what there is to say. Returns the exit code. Raises `Misused`."""
    ask, progress = asked(command), Progress(words)
    if not Path(command.program).exists():
        raise Misused("model.missing", path=command.program)
    text = text_of(command)
    free(ask)
    try:
        with progress.during(words.say("map.progress.loading", name=command.program)):
            model = load(command.program)
        with contextlib.ExitStack() as stack:
            rank = stack.enter_context(ranks())
            folder = ask.folder
            if folder is None:  # layers wait in files until all is said: together they take more memory than the model
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="attnlab-"))) / "map"
            atlas = _Mapping(model, ask, words, progress, rank, folder).of(text)
            return served(atlas, folder, command, words) if ask.live and atlas is not None else 0
    except LoadError as error:
        raise Misused(error.id, **error.params) from None
    except _Stopped as stopped:
        return _stopped(str(stopped), words)
    except KeyboardInterrupt:
        return _stopped(words.say("map.stopped_bare"), words)


class _Stopped(Exception):
    """Interrupted, with a sentence on what is there."""


def _stopped(sentence: str, words: Words) -> int:
    print(words.say("command.misused", sentence=sentence), file=sys.stderr)
    return _STOPPED


class _Mapping:
    """One model, and what is wanted of it.

    `rank`: of the processes that share the rows the first writes and says; `folder`: where layers are written.
    """

    def __init__(self, model: Model, ask: Asked, words: Words, progress: Progress, rank: int, folder: Path) -> None:
        self._model = model
        self._ask = ask
        self._words = words
        self._progress = progress
        self._rank = rank
        self._folder = folder

    def of(self, text: str) -> Atlas | None:
        """Run it, and say what there is to say; None in all processes but the first. Raises `Misused`."""
        read = self._read(text)
        inputs = self._model.inputs(text)
        heads = self._heads({name: value[:, :2] for name, value in inputs.items()})
        self._check(heads)
        writer = None
        if not self._rank:
            weights = [list(file) for file in self._model.weights]
            writer = into(self._folder, self._model.name, read, self._ask, weights=weights)
        try:
            return self._run(read, inputs, heads, writer)
        except KeyboardInterrupt:
            if writer is None or self._ask.folder is None:
                raise
            count = sum(writer.has(index) for index in range(len(heads)))
            raise _Stopped(self._words.say("map.stopped", name=self._ask.name, count=count)) from None

    def _run(self, read: Text, inputs: dict[str, Tensor], heads: list[int], writer: Writer | None) -> Atlas | None:
        done, chosen = _done(writer, len(heads)), self._ask.layers
        wanted = [index for index in range(len(heads)) if index not in done and (chosen is None or index in chosen)]
        each = None if self._ask.heads is None else len(self._ask.heads)
        self._progress.begin(len(wanted), sum(each or heads[index] for index in wanted))
        collector = Collector(self._ask, shared, self._progress, writer, done)
        began = time.perf_counter()
        try:
            with Capturing(each=collector.each, choose=collector.wants) as found:
                self._model.run(inputs)
        finally:
            self._progress.clear()
        if writer is None:
            return None
        if collector.fault is not None:
            raise collector.fault
        try:
            atlas = writer.close(time.perf_counter() - began, found.missed)
        except OSError as error:
            raise Misused("map.full", name=self._ask.name, reason=error.strerror or error) from None
        saved(atlas, self._ask, self._words)
        windows = collector.windows(atlas.layers)
        stdout = own_stdout()
        if stdout is not None:
            say(stdout, told(atlas, windows, (), self._ask, self._words, stdout))
        return atlas

    def _read(self, text: str) -> Text:
        read, context = self._model.text(text), self._model.context
        if all(span.kind == "special" for span in read.spans):
            raise Misused("map.empty")
        if context is not None and len(read.pieces) > context:
            raise Misused("map.long", count=len(read.pieces), name=self._model.name, context=context)
        return read

    def _heads(self, inputs: dict[str, Tensor]) -> list[int]:
        """How many heads each attention has, from a run of two tokens."""
        with Capturing(each=lambda captured: captured.shape[1]) as found:
            try:
                self._model.run(inputs)
            except Exception as error:  # noqa: BLE001 - whatever a model may ask for that a text does not give
                first = str(error).strip().partition("\n")[0]
                raise Misused("map.failed", reason=first or type(error).__name__) from None
        if not found and not found.missed:
            raise Misused("map.none", name=self._model.name)
        return [captured.result for captured in found]

    def _check(self, heads: list[int]) -> None:
        """Raise `Misused` where a layer or head is asked for that there is none of."""
        ask = self._ask
        check_layers(ask, range(len(heads)), self._model.name)
        chosen = [(index, head) for index in sorted(ask.layers or range(len(heads))) for head in ask.heads or ()]
        for layer, head in [*chosen, *((place.layer, place.head) for place in ask.windows)]:
            if head >= heads[layer]:
                raise Misused("map.no_head", asked=head, layer=layer, last=heads[layer] - 1)


def _done(writer: Writer | None, count: int) -> frozenset[int]:
    """The layers that are there from an earlier run; every process is told what the one that writes knows."""
    done = [frozenset(index for index in range(count) if writer is not None and writer.has(index))]
    if dist.is_available() and dist.is_initialized():
        dist.broadcast_object_list(done)
    return done[0]
