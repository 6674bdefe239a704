"""Each step's source is the expression that the person wrote: its span, its text, its targets, its operands' texts."""

import pytest
import torch
from recorded import only, operands, ops, source, targets, texts

from attnlab.run import Opaque, Ref, Slice, Span


def x() -> torch.Tensor:
    return torch.arange(120.0).view(2, 5, 12)


def test_a_chain_over_several_lines_ends_where_each_call_ends(recorded) -> None:
    run = recorded(
        """
        y = (
            x
            .transpose(1, 2)   # features first
            .softmax(
                dim=-1,
            )
        )
        """,
        x=x(),
    )
    transpose, softmax = run.steps
    file = source(transpose).span.file
    assert source(transpose).span == Span(file, 2, 4, 3, 20)
    assert source(transpose).text == "x\n    .transpose(1, 2)"
    assert source(softmax).span == Span(file, 2, 4, 6, 5)
    assert (source(transpose).targets, source(softmax).targets) == ((), ("y",))


def test_two_statements_and_nested_parentheses_on_one_line(recorded) -> None:
    run = recorded("a = x.reshape(-1).sum(); b = ((x + 1)) * (2)", x=x())
    assert texts(run) == [
        ("reshape", "x.reshape(-1)"),
        ("sum", "x.reshape(-1).sum()"),
        ("add", "x + 1"),
        ("mul", "((x + 1)) * (2)"),
    ]
    assert source(run.steps[3]).span == Span(source(run.steps[3]).span.file, 1, 29, 1, 44)


def test_columns_are_characters_after_chinese_text_on_the_same_line(recorded) -> None:
    run = recorded('"注意力"; 分数 = x @ 键["键🔑"].mT', x=x(), 键={"键🔑": x()})
    transposed, product = run.steps
    file = source(product).span.file
    assert source(transposed).span == Span(file, 1, 16, 1, 26)
    assert source(transposed).text == '键["键🔑"].mT'
    assert source(product).span == Span(file, 1, 12, 1, 26)
    assert source(product).targets == ("分数",)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("y = x + 1", ("y",)),
        ("y: torch.Tensor = x + 1", ("y",)),
        ("c = d = x + 1", ("c",)),
        ("o.out = x + 1", ("o.out",)),
        ('o.__dict__["k"] = x + 1', ('o.__dict__["k"]',)),
        ("y = str(m := x + 1)", ("m",)),
        ("x += 1", ("x",)),
        ("p, q = x + 1, 3", ("p",)),
        ("p, q = 3, x + 1", ("q",)),
        ("(p, q), r = (3, 3), x + 1", ("r",)),
        ("x + 1", ()),
        ("y = [x + 1]", ()),
        ("y = (x + 1,)", ()),
        ("y = str(x + 1)", ()),
    ],
)
def test_targets_of_an_addition(recorded, text: str, expected: tuple[str, ...]) -> None:
    class Object:
        pass

    run = recorded(text, x=x(), o=Object())
    assert source(only(run, "add")).targets == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a, b = x.chunk(2, dim=-1)", ("a", "b")),
        ("[a, b] = x.unbind(0)", ("a", "b")),
        ("a, *rest = x.unbind(1)", ("a", "*rest")),
        ("o[0], o[1] = x.unbind(0)", ("o[0]", "o[1]")),
        ("(i, j), k = x.max(dim=-1), 3", ("i", "j")),
        ("for a, b in [x.unbind(0)]: pass", ()),
    ],
)
def test_targets_of_an_unpacked_tuple(recorded, text: str, expected: tuple[str, ...]) -> None:
    (names,) = targets(recorded(text, x=x(), o=[None, None]))
    assert names == expected


def test_a_subscript_is_the_target_of_what_is_stored_in_it(recorded) -> None:
    run = recorded("x[:, 0] = 7", x=x())
    (step,) = run.steps
    assert (step.op, source(step).text, source(step).targets) == ("setitem", "x[:, 0] = 7", ("x",))
    assert [operand.arg for operand in step.operands] == [Ref(0), (Slice(None, None, None), 0), 7]
    assert operands(step) == [("", "x"), ("", ":, 0"), ("", "7")]


