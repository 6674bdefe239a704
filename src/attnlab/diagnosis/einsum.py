"""`einsum`, in the letters of the user's own equation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations

from attnlab.diagnosis.case import Case, Tried, bracket
from attnlab.diagnosis.changes import Change, Key, Plain, method
from attnlab.diagnosis.data import Diagnosis, Message, Row, Shape
from attnlab.diagnosis.moves import Mark
from attnlab.diagnosis.tracking import agree, is_feature

# What stands for the axes under the dots of an equation.
HIDDEN = "…"


@dataclass(frozen=True, slots=True)
class Equation:
    """The letters of each operand, and of the result (None where it is left to PyTorch)."""

    terms: tuple[str, ...]
    result: str | None

    @staticmethod
    def parse(text: str) -> Equation:
        """The equation as it is written, spaces aside."""
        left, arrow, right = text.replace(" ", "").partition("->")
        return Equation(tuple(left.split(",")), right if arrow else None)

    def __str__(self) -> str:
        return ",".join(self.terms) + ("" if self.result is None else f"->{self.result}")


def diagnose(case: Case) -> Diagnosis | None:
    """A diagnosis of a failing `torch.einsum`; None where it is none, or where its equation does not explain it."""
    text = case.step.operands[0].arg if case.step.operands else None
    if case.step.op != "einsum" or not isinstance(text, str):
        return None
    keys = case.tensors()
    equation = Equation.parse(text)
    if len(keys) != len(equation.terms):
        reason = Message(
            "diagnosis.einsum.operands", {"equation": text, "terms": len(equation.terms), "given": len(keys)}
        )
        return case.diagnosis([case.row(key) for key in keys], reason)
    shapes = [case.shape(key) for key in keys]
    rows = [
        replace(case.row(key), axes=_letters(term, case.shape(key)))
        for key, term in zip(keys, equation.terms, strict=True)
    ]
    for row, term in zip(rows, equation.terms, strict=True):
        letters = term.replace("...", "")
        if len(letters) > len(row.shape) or ("..." not in term and len(letters) < len(row.shape)):
            params = {
                "input": row.text,
                "rank": len(row.shape),
                "shape": bracket(row.shape),
                "term": term,
                "letters": len(letters),
            }
            changes = [*_cut(case, keys, equation), *_equations(case, _ellipses(equation, shapes))]
            return _told(case, rows, Message("diagnosis.einsum.rank", params), changes)
    clash = _clash(equation, shapes)
    if clash is not None:
        return _clashing(case, rows, equation, clash)
    unknown = [letter for letter in (equation.result or "").replace("...", "") if letter not in "".join(equation.terms)]
    if unknown:
        return case.diagnosis(rows, Message("diagnosis.einsum.unknown", {"letter": unknown[0], "equation": text}))
    return None


def _letters(term: str, shape: Shape) -> tuple[str, ...]:
    """The letter of each axis; those under the dots have HIDDEN."""
    before, dots, after = term.partition("...")
    hidden = len(shape) - len(before) - len(after)
    return (*before, *([HIDDEN] * hidden), *after) if hidden == 0 or (dots and hidden > 0) else ()


def _clash(equation: Equation, shapes: Sequence[Shape]) -> tuple[str, list[tuple[int, int]]] | None:
    """The first letter that stands for two sizes, and the operands and axes at which it stands."""
    seen: dict[str, list[tuple[int, int]]] = {}
    for i, (term, shape) in enumerate(zip(equation.terms, shapes, strict=True)):
        for axis, letter in enumerate(_letters(term, shape)):
            if letter != HIDDEN:
                seen.setdefault(letter, []).append((i, axis))
    for letter, places in seen.items():
        if len({shapes[i][axis] for i, axis in places} - {1}) > 1:
            return letter, [(i, axis) for i, axis in places if shapes[i][axis] != 1]
    return None


def _clashing(case: Case, rows: list[Row], equation: Equation, clash: tuple[str, list[tuple[int, int]]]) -> Diagnosis:
    letter, places = clash
    marked = [replace(row, marks=tuple(axis for i, axis in places if i == at)) for at, row in enumerate(rows)]
    (one, axis), (other, other_axis) = (
        places[0],
        next(p for p in places if rows[p[0]].shape[p[1]] != rows[places[0][0]].shape[places[0][1]]),
    )
    params = {
        "letter": letter,
        "left": rows[one].text,
        "left_size": rows[one].shape[axis],
        "right": rows[other].text,
        "right_size": rows[other].shape[other_axis],
    }
    return _told(case, marked, Message("diagnosis.einsum.size", params), _equations(case, _reordered(equation)))


def _equations(case: Case, equations: Iterator[tuple[float, Equation]]) -> list[Change]:
    return [Change({0: Plain(str(new), _quoted(case, new))}, cost=cost) for cost, new in equations]


def _cut(case: Case, keys: Sequence[Key], equation: Equation) -> Iterator[Change]:
    """The features cut into heads, where the letters say so and the other operands tell how many."""
    known: dict[str, int] = {}
    for key, term in zip(keys, equation.terms, strict=True):
        known |= dict(zip(_letters(term, case.shape(key)), case.shape(key), strict=False))
    for key, term in zip(keys, equation.terms, strict=True):
        chain, shape = case.chain(key), case.shape(key)
        if chain is not None and len(term) == len(shape) + 1 and "..." not in term:
            heads, width = known.get(term[-2], 0), known.get(term[-1], 0)
            if heads * width == shape[-1]:
                yield Change({key: chain.then(method("unflatten", -1, (heads, width)))})


def _told(case: Case, rows: list[Row], reason: Message, changes: Sequence[Change]) -> Diagnosis:
    fits = case.best(changes, lambda tried: _agreement(case, tried)) if case.fails_again else []
    return case.diagnosis(rows, reason, fits)


def _quoted(case: Case, equation: Equation) -> str:
    """The equation in the quotes of the user's, with a space behind each comma where the user had one."""
    part = case.expression.operand(case.step, 0)
    text = str(equation)
    if part is not None and ", " in part.text:
        text = text.replace(",", ", ")
    if part is not None and " -> " in part.text:
        text = text.replace("->", " -> ")
    return f"'{text}'" if part is not None and part.text.startswith("'") else f'"{text}"'


