"""A Run is plain data: it becomes JSON, and is equal when it comes back."""

import dataclasses
import json
import math
import string
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlab.run import (
    FORMAT,
    Arg,
    Count,
    Error,
    FormatError,
    Numbers,
    Opaque,
    Operand,
    Program,
    Ref,
    Run,
    Size,
    Slice,
    Source,
    Span,
    Step,
    Value,
)

SPAN = Span("文件.py", 3, 4, 5, 6)
SOURCE = Source(SPAN, '分数["🔑"]\n  @ k', ("分数", "k[0]"), "Attn.forward")
ODD: list[Arg] = [
    None,
    True,
    False,
    0,
    -1,
    2**80,
    0.1,
    -0.0,
    1e-320,
    math.inf,
    -math.inf,
    math.nan,
    "",
    "nan",
    'quotes " \\ and \u2028 lines\n',
    "注意力🔑",
    (),
    ((), ((1,), (Ref(3), "x"))),
    Ref(0),
    Opaque("torch.float32"),
    Slice(None, None, None),
    Slice(1, Ref(2), -1),
    Slice(Slice(0, 1, 2), math.nan, Opaque("Ellipsis")),
    (Slice(None, None, None), 0, Opaque("Ellipsis"), None, (0, 1)),
]


def step(*args: Arg, index: int = 0) -> Step:
    operands = tuple(Operand("" if i % 2 else "dim", arg, f"text {i}") for i, arg in enumerate(args))
    return Step(index, "op", "torch.op", SOURCE, None, operands, (0,), (), "layers.0", "Layer", 1, 2, True)


def value(numbers: Numbers | None) -> Value:
    return Value(
        id=0,
        shape=(2, 5, 12),
        axes=("B", None, "H·d_k"),
        dtype="float32",
        device="cpu",
        step=None,
        kind="input",
        name="",
        numbers=numbers,
    )


def run(*steps: Step, **fields: Any) -> Run:
    whole: dict[str, Any] = {
        "program": Program("script", "脚本.py", ("--flag", "")),
        "torch": "2.13.0",
        "steps": steps,
        "values": (value(None),),
        "sizes": (Size(0, None, (2, 5, 12), SOURCE), Size(0, 2, (12,), SOURCE)),
        "counted": (Count("add", SOURCE, 9936), Count("mul", None, 1)),
        "sources": {"文件.py": "x = 1\n"},
        "error": None,
        "exit_code": None,
        "seconds": 0.25,
        "lost": ("ZeroDivisionError: 注",),
    }
    return Run(**(whole | fields))


@pytest.mark.parametrize("arg", ODD, ids=repr)
def test_every_kind_of_argument_comes_back_equal(arg: Arg) -> None:
    before = run(step(arg, (arg, (arg,))))
    after = Run.from_json(before.to_json())
    assert after == before
    first, second = before.steps[0].operands[0].arg, after.steps[0].operands[0].arg
    assert type(first) is type(second)
    assert repr(first) == repr(second), "a sign of zero, a whole number"


def test_numbers_that_are_not_finite_come_back_equal() -> None:
    numbers = Numbers(((math.nan, math.inf), (-math.inf, 0.5)), None, math.nan, -math.inf, math.inf, 3)
    before = run(values=(value(numbers),))
    assert Run.from_json(before.to_json()) == before


def test_a_failed_run_comes_back_equal() -> None:
    for failed in (None, step(Ref(0), "einsum")):
        before = run(error=Error("RuntimeError", "形状不符\n", failed, 7, "文件.py"), exit_code=1)
        assert Run.from_json(before.to_json()) == before


def test_an_empty_run_comes_back_equal() -> None:
    for error in (None, ("KeyError", "'x'")):
        before = Run.empty(Program("module", "包", ()), error, 3, 0.0)
        assert before.steps == ()
        assert Run.from_json(before.to_json()) == before