def test_an_augmented_subscript_reads_then_adds_then_stores(recorded) -> None:
    run = recorded("x[0] += 1", x=x())
    assert texts(run) == [("getitem", "x[0]"), ("add", "x[0] += 1"), ("setitem", "x[0] += 1")]
    assert targets(run) == [(), ("x[0]",), ("x",)]


@pytest.mark.parametrize(
    ("text", "args", "expected"),
    [
        ("y = x - 2", [Ref(0), 2], ["x", "2"]),
        ("y = 2 * x", [2, Ref(0)], ["2", "x"]),
        ("y = 2 / x", [2, Ref(0)], ["2", "x"]),
        ("y = 2 - x", [2, Ref(0)], ["2", "x"]),
        ("y = 2 ** x", [2, Ref(0)], ["2", "x"]),
        ("y = x ** 2", [Ref(0), 2], ["x", "2"]),
        ("y = -x", [Ref(0)], ["x"]),
        ("y = x > 0", [Ref(0), 0], ["x", "0"]),
        ("y = 0 < x", [Ref(0), 0], ["x", "0"]),
        ("y = x @ x.mT", [Ref(0), Ref(1)], ["x", "x.mT"]),
        ("y = x.mT @ x", [Ref(1), Ref(0)], ["x.mT", "x"]),
        ("x *= math.sqrt(4)", [Ref(0), 2.0], ["x", "math.sqrt(4)"]),
        ("y = x.exp() * scale", [Ref(1), 3.0], ["x.exp()", "scale"]),
        ("y = (x + 1) / scale", [Ref(1), 3.0], ["x + 1", "scale"]),
        ("y = scale * x.exp()", [3.0, Ref(1)], ["scale", "x.exp()"]),
        ("y = (1 / math.sqrt(4)) * x", [0.5, Ref(0)], ["1 / math.sqrt(4)", "x"]),
        ("y = x.T", [Ref(0)], ["x"]),
        ("y = abs(x)", [Ref(0)], ["x"]),
    ],
)
@pytest.mark.filterwarnings("ignore:The use of `x.T`")
def test_operands_stand_as_they_were_written(recorded, text: str, args: list[object], expected: list[str]) -> None:
    import math

    step = recorded(text, x=x(), math=math, scale=3.0).steps[-1]
    assert [operand.arg for operand in step.operands] == args
    assert operands(step) == [("", text) for text in expected]


def test_two_names_of_which_one_is_a_number_leave_the_operands_without_text(recorded) -> None:
    # Nothing tells which of the two was the tensor: it is not guessed.
    (step,) = recorded("def f(a, b): return a * b\ny = f(3.0, x)", x=x()).steps
    assert source(step).text == "a * b"
    assert operands(step) == [("", ""), ("", "")]


def test_arguments_by_place_and_by_name_and_past_a_star(recorded) -> None:
    run = recorded(
        """
        dims = (0, 1)
        a = torch.sum(x, dim=-1, keepdim=True)
        b = x.transpose(*dims)
        c = torch.cat([x, a], dim=2)
        d = F.softmax(x, dim=-1)
        """,
        x=x(),
    )
    sum_, transpose, cat, softmax = run.steps
    assert operands(sum_) == [("", "x"), ("dim", "-1"), ("keepdim", "True")]
    assert operands(transpose) == [("", "x"), ("", ""), ("", "")]
    assert operands(cat) == [("", "[x, a]"), ("dim", "2")]
    assert operands(softmax)[0] == ("", "x")
    assert softmax.operand("dim", 1).text == "-1"


def test_an_index_is_kept_as_it_is(recorded) -> None:
    (step,) = recorded("v = x[..., 1:3, None]", x=x()).steps
    assert step.operands[1].arg == (Opaque("Ellipsis"), Slice(1, 3, None), None)
    assert step.operands[1].text == "..., 1:3, None"


