"""`attnlab whatif`: what is said of a program that is run again with something changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from golden_files import assert_golden
from laboratory import Refused, answered, program

from attnlab.answers.data import Answer, Table
from attnlab.views.answer import lines
from attnlab.views.text import cells
from attnlab.words import LANGUAGES, Words

TESTS = Path(__file__).parent
CORPUS = TESTS / "corpus"
DEMO = TESTS.parent / "self_attention_demo.py"
SWAPPED = ("K.transpose(-2, -1)", "K.transpose(0, 1)")


def asked(file: Path, *sets: str, replace: tuple[str, str] | None = None, line: int | None = None) -> Answer:
    """The answer to one question. It can be told in both languages, in 80 cells."""
    (found,) = answered(file, {"sets": sets, "replace": replace, "line": line})
    assert isinstance(found, Answer), found
    for lang in LANGUAGES:
        assert [row for row in told(found, lang) if cells(row) > 80] == []
    return found


def refused(file: Path, *sets: str, replace: tuple[str, str] | None = None, line: int | None = None) -> str:
    """Why there is no answer; it can be said in both languages, in one sentence."""
    (found,) = answered(file, {"sets": sets, "replace": replace, "line": line})
    assert isinstance(found, Refused), found
    for lang in LANGUAGES:
        assert "\n" not in Words(lang).say(found.id, **found.params)
    return found.id


def told(answer: Answer, lang: str = "en", width: int = 80) -> list[str]:
    return lines(answer, Words("zh" if lang == "zh" else "en"), width)


def text(answer: Answer) -> str:
    """All that is said, as one line."""
    return " ".join(" ".join(told(answer, width=1000)).split())


def shapes(answer: Answer) -> dict[str, tuple[tuple[int, ...], tuple[int, ...]]]:
    """The shapes that moved, by the code of the step."""
    rows = cast("list[dict[str, Any]]", answer.numbers["shapes"])
    return {row["code"]: (row["before"], row["after"]) for row in rows}


def tables(answer: Answer) -> list[Table]:
    return [block for block in answer.blocks if isinstance(block, Table)]


@pytest.mark.parametrize(
    ("name", "sets", "replace"),
    [
        ("seq_len", ("seq_len=6",), None),
        ("transpose", (), SWAPPED),
        ("scale", (), ("math.sqrt(K.size(-1))", "1.0")),
        ("meaning", ("batch_size=4", "d_model=4"), SWAPPED),
    ],
)
def test_answers_about_the_demo(name: str, sets: tuple[str, ...], replace: tuple[str, str] | None) -> None:
    found = asked(DEMO, *sets, replace=replace)
    for lang in LANGUAGES:
        assert_golden(f"whatif/{name}.{lang}.txt", "\n".join(told(found, lang)) + "\n")


def test_a_longer_sequence_has_a_larger_square_of_scores() -> None:
    found = asked(DEMO, "seq_len=6")
    moved = shapes(found)
    assert moved["scores = torch.matmul(Q, K.transpose(-2, -1))"] == ((2, 4, 4), (2, 6, 6))
    assert moved["output = torch.matmul(attention_weights, V)"] == ((2, 4, 8), (2, 6, 8))
    assert "self.W_q = nn.Linear(d_model, d_model, bias=False)" not in moved
    assert any("[2, 6, 6]" in row and row.startswith("  →") for row in told(found))
    assert "L (seq_len) went from 4 to 6." in text(found)
    assert "had 4 × 4 = 16 scores, and has 6 × 6 = 36" in text(found)


@pytest.mark.parametrize(("name", "shape"), [("seq_len", (2, 1, 1)), ("batch_size", (1, 4, 4)), ("d_model", None)])
def test_one_will_do(name: str, shape: tuple[int, ...] | None) -> None:
    found = asked(DEMO, f"{name}=1")
    assert (found.numbers["ended"], found.numbers["error"]) == ("whole", None)
    assert shapes(found).get("scores = torch.matmul(Q, K.transpose(-2, -1))", (None, None))[1] == shape


@pytest.mark.parametrize(
    ("sets", "why"),
    [
        (("seq_len=0",), "change.whole"),
        (("seq_len=-1",), "change.whole"),
        (("seq_len=1.5",), "change.whole"),
        (("seq_len=",), "change.whole"),
        (("seq_len=4,x",), "change.whole"),
        (("seqlen=6",), "change.near"),
        (("zzz=6",), "change.unknown"),
        (("seq_len",), "change.form"),
        (("=6",), "change.form"),
        (("seq_len=6", "seq_len=8"), "change.twice"),
        (("seq_len=" + ",".join(map(str, range(1, 9))), "batch_size=1,2,3,4"), "change.many"),
        ((), "change.nothing"),
    ],
)
def test_what_cannot_be_set(sets: tuple[str, ...], why: str) -> None:
    assert refused(DEMO, *sets) == why


def test_what_cannot_be_replaced() -> None:
    assert refused(DEMO, replace=("K.transpose(-2, -1)", "K.transpose(")) == "change.python"
    assert refused(DEMO, replace=("nowhere", "K")) == "change.absent"
    assert refused(DEMO, replace=("K", "Q")) == "change.often"
    assert refused(DEMO, replace=("K", "Q"), line=1) == "change.absent"
    assert refused(DEMO, "seq_len=6", line=1) == "change.line"


def test_the_same_number_changes_nothing() -> None:
    found = asked(DEMO, "seq_len=4")
    assert text(found) == "If seq_len were 4 instead of 4 What was put in is just what stood there, so nothing changed."


def test_another_way_to_write_it_changes_nothing() -> None:
    found = asked(DEMO, replace=("K.transpose(-2, -1)", "K.mT"))
    assert (shapes(found), found.numbers["values"], found.numbers["printed"]) == ({}, 0, [])
    assert "Written in another way, with the same result" in text(found)


def test_a_number_that_nobody_reads_changes_nothing_and_others_of_its_name_are_told(tmp_path: Path) -> None:
    file = program(tmp_path, "import torch\ndef f(n=2):\n    return torch.ones(n)\nn = 3\nprint(f(n=4))\n")
    found = asked(file, "n=7")
    assert "Nothing changed" in text(found)
    assert "n also stands on line 2, 5: to change it there, write --set n@2=…." in text(found)
    assert shapes(asked(file, "n@5=7")) == {"torch.ones(n)": ((4,), (7,))}


def test_an_expression_in_place_of_another_moves_values() -> None:
    found = asked(DEMO, replace=("math.sqrt(K.size(-1))", "1.0"))
    assert (shapes(found), found.numbers["values"]) == ({}, 4)
    assert "No shape changed; values changed in 4 of 13 steps, from line 35 on." in text(found)
    assert "The scores are multiplied by 1 instead of 0.3536." in text(found)
    values, before, after = tables(found)
    assert [row[0] for row in values.rows] == ["35", "38", "42"]
    assert before.rows[0][1:5] == ("0.4007", "0.1787", "0.1869", "0.2338")
    assert before.rows != after.rows


def test_what_comes_after_in_the_same_place_is_compared_with_what_was_there() -> None:
    old = "torch.matmul(attention_weights, V)"
    found = asked(DEMO, replace=(old, f"{old} * 2"))
    assert found.numbers["values"] == 1
    assert "values changed in 1 of 13 steps, from line 42 on" in text(found)


def test_a_change_on_a_later_line_of_an_expression(tmp_path: Path) -> None:
    file = program(
        tmp_path, "import torch\nx = torch.ones(2, 3)\ny = torch.add(\n    x,\n    x.T.T,\n)\nprint(y.sum())\n"
    )
    found = asked(file, replace=("x.T.T", "x.mT.mT"))
    assert "Written in another way, with the same result" in text(found)
    found = asked(file, replace=("x.T.T", "x.mT.mT * 2"))
    assert "values changed in" in text(found)
    assert found.numbers["printed"] == [("tensor(12.)", "tensor(18.)")]


def test_an_error_is_told_with_its_reason_and_what_would_fit() -> None:
    found = asked(DEMO, replace=SWAPPED)
    error = "The size of tensor a (2) must match the size of tensor b (4) at non-singleton dimension 0"
    assert found.numbers["error"] == ("RuntimeError", error)
    assert f"RuntimeError: {error}" in text(found)
    assert "The last axis of Q (d_k = 8) must equal the last axis but one of K.transpose(0, 1) (B = 2)." in text(found)
    assert "torch.matmul(Q, K.transpose(-2, -1)) → [2, 4, 4]" in text(found)
    assert shapes(found) == {"K.transpose(0, 1)": ((2, 8, 4), (4, 2, 8))}
    assert "[B, d_k, L] → [L, B, d_k]" in text(found)
    assert "Traceback" not in text(found)


def test_a_replacement_that_runs_and_means_something_else() -> None:
    found = asked(DEMO, "batch_size=4", "d_model=4", replace=SWAPPED)
    assert found.numbers["error"] is None
    assert "`torch.matmul(Q, K.transpose(0, 1))`, still runs only because sizes happen to be equal" in text(found)
    assert "d_k = B, L = B" in text(found)
    assert "Rows × columns of the scores were L × L, and are now what was L × d_k." in text(found)


def test_samples_in_the_place_of_tokens(tmp_path: Path) -> None:
    """Where B = L, nothing of the shapes tells."""
    text_ = """
    import torch
    torch.manual_seed(0)
    batch_size, seq_len = 3, 3
    attn = torch.nn.MultiheadAttention(8, 2, batch_first=True)
    x = torch.randn(batch_size, seq_len, 8)
    out, weights = attn(x, x, x)
    """
    found = asked(program(tmp_path, text_), replace=(", batch_first=True", ""))
    assert shapes(found) == {}
    assert "Rows × columns of the scores were L × L, and are now what was B × B." in text(found)


@pytest.mark.parametrize(
    ("name", "replace", "says"),
    [
        ("a_class_matmul", ("dim=-1", "dim=1"), "The softmax now runs over the queries"),
        ("a_class_matmul", ("dim=-1", "dim=0"), "The softmax now runs over the samples"),
        ("a_causal_triu_add", ("e + causal_bias(h.size(1))", "e"), "The causal mask no longer works"),
        ("a_causal_triu_add", ("e + causal_bias(h.size(1))", "e"), "Steps that are gone: 3 (line 10, 22)."),
        ("a_causal_triu_add", ("diagonal=1", "diagonal=0"), "From line 23 on, there is NaN"),
        ("a_gpt", ("range(N_LAYER)", "range(2)"), "Attentions: 3 before, 2 now."),
        ("a_multihead_view_zh", ("num_heads=3", "num_heads=4"), "Heads: 3 before, 4 now."),
        ("a_multihead_view_zh", ("mha(x, x, x)", "mha(x, x * 2, x)"), "values changed in"),
        ("a_cross_lengths", ("randn(2, 8, 14)", "randn(2, 9, 14)"), "L_k went from 8 to 9."),
    ],
)
def test_what_became_of_the_attention(name: str, replace: tuple[str, str], says: str) -> None:
    assert says in text(asked(CORPUS / f"{name}.py", replace=replace))


def test_equal_rows_are_one() -> None:
    found = asked(CORPUS / "a_gpt.py", "N_HEAD=7")
    (table,) = tables(found)[:1]
    scores = [row for row in table.rows if row[2] == "q @ k.transpose(-2, -1)"]
    assert scores == [("23", "3", "q @ k.transpose(-2, -1)", "[B, H, L, L]", "[4, 2, 7, 7]", "[4, 7, 7, 7]")]


TRAINING = """
import torch
from torch import nn
torch.manual_seed(0)
x = torch.randn(2, 4, 8)
w = nn.Parameter(torch.randn(8, 8))
rounds = 3
for i in range(rounds):
    loss = ((x @ w @ x.mT).softmax(-1) @ x - x).pow(2).mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
        w.grad = None