def test_the_json_is_strict_and_readable() -> None:
    text = run(step(math.nan, math.inf)).to_json()
    data = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert data["attnlab_run"] == FORMAT
    assert [operand["arg"] for operand in data["steps"][0]["operands"]] == [{"float": "nan"}, {"float": "inf"}]
    assert "分数" in text


def test_the_json_has_the_fields_of_a_run_in_their_order() -> None:
    names = [field.name for field in dataclasses.fields(Run)]
    assert list(json.loads(run().to_json())) == ["attnlab_run", *names]


texts = st.text(alphabet=string.ascii_letters + "_.[] \n\"\\'注意力🔑\x00\u2028", max_size=8)
ids = st.integers(0, 9)
numbers = st.floats(allow_nan=False) | st.just(math.nan)
args = st.recursive(
    st.none() | st.booleans() | st.integers() | numbers | texts | st.builds(Ref, ids) | st.builds(Opaque, texts),
    lambda inner: st.lists(inner, max_size=3).map(tuple) | st.builds(Slice, inner, inner, inner),
    max_leaves=6,
)
spans = st.builds(Span, texts, ids, ids, ids, ids)
name_tuples = st.lists(texts, max_size=3).map(tuple)
sources = st.builds(Source, spans, texts, name_tuples, texts)
id_tuples = st.lists(ids, max_size=3).map(tuple)
steps = st.builds(
    Step,
    index=ids,
    op=texts,
    function=texts,
    source=st.none() | sources,
    via=st.none() | sources,
    operands=st.lists(st.builds(Operand, texts, args, texts), max_size=3).map(tuple),
    results=id_tuples,
    inplace=id_tuples,
    module=st.none() | texts,
    module_type=st.none() | texts,
    call=ids,
    frame=ids,
    grad=st.booleans(),
)
corners = st.lists(st.lists(numbers, max_size=3).map(tuple), max_size=3).map(tuple)
statistics = st.none() | numbers
values = st.builds(
    Value,
    id=ids,
    shape=id_tuples,
    axes=st.lists(st.none() | texts, max_size=3).map(tuple),
    dtype=texts,
    device=texts,
    step=st.none() | ids,
    kind=st.sampled_from(["result", "parameter", "buffer", "input"]),
    name=texts,
    numbers=st.none()
    | st.builds(Numbers, corners, statistics, statistics, statistics, statistics, nonfinite=st.none() | ids),
)
runs = st.builds(
    Run,
    program=st.builds(Program, st.sampled_from(["script", "module", "block", "call"]), texts, name_tuples),
    torch=texts,
    steps=st.lists(steps, max_size=3).map(tuple),
    values=st.lists(values, max_size=3).map(tuple),
    sizes=st.lists(st.builds(Size, ids, st.none() | ids, id_tuples, sources), max_size=2).map(tuple),
    counted=st.lists(st.builds(Count, texts, st.none() | sources, ids), max_size=2).map(tuple),
    sources=st.dictionaries(texts, texts, max_size=2),
    error=st.none() | st.builds(Error, texts, texts, st.none() | steps, st.none() | ids, st.none() | texts),
    exit_code=st.none() | ids,
    seconds=st.floats(0, 1e9),
    lost=name_tuples,
)


@settings(max_examples=200, deadline=None)
@given(runs)
def test_any_run_comes_back_equal(before: Run) -> None:
    after = Run.from_json(before.to_json())
    assert after == before
    assert repr(after) == repr(before)


def test_a_step_finds_its_arguments_by_keyword_and_by_place() -> None:
    matmul = Step(
        0,
        "sum",
        "torch.sum",
        None,
        None,
        (Operand("", Ref(7), "x"), Operand("", -1, "d"), Operand("keepdim", True, "True")),
        (8,),
        (),
        None,
        None,
        1,
        1,
        True,
    )
    assert (matmul.arg("dim", 1), matmul.arg("keepdim", 2), matmul.arg("input", 0)) == (-1, True, Ref(7))
    assert matmul.arg("dtype", 3) is None
    assert matmul.arg("dtype", default="float32") == "float32"
    assert matmul.operand("other", 2) is None, "what was passed by another keyword does not stand at that place"
    assert matmul.operand("keepdim") == Operand("keepdim", True, "True")


