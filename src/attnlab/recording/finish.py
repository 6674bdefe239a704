"""From what was noted while recording to a Run."""

from __future__ import annotations

from typing import Any

import torch

from attnlab.recording import numbers, operations
from attnlab.recording.frames import Site
from attnlab.recording.mode import Done, Recorder
from attnlab.recording.places import Place, Places
from attnlab.recording.tensors import Id, Tensors, Text
from attnlab.run import Arg, Count, Error, Opaque, Operand, Program, Ref, Run, Size, Slice, Source, Step, Value


def finish(
    run: Run, recorder: Recorder, program: Program, error: BaseException | None, exit_code: int | None, seconds: float
) -> Run:
    """Fill `run` with everything that was recorded. It is empty before and frozen after."""
    builder = _Builder(recorder)
    steps = tuple(builder.step(index, done) for index, done in enumerate(recorder.steps))
    fields: dict[str, Any] = {
        "program": program,
        "torch": torch.__version__,
        "steps": steps,
        "sizes": builder.sizes(),
        "counted": builder.counted(),
        "error": builder.error(error),
        "exit_code": exit_code,
        "seconds": seconds,
        "lost": tuple(recorder.lost),
        "values": values(recorder.tensors),
    }
    fields["sources"] = builder.sources()
    recorder.frames.close()
    for name, value in fields.items():
        object.__setattr__(run, name, value)
    return run


def values(tensors: Tensors) -> tuple[Value, ...]:
    """The values of a recording."""
    return tuple(
        Value(
            id=number,
            shape=tuple(tensors.shapes[number]),
            axes=(None,) * len(tensors.shapes[number]),
            dtype=str(tensors.dtypes[number]).removeprefix("torch."),
            device=str(tensors.devices[number]),
            step=tensors.makers[number],
            kind=tensors.origins.get(number, ("result", ""))[0],
            name=tensors.origins.get(number, ("result", ""))[1],
            numbers=numbers.finish(tensors.numbers.get(number)),
        )
        for number in range(len(tensors.shapes))
    )


class _Builder:
    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._places = Places()
        self._files: set[str] = set()
        self._tensors: set[str] = set()
        for (_, _, _, _, user, *_), _, _ in recorder.steps:
            place = self._place(user)
            if place is not None:
                self._tensors.update(place.source.targets)

    def step(self, index: int, done: Done) -> Step:
        (func, args, kwargs, site, user, module, call, frame, grad), results, inplace = done
        op, function, method, swapped = operations.name(func)
        place = self._place(user)
        via = None if site is user else self._place(site)
        passed: list[Any] = list(args)
        texts, named = _texts(place, via, method)
        if swapped:
            passed.reverse()
        elif via is None and place is not None and len(passed) == 2 and not isinstance(passed[1], Id):
            right = place.tensor_on_the_right(self._tensors)
            if right:
                passed.reverse()
            elif right is None:
                texts = ()
        operands = [Operand("", _arg(item), texts[i] if i < len(texts) else "") for i, item in enumerate(passed)]
        operands += [Operand(name, _arg(item), named.get(name, "")) for name, item in (kwargs or {}).items()]
        return Step(
            index=index,
            op=op,
            function=function,
            source=_source(place),
            via=_source(via),
            operands=tuple(operands),
            results=tuple(map(int, results)),
            inplace=tuple(map(int, inplace)),
            module=None if module is None else module.path,
            module_type=None if module is None else module.type,
            call=call,
            frame=frame,
            grad=grad,
        )

    def sizes(self) -> tuple[Size, ...]:
        found: list[Size] = []
        for size in self._recorder.sizes:
            source = _source(self._place(size.site))
            shape = self._recorder.tensors.shapes[size.value]
            if source is None or (size.axis is not None and not -len(shape) <= size.axis < len(shape)):
                continue
            axis = None if size.axis is None else size.axis % len(shape)
            found.append(Size(int(size.value), axis, tuple(shape) if axis is None else (shape[axis],), source))
        return tuple(found)

    def counted(self) -> tuple[Count, ...]:
        return tuple(
            Count(operations.name(func)[0], _source(self._place(user)), times)
            for func, user, times in self._recorder.counted.values()
        )

    def error(self, error: BaseException | None) -> Error | None:
        if error is None:
            return None
        failed = None
        noted = self._recorder.failure
        if noted is not None and noted[0] == id(error):
            failed = self.step(len(self._recorder.steps), (noted[1], (), ()))
        trace = error.__traceback__
        file = line = None
        while trace is not None:
            if self._recorder.frames.code(trace.tb_frame.f_code)[1]:
                file, line = trace.tb_frame.f_code.co_filename, trace.tb_lineno
            trace = trace.tb_next
        return Error(type(error).__name__, str(error), failed, line, file)

    def sources(self) -> dict[str, str]:
        return {name: self._places.text(name) for name in sorted(self._files)}

    def _place(self, site: Site | None) -> Place | None:
        if site is None:
            return None
        place = self._places.find(site.code, site.lasti)
        if place is not None and self._recorder.frames.code(site.code)[1]:
            self._files.add(site.code.co_filename)
        return place


def _source(place: Place | None) -> Source | None:
    return None if place is None else place.source


def _texts(place: Place | None, via: Place | None, method: bool) -> tuple[tuple[str, ...], dict[str, str]]:
    if place is None:
        return (), {}
    if via is None:
        return place.operands(method)
    # A library stands between: `self.W_q(x)` ran `F.linear(input, self.weight, self.bias)`.
    return (place.only_argument(),), {}


def _arg(noted: Any) -> Arg:
    match noted:
        case Id():
            return Ref(int(noted))
        case Text():
            return Opaque(str(noted))
        case tuple():
            return tuple(_arg(item) for item in noted)
        case slice():
            return Slice(_arg(noted.start), _arg(noted.stop), _arg(noted.step))
        case _:
            return noted
