"""Taking each attention while a program runs: named, numbered, joined to the calls before it, and kept or handed on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from attnlab.capturing.captured import Capture, Captured, plainly
from attnlab.capturing.flex import flex
from attnlab.capturing.fused import sdpa, unpacked
from attnlab.capturing.holding import Holder
from attnlab.capturing.joining import Joint, Line, position
from attnlab.capturing.packed import layer, mha, native
from attnlab.capturing.parts import Part
from attnlab.capturing.written import OPS, Call, Written
from attnlab.maps.data import Given, Products, Source, Style
from attnlab.recording.tap import Place, Stop, Tap, Told, has_numbers, outermost, unnoticed

_FUSED: dict[str, tuple[Style, Callable[..., Products]]] = {
    "scaled_dot_product_attention": ("sdpa", sdpa),
    "multi_head_attention_forward": ("mha", mha),
    "native_multi_head_attention": ("mha", native),
    "transformer_encoder_layer_fwd": ("layer", layer),
    "flex_attention": ("flex", flex),
}
# Compiled functions that are flex attention: compiled by the program, or by flex attention itself.
_COMPILED = frozenset(["flex_attention", "_flex_attention_hop_wrapper"])
# Outside any module no pass ends: calls are joined to one of so many.
_BACK = 64


class Gatherer:
    """Puts what it takes into a `Capture`. `each`, `choose`: see `Capturing`."""

    def __init__(
        self,
        found: Capture,
        each: Callable[[Captured], Any] | None,
        choose: Callable[[str, int], bool] | None,
    ) -> None:
        self.stopped: BaseException | None = None
        self._holder = Holder()
        self.tap = Tap(_is_wanted, self._told, self._holder.writing, self._renewing)
        self._found = found
        self._each = each
        self._choose = choose
        self._written = Written(self.tap, self._take, found.miss)
        self._lines: dict[int, list[Line]] = {}
        self._names: dict[tuple[int, Place], str] = {}
        self._count: dict[str, int] = {}
        self._when: object = None
        self._passing: object = None
        self._index = 0
        self._decoding: object = None

    def close(self) -> None:
        """The program has ended, and is not recorded any more."""
        try:
            if self.stopped is None:
                self._guarded("", self._written.end)
        finally:
            self._holder.close()
            if self.tap.close():
                self._found.miss("", "capture.missed.fault")

    def _told(self, told: Told) -> None:
        if self.stopped is not None:
            return
        if told.op in OPS:
            if not self._written.is_candidate(told):
                if self._written.is_busy:
                    self._guarded("", lambda: self._written.product(told))
                return
            work = self._written.candidate
        elif told.op in _FUSED or told.function.rpartition(".")[2] in _COMPILED:
            work = self._fused
        else:
            self._found.miss(self._called(told).name, f"capture.missed.{told.op if told.op in _UNSEEN else 'unknown'}")
            return
        call = self._called(told)
        self._guarded(call.name, lambda: work(told, call))

    def _renewing(self) -> None:
        if self.stopped is None:
            self._guarded("", self._written.end)
        self._written.renewed()

    def _guarded(self, name: str, work: Callable[[], None]) -> None:
        """Do some work of ours: a fault of it must not become the program's."""
        try:
            with unnoticed():
                work()
        except Stop as stop:
            self.stopped = stop.error
            raise
        except Exception:  # noqa: BLE001 - whatever it is, the program goes on, and the attention is said to be missed
            self._found.miss(name, "capture.missed.fault")

    def _fused(self, told: Told, call: Call) -> None:
        style, rule = _FUSED.get(told.op, ("flex", flex))
        self._enter(call)
        if not self._is_chosen(call):
            self._index += 1
        elif not has_numbers((told.args, told.kwargs)):
            self._found.miss(call.name, "capture.missed.numbers")
        else:
            source = rule(*told.args, **told.kwargs)
            query = told.args[0] if told.args else told.kwargs["query"]
            self._deliver(call, style, unpacked(source, self.tap.shape_before(query)) if style == "sdpa" else source)
        self._written.rest()

    def _take(self, call: Call, source: Given) -> None:
        """Take weights that the program computed itself."""
        self._enter(call)
        if not self._is_chosen(call):
            self._index += 1
        elif not has_numbers(source.given):
            self._found.miss(call.name, "capture.missed.numbers")
        else:
            self._deliver(call, "written", source)

    def _called(self, told: Told) -> Call:
        (where, module), when, user = self.tap.where(told), outermost(), told.user
        if module is not None:
            name = module.path or module.type
            if told.op == "transformer_encoder_layer_fwd":
                name = f"{module.path}.self_attn" if module.path else "self_attn"
            call = Call(name, module.key, module.type, where, when)
        else:
            code = where[0][0] if user is None else user.code
            name = code.co_qualname.rpartition("<locals>.")[2]
            if told.op == "compiled":
                name = told.function.rpartition(".")[2]
            call = Call(Path(code.co_filename).stem if name == "<module>" else name, id(code), "", where, when)
        if when is not self._passing:
            self._guarded(call.name, self._written.end)
            self._passing = when
        return call

    def _enter(self, call: Call) -> None:
        """Count the attentions of a pass from 0."""
        if call.when is not self._when:
            self._when, self._index, self._decoding = call.when, 0, None

    def _name(self, call: Call) -> str:
        """The name of a place: a second one in the same module gets a number."""
        key = (call.owner, call.place)
        if key not in self._names:
            number = self._count[call.name] = self._count.get(call.name, 0) + 1
            self._names[key] = call.name if number == 1 else f"{call.name}:{number}"
        return self._names[key]

    def _is_chosen(self, call: Call) -> bool:
        if self._choose is None:
            return True
        try:
            return self._choose(self._names.get((call.owner, call.place), call.name), self._index)
        except BaseException as error:  # noqa: BLE001 - it is the user's, and raised again when the block ends
            raise Stop(error) from None

    def _deliver(self, call: Call, style: Style, source: Source) -> None:
        line, joint = self._line(call, source)
        if joint is not None and joint.own.start > line.rows:
            line.move(joint.own.start)
        before = position(source) if joint is None else line.rows
        if joint is None or joint.own.start == before:
            source = replace(source, position=before)
        line.note(source, before + source.shape[2], call.when)
        if self._each is not None:
            captured = Captured(line.name, style, self._index, before, source)
            self._found.add(captured)
            self._hand_on(captured)
        elif joint is None or line.kept is None:
            line.kept = Captured(line.name, style, self._index, before, None)
            # In a cache of fixed length there may be keys that none of the rows sees, for calls to come.
            line.kept.begin(self._part(source, 0, min(line.rows, source.shape[3]) if line.open else source.shape[3]))
            self._found.add(line.kept)
        else:
            if isinstance(source, Products):
                source = replace(source, k=source.k[:, :, joint.own])
            line.kept.go_on(self._part(source, before - line.kept.first, joint.keys))
        self._index += 1

    def _hand_on(self, captured: Captured) -> None:
        assert self._each is not None
        try:
            with plainly():
                captured.result = self._each(captured)
        except BaseException as error:  # noqa: BLE001 - it is the user's, and raised again when the block ends
            raise Stop(error) from None
        finally:
            captured.forget()

    def _line(self, call: Call, source: Source) -> tuple[Line, Joint | None]:
        """The line that a call goes on, and how; or a new one."""
        lines = self._lines.setdefault(call.owner, [])
        decoding = call.when is not None and self._decoding is call.when
        for line in lines:
            joint = line.goes_on(source, call.when, call.place, decoding)
            if joint is not None:
                lines.append(lines.pop(lines.index(line)))  # the one that waits longest is asked first
                self._decoding = call.when
                return line, joint
        # those of this place in an earlier pass have come to an end
        lines = [line for line in lines if line.place != call.place or line.when is call.when]
        line = Line(self._name(call), call.place)
        self._lines[call.owner] = [*lines, line][-_BACK:]
        return line, None

    def _part(self, source: Source, start: int, keys: int) -> Part:
        """A copy of what is kept of a call: the program may write into its tensors later."""
        if isinstance(source, Given):
            return Part(replace(source, given=source.given.clone()), None, start, keys)
        mask = None if source.mask is None else self._holder.hold(source.mask)
        return Part(replace(source, q=source.q.clone(), k=source.k.clone(), mask=None), mask, start, keys)


# What happens inside these is not seen.
_UNSEEN = frozenset(["compiled", "scripted"])


def _is_wanted(op: str) -> bool:
    return op in OPS or op in _FUSED or op in _UNSEEN or "attention" in op
