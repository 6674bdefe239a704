"""`attnlab whatif`: a program run again with numbers or an expression changed, and what moved."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from attnlab.answers import edits, meaning, moved, sweep
from attnlab.answers.data import Answer, Block, Literally, Text, Title
from attnlab.answers.fault import fault, said
from attnlab.answers.names import carried
from attnlab.answers.sides import Row, Sides
from attnlab.attention import find
from attnlab.axes import by_flow
from attnlab.experiments import constants
from attnlab.experiments.changes import BadChange, Change, Replace, SetConstant
from attnlab.experiments.compare import Comparison
from attnlab.experiments.lab import Lab, Trial
from attnlab.experiments.request import Request
from attnlab.explanation.data import Message, say
from attnlab.run import Error, Run, Step

# Sets of numbers that one question may ask for.
MOST = 24
# A rerun may take this long (seconds), or this many times as long as the first run.
SECONDS, TIMES = 10.0, 5.0
# Printed lines that are shown; where shapes moved, they mostly repeat what the tables say.
LINES = 8
FEW = 6
TRACEBACK = "Traceback (most recent call last):"


def answer(
    lab: Lab, sets: Sequence[str] = (), replace: tuple[str, str] | None = None, line: int | None = None
) -> Answer:
    """What moves when the program is run again with something changed.

    `sets` are changes "seq_len=6"; with several numbers, "seq_len=4,8,16", each is tried and the answer is a
    table. `replace` puts a second text in the place of a first one, on `line` where it stands more than once.

    Raises `BadChange` where a change cannot be made, and `NotAgain` where the program is not run again.
    """
    choices = [_choices(lab, text) for text in sets]
    names = [choice[0].constant for choice in choices]
    twice = next((name for at, name in enumerate(names) if name in names[:at]), None)
    if twice is not None:
        raise BadChange("change.twice", name=twice.name)
    if line is not None and replace is None:
        raise BadChange("change.line")
    if not choices and replace is None:
        raise BadChange("change.nothing")
    replaced = [] if replace is None else [lab.replace(*replace, line)]
    asked: list[list[Change]] = [[*numbers, *replaced] for numbers in itertools.product(*choices)]
    if len(asked) > MOST:
        raise BadChange("change.many", count=len(asked), most=MOST)
    seconds = max(SECONDS, TIMES * lab.run.seconds)
    if len(asked) > 1:
        _, *trials = lab.each([[], *asked], seconds)  # the first of all runs is slower than those after it
        return sweep.answer(lab, asked, trials, seconds)
    trial, control = lab.each([asked[0], []], seconds)
    return _Told(lab, asked[0], trial, control, seconds).answer()


def _choices(lab: Lab, text: str) -> list[SetConstant]:
    name, equals, numbers = text.partition("=")
    if not equals or not name.strip():
        raise BadChange("change.form", asked=text)
    return [lab.set(name.strip(), number.strip()) for number in numbers.split(",")]


@dataclass(frozen=True, slots=True)
class _Counts:
    """Of all results that both runs have, how many differ in shape, and how many in values alone.

    The values of `restless` ones differ even with nothing changed.
    """

    shapes: int
    values: int
    total: int
    restless: int


class _Told:
    """The answer about one rerun. The control is a rerun without any change: what moves there tells nothing."""

    def __init__(self, lab: Lab, changes: Sequence[Change], trial: Trial, control: Trial, seconds: float) -> None:
        self._lab = lab
        self._changes = changes
        self._trial = trial
        self._control = control
        self._seconds = seconds
        self._texts = constants.apply(lab.sources, changes, lab.main)

    def answer(self) -> Answer:
        question = "; ".join(_asked(change) for change in self._changes)
        numbers: dict[str, object] = {"ended": self._trial.ended, "error": None, "shapes": [], "values": 0}
        blocks: list[Block] = [
            Title(title(self._changes)),
            *edits.shown(self._lab.sources, self._texts, self._lab.main),
        ]
        run, comparison = self._trial.run, self._trial.comparison
        if run is None or comparison is None:
            blocks += self._lost()
        else:
            blocks += self._moved(run, comparison, numbers)
        return Answer(question, tuple(blocks), numbers)

    def _lost(self) -> Iterator[Block]:
        """A rerun of which nothing is left to read."""
        ended, detail = self._trial.ended, self._trial.reply.detail
        if ended == "time":
            yield Text((say("whatif.time", bound=f"{self._seconds:.0f}", first=f"{self._lab.run.seconds:.2g}"),))
        elif detail.isdigit():
            yield Text((say("whatif.exit", code=int(detail)),))
        else:
            yield Text((say("whatif.died", signal=detail),))

    def _moved(self, run: Run, comparison: Comparison, numbers: dict[str, object]) -> Iterator[Block]:
        lab = self._lab
        axes = by_flow(lab.run, lab.attentions)
        lines = self._changed_lines()
        sides = Sides((lab.run, run), (lab.attentions, find(run)), comparison, axes, self._restless(), lines)
        rows = sides.rows()
        shapes = [row for row in rows if len({value.shape for value in sides.values(row)}) > 1]
        reshaped = set(shapes)
        others = [row for row in rows if row not in reshaped and sides.moved(row)]
        counts = _Counts(len(shapes), len(others), len(rows), sum(row.values[0] in sides.restless for row in rows))
        names = carried(lab.run, run, comparison.pairs, axes, lines)
        pairs = _printed(comparison, self._control.comparison)
        error = None if run.error is None else (run.error.type, run.error.message)
        numbers.update(shapes=moved.told(sides, shapes), values=len(others), printed=pairs, error=error)
        yield from self._ending(run.named(names[1].names))
        yield from _text(self._lead(sides, counts, others))
        cut = self._cut(run)
        if not cut:
            yield from _text(meaning.meaning(sides, names))
        yield from moved.shapes(sides, shapes, names[1]) if shapes else ()
        if not cut:
            yield from self._values(sides, shapes, others)
        yield from moved.printed(pairs, cut, LINES // 2 if shapes else LINES)
        if self._control.ended == "effect":
            yield Text((say("whatif.effects.always", what=self._control.reply.detail),))
        if counts.restless and (shapes or others):
            yield Text((say("whatif.restless", count=counts.restless),))

    def _ending(self, run: Run) -> Iterator[Block]:
        """How the rerun ended, where that is not as the first run did."""
        before, now, ended = self._lab.run.error, run.error, self._trial.ended
        if ended == "effect" and self._cut(run):
            yield Text((say("whatif.effect_met", what=self._trial.reply.detail),))
        elif ended == "memory" and now is not None:
            yield Text((say("whatif.memory", bound=Request.memory >> 30, line=now.line or 0),))
            yield Literally(said(now))
        elif now is not None and before is not None and _alike(before, now):
            yield Text((say("whatif.same_error", line=now.line or 0),))
            yield Literally(said(now))
        elif now is not None:
            yield Text((say("whatif.error" if before is None else "whatif.other_error", line=now.line or 0),))
            yield fault(run, now)
        elif before is not None and ended == "whole":
            yield Text((say("whatif.mended", line=before.line or 0),))
            yield Literally(said(before))

    def _lead(self, sides: Sides, counts: _Counts, others: Sequence[Row]) -> Iterator[Message]:
        """What moved, in a few sentences."""
        gone, new = sides.apart()
        if self._cut(sides.b):
            gone = []  # the program did not come to them
            yield from (say("whatif.until"),) if counts.total else ()
        if not self._texts_differ():
            yield say("whatif.no_change")
        elif counts.shapes:
            yield from meaning.sizes(sides)
            yield from meaning.grid(sides)
            yield say("whatif.shapes", count=counts.shapes, total=counts.total)
        elif counts.values:
            yield say("whatif.values", count=counts.values, total=counts.total, line=others[0].code.lines[0])
        else:
            yield from self._nothing(sides, counts, bool(gone or new))
        undefined = next(filter(sides.no_number, others), None)
        yield from () if undefined is None else (say("whatif.nan", line=undefined.code.lines[0]),)
        yield from (say("whatif.gone", count=len(gone), lines=_lines(gone)),) if gone else ()
        yield from (say("whatif.new", count=len(new), lines=_lines(new)),) if new else ()

    def _nothing(self, sides: Sides, counts: _Counts, apart: bool) -> Iterator[Message]:
        """No result moved that both runs have."""
        if counts.restless:
            yield say("whatif.restless_only", count=counts.total - counts.restless, restless=counts.restless)
        elif self._cut(sides.b) or apart:
            yield from (say("whatif.same", count=counts.total),) if counts.total else ()
        elif sides.comparison.printed:
            yield say("whatif.only_printed", count=counts.total)
        elif sides.comparison.only_b:
            yield say("whatif.alike", count=counts.total)
        else:
            yield say("whatif.nothing", count=counts.total)
            yield from self._unused()

    def _values(self, sides: Sides, shapes: Sequence[Row], others: Sequence[Row]) -> Iterator[Block]:
        if others and not shapes:
            yield from moved.values(sides, others)
            for attention in sides.attentions[0][:1]:
                yield from moved.weights(sides, attention)
        drawn = bool(shapes) and any(sides.drawn(row) for row in (*shapes, *others))
        yield from _text(meaning.spread(sides, (self._lab.measures, self._trial.reply.measures), drawn))
        if drawn and any(sides.drawn(row) for row in others):
            yield Text((say("whatif.drawn"),))

    def _cut(self, run: Run) -> bool:
        """Whether the rerun ended before its end, and the first one did not end there too."""
        return run.error is not None or (self._trial.ended == "effect" and self._control.ended != "effect")

    def _restless(self) -> set[int]:
        """Values of the first run that move even where nothing is changed."""
        control = self._control.comparison
        return set() if control is None else {item.values[0] for item in control.moved}

    def _texts_differ(self) -> bool:
        return any(self._lab.sources[file] != text for file, text in self._texts.items())

    def _unused(self) -> Iterator[Message]:
        """Other numbers of the same name: perhaps one of these was meant."""
        for change in self._changes:
            if isinstance(change, SetConstant):
                name = change.constant.name
                lines = [str(c.line) for c in self._lab.constants if c.name == name and c != change.constant]
                if lines:
                    yield say("whatif.elsewhere_named", name=name, lines=tuple(lines), first=f"{name}@{lines[0]}")

    def _changed_lines(self) -> set[tuple[str, int]]:
        found: set[tuple[str, int]] = set()
        for file, text in self._texts.items():
            old, new = self._lab.sources[file].split("\n"), text.split("\n")
            found |= {(file, at) for at, line in enumerate(new, 1) if at > len(old) or line != old[at - 1]}
        return found


def title(changes: Sequence[Change]) -> Message:
    """What was asked."""
    match changes:
        case [SetConstant(constant, value)]:
            return say("whatif.title.set", name=constant.name, before=str(constant.value), after=str(value))
        case [Replace(old, "")]:
            return say("whatif.title.without", old=old)
        case [Replace(old, new)]:
            return say("whatif.title.replace", old=old, new=new)
        case _:
            return say("whatif.title.several", count=len(changes))


def _asked(change: Change) -> str:
    match change:
        case SetConstant():
            return f"{change.constant.name} = {change.value}"
        case Replace():
            return f"{change.old} → {change.new}"
        case _:
            return repr(change)


def _text(says: Iterable[Message]) -> Iterator[Block]:
    said = tuple(says)
    if said:
        yield Text(said)


def _alike(one: Error, other: Error) -> bool:
    return (one.type, one.message, one.line) == (other.type, other.message, other.line)


def _lines(steps: Sequence[Step]) -> tuple[str, ...]:
    """The lines of steps, each once, the first few of many."""
    lines = list(dict.fromkeys(str(step.source.span.line) for step in steps if step.source))
    return (*lines[:FEW], "…") if len(lines) > FEW else tuple(lines)


def _printed(comparison: Comparison, control: Comparison | None) -> list[tuple[str | None, str | None]]:
    """The printed lines that differ because of the change; the tracebacks of errors are told by themselves."""
    restless = {one for one, _ in control.printed} if control is not None else set[str | None]()
    columns = [[pair[side] for pair in comparison.printed] for side in (0, 1)]
    for column, error in zip(columns, comparison.errors, strict=True):
        if error is not None and TRACEBACK in column:
            start = column.index(TRACEBACK)
            column[start:] = [None] * (len(column) - start)
    pairs = [pair for pair in zip(*columns, strict=True) if pair != (None, None)]
    return [pair for pair in pairs if pair[0] is None or pair[0] not in restless]
