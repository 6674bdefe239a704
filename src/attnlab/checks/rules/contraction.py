"""ATT025: a product sums over what it should keep, or over one operand alone: a wrong letter in einsum.

Decided by the letters of the product, and for heads by nudging one token of x: two axes that both hold its features
(heads and their features) are summed over at once, so that all heads share one score. In the same way it is told that
the features of one side are summed against the tokens of the other, which passes unseen where both are as many.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from attnlab.attention.graph import Graph
from attnlab.attention.products import Letters, Product
from attnlab.checks.case import Case, Name
from attnlab.checks.editing import code, own
from attnlab.checks.found import Found, Rule, Said
from attnlab.checks.loose import loose, met
from attnlab.checks.reference import base, kinds, meeting
from attnlab.checks.whole import Whole
from attnlab.run import Step


def _look(case: Case) -> Iterator[Found]:
    product = case.scores_product
    if product is None:
        return
    step = case.step(product.step)
    alone = [
        (letter, name)
        for name, number, letters in (
            ("q", product.left, product.left_letters),
            ("k", product.right, product.right_letters),
        )
        for letter in _alone(product, number, letters, case.graph)
    ]
    if alone:
        yield _found(step, "alone", alone[0][0], _text(step, alone[0][1]), case.graph)
        return
    if _heads_summed(case, product):
        yield Found(
            step,
            Said("check.contraction.heads", {"code": code(step)}),
            Said("check.contraction.heads-evidence", {"shape": str(list(case.graph.shape(step.results[0])))}),
            Said("check.contraction.heads-mend"),
            note=not own(step),
        )
    elif _crossed(case, product):
        shape_of = case.graph.shape
        params = {"q": str(list(shape_of(product.left))), "k": str(list(shape_of(product.right)))}
        yield Found(
            step,
            Said("check.contraction.crossed", {"code": code(step)}),
            Said("check.contraction.crossed-evidence", params),
            Said("check.contraction.crossed-mend"),
            note=not own(step),
        )
    output = meeting(case)
    if output is not None:
        made = output.product
        v_letters = made.left_letters if made.left == case.attention.v.entered else made.right_letters
        lost = _alone(made, case.attention.v.entered, v_letters, case.graph)
        if lost:
            at = case.step(made.step)
            yield _found(at, "alone", lost[0], "v", case.graph)


def _alone(product: Product, number: int, letters: Letters, graph: Graph) -> list[int]:
    """Letters of an operand that are summed over by themselves: not in the result, and not in the other operand."""
    sizes = dict(zip(letters, graph.shape(number), strict=True))
    return [
        letter
        for letter in letters
        if letter not in product.letters and product.side(letter) != "both" and sizes[letter] > 1
    ]


def _text(step: Step, fallback: str) -> str:
    return fallback if step.op != "einsum" else {"q": "1", "k": "2"}[fallback]


def _found(step: Step, kind: str, letter: int, operand: str, graph: Graph) -> Found:
    shape = str(list(graph.shape(step.results[0])))
    name = chr(letter) if step.op == "einsum" and 64 < letter < 128 else "?"
    return Found(
        step,
        Said(f"check.contraction.{kind}", {"code": code(step), "letter": name}),
        Said("check.contraction.evidence", {"letter": name, "operand": operand, "shape": shape}),
        Said("check.contraction.mend", {"letter": name}),
        note=not own(step),
    )


def _heads_summed(case: Case, product: Product) -> bool:
    """Whether the product sums over heads and their features at once, in both q and k."""
    names: tuple[Name, Name] = ("q", "k")
    for name in names:
        held = kinds(case, name)
        row = case.query_letter if name == "q" else case.key_letter
        if held is None or held.get(row if row is not None else -1) != "place":
            return False
        gone = [kind for letter, kind in held.items() if letter not in product.letters]
        if len(gone) < 2 or any(kind != "features" for kind in gone):
            return False
    return True


def _crossed(case: Case, product: Product) -> bool:
    """Whether what is summed over is the features of one side, and the tokens of the other."""
    sides: tuple[Name, Name] = ("q", "k")
    xs = {base(x, case.graph) for name in sides if (x := case.input(name).x) is not None}
    if len(xs) != 1 or any(case.input(name).project is None for name in sides):
        return False  # tokens that a further weight sums over (Linformer) are features of that weight
    gone: list[list[str]] = []
    for name in sides:
        held = kinds(case, name)
        gone.append([] if held is None else [kind for letter, kind in held.items() if letter not in product.letters])
    return sorted(gone) == [["features"], ["place"]]


def _whole(whole: Whole) -> Iterable[Found]:
    """Weights that meet v in passing: an axis of them is summed by itself."""
    for item in loose(whole):
        if item.state != "weights" or item.found.summed:
            continue
        output = item.found.output
        number, letters = met(item)
        lost = _alone(output, number, letters, whole.graph)
        step = whole.graph.steps[output.step]
        if lost and step.via is None:
            yield Found(
                step,
                Said("check.contraction.passing", {"code": code(step)}),
                Said(
                    "check.contraction.passing-evidence",
                    {"letter": chr(lost[0]) if step.op == "einsum" and 64 < lost[0] < 128 else "?"},
                ),
                Said("check.contraction.passing-mend"),
            )


RULE = Rule("ATT025", "contraction", attention=_look, whole=_whole)
