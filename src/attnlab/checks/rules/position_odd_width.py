"""ATT094: sines and cosines, or a rotation, over an odd number of columns, which do not fall into pairs.

Decided by what PyTorch refused: writing a cosine for each sine into a table of odd width, or multiplying halves of
which one is longer. Where nothing is refused, by the experiment of ATT095 on a rotation of odd width.
"""

from __future__ import annotations

from collections.abc import Iterator

from attnlab.attention.graph import VIEWS
from attnlab.checks.case import Case
from attnlab.checks.editing import code
from attnlab.checks.found import Found, Rule, Said
from attnlab.checks.positions import Positions, positions
from attnlab.checks.rules.rotary_layout import look
from attnlab.checks.whole import Whole
from attnlab.run import Arg, Slice, Step

# So many steps are walked back from an operand to the axis that it was cut from.
_FAR = 6


def _refused(whole: Whole) -> Iterator[Found]:
    failed = None if whole.run.error is None else whole.run.error.failed
    if failed is None or not failed.refs:
        return
    place = positions(whole)
    if failed.op == "setitem":
        yield from _writing(failed, place)
    elif failed.op in ("add", "sub", "mul") and len(failed.refs) == 2:
        yield from _meeting(failed, place)


def _writing(failed: Step, place: Positions) -> Iterator[Found]:
    """A column of a pair that the table has no place for."""
    target = failed.refs[0]
    width = place.graph.shape(target)[-1] if place.graph.shape(target) else 0
    index = failed.operands[1].arg if len(failed.operands) > 1 else None
    last = index[-1] if isinstance(index, tuple) and index else index
    if width % 2 == 0 or not place.free(target):
        return
    if isinstance(last, int) and not isinstance(last, bool) and last == width:
        yield _found(failed, "loop", {"width": width, "column": last})
        return
    places = _places(last, width)
    if places is None or len(failed.refs) < 2:
        return
    own = place.graph.shape(failed.refs[-1])
    if own and own[-1] == places + 1 and _is_wave(place, failed.refs[-1]):
        yield _found(failed, "table", {"width": width, "places": places, "columns": own[-1]})


def _places(index: Arg, width: int) -> int | None:
    """How many columns a slice with step 2 names."""
    if not isinstance(index, Slice) or index.step != 2:
        return None
    start, stop = index.start or 0, index.stop
    if not isinstance(start, int) or not (stop is None or isinstance(stop, int)):
        return None
    return len(range(*slice(start, stop, 2).indices(width)))


def _is_wave(place: Positions, number: int) -> bool:
    """Whether a value is made of sines or cosines."""
    steps = (place.graph.maker(item) for item in place.made_of(number))
    return any(step is not None and step.op in ("sin", "cos", "polar") for step in steps)


def _meeting(failed: Step, place: Positions) -> Iterator[Found]:
    """Halves of an odd width, one of which is longer than the other."""
    one, other = (place.graph.shape(number) for number in failed.refs)
    if not one or not other or abs(one[-1] - other[-1]) != 1 or 1 in (one[-1], other[-1]):
        return
    if not any(_is_wave(place, number) for number in failed.refs):
        return
    width = one[-1] + other[-1]
    if any(_was_cut(place, number, width) for number in failed.refs):
        yield _found(failed, "halves", {"width": width, "one": one[-1], "other": other[-1]})


def _was_cut(place: Positions, number: int, width: int) -> bool:
    """Whether a value holds some columns of one that has `width`."""
    for _ in range(_FAR):
        step = place.graph.maker(number)
        if step is None or not step.refs or step.op not in VIEWS | {"neg"}:
            return False
        number = step.refs[0]
        if place.graph.shape(number)[-1:] == (width,):
            return True
    return False


def _found(step: Step, kind: str, params: dict[str, object]) -> Found:
    return Found(
        step,
        Said("check.position-odd-width.message", {"code": code(step), "width": params["width"]}),
        Said(f"check.position-odd-width.{kind}", params),
        Said(f"check.position-odd-width.{kind}-mend"),
    )


def _look(case: Case) -> Iterator[Found]:
    return look(case, odd=True)


RULE = Rule("ATT094", "position-odd-width", attention=_look, whole=_refused, unless=frozenset({"ATT091", "ATT096"}))
