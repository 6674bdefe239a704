"""From what was noted while recording to a Run."""

from __future__ import annotations

from typing import Any

import torch

from attnlab.recording import numbers, operations
from attnlab.recording.frames import Site
from attnlab.recording.mode import Recorder, identity, ids
from attnlab.recording.noted import Noted
from attnlab.recording.places import Place, Places
from attnlab.recording.tensors import Ids, Mark, Tensors, Text, number_of
from attnlab.run import Arg, Count, Error, Opaque, Operand, Program, Ref, Run, Size, Slice, Source, Step, Value

# Operators that Python may run on the right operand, and those that then have another name.
_EITHER_WAY = frozenset(["add", "mul", "bitwise_and", "bitwise_or", "bitwise_xor", "eq", "ne", "lt", "le", "gt", "ge"])
_MIRRORED = frozenset(["lt", "le", "gt", "ge"])


def finish(
    run: Run, recorder: Recorder, program: Program, error: BaseException | None, exit_code: int | None, seconds: float
) -> Run:
    """Fill `run` with everything that was recorded. It is empty before and frozen after."""
    builder = _Builder(recorder)
    steps = tuple(
        builder.step(index, noted, ids(made), recorder.overwritten.get(index, ()))
        for index, (noted, made) in enumerate(zip(recorder.steps, recorder.results, strict=True))
    )
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
            shape=tuple(size if type(size) is int else -1 for size in shape),
            axes=(None,) * len(shape),
            dtype=str(dtype).removeprefix("torch."),
            device=str(device),
            step=step,
            kind=tensors.origins.get(number, ("result", ""))[0],
            name=tensors.origins.get(number, ("result", ""))[1],
            numbers=numbers.finish(tensors.numbers.get(number)),
        )
        for number, ((shape, dtype, device), step) in enumerate(zip(tensors.forms, tensors.makers, strict=True))
    )


class _Builder:
    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._places = Places()
        self._files: set[str] = set()
        self._tensors: set[str] = set()
        self._given: dict[int, int] = {}
        for (_, _, _, site, user, *_), made in zip(recorder.steps, recorder.results, strict=True):
            place = self._place(user)
            if place is not None and made != ():
                self._tensors.update(place.source.targets)
                if site is user:
                    self._tensors.add(place.source.text)

    def step(self, index: int, noted: Noted, results: Ids, overwritten: Ids) -> Step:
        func, args, kwargs, site, user, module, call, frame, grad = noted
        op, function, method, swapped = operations.name(func)
        place = self._place(user)
        via = None if site is user else self._place(site)
        passed: list[Any] = list(args)
        texts: tuple[str, ...] = ()
        named: dict[str, str] = {}
        if place is not None and via is None:
            texts, named = place.operands(method)
            if swapped:
                passed.reverse()
            elif len(passed) == 2 and not isinstance(passed[1], Mark):
                texts = self._in_order(place, op, passed, texts)
        elif place is not None and self._is_given(call, passed):
            texts = (place.only_argument(),)
        operands = [Operand("", _arg(item), texts[i] if i < len(texts) else "") for i, item in enumerate(passed)]
        operands += [Operand(name, _arg(item), named.get(name, "")) for name, item in (kwargs or {}).items()]
        return Step(
            index=index,
            op=op,
            function=function,
            source=None if place is None else place.statement if op == "setitem" else place.source,
            via=_source(via),
            operands=tuple(operands),
            results=results,
            inplace=overwritten,
            module=None if module is None else module.path,
            module_type=None if module is None else module.type,
            call=call,
            frame=frame,
            grad=grad,
        )

    def _in_order(self, place: Place, op: str, passed: list[Any], texts: tuple[str, ...]) -> tuple[str, ...]:
        """The texts of a tensor and a number as they were passed; `2 * x` ran as `x.mul(2)`, and is put right."""
        right = place.tensor_on_the_right(self._tensors) if op in _EITHER_WAY else False
        if right is None:
            return ()
        if right and op in _MIRRORED:  # `0 < x` ran as `x > 0`, and stays so
            return texts[::-1]
        if right:
            passed.reverse()
        return texts

    def _is_given(self, call: int, passed: list[Any]) -> bool:
        """Whether a step inside a library's call reads first what the user gave: what the first step of it read."""
        if not passed or not isinstance(passed[0], Mark):
            return False
        first = number_of(passed[0])
        tensors = self._recorder.tensors
        maker = tensors.makers[first]
        inside = maker is not None and self._recorder.steps[maker][6] == call
        if inside or tensors.origins.get(first, ("", ""))[0] == "parameter":  # `nn.Linear(12, 7)` makes its own
            return False
        return self._given.setdefault(call, first) == first

    def sizes(self) -> tuple[Size, ...]:
        found: list[Size] = []
        noted = self._recorder.sizes
        for mark, asked, site in zip(noted[::3], noted[1::3], noted[2::3], strict=True):
            value = number_of(mark)
            source = _source(self._place(site))
            shape = self._recorder.tensors.forms[value][0]
            if source is None or (asked is not None and not -len(shape) <= asked < len(shape)):
                continue
            axis = None if asked is None else asked % len(shape)
            found.append(Size(value, axis, tuple(shape) if axis is None else (shape[axis],), source))
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
        if noted is not None and noted[0] == identity(error):
            failed = self.step(len(self._recorder.steps), noted[1], (), ())
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
        if place is not None and place.known and self._recorder.frames.code(site.code)[1]:
            self._files.add(site.code.co_filename)
        return place


def _source(place: Place | None) -> Source | None:
    return None if place is None else place.source


def _arg(noted: Any) -> Arg:
    match noted:
        case complex():  # a `Mark`
            return Ref(number_of(noted))
        case Text():
            return Opaque(str(noted))
        case tuple():
            return tuple(_arg(item) for item in noted)
        case slice():
            return Slice(_arg(noted.start), _arg(noted.stop), _arg(noted.step))
        case _:
            return noted
