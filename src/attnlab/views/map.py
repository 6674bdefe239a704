"""Maps in the terminal: the sinks first, each layer in a line, the heads that follow a rule, and what was asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from math import isnan

from attnlab.maps.data import Atlas, Span, Text
from attnlab.maps.story import Detail, Head, Kind, Row, Sink, Story, Window
from attnlab.views.paint import Paint
from attnlab.views.text import ELLIPSIS, cells, fit, pad, pad_left, plain, wrap
from attnlab.words import Words

_WIDEST = 100
_MARGIN = 2
# How much there is at most: lines of tokens, sinks, layers, heads of a kind.
_TOKEN_LINES, _SINKS, _ROWS, _EXAMPLES = 8, 3, 64, 6
_TOKEN = 16  # cells that a token takes at most
_GAP = 3  # between tokens in a line
_KINDS: tuple[Kind, ...] = ("previous", "itself", "next", "broad")


@dataclass(frozen=True, slots=True)
class Told:
    """All that there is to tell of one map.

    `details`  what was asked for query by query, and `left`, of how many heads more
    `notes`    sentences to end with
    """

    atlas: Atlas
    story: Story
    details: Sequence[Detail] = ()
    windows: Sequence[Window] = ()
    left: int = 0
    notes: Sequence[str] = ()


def lines(told: Told, words: Words, width: int, colour: bool) -> list[str]:
    """What there is to tell in lines of at most `width` cells, which should be 60 or more."""
    page = _Page(told, words, min(width, _WIDEST), Paint(colour))
    return [line.rstrip() for line in page.lines()]


def numbers(told: Told) -> dict[str, object]:
    """The same as numbers, for JSON; what is not known is None."""
    atlas = told.atlas
    return {
        "name": atlas.name,
        "seconds": atlas.seconds,
        "text": None if atlas.text is None else asdict(atlas.text),
        "missed": [{"name": name, "why": why} for name, why in atlas.missed],
        "sinks": [asdict(sink) for sink in told.story.sinks],
        "layers": [_known(asdict(row)) for row in told.story.rows],
        "heads": [_known(asdict(head)) for head in told.story.heads],
        "queries": [
            {"layer": detail.layer, "head": detail.head, "tops": [_known(asdict(top)) for top in detail.tops]}
            for detail in told.details
        ],
        "windows": [{**asdict(window), "rows": [*window.rows], "keys": [*window.keys]} for window in told.windows],
    }


def _known(facts: dict[str, object]) -> dict[str, object]:
    return {name: None if isinstance(value, float) and isnan(value) else value for name, value in facts.items()}


class Labels:
    """What the keys and queries are called: the number, and what is read there."""

    def __init__(self, atlas: Atlas) -> None:
        self._spans: list[tuple[Span, int]] = []
        if atlas.text is not None:
            self._spans = [(span, at) for span in atlas.text.spans for at in range(span.stop - span.start)]

    def of(self, number: int) -> str:
        """As "意·2": the second piece of what is read as 意; empty where there is no text."""
        if not 0 <= number < len(self._spans):
            return ""
        span, at = self._spans[number]
        text = shown(span.text)
        return text if span.stop - span.start == 1 else f"{text}·{at + 1}"


def shown(text: str) -> str:
    """What is read, on one line: white space as marks, nothing that a terminal obeys, and not too long."""
    if not text.strip():
        text = text.replace("\r\n", "\n").replace(" ", "␣").replace("\n", "↵").replace("\t", "⇥")
    return fit(plain(" ".join(text.split()) or text), _TOKEN)


def share(value: float) -> str:
    """A weight as a percentage; of what is not nothing, never "0%"."""
    if isnan(value):
        return "–"
    if 0 < value < 0.005:
        return "<1%"
    return f"{100 * value:.0f}%"


@dataclass(frozen=True)
class _Page:
    told: Told
    words: Words
    width: int
    paint: Paint

    def lines(self) -> Iterator[str]:
        atlas, story, say = self.told.atlas, self.told.story, self.words.say
        labels = Labels(atlas)
        yield from self._wrapped(self._title(), "strong")
        if atlas.text is not None:
            yield ""
            yield from self._tokens()
        for name, why in atlas.missed:
            yield ""
            yield from self._wrapped(say("map.missed", name=plain(name), why=say(why)))
        if story.rows:
            yield ""
            yield from self._sinks(labels)
            yield ""
            yield from self._rows(story.rows)
        if any(head.kind for head in story.heads):
            yield ""
            yield from self._kinds()
        for detail in self.told.details:
            yield ""
            yield from self._detail(detail, labels)
        if self.told.left:
            yield ""
            yield from self._wrapped(say("map.heads_left", count=self.told.left))
        for window in self.told.windows:
            yield ""
            yield from self._window(window, labels)
        for note in self.told.notes:
            yield ""
            yield from self._wrapped(note)

    def _wrapped(self, text: str, style: str = "", indent: int = 0, hang: int = 0) -> Iterator[str]:
        for line in wrap(text, self.width - indent, hang):
            yield " " * indent + self.paint(style, line)

    def _title(self) -> str:
        atlas, say = self.told.atlas, self.words.say
        parts = [plain(atlas.name)]
        if atlas.text is not None:
            pieces, read = len(atlas.text.pieces), len(atlas.text.spans)
            parts.append(
                say("map.tokens", count=pieces) if pieces == read else say("map.joined", count=pieces, read=read)
            )
        elif atlas.layers:
            _, _, rows, keys = atlas.layers[0].summary.shape
            parts.append(say("map.sizes", queries=rows, keys=keys))
        heads = {len(layer.heads) for layer in atlas.layers}
        every = sum(len(layer.heads) for layer in atlas.layers)
        if len(heads) == 1:
            parts.append(say("map.layers", layers=len(atlas.layers), heads=heads.pop(), every=every))
        elif heads:
            parts.append(say("map.layers_uneven", layers=len(atlas.layers), every=every))
        return " · ".join(parts)

    def _tokens(self) -> Iterator[str]:
        """The text as it is read, each with the number of its first piece, and its pieces where they are several."""
        text = self.told.atlas.text
        assert text is not None
        yield self.paint("strong", self.words.say("map.read"))
        items = [self._token(span, text) for span in text.spans]
        line, used, count = "", 0, 0
        for index, (item, special) in enumerate(items):
            if line and used + _GAP + cells(item) > self.width - _MARGIN:
                yield " " * _MARGIN + line
                line, used, count = "", 0, count + 1
                if count == _TOKEN_LINES:
                    yield " " * _MARGIN + self.words.say("map.tokens_left", count=len(items) - index)
                    return
            gap = _GAP if line else 0
            line += " " * gap + self.paint("faint" if special else "", item)
            used += gap + cells(item)
        yield " " * _MARGIN + line

    def _token(self, span: Span, text: Text) -> tuple[str, bool]:
        """A token in the list, and whether it is one of the model's own."""
        pieces = text.pieces[span.start : span.stop]
        beneath = f" [{plain(' '.join(pieces))}]" if len(pieces) > 1 else ""
        return fit(f"{span.start} {shown(span.text)}{beneath}", self.width - _MARGIN), span.kind == "special"

    def _sinks(self, labels: Labels) -> Iterator[str]:
        """Before all else: what a newcomer would take for a fault."""
        say, sinks, every = self.words.say, self.told.story.sinks, len(self.told.story.heads)
        if not sinks:
            yield from self._wrapped(say("map.no_sink"))
            return
        yield self.paint("strong", say("map.sinks"))
        for sink in sinks[:_SINKS]:
            yield from self._wrapped(self._sink(sink, labels.of(sink.key), every), "", _MARGIN, _MARGIN)
        if len(sinks) > _SINKS:
            heads = sum(sink.heads for sink in sinks[_SINKS:])
            yield from self._wrapped(say("map.sinks_left", count=len(sinks) - _SINKS, heads=heads), "", _MARGIN)
        yield from self._wrapped(say("map.no_fault"), "", _MARGIN)

    def _sink(self, sink: Sink, label: str, every: int) -> str:
        kind = "first" if sink.key == 0 else "other"
        token = self.words.say("map.token", label=label, number=sink.key) if label else str(sink.key)
        return self.words.say(f"map.sink.{kind}", token=token, taken=share(sink.taken), heads=sink.heads, every=every)

    def _rows(self, rows: Sequence[Row]) -> Iterator[str]:
        columns = self._columns(rows[:_ROWS])
        heads, *table = zip(*([name, *column] for name, column in columns), strict=True)
        sizes = [max(cells(line[at]) for line in (heads, *table)) for at in range(len(heads))]
        gap = 2
        room = self.width - sum(sizes[:1] + sizes[2:]) - gap * (len(sizes) - 1)
        sizes[1] = min(sizes[1], max(room, 8))
        for number, line in enumerate((heads, *table)):
            cellsof = [
                pad(_tail(text, size), size) if at == 1 else pad_left(text, size)
                for at, (text, size) in enumerate(zip(line, sizes, strict=True))
            ]
            yield self.paint("faint" if number == 0 else "", (" " * gap).join(cellsof))
        if len(rows) > _ROWS:
            yield self.words.say("map.rows_left", count=len(rows) - _ROWS)
        yield from self._wrapped(self.words.say("map.units"), "faint")

    def _columns(self, rows: Sequence[Row]) -> Iterator[tuple[str, list[str]]]:
        """The heading of each column and what stands below it; what is the same in all rows is left out."""
        say = self.words.say
        near = {row.near for row in rows}
        yield say("map.column.layer"), [str(row.index) for row in rows]
        yield say("map.column.name"), [plain(row.name) for row in rows]
        if len({row.heads for row in rows}) > 1:  # else the title says how many there are
            yield say("map.column.heads"), [str(row.heads) for row in rows]
        yield say("map.column.entropy"), ["–" if isnan(row.entropy) else f"{row.entropy:.2f}" for row in rows]
        yield say("map.column.start"), [share(row.start) for row in rows]
        recent = [share(row.recent) for row in rows]
        if set(recent) != {share(1.0)}:  # else the text is no longer than that
            yield say("map.column.recent", near=near.pop() if len(near) == 1 else ""), recent
        yield say("map.column.sinks"), [str(row.sinks) for row in rows]

    def _kinds(self) -> Iterator[str]:
        say, heads = self.words.say, self.told.story.heads
        yield self.paint("strong", say("map.kinds"))
        for kind in _KINDS:
            found = sorted((head for head in heads if head.kind == kind), key=lambda head: -head.share)
            if found:
                named = say("list.comma").join(self._evidence(head) for head in found[:_EXAMPLES])
                more = say("list.comma") + ELLIPSIS if len(found) > _EXAMPLES else ""
                text = say(f"map.kind.{kind}", count=len(found), heads=named + more)
                yield from self._wrapped(text, "", _MARGIN, _MARGIN)
        yield from self._wrapped(say("map.evidence"), "faint")

    def _evidence(self, head: Head) -> str:
        name = f"{head.layer}.{head.head}"
        if head.kind == "broad":
            return f"{name} ({share(head.share)})"
        return f"{name} ({share(head.share)}, {share(head.weight)}{'' if head.sink is None else '*'})"

    def _detail(self, detail: Detail, labels: Labels) -> Iterator[str]:
        say = self.words.say
        yield self.paint("strong", say("map.detail", layer=detail.layer, head=detail.head))
        names = [_named(top.query, labels) for top in detail.tops]
        column = max(map(cells, names), default=0)
        for name, top in zip(names, detail.tops, strict=True):
            line = f"{pad(name, column)}  ← "
            for key, weight in top.keys:
                item = f"{_named(key, labels)} {share(weight)}"
                if cells(line) + cells(item) > self.width - _MARGIN:
                    break
                line += item + "   "
            yield " " * _MARGIN + line if top.keys else " " * _MARGIN + pad(name, column) + "  " + say("map.blind")
        if detail.queries > len(detail.tops):
            yield from self._wrapped(say("map.queries_left", count=detail.queries - len(detail.tops)), "", _MARGIN)

    def _window(self, window: Window, labels: Labels) -> Iterator[str]:
        """Exact numbers, in as many tables one below the other as the keys need."""
        yield self.paint("strong", self.words.say("map.window_title", layer=window.layer, head=window.head))
        names = [_named(row, labels) for row in window.rows]
        column = max(map(cells, names), default=0)
        size = 8
        count = max(1, (self.width - _MARGIN - column) // (size + 1))
        for start in range(0, len(window.keys), count):
            keys = window.keys[start : start + count]
            if start:
                yield ""
            for heads in ([str(key) for key in keys], [fit(labels.of(key), size) for key in keys]):
                if any(heads):
                    head = "".join(" " + pad_left(text, size) for text in heads)
                    yield self.paint("faint", " " * (_MARGIN + column) + head.rstrip())
            for name, row in zip(names, window.weights, strict=True):
                exact = "".join(
                    f" {number:>{size}.6f}" if number else f" {0:>{size}}" for number in row[start:][:count]
                )
                yield " " * _MARGIN + self.paint("faint", pad(name, column)) + exact


def _named(number: int, labels: Labels) -> str:
    label = labels.of(number)
    return f"{number} {label}" if label else str(number)


def _tail(text: str, width: int) -> str:
    """The end of a path, which says more than its beginning."""
    if cells(text) <= width:
        return text
    return ELLIPSIS + text[len(text) - (width - 1) :]