@pytest.mark.parametrize(
    ("text", "function", "expected"),
    [
        ("y = (lambda t: t / 2)(x)", "<lambda>", ("div", "t / 2")),
        ("def half(t):\n    return t / 2\ny = half(x)", "half", ("div", "t / 2")),
        ("class A:\n    def half(self, t):\n        return t / 2\ny = A().half(x)", "A.half", ("div", "t / 2")),
        (
            "def outer(t):\n    def inner():\n        return t / 2\n    return inner()\nouter(x)",
            "outer.<locals>.inner",
            ("div", "t / 2"),
        ),
        ("def each(t):\n    yield t / 2\nfor y in each(x): pass", "each", ("div", "t / 2")),
        ("def plain(f):\n    return lambda *a: f(*a)\n@plain\ndef g(t): return t / 2\ng(x)", "g", ("div", "t / 2")),
        ("import functools\ng = functools.partial(lambda s, t: t / s, 2)\ng(x)", "<lambda>", ("div", "t / s")),
    ],
)
def test_the_function_that_an_expression_stands_in(
    recorded, text: str, function: str, expected: tuple[str, str]
) -> None:
    run = recorded(text, x=x())
    assert texts(run) == [expected]
    assert source(run.steps[0]).function == function


def test_a_comprehension_records_each_round_at_one_place(recorded) -> None:
    run = recorded("heads = [h.neg() for h in x.unbind(0)]", x=x())
    assert texts(run) == [("unbind", "x.unbind(0)"), ("neg", "h.neg()"), ("neg", "h.neg()")]
    assert [step.refs for step in run.steps[1:]] == [(1,), (2,)]


@pytest.mark.parametrize(
    "text",
    [
        "y = list(map(torch.neg, [x]))",
        "y = functools.reduce(torch.add, [x, x])",
        "y = sum([x, x])",
        "y = max([x.sum(), x.mean()])",
        "y = sorted([x.sum(), x.mean()])",
    ],
)
def test_a_call_made_by_a_builtin_has_no_texts_of_the_builtins_arguments(recorded, text: str) -> None:
    import functools

    step = recorded(text, x=x(), functools=functools).steps[-1]
    assert source(step).text == text.removeprefix("y = ")
    assert {operand.text for operand in step.operands} == {""}


def test_a_library_call_gives_its_one_argument_to_the_operation_that_got_it(recorded) -> None:
    run = recorded("y = layers(x)", x=x(), layers=torch.nn.Sequential(torch.nn.Linear(12, 7), torch.nn.ReLU()))
    linear, relu = run.steps
    assert source(linear).text == source(relu).text == "layers(x)"
    assert linear.operands[0].text == "x"
    assert relu.refs == linear.results
    assert relu.operands[0].text == "", "what relu read is not x"


def test_a_library_constructor_gives_no_operand_a_text(recorded) -> None:
    run = recorded("n = nn.LayerNorm(12)")
    assert {operand.text for step in run.steps for operand in step.operands if isinstance(operand.arg, Ref)} == {""}


def test_code_without_source_has_spans_and_no_text(recorded) -> None:
    (step,) = recorded("""y = eval("x * 2")""", x=x()).steps
    assert (source(step).span, source(step).text) == (Span("<string>", 1, 0, 1, 5), "")
    assert operands(step) == [("", ""), ("", "")]


def test_sources_hold_each_file_that_the_users_steps_stand_in(recorded) -> None:
    text = 'y = eval("x * 2") + nn.ReLU()(x)\n'
    run = recorded(text, x=x())
    assert list(run.sources.values()) == [text]


def test_a_question_for_sizes_has_the_names_that_the_answer_was_given(recorded) -> None:
    run = recorded(
        """
        B, L, D = x.shape
        d_k = x.size(-1)
        length = len(x)
        heads = x.size(dim=1)
        n = x.shape[2]
        """,
        x=x(),
    )
    assert ops(run) == []
    asked = [(size.source.text, size.source.targets, size.axis, size.answer) for size in run.sizes]
    assert asked[:4] == [
        ("x.shape", ("B", "L", "D"), None, (2, 5, 12)),
        ("x.size(-1)", ("d_k",), 2, (12,)),
        ("len(x)", ("length",), 0, (2,)),
        ("x.size(dim=1)", ("heads",), 1, (5,)),
    ]
    assert asked[4] == ("x.shape", (), None, (2, 5, 12))
    assert {size.value for size in run.sizes} == {0}


def test_a_wrong_question_for_a_size_is_no_size(recorded) -> None:
    run = recorded(
        """
        try:
            x.size(7)
        except IndexError:
            pass
        y = x + 1
        """,
        x=x(),
    )
    assert (run.sizes, ops(run)) == ((), ["add"])