def _reordered(equation: Equation) -> Iterator[tuple[float, Equation]]:
    """The letters of one operand in another order: the operand has its axes otherwise than was thought."""
    for i in reversed(range(len(equation.terms))):
        term = equation.terms[i]
        if "..." in term or len(set(term)) != len(term) or len(term) > 5:
            continue
        for order in permutations(term):
            moved = sum(a != b for a, b in zip(order, term, strict=True))
            if moved:
                terms = (*equation.terms[:i], "".join(order), *equation.terms[i + 1 :])
                yield moved / 2 + 0.3 * (len(equation.terms) - 1 - i), Equation(terms, equation.result)


def _ellipses(equation: Equation, shapes: Sequence[Shape]) -> Iterator[tuple[float, Equation]]:
    """A first letter for one axis made into dots for several: all operands have more axes than letters."""
    firsts = {term[:1] for term in (*equation.terms, equation.result or "")}
    if (
        equation.result
        and len(firsts) == 1
        and all(len(s) > len(t) > 0 for s, t in zip(shapes, equation.terms, strict=True))
    ):
        yield 1, Equation(tuple(f"...{term[1:]}" for term in equation.terms), f"...{equation.result[1:]}")


def _agreement(case: Case, tried: Tried) -> int:
    """How many of the axes that share a letter are known to be the same thing; -1 where some are not."""
    last = tried.steps[-1]
    marks = case.marks(tried)
    equation = Equation.parse(str(last.operands[0].arg))
    found: dict[str, Mark] = {}
    same: list[int] = []
    for term, ref in zip(equation.terms, last.refs, strict=True):
        for letter, mark in zip(_letters(term, case.tried_shape(tried, ref)), marks(ref), strict=False):
            if letter != HIDDEN:
                same.append(agree(found.setdefault(letter, mark), mark) if letter in found else 0)
                found.setdefault(letter, mark)
    if -1 in same:
        return -1
    # Features meet, and what remains are tokens: that is what a score is.
    gone = [is_feature(mark) for letter, mark in found.items() if letter not in (equation.result or "")]
    kept = [is_feature(mark) for letter, mark in found.items() if sum(letter in term for term in equation.terms) == 1]
    return sum(same) + (all(gone) and not any(kept))