def test_a_step_finds_what_it_read_in_lists_and_indices_in_order() -> None:
    assert step(Ref(4), (Ref(2), (Ref(9),)), Slice(Ref(1), 3, Ref(4)), "x", Ref(4)).refs == (4, 2, 9, 1, 4, 4)


def test_a_run_is_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        run().torch = "1.0"  # pyright: ignore[reportAttributeAccessIssue]


def test_an_unfinished_run_says_so() -> None:
    unfinished = Run.unfinished()
    for name in [field.name for field in dataclasses.fields(Run)]:
        with pytest.raises(AttributeError) as raised:
            getattr(unfinished, name)
        assert str(raised.value) == (f"the recording is not finished: read run.{name} after the `with` block has ended")
    assert not hasattr(unfinished, "__deepcopy__")
    assert isinstance(unfinished, Run)


def test_a_finished_run_has_no_such_field() -> None:
    with pytest.raises(AttributeError) as raised:
        run().step  # noqa: B018
    assert "not finished" not in str(raised.value)


def test_an_unfinished_run_can_be_shown() -> None:
    assert "not finished" in repr(Run.unfinished())


WHOLE = json.loads(run(step(Ref(0))).to_json())


def without(key: str) -> dict[str, Any]:
    return {name: value for name, value in WHOLE.items() if name != key}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "expected the JSON of a Run, got text that is not JSON"),
        ("{", "expected the JSON of a Run, got text that is not JSON"),
        ("[]", 'expected the JSON of a Run, with the key "attnlab_run" at the top; it has none'),
        ("null", 'expected the JSON of a Run, with the key "attnlab_run" at the top; it has none'),
        ("{}", 'expected the JSON of a Run, with the key "attnlab_run" at the top; it has none'),
        (json.dumps(WHOLE | {"attnlab_run": 99}), f"expected a Run of format {FORMAT}"),
        (json.dumps(WHOLE | {"attnlab_run": "1"}), f"expected a Run of format {FORMAT}"),
        (json.dumps(without("steps")), "expected a whole Run; a part is missing or of a wrong type: KeyError('steps')"),
        (json.dumps(without("seconds")), "expected a whole Run; a part is missing"),
        (json.dumps(WHOLE | {"steps": 3}), "expected a whole Run; a part is missing or of a wrong type"),
        (json.dumps(WHOLE | {"steps": [{}]}), "expected a whole Run; a part is missing or of a wrong type"),
        (json.dumps(WHOLE | {"steps": [[]]}), "expected a whole Run; a part is missing or of a wrong type"),
        (json.dumps(WHOLE | {"values": [3]}), "expected a whole Run; a part is missing or of a wrong type"),
        (json.dumps(WHOLE | {"program": None}), "expected a whole Run; a part is missing or of a wrong type"),
        (json.dumps(WHOLE | {"program": "x"}), "expected a whole Run; a part is missing or of a wrong type"),
        (json.dumps(WHOLE | {"extra": 1}), "expected a whole Run; a part is missing or of a wrong type"),
        (json.dumps(WHOLE).replace('{"ref": 0}', '{"ref": 0, "slice": 1}'), "expected a whole Run"),
        (json.dumps(WHOLE).replace('{"ref": 0}', '{"unknown": 0}'), "an argument of unknown kind 'unknown'"),
        (json.dumps(WHOLE).replace('{"ref": 0}', "{}"), "expected a whole Run"),
    ],
)
def test_what_is_not_a_run_is_told_in_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(FormatError) as raised:
        Run.from_json(text)
    assert sentence in str(raised.value)
    assert "\n" not in str(raised.value)
    assert isinstance(raised.value, ValueError)
