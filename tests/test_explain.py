"""What is said of a run: the parts in reading order, the shapes that meet, and numbers that are the run's own."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from golden_files import GOLDEN
from runs import CORPUS, DEMO, SCRIPTS, attentions_of, explanation_of, run_of

import attnlab
from attnlab.attention import alike, find
from attnlab.axes import by_flow
from attnlab.explanation import explain
from attnlab.explanation.data import Equation, Explanation, Item, Message, Part, Told
from attnlab.explanation.overview import NoLayer
from attnlab.explanation.rest import INNER
from attnlab.explanation.sight import number
from attnlab.run import Count, Run
from attnlab.views.shapes import equation

LAYERS = GOLDEN / "twelve_layers.py"


def corpus(name: str) -> Path:
    return CORPUS / f"{name}.py"


def told(script: Path, which: int = 0) -> Told:
    return explanation_of(script).told[which]


def names(found: Told) -> list[str]:
    """The name of each part, in order: the symbol, or the id of its message."""
    return ["|".join(name if isinstance(name, str) else name.id for name in part.names) for part in found.parts]


def part(found: Told, name: str) -> Part:
    (only,) = [part for part in found.parts if any(name in (said, getattr(said, "id", None)) for said in part.names)]
    return only


def messages(items: tuple[Item, ...]) -> list[Message]:
    return [message for item in items for message in item.says]


def ids(found: Part) -> list[str]:
    return [message.id for message in messages(found.items)]


def said(found: Part, name: str) -> dict[str, object]:
    """The parameters of the one message with this id."""
    (only,) = [message for message in messages(found.items) if message.id == name]
    return dict(only.params)


def shapes(found: Part) -> list[str]:
    return [equation(one).replace("\u00a0", " ") for item in found.items for one in item.equations]


def codes(found: Part) -> list[tuple[tuple[int, ...], str]]:
    return [(code.lines, code.text) for item in found.items for code in item.codes]


def recorded(program: object, *inputs: torch.Tensor) -> Explanation:
    run = attnlab.record(program, *inputs)  # pyright: ignore[reportArgumentType, reportCallIssue]
    found = find(run)
    return explain(run, alike(found, run), by_flow(run, found))


def test_the_demo_is_told_in_the_order_of_the_formula() -> None:
    assert names(told(DEMO)) == ["X", "Q = X W_Q|K = X W_K|V = X W_V", "Kᵀ", "Q Kᵀ", "÷ √d_k", "softmax", "· V"]


def test_each_part_of_the_demo_shows_its_line_as_it_was_written() -> None:
    assert [codes(part) for part in told(DEMO).parts] == [
        [((53,), "x = torch.randn(batch_size, seq_len, d_model)")],
        [((21,), "Q = self.W_q(x)"), ((22,), "K = self.W_k(x)"), ((23,), "V = self.W_v(x)")],
        [((30,), "K.transpose(-2, -1)")],
        [((30,), "scores = torch.matmul(Q, K.transpose(-2, -1))")],
        [((35,), "scores = scores / math.sqrt(K.size(-1))")],
        [((38,), "attention_weights = F.softmax(scores, dim=-1)")],
        [((42,), "output = torch.matmul(attention_weights, V)")],
    ]


def test_each_part_of_the_demo_shows_which_sizes_meet() -> None:
    assert [shapes(part) for part in told(DEMO).parts] == [
        ["[B, L, D] = [2, 4, 8]"],
        ["[B, L, D] · [D, d_k] → [B, L, d_k] = [2, 4, 8]"],
        ["[B, L, d_k] → [B, d_k, L] = [2, 8, 4]"],
        ["[B, L, d_k] · [B, d_k, L] → [B, L, L] = [2, 4, 4]"],
        ["[B, L, L] = [2, 4, 4]"],
        ["[B, L, L] = [2, 4, 4]"],
        ["[B, L, L] · [B, L, d_v] → [B, L, d_v] = [2, 4, 8]"],
    ]


def test_the_part_in_hand_is_marked_in_the_formula() -> None:
    marked = ["".join(piece.text for piece in part.formula if piece.key in part.marks) for part in told(DEMO).parts]
    assert marked == ["", "QKᵀV", "Kᵀ", "QKᵀ", "/√d_k", "softmax()", "V"]


def test_the_letters_of_the_demo_have_the_users_names() -> None:
    assert {item.letter: (item.size, item.names) for item in told(DEMO).letters} == {
        "B": (2, ("batch_size",)),
        "L": (4, ("seq_len",)),
        "D": (8, ("d_model",)),
        "d_k": (8, ("d_model", "K.size(-1)")),
        "d_v": (8, ("d_model",)),
    }


def test_why_the_products_of_the_demo_are_legal() -> None:
    found = told(DEMO)
    assert said(part(found, "Q = X W_Q"), "inputs.project") == {"inner": "D=8", "out": "d_k=8"}
    scores = said(part(found, "Q Kᵀ"), "body.inner")
    assert (scores["inner"], scores["row"], scores["column"]) == ("d_k=8", "L=4", "L=4")
    output = said(part(found, "· V"), "body.output_inner")
    assert output == {"inner": "L=4", "query": "L=4", "features": "d_v=8"}


def test_what_is_said_of_the_demo() -> None:
    assert [ids(part) for part in told(DEMO).parts] == [
        ["inputs.x"],
        ["inputs.project", "inputs.renamed", "inputs.each", "inputs.stored", "inputs.roles"],
        ["body.turned", "body.turned_why"],
        ["body.inner", "step.matmul_batch", "body.scores", "example.score"],
        ["body.scale", "example.spread"],
        ["body.softmax_dim", "body.softmax", "example.row"],
        ["body.output_inner", "body.output", "example.mixture"],
    ]
    assert said(told(DEMO).parts[1], "inputs.renamed") == {"letters": ("V",), "changes": ("d_k → d_v",)}


def test_what_differs_between_q_k_and_v_is_said_where_it_differs() -> None:
    made = part(told(corpus("a_sdpa_gqa")), "Q = X W_Q")
    renamed = [dict(message.params) for message in messages(made.items[:2]) if message.id == "inputs.renamed"]
    assert renamed == [
        {"letters": ("K",), "changes": ("H → H_kv",)},
        {"letters": ("V",), "changes": ("H → H_kv", "d_k → d_v")},
        {"letters": ("K",), "changes": ("H → H_kv=2",)},
        {"letters": ("V",), "changes": ("H → H_kv=2", "d_k → d_v")},
    ]


def demo_tensors() -> tuple[torch.Tensor, ...]:
    """Q, K, V, scores, weights and output of the demo, computed again."""
    torch.manual_seed(42)
    x = torch.randn(2, 4, 8)
    layers = [torch.nn.Linear(8, 8, bias=False) for _ in range(3)]
    with torch.no_grad():
        q, k, v = (layer(x) for layer in layers)
        scores = q @ k.transpose(-2, -1)
        weights = F.softmax(scores / math.sqrt(8), dim=-1)
        return q, k, v, scores, weights, weights @ v


def test_the_numbers_of_the_demo_are_those_of_the_run() -> None:
    q, k, _, scores, weights, _ = demo_tensors()
    found = told(DEMO)
    example = said(part(found, "Q Kᵀ"), "example.score")
    assert (example["cell"], example["q"], example["k"]) == ("scores[0,0,1]", "Q[0,0]", "K[0,1]")
    assert example["value"] == number(float(scores[0, 0, 1]))
    first = str(example["sum"]).split(" + ")[0]
    assert first == f"{float(q[0, 0, 0]):.3g}×({float(k[0, 1, 0]):.3g})"
    spread = said(part(found, "÷ √d_k"), "example.spread")
    assert spread["before"] == number(float(scores.std(correction=0)))
    assert spread["after"] == number(float((scores / math.sqrt(8)).std(correction=0)))
    assert found.weights is not None
    assert torch.allclose(torch.tensor(found.weights.rows), weights[0])
    assert found.weights.sums == pytest.approx([1.0] * 4)
    row = said(part(found, "softmax"), "example.row")
    assert row["weights"] == "[" + ", ".join(f"{weight:.4f}" for weight in weights[0, 0].tolist()) + "]"
    terms = [f"{weight:.4f}×V[0,{i}]" for i, weight in enumerate(weights[0, 0].tolist())]
    assert said(part(found, "· V"), "example.mixture") == {"cell": "output[0,0]", "sum": " + ".join(terms)}


def test_the_rest_of_the_demo_is_short() -> None:
    rest = explanation_of(DEMO).rest
    assert [(line.code and (line.code.lines, line.code.text)) for line in rest] == [
        ((16, 17, 18), ""),
        ((60,), "attention_weights[0].detach()"),
    ]
    assert isinstance(rest[0].does, Message)
    assert dict(rest[0].does.params) == {"modules": "nn.Linear ×3"}


def test_all_steps_are_a_line_each_when_asked_for() -> None:
    explanation = explanation_of(DEMO, everything=True)
    assert explanation.complete
    assert len(explanation.rest) == len(run_of(DEMO).steps)


def test_heads_are_split_merged_and_projected() -> None:
    found = told(corpus("a_multihead_view_zh"))
    assert names(found)[-2:] == ["name.merge", "W_O"]
    made = part(found, "Q = X W_Q")
    assert said(made, "inputs.split") == {"whole": "H·d_k=12", "heads": 3, "width": "d_k=4"}
    assert said(made, "inputs.heads_first") == {"heads": "H", "tokens": "L"}
    assert said(part(found, "name.merge"), "after.merge") == {"whole": "H·d_v=12"}
    assert shapes(part(found, "W_O")) == ["[B, L, H·d_v] · [H·d_v, D] → [B, L, D] = [2, 5, 12]"]


def test_expressions_that_stand_in_several_lines_alike_are_shown_once() -> None:
    made = part(told(corpus("a_multihead_view_zh")), "Q = X W_Q")
    assert ((23, 24, 25), "….view(batch_size, -1, self.num_heads, self.d_k)") in codes(made)


def test_a_causal_mask_is_told_with_what_it_writes() -> None:
    mask = part(told(corpus("a_gpt")), "name.mask")
    assert ids(mask) == ["body.mask.fill_value", "body.mask.causal", "step.broadcast"]
    assert said(mask, "body.mask.fill_value") == {"value": "-∞"}
    assert said(mask, "step.broadcast") == {"shapes": ("[1, 1, L, L]",), "result": "[B, H, L, L]"}


def test_what_is_stretched_is_told_only_where_it_is() -> None:
    assert "step.broadcast" not in ids(part(told(corpus("a_where_mask")), "name.mask"))


def test_cross_attention_tells_two_sources() -> None:
    found = told(corpus("a_cross_lengths"))
    assert names(found)[:3] == ["X", "Y", "Q = X W_Q|K = Y W_K|V = Y W_V"]
    assert said(part(found, "Q = X W_Q"), "inputs.roles_cross") == {"queries": "X", "keys": "Y"}


def test_a_query_that_is_a_parameter_is_told_as_one() -> None:
    found = told(corpus("a_learned_query"))
    assert said(part(found, "Q"), "inputs.parameter") == {"letter": "Q", "name": "queries"}


def test_without_a_projection_q_k_and_v_are_x() -> None:
    found = told(corpus("a_softmax_by_hand_zh"), 1)
    assert names(found)[1] == "Q = X|K = X|V = X"
    assert said(found.parts[1], "inputs.plain") == {"letters": ("Q", "K", "V"), "source": "X"}


def test_the_values_may_stand_on_the_left() -> None:
    output = said(part(told(corpus("a_nonlocal")), "· V"), "body.output_inner")
    assert output == {"inner": "L=15", "query": "L=15", "features": "D=12"}


def test_scores_may_have_a_row_for_each_key() -> None:
    scores = part(told(corpus("a_key_major")), "Q Kᵀ")
    assert "body.scores_turned" in ids(scores)
    example = said(scores, "example.score")
    assert (example["cell"], example["q"], example["k"]) == ("scores[0,1,0]", "q[0,0]", "k[0,1]")


def test_heads_that_are_shared_are_counted() -> None:
    found = told(corpus("a_sdpa_gqa"))
    assert said(part(found, "SDPA"), "fused.shared") == {"heads": 6, "kv": 2, "times": 3}


def test_a_fused_call_tells_what_it_does_within() -> None:
    call = part(told(corpus("a_sdpa_causal")), "SDPA")
    assert ids(call) == ["fused.sdpa", "fused.scores", "fused.scale", "body.mask.causal", "fused.kept"]
    assert said(call, "fused.scores") == {"shape": "[B, H, L, L]", "sizes": "[2, 3, 7, 7]"}


def test_weights_that_are_averaged_over_heads_are_called_so() -> None:
    titles = [found.weights and found.weights.title.id for found in explanation_of(corpus("a_mha_batch_first")).told]
    assert titles == ["weights.head", None, "weights.mean"]


def test_one_block_of_an_online_softmax_is_not_shown_as_weights() -> None:
    found = told(corpus("a_online_softmax"))
    assert found.weights is None
    assert found.notes == (Message("note.blocks", (("blocks", 3),)),)


def attend(scale: float | None = None, p: float = 0.0, dim: int = -1) -> object:
    def program(x: torch.Tensor) -> torch.Tensor:
        scores = x @ x.transpose(1, 2)
        if scale is not None:
            scores = scores * scale
        weights = F.softmax(scores, dim=dim)
        weights = F.dropout(weights, p)
        return weights @ x

    return program


@pytest.mark.parametrize(
    ("scale", "name", "message"),
    [
        (16**-0.5, "÷ √d_k", "body.scale"),
        (5**-0.5, "÷ √5", "body.scale_other"),
        (3.7, "× 3.7", "body.scale_factor"),
    ],
)
def test_the_scale_is_told_as_it_is(scale: float, name: str, message: str) -> None:
    (found,) = recorded(attend(scale), torch.randn(2, 3, 16)).told
    assert message in ids(part(found, name))
    assert found.notes == ()


def test_a_missing_scale_is_told() -> None:
    (found,) = recorded(attend(), torch.randn(2, 3, 16)).told
    assert [message.id for message in found.notes] == ["note.unscaled"]
    assert "√" not in "".join(piece.text for formula in found.formulas for piece in formula)


def test_dropout_is_told_and_spoils_the_example() -> None:
    torch.manual_seed(0)
    (found,) = recorded(attend(0.25, p=0.5), torch.randn(2, 3, 16)).told
    assert said(part(found, "dropout"), "body.dropout") == {"p": "0.5", "scale": "2"}
    assert "example.mixture" not in ids(part(found, "· V"))


def test_a_softmax_over_the_queries_is_not_said_to_run_over_the_keys() -> None:
    (found,) = recorded(attend(0.25, dim=1), torch.randn(2, 3, 16)).told
    assert ids(part(found, "softmax")) == ["body.softmax_axis", "body.softmax_query"]


def test_equal_layers_are_told_once() -> None:
    explanation = explanation_of(LAYERS)
    assert explanation.summary == (Message("summary.alike", (("count", 12),)),)
    assert len(explanation.told) == 1


@pytest.mark.parametrize(
    ("layer", "modules"),
    [
        ("1", ["layers.0"]),
        ("12", ["layers.11"]),
        ("layers.5", ["layers.5"]),
        ("5", ["layers.4"]),
    ],
)
def test_one_layer_can_be_chosen(layer: str, modules: list[str]) -> None:
    explanation = explanation_of(LAYERS, layer)
    assert [found.title[-1] for found in explanation.told] == modules
    assert explanation.rest == ()


@pytest.mark.parametrize("layer", ["0", "13", "layers.12", "layer", ""])
def test_a_layer_that_is_not_there_is_an_error_that_says_what_is(layer: str) -> None:
    with pytest.raises(NoLayer) as caught:
        explanation_of(LAYERS, layer)
    assert caught.value.message.id == "layer.unknown"
    assert dict(caught.value.message.params)["count"] == 12


def test_a_layer_of_a_run_without_attention_is_an_error() -> None:
    with pytest.raises(NoLayer) as caught:
        explanation_of(corpus("a_no_attention_mlp"), "1")
    assert caught.value.message.id == "layer.none"


def test_several_kinds_are_listed_first_and_what_is_general_is_said_once() -> None:
    explanation = explanation_of(corpus("a_sdpa_gqa"))
    assert [row[0] for row in explanation.overview] == ["1, 2", "3"]
    first, second = ([name for part in found.parts for name in ids(part)] for found in explanation.told)
    assert "inputs.roles" in first
    assert "inputs.roles" not in second
    assert "inputs.project" in second


def test_a_run_without_attention_is_told_step_by_step() -> None:
    explanation = explanation_of(corpus("a_no_attention_mlp"))
    assert [message.id for message in explanation.summary] == ["summary.none", "summary.none_why"]
    assert explanation.told == ()
    assert {"step.vector", "step.softmax", "step.loss", "step.backward", "rest.inside", "rest.times"} <= {
        message.id for message in messages(explanation.steps)
    }


def test_a_run_without_tensors_is_told_as_such() -> None:
    explanation = recorded(lambda: None)
    assert [message.id for message in explanation.summary] == ["summary.empty"]
    assert explanation.steps == ()


def test_what_was_only_counted_and_what_was_lost_is_told() -> None:
    run = run_of(DEMO)
    run = dataclasses.replace(run, counted=(Count("add", None, 7), Count("grad", None, 9)), lost=("ValueError: x",))
    found = attentions_of(DEMO)
    notes = explain(run, alike(found, run), by_flow(run, found)).notes
    assert notes == (
        Message("note.counted", (("times", 7), ("places", 1))),
        Message("note.lost", (("count", 1), ("first", "ValueError: x"))),
    )


def test_without_numbers_there_are_no_examples() -> None:
    run = attnlab.record(attend(0.25), torch.randn(2, 3, 16), numbers=False)
    found = find(run)
    (only,) = explain(run, alike(found, run), by_flow(run, found)).told
    assert only.weights is None
    assert not [name for part in only.parts for name in ids(part) if name.startswith("example.")]


def told_lines(explanation: Explanation) -> Iterator[int]:
    for found in explanation.told:
        for one in found.parts:
            for item in one.items:
                for code in item.codes:
                    yield from code.lines


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_every_line_of_an_attention_is_shown(script: Path) -> None:
    """The source line of every step of the first attention of each kind, but for mere copies."""
    run, explanation = run_of(script), explanation_of(script)
    lines = set(told_lines(explanation))
    for group in alike(attentions_of(script), run):
        for index in group[0].steps:
            source = run.steps[index].source
            spans = range(source.span.line, source.span.end_line + 1) if source is not None else ()
            assert not spans or any(line in lines for line in spans) or run.steps[index].op in COPIES


COPIES = ("contiguous", "float", "type_as", "type", "to")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_every_equation_is_of_shapes_of_the_run(script: Path) -> None:
    run = run_of(script)
    known = {value.shape for value in run.values} | {tuple(reversed(value.shape)) for value in run.values}
    explanation = explanation_of(script)
    items = [item for found in explanation.told for part in found.parts for item in part.items]
    for found in (one for item in (*items, *explanation.steps) for one in item.equations):
        for shape in (*found.operands, *found.results):
            assert tuple(axis.size for axis in shape) in known


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_every_product_meets_in_axes_of_one_name(script: Path) -> None:
    """Of `[…, i, n] · […, n, j] → […, i, j]` the inner names agree, and the outer ones remain."""
    for found in explanation_of(script).told:
        for one in found.parts:
            for item in one.items:
                for shown in item.equations:
                    if shown.sign == "·" and not re.search(r"einsum|conv", str(item.codes)):
                        check_product(shown)


def check_product(found: Equation) -> None:
    if len(found.operands) != 2 or any(len(shape) < 2 for shape in found.operands):
        return
    left, right = found.operands
    (result,) = found.results
    if {shape[0] for shape in (left, right)} and len(right) == 4 and right[-1].size == 1 and right[-2].size == 1:
        return  # the kernel of a convolution
    assert left[-1] == right[-2]
    assert (result[-2], result[-1]) == (left[-2], right[-1])


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_nothing_is_left_out_without_a_word(script: Path) -> None:
    """Every expression of the user's is told, in a line, or among those that are said to be left out."""
    run: Run = run_of(script)
    explanation = explanation_of(script)
    if not explanation.told or explanation.left_out:
        return
    shown = set(told_lines(explanation)) | {line for item in explanation.rest if item.code for line in item.code.lines}
    for step in run.steps:
        if step.source is not None and step.op not in (*INNER, *COPIES):
            span = step.source.span
            assert any(line in shown for line in range(span.line, span.end_line + 1)), step.source.text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3.0, "3"), (-2.0, "-2"), (0.123456, "0.1235"), (1234.5678, "1235"), (1e-10, "1e-10"), (-1e10, "-1e10"),
        (math.inf, "∞"), (-math.inf, "-∞"), (math.nan, "NaN"),
    ],
)  # fmt: skip
def test_numbers_are_short(value: float, text: str) -> None:
    assert number(value) == text