print(f"{loss.item():.4f}")
"""


def test_more_rounds_of_a_loop_are_more_steps(tmp_path: Path) -> None:
    found = asked(program(tmp_path, TRAINING), "rounds=4")
    assert shapes(found) == {}
    assert "Steps that are new:" in text(found)
    assert "Attentions: 3 before, 4 now." in text(found)


def test_a_mended_program_runs_to_its_end(tmp_path: Path) -> None:
    file = program(tmp_path, "import torch\nx = torch.ones(2, 3)\ny = x @ x\nprint(y.shape)\n")
    found = asked(file, replace=("x @ x", "x @ x.mT"))
    assert "The program runs to its end. Before, it stopped on line 3 with: RuntimeError" in text(found)
    assert found.numbers["printed"] == [(None, "torch.Size([2, 2])")]


def test_an_error_may_stay_or_give_way_to_another(tmp_path: Path) -> None:
    file = program(tmp_path, "import torch\nx = torch.ones(2, 3)\nn = 4\ny = x @ x\n")
    assert "The program still stops on line 4, with the same error." in text(asked(file, "n=5"))
    assert "now stops on line 2" in text(asked(file, replace=("torch.ones(2, 3)", "torch.ones(2, 3) @ 1")))


def test_an_error_that_is_not_about_shapes(tmp_path: Path) -> None:
    file = program(tmp_path, "import torch\nn = 2\nx = torch.ones(n)\nassert n < 3, 'too many'\nprint(n)\n")
    found = asked(file, "n=4")
    assert "The program stops on line 4 with an error. AssertionError: too many" in text(found)
    assert "Lines that were printed after that, and no longer are: 1." in text(found)


def test_reruns_that_do_not_come_to_an_end(tmp_path: Path) -> None:
    start = "import torch\nn = 1\nx = torch.ones(n)\n"
    file = program(tmp_path, f"{start}if n > 1:\n    y = torch.ones(1 << 40)\nprint(n)\n")
    found = asked(file, "n=2")
    assert found.numbers["ended"] == "memory"
    assert "On line 5 the program asked for more memory than the 4 GB" in text(found)
    assert shapes(found) == {"x = torch.ones(n)": ((1,), (2,))}

    file = program(tmp_path, f"{start}if n > 1:\n    open('left', 'w')\nprint(n)\n")
    found = asked(file, "n=2")
    assert found.numbers["ended"] == "effect"
    assert "The program was about to do something that lasts (open('left'))" in text(found)
    assert "no longer are: 1" in text(found)

    file = program(tmp_path, f"{start}import os\nif n > 1:\n    os._exit(3)\n")
    assert "ended its process at once (exit code 3)" in text(asked(file, "n=2"))

    file = program(tmp_path, f"{start}import ctypes\nif n > 1:\n    ctypes.string_at(0)\n")
    assert "ended by the signal SIGSEGV" in text(asked(file, "n=2"))


def test_an_endless_loop_is_said_to_be_one(tmp_path: Path) -> None:
    file = program(tmp_path, "import torch\nn = 1\nx = torch.ones(n)\nwhile n > 1:\n    pass\n")
    assert "The program had not ended after 10 seconds" in text(asked(file, "n=2"))


def test_a_file_that_is_always_written_is_said_once(tmp_path: Path) -> None:
    file = program(tmp_path, "import torch\nn = 1\nx = torch.ones(n)\ntorch.save(x, 'left.pt')\n")
    found = asked(file, "n=2")
    assert shapes(found) == {"x = torch.ones(n)": ((1,), (2,))}
    assert "so both runs end there" in text(found)
    assert "was about to" not in text(found)


def test_what_differs_from_run_to_run_is_not_taken_for_a_move(tmp_path: Path) -> None:
    text_ = "import os, torch\nx = torch.tensor(float(os.getpid()))\nn = 2\ny = torch.ones(2)\nprint(os.getpid())\n"
    found = asked(program(tmp_path, text_), "n=3")
    assert "The values of 1 steps differ from run to run even with nothing changed" in text(found)
    assert (found.numbers["values"], found.numbers["printed"]) == (0, [])


def test_a_number_in_a_module_beside_it(tmp_path: Path) -> None:
    program(tmp_path, "width = 3\n", "sizes.py")
    file = program(tmp_path, "import torch, sizes\nx = torch.ones(sizes.width)\n")
    found = asked(file, "width=5")
    assert shapes(found) == {"x = torch.ones(sizes.width)": ((3,), (5,))}
    assert told(found)[1:4] == ["    sizes.py", "       1  width = 3", "  →    1  width = 5"]


def test_several_numbers_make_a_table() -> None:
    found = asked(DEMO, "seq_len=4,8,16,1024")
    (table,) = tables(found)
    assert [row[:5] for row in table.rows] == [
        ("4", "[2, 4, 4]", "32", "1.02 k", "128 B"),
        ("8", "[2, 8, 8]", "128", "4.1 k", "512 B"),
        ("16", "[2, 16, 16]", "512", "16.4 k", "2.05 kB"),
        ("1024", "[2, 1024, 1024]", "2,097,152", "67.1 M", "8.39 MB"),
    ]
    assert [str(row[6]).split(" / ")[1] for row in table.rows] == ["1.39", "2.08", "2.77", "6.93"]
    assert all(float(str(row[6]).split(" / ")[0]) <= float(str(row[6]).split(" / ")[1]) for row in table.rows)
    assert table.marked == {0}
    assert "seq_len × 256, scores × 65,536: they grow with the square." in text(found)


def test_several_numbers_of_several_constants_are_all_combined() -> None:
    found = asked(DEMO, "seq_len=4,8", "batch_size=1,2")
    (table,) = tables(found)
    assert [row[:3] for row in table.rows] == [
        ("4", "1", "[1, 4, 4]"), ("4", "2", "[2, 4, 4]"), ("8", "1", "[1, 8, 8]"), ("8", "2", "[2, 8, 8]"),
    ]  # fmt: skip
    assert table.marked == {1}


def test_numbers_with_which_the_program_does_not_run_to_its_end() -> None:
    found = asked(DEMO, "seq_len=4,100000")
    (table,) = tables(found)
    assert table.rows[1] == ("100000", "—", "—", "—", "—", "—", "—")
    assert "100000: the program asked for more memory than the 4 GB" in text(found)
    found = asked(CORPUS / "a_multihead_view_zh.py", "num_heads=3,5")
    assert "5: the program stops on line 11: AssertionError: d_model 必须能被 num_heads 整除" in text(found)


def test_a_table_without_an_attention_has_times_only(tmp_path: Path) -> None:
    found = asked(program(tmp_path, "import torch\nn = 2\nx = torch.ones(n)\n"), "n=2,3")
    (table,) = tables(found)
    assert [len(row) for row in table.rows] == [2, 2]
    assert "no attention" in text(found)


def test_a_table_about_a_fused_attention_says_what_it_cannot_know() -> None:
    found = asked(CORPUS / "a_sdpa_causal.py", "FlashAttention[1]=2,3")
    (table,) = tables(found)
    assert [row[1] for row in table.rows] == ["—", "—"]
    assert all(str(row[2]).replace(",", "").isdigit() for row in table.rows)
    assert "A fused operation never holds the scores" in text(found)
