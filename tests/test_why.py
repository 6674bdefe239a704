"""What `why` answers, on the demo and on other styles: each number worked out once more here, in float64."""

from __future__ import annotations

import contextlib
import copy
import io
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from laboratory import called
from torch import Tensor
from why_asked import Unanswered, asked

from attnlab.answers.data import Answer, Literally, Shown, Table, Text, Title
from attnlab.answers.why import TOPICS, NoAnswer, nearest
from attnlab.answers.why.rewriting import Rewrite, rewritten, wrapped
from attnlab.experiments.changes import Constant, SetConstant
from attnlab.explanation.data import Message
from attnlab.run import Program, Run, Span
from attnlab.views.answer import lines
from attnlab.views.text import cells
from attnlab.words import Words

ROOT = Path(__file__).parents[1]
DEMO = ROOT / "self_attention_demo.py"
CORPUS = ROOT / "tests" / "corpus"
VIEW = CORPUS / "a_multihead_view_zh.py"
EINSUM = CORPUS / "a_einsum_heads.py"
CROSS = CORPUS / "a_cross_lengths.py"
SDPA = CORPUS / "a_sdpa_causal.py"
FLAT = CORPUS / "a_at_flat_zh.py"
# What these programs print to four decimals is float32; the numbers here are float64.
CLOSE = {"rel": 1e-4, "abs": 2e-5}


@cache
def answers(file: Path) -> dict[str, Answer]:
    """All topics, asked about the first attention of a program."""
    found = called(asked, str(file), [(topic, 0) for topic in TOPICS])
    assert all(isinstance(item, Answer) for item in found), found
    return dict(zip(TOPICS, found, strict=True))


def numbers(file: Path, topic: str) -> dict[str, Any]:
    return dict(answers(file)[topic].numbers)


@cache
def variables(file: Path, *changes: tuple[str, str]) -> dict[str, Any]:
    """The variables of a program at its end, run with some of its text replaced."""
    text = file.read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    found: dict[str, Any] = {"__name__": "__main__"}
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        exec(compile(text, str(file), "exec"), found)
    return found


@dataclass(frozen=True)
class Parts:
    """q, k and v of an attention in float64, [B, H, L, d]; `made` projects with q's, k's and v's projection in turn."""

    q: Tensor
    k: Tensor
    v: Tensor
    causal: bool = False

    @property
    def scores(self) -> Tensor:
        return self.q @ self.k.mT

    def masked(self, scores: Tensor) -> Tensor:
        later = torch.ones(scores.shape[-2:]).triu(1).bool()
        return scores.masked_fill(later, -math.inf) if self.causal else scores

    @property
    def weights(self) -> Tensor:
        return torch.softmax(self.masked(self.scores / math.sqrt(self.q.shape[-1])), -1)

    @property
    def output(self) -> Tensor:
        return self.weights @ self.v


# A program, with changes; then which projections make q, k and v.
Make = Callable[[dict[str, Any], tuple[str, str, str]], Parts]


def by_layers(module: str, x: str, q: str, k: str, v: str, heads: int) -> Make:
    def make(found: dict[str, Any], roles: tuple[str, str, str]) -> Parts:
        layers = copy.deepcopy(found[module]).double()
        names = {"q": q, "k": k, "v": v}
        made = [getattr(layers, names[role])(found[x].double()).detach() for role in roles]
        return Parts(*(item.unflatten(-1, (heads, -1)).transpose(1, 2) for item in made))

    return make


def by_matrices(found: dict[str, Any], roles: tuple[str, str, str]) -> Parts:
    names = {"q": "Wq", "k": "Wk", "v": "Wv"}
    return Parts(*((found["X"].double() @ found[names[role]].double())[:, None] for role in roles))


def by_cross(found: dict[str, Any], _: tuple[str, str, str]) -> Parts:
    layers = copy.deepcopy(found["ca"]).double()
    k, v = layers.to_kv(found["context"].double()).detach().chunk(2, -1)
    return Parts(layers.to_q(found["x"].double()).detach()[:, None], k[:, None], v[:, None])


def by_sdpa(found: dict[str, Any], _: tuple[str, str, str]) -> Parts:
    layers = copy.deepcopy(found["blk"]).double()
    q, k, v = (layers.split(item) for item in layers.qkv(found["h"].double()).detach().chunk(3, -1))
    return Parts(q, k, v, causal=True)


MAKES: dict[Path, Make] = {
    DEMO: by_layers("model", "x", "W_q", "W_k", "W_v", 1),
    VIEW: by_layers("mha", "x", "W_q", "W_k", "W_v", 3),
    EINSUM: by_layers("mha", "x", "q_proj", "k_proj", "v_proj", 3),
    FLAT: by_matrices,
    CROSS: by_cross,
    SDPA: by_sdpa,
}
# A name for what is passed without one.
NAMED = {EINSUM: (("out = mha(torch.randn(2, 5, 14))", "x = torch.randn(2, 5, 14)\n    out = mha(x)"),)}
STYLES = pytest.mark.parametrize("file", MAKES, ids=lambda file: file.stem)


def parts(file: Path, *changes: tuple[str, str], roles: tuple[str, str, str] = ("q", "k", "v")) -> Parts:
    return MAKES[file](variables(file, *NAMED.get(file, ()), *changes), roles)


def said(answer: Answer) -> set[str]:
    """The ids of all messages of an answer, those inside of others too."""
    found: set[str] = set()

    def collect(item: object) -> None:
        if isinstance(item, Message):
            found.add(item.id)
            for _, value in item.params:
                collect(value)
        elif isinstance(item, (tuple, list)):
            for part in item:
                collect(part)

    for block in answer.blocks:
        match block:
            case Title() | Text():
                collect(block.says)
            case Table():
                collect((block.columns, block.rows))
            case _:
                pass
    return found


def codes(answer: Answer) -> list[tuple[str, bool]]:
    return [(block.code.text, block.changed) for block in answer.blocks if isinstance(block, Shown)]


# qkv


@pytest.mark.parametrize("file", [DEMO, VIEW, EINSUM, FLAT], ids=lambda file: file.stem)
def test_qkv_shares_the_projection_of_the_queries(file: Path) -> None:
    told = numbers(file, "qkv")
    shared = {"own": ("q", "k", "v"), "k": ("q", "q", "v"), "v": ("q", "k", "q"), "both": ("q", "q", "q")}
    if file == FLAT:  # its values are wider than its queries
        shared = {"own": ("q", "k", "v"), "k": ("q", "q", "v")}
    own = parts(file)
    for name, roles in shared.items():
        other = parts(file, roles=roles)
        scores, weights = other.scores[0, 0], other.weights[0, 0]
        assert told[name]["asymmetry"] == pytest.approx(float((scores - scores.T).abs().max()), **CLOSE)
        assert told[name]["itself"] == pytest.approx(float(weights.diagonal().mean()), **CLOSE)
        assert told[name]["weights"] == pytest.approx(float((weights - own.weights[0, 0]).abs().max()), **CLOSE)
        moved = float((other.output - own.output)[0, 0].abs().max())
        assert told[name]["output"] == pytest.approx(moved, **CLOSE)
    assert told["own"]["asymmetry"] > 0.1
    assert told["k"]["asymmetry"] < 1e-5
    assert "why.qkv.symmetric" in said(answers(file)["qkv"])


def test_qkv_shows_the_lines_that_it_changed() -> None:
    assert codes(answers(DEMO)["qkv"]) == [
        ("Q = self.W_q(x)", False),
        ("K = self.W_k(x)", False),
        ("V = self.W_v(x)", False),
        ("K = self.W_q(x)", True),
        ("V = self.W_q(x)", True),
    ]


def test_qkv_with_fewer_heads_for_keys_shares_what_enters_the_product() -> None:
    (answer,) = called(asked, str(CORPUS / "a_llama.py"), [("qkv", 0)])
    assert answer.numbers["own"]["asymmetry"] > 0.1
    assert answer.numbers["k"]["asymmetry"] < 1e-5
    assert answer.numbers["v"]["weights"] == 0
    assert [code for code, changed in codes(answer) if changed] == [
        "scores = torch.matmul(xq, xq.transpose(2, 3)) / math.sqrt(self.head_dim)",
        "output = torch.matmul(scores, xq)",
    ]


def test_qkv_of_cross_attention_says_why_nothing_is_symmetric() -> None:
    answer = answers(CROSS)["qkv"]
    assert "why.qkv.cross" in said(answer)
    assert "why.qkv.symmetric" not in said(answer)
    assert answer.numbers["k"] == {"asymmetry": None, "itself": None, "weights": None, "output": None}
    assert any(isinstance(block, Literally) and block.text.startswith("RuntimeError: ") for block in answer.blocks)


# transpose


def failure(q: Tensor, k: Tensor) -> str:
    with pytest.raises(RuntimeError) as caught:
        torch.matmul(q, k)
    return f"RuntimeError: {caught.value}"


@pytest.mark.parametrize(("file", "q", "k"), [(DEMO, "Q", "K"), (VIEW, "Q", "K"), (CROSS, "q", "k")])
def test_transpose_tells_what_pytorch_says_to_other_ways(file: Path, q: str, k: str) -> None:
    told, own = numbers(file, "transpose"), parts(file)
    keep = slice(None) if file == VIEW else 0  # without the axis of heads where there is none
    queries, keys = (item.float()[:, keep] for item in (own.q, own.k))
    right = next(text for text in told if text.startswith(f"{k}.transpose(-"))
    assert told[right] == {"shape": tuple(torch.matmul(queries, keys.mT).shape)}
    assert told[k] == {"error": failure(queries, keys)}
    assert told[f"{k}.transpose(0, 1)"] == {"error": failure(queries, keys.transpose(0, 1))}
    if keys.dim() == 4:
        assert told[f"{k}.transpose(1, 2)"] == {"error": failure(queries, keys.transpose(1, 2))}


def reach(rank: int, turn: Callable[[Tensor], Tensor]) -> dict[str, tuple[int, ...]]:
    """Which columns of the scores of sample 0 (head 1) move with key 1, with sample 1, with head 0; all sizes are 4."""
    q, k = torch.randn(2, *[4] * rank, dtype=torch.float64)
    block = (0, 1) if rank == 4 else (0,)
    nudges: dict[str, tuple[int | slice, ...]] = {"key": (*block, 1), "sample": (1,)}
    if rank == 4:
        nudges["head"] = (0, 0)
    found = {}
    for name, place in nudges.items():
        other = k.clone()
        other[place] += 1
        moved = ((q @ turn(k))[block] - (q @ turn(other))[block]).abs() > 1e-9
        found[name] = tuple(torch.nonzero(moved.any(0)).flatten().tolist())
    return found


@pytest.mark.parametrize(
    ("file", "name", "size"), [(DEMO, "K", 8), (VIEW, "K", 4), (SDPA, "k", 6)], ids=["demo", "view", "sdpa"]
)
def test_transpose_shows_what_runs_by_chance_and_means_something_else(file: Path, name: str, size: int) -> None:
    told = numbers(file, "transpose")
    rank = 3 if file == DEMO else 4
    ways: dict[str, Callable[[Tensor], Tensor]] = {
        f"{name}.transpose(-2, -1)": lambda k: k.mT,
        f"{name}.transpose(0, 1)": lambda k: k.transpose(0, 1),
        name: lambda k: k,
    }
    if rank == 4:
        ways[f"{name}.transpose(1, 2)"] = lambda k: k.transpose(1, 2)
    for text, turn in ways.items():
        found = dict(told[f"equal {text}"])
        assert found.pop("shape") == (size,) * rank
        expected = reach(rank, turn)
        # All columns are as many as there are keys.
        assert {at: columns == tuple(range(size)) for at, columns in found.items()} == {
            at: columns == (0, 1, 2, 3) for at, columns in expected.items()
        }
        assert {at: columns for at, columns in found.items() if len(columns) < 2} == {
            at: columns for at, columns in expected.items() if len(columns) < 2
        }
    assert told[f"equal {name}.transpose(-2, -1)"]["key"] == (1,)


def test_transpose_of_an_einsum_exchanges_letters() -> None:
    answer = answers(EINSUM)["transpose"]
    assert answer.numbers['"bqhd,bkhd->bhqk"'] == {"shape": (2, 3, 5, 5)}
    assert "RuntimeError: einsum()" in answer.numbers['"bqhd,bdhk->bhqk"']["error"]
    assert answer.numbers['equal "bqhd,bkhd->bhqk"'] == {"shape": (4, 4, 4, 4), "key": (1,), "sample": (), "head": ()}
    assert answer.numbers['equal "bqhd,bdhk->bhqk"']["key"] == (0, 1, 2, 3)
    assert answer.numbers['equal "bqhd,kbhd->bhqk"']["sample"] == (
        1,
    )  # token 0 of sample 1 has become key 1 of sample 0
    assert "why.transpose.letters" in said(answer)


def test_transpose_in_a_program_whose_sizes_are_equal_already(tmp_path: Path) -> None:
    file = tmp_path / "equal.py"
    file.write_text(
        "import torch\n"
        "q, k, v = torch.randn(3, 4, 4, 4)\n"
        "def attend(q, k, v):\n"
        "    return torch.softmax(q @ k.transpose(1, 2) / 2, dim=2) @ v\n"
        "attend(q, k, v)\n"
    )
    (answer,) = called(asked, str(file), [("transpose", 0)])
    assert answer.numbers["set"] == {}
    ways: dict[str, Callable[[Tensor], Tensor]] = {
        "k.transpose(1, 2)": lambda k: k.mT,
        "k.transpose(0, 1)": lambda k: k.transpose(0, 1),
        "k": lambda k: k,
    }
    for text, turn in ways.items():
        assert answer.numbers[text] == {"shape": (4, 4, 4)}
        assert answer.numbers[f"equal {text}"] == {"shape": (4, 4, 4)} | reach(3, turn)
    assert "why.transpose.equal" in said(answer)


# scores


@STYLES
def test_scores_by_hand(file: Path) -> None:
    told, own = numbers(file, "scores"), parts(file)
    row, column = 1, 2
    assert told["recorded"] == pytest.approx(float(own.scores[0, 0, row, column]), **CLOSE)
    assert told["sum"] == pytest.approx(told["recorded"], **CLOSE)
    assert told["q"] == pytest.approx(own.q[0, 0, row].tolist(), **CLOSE)
    assert told["k"] == pytest.approx(own.k[0, 0, column].tolist(), **CLOSE)


def test_what_the_record_keeps_no_corner_of_is_read_in_a_further_run(tmp_path: Path) -> None:
    """40 tokens of 64 features: the record keeps 16 × 16."""
    file = tmp_path / "wide.py"
    file.write_text(
        "import torch\n"
        "torch.manual_seed(5)\n"
        "q, k, v = torch.randn(3, 2, 40, 64)\n"
        "def attend(q, k, v):\n"
        "    return torch.softmax(q @ k.mT / 8, -1) @ v\n"
        "attend(q, k, v)\n"
    )
    scores, output = called(asked, str(file), [("scores", 0), ("output", 0)])
    found = variables(file)
    q, k, v = (found[name].double() for name in "qkv")
    assert scores.numbers["q"] == pytest.approx(q[0, 1].tolist(), **CLOSE)
    assert scores.numbers["k"] == pytest.approx(k[0, 2].tolist(), **CLOSE)
    assert scores.numbers["sum"] == pytest.approx(float(q[0, 1] @ k[0, 2]), **CLOSE)
    weights = torch.softmax(q @ k.mT / 8, -1)[0]
    assert output.numbers["weights"] == pytest.approx(weights[1].tolist(), **CLOSE)
    assert output.numbers["recorded"] == pytest.approx((weights @ v[0])[1, :16].tolist(), **CLOSE)
    assert output.numbers["sum"] == pytest.approx(output.numbers["recorded"], **CLOSE)
    assert output.numbers["column"] == pytest.approx(weights[:16, 2].tolist(), **CLOSE)


@pytest.mark.parametrize(
    ("file", "cell"), [(DEMO, "scores[0, 1, 2]"), (EINSUM, "logits[0, 0, 1, 2]"), (FLAT, "scores[0, 1, 2]")]
)
def test_scores_names_the_cell_as_the_code_does(file: Path, cell: str) -> None:
    assert numbers(file, "scores")["cell"] == cell


def test_scores_follow_the_lengths_and_not_the_features() -> None:
    assert numbers(DEMO, "scores")["shapes"] == {
        "seq_len = 1": (2, 1, 1),
        "seq_len = 6": (2, 6, 6),
        "seq_len = 16": (2, 16, 16),
        "seq_len = 64": (2, 64, 64),
        "d_model = 16": (2, 4, 4),
    }
    assert numbers(VIEW, "scores")["shapes"]["randn[1] = 7"] == (2, 3, 7, 7)
    cross = numbers(CROSS, "scores")["shapes"]
    assert cross["randn[1]@27 = 16"] == (2, 16, 8)
    assert cross["randn[1]@28 = 16"] == (2, 5, 16)
    assert cross["inner = 12"] == (2, 5, 8)
    kinds = {"why.scores.moves.query", "why.scores.moves.key", "why.scores.moves.none"}
    assert kinds <= said(answers(CROSS)["scores"])


# scale


def gradient(p: Tensor) -> float:
    """The norm of the Jacobian of the softmax that gave p, by automatic differentiation."""
    jacobian = torch.autograd.functional.jacobian(lambda row: torch.softmax(row, -1), p.log())
    return float(torch.linalg.norm(jacobian))


def measured(own: Parts, scores: Tensor) -> dict[str, float]:
    weights = torch.softmax(own.masked(scores), -1)
    rows = weights.flatten(0, -2)
    return {
        "std": float(scores.std(correction=0)),
        "entropy": float(torch.special.entr(weights).sum(-1).mean()),
        "largest": float(weights.amax(-1).mean()),
        "gradient": sum(gradient(row[row > 0]) for row in rows) / len(rows),
    }


@pytest.mark.parametrize(
    ("file", "size", "changes"),
    [
        (DEMO, 8, ()),
        (DEMO, 64, (("d_model = 8", "d_model = 64"),)),
        (DEMO, 512, (("d_model = 8", "d_model = 512"),)),
        (VIEW, 4, ()),
        (VIEW, 32, (("d_model=12", "d_model=96"), ("randn(2, 5, 12)", "randn(2, 5, 96)"))),
        (EINSUM, 128, (("d_head=4", "d_head=128"),)),
        (CROSS, 256, (("CrossAttention(10, 14, 6)", "CrossAttention(10, 14, 256)"),)),
        (SDPA, 6, ()),
    ],
    ids=lambda item: item.stem if isinstance(item, Path) else str(item) if isinstance(item, int) else "",
)
def test_scale_with_the_division_and_without(file: Path, size: int, changes: tuple[tuple[str, str], ...]) -> None:
    told = numbers(file, "scale")[str(size)]
    own = parts(file, *changes)
    assert own.q.shape[-1] == size
    for name, scores in (("plain", own.scores), ("scaled", own.scores / math.sqrt(size))):
        assert told[name] == pytest.approx(measured(own, scores), rel=1e-3, abs=1e-5)


def test_scale_goes_from_8_to_512() -> None:
    assert list(numbers(DEMO, "scale")) == ["8", "16", "32", "64", "128", "256", "512"]
    assert {"why.scale.grows.root", "why.scale.narrow", "why.scale.own.root"} <= said(answers(DEMO)["scale"])


# softmax


@STYLES
def test_softmax_over_each_axis(file: Path) -> None:
    told, own = numbers(file, "softmax"), parts(file)
    scores = own.masked(own.scores / math.sqrt(own.q.shape[-1]))
    axes = {"key": -1, "query": -2, "sample": 0}
    assert [item["over"] for item in told.values()] == list(axes)
    for item in told.values():
        weights = torch.softmax(scores, axes[item["over"]])
        for role, axis in axes.items():
            sums = weights.sum(axis)
            sums = sums[sums.isfinite()]
            assert item["sums"][role] == pytest.approx((float(sums.min()), float(sums.max())), **CLOSE)
        moved = scores.clone()
        moved[1] += 1
        change = (torch.softmax(moved, axes[item["over"]]) - weights)[0, 0]
        expected = None if item["over"] == "query" else float(change.nan_to_num(0.0).abs().max())
        assert item["leak"] == (None if expected is None else pytest.approx(expected, **CLOSE))


def test_softmax_is_asked_by_the_users_own_dim() -> None:
    assert list(numbers(DEMO, "softmax")) == ["-1", "-2", "0"]
    assert list(numbers(FLAT, "softmax")) == ["2", "-2", "0"]
    (key_major,) = called(asked, str(CORPUS / "a_key_major.py"), [("softmax", 0)])
    assert list(key_major.numbers) == ["1", "-1", "0"]


@pytest.mark.parametrize(
    ("name", "dim"),
    [("a_multihead_permute.py", "-1"), ("a_einops_heads.py", "-1"), ("a_softmax_by_hand_zh.py", "-1")],
    ids=["by place", "a module", "by hand"],
)
def test_softmax_in_the_forms_in_which_people_write_it(name: str, dim: str) -> None:
    (answer,) = called(asked, str(CORPUS / name), [("softmax", 0)])
    told = answer.numbers
    assert told[dim]["over"] == "key"
    for item in told.values():
        assert item["sums"][item["over"]] == pytest.approx((1.0, 1.0), **CLOSE)
    assert told["-2"]["sums"]["key"] != pytest.approx((1.0, 1.0), **CLOSE)


# output


@STYLES
def test_output_by_hand(file: Path) -> None:
    told, own = numbers(file, "output"), parts(file)
    row = own.output[0, 0, 1]
    assert told["recorded"] == pytest.approx(row.tolist(), **CLOSE)
    assert told["sum"] == pytest.approx(row.tolist(), **CLOSE)
    assert told["weights"] == pytest.approx(own.weights[0, 0, 1].tolist(), **CLOSE)
    values = own.v[0, 0].T.tolist()
    assert len(told["values"]) == len(values)
    for one, other in zip(told["values"], values, strict=True):
        assert one == pytest.approx(other, **CLOSE)


@STYLES
def test_output_moves_by_the_weight_of_the_value_that_was_changed(file: Path) -> None:
    told, own = numbers(file, "output"), parts(file)
    assert told["column"] == pytest.approx(own.weights[0, 0, :, told["nudged"]].tolist(), **CLOSE)
    other = own.v.clone()
    other[..., told["nudged"], :] += 1
    moved = (own.weights @ other - own.output)[0, 0].tolist()
    for one, row in zip(told["moved"], moved, strict=True):
        assert one == pytest.approx(row, **CLOSE)


def test_output_of_a_later_layer_moves_by_its_own_weights() -> None:
    """The lines of a later layer are those of the earlier ones, and rewriting them adds steps before it."""
    (answer,) = called(asked, str(CORPUS / "a_seq2seq.py"), [("output", 2)])
    for row, weight in zip(answer.numbers["moved"], answer.numbers["column"], strict=True):
        assert row == pytest.approx([weight] * len(row), **CLOSE)
    assert max(answer.numbers["column"]) > 0.1


# matmul


def test_matmul_lists_every_product_of_the_demo() -> None:
    told = numbers(DEMO, "matmul")
    text = DEMO.read_text(encoding="utf-8").splitlines()
    for item in told["products"]:
        assert item["expression"] in text[item["line"] - 1]
        left, right = (torch.empty(item[side], device="meta") for side in ("left", "right"))
        made = left @ (right.mT if "self.W_" in item["expression"] else right)
        assert made.shape == item["result"]
        assert item["cancels"] == (item["left"][-1],)
    assert [item["cancels"] for item in told["products"]] == [(8,), (8,), (8,), (8,), (4,)]
    assert told["checked"] == {
        "batch_size": {"seen": 5, "moved": 0, "met": 5},
        "seq_len": {"seen": 5, "moved": 1, "met": 5},
        "d_model": {"seen": 5, "moved": 4, "met": 5},
    }


@pytest.mark.parametrize(("file", "count"), [(VIEW, 6), (EINSUM, 6), (CROSS, 5), (FLAT, 5), (SDPA, 2)])
def test_matmul_lists_every_product_of_other_styles(file: Path, count: int) -> None:
    told = numbers(file, "matmul")
    assert len(told["products"]) == count
    for item in told["products"]:
        (gone,) = item["cancels"]
        assert gone in item["left"]
        assert gone in item["right"]
        assert math.prod(item["result"]) * gone == math.prod((*item["left"], *item["right"])) // _shared(item)
    assert all(found["met"] == found["seen"] > 0 for found in told["checked"].values())


def _shared(item: dict[str, Any]) -> int:
    """The sizes that stand on both sides: what cancels, samples, heads."""
    rest = [*item["left"], *item["right"]]
    for size in item["result"]:
        rest.remove(size)
    return math.prod(rest) // item["cancels"][0]


def test_matmul_needs_no_attention() -> None:
    (answer,) = called(asked, str(CORPUS / "a_no_attention_clip.py"), [("matmul", 0)])
    assert len(answer.numbers["products"]) > 1


# memory


@pytest.mark.parametrize("file", [DEMO, VIEW, CROSS, SDPA], ids=lambda file: file.stem)
def test_memory_is_what_a_tensor_of_that_shape_takes(file: Path) -> None:
    told = numbers(file, "memory")
    copies = told.pop("copies")
    own = parts(file)
    # Scores, scaled, weights; and masked where there is a mask.
    assert copies == (4 if own.causal else 3)
    first = next(iter(told.values()))
    assert math.prod(first["shape"]) == own.scores.numel()
    for length, point in told.items():
        shape = (*own.scores.shape[:-2], int(length), int(length))
        if point is first:
            shape = own.scores.shape
        assert math.prod(point["shape"]) == math.prod(shape)
        assert point["bytes"] == torch.empty(point["shape"], device="meta").nbytes
        assert point["measured"] == (point["seconds"] is not None)
    measured = [length for length, point in told.items() if point["measured"]]
    assert measured[1:4] == ["64", "256", "1024"]
    assert not told["131072"]["measured"]


def test_memory_of_sdpa_says_that_the_code_has_no_such_tensor() -> None:
    assert "why.memory.fused" in said(answers(SDPA)["memory"])
    assert "why.memory.fused" not in said(answers(DEMO)["memory"])


# what cannot be done is said


def test_a_fused_call_that_cannot_be_written_out_is_not_made_up_for() -> None:
    file = CORPUS / "a_mha_batch_first.py"
    for topic in ("qkv", "transpose", "scale", "softmax", "output"):
        answer = answers(file)[topic]
        assert "why.hidden" in said(answer)
        assert answer.numbers == {}
    assert numbers(file, "scores")["shapes"]["randn[1]@9 = 7"] == (2, 3, 7, 7)
    assert numbers(file, "memory")["64"]["shape"] == (2, 3, 64, 64)


def test_additive_attention_has_no_product_to_turn_or_to_scale() -> None:
    (transpose, scale) = called(asked, str(CORPUS / "a_bahdanau_zh.py"), [("transpose", 0), ("scale", 0)])
    assert "why.transpose.additive" in said(transpose)
    assert "why.scale.additive" in said(scale)
    assert transpose.numbers == scale.numbers == {}


def test_sdpa_is_written_out_and_gives_the_same() -> None:
    for topic in ("transpose", "scores", "scale", "softmax", "output", "memory"):
        answer = answers(SDPA)[topic]
        assert "why.opened" in said(answer)
        changed = [code for code, was_changed in codes(answer) if was_changed]
        assert "softmax(dim=-1)" in changed[0]


# lines, and names


def line(file: Path, text: str) -> int:
    (found,) = [at for at, row in enumerate(file.read_text(encoding="utf-8").splitlines(), 1) if text in row]
    return found


def test_a_line_is_answered_by_the_topics_of_what_stands_on_it() -> None:
    texts = {
        "self.W_q(x)": ["qkv"],
        "self.W_k = nn.Linear": ["qkv"],
        "torch.matmul(Q,": ["transpose", "scores", "matmul"],
        "/ math.sqrt": ["scale"],
        "F.softmax": ["softmax"],
        "torch.matmul(attention_weights": ["output"],
    }
    found = called(asked, str(DEMO), [line(DEMO, text) for text in texts])
    for (text, topics), answer in zip(texts.items(), found, strict=True):
        assert list(answer.numbers) == topics, text
        assert answer.question == f"self_attention_demo.py:{line(DEMO, text)}"
    (products,) = found[2].numbers["matmul"]["products"]
    assert products["expression"] == "torch.matmul(Q, K.transpose(-2, -1))"


@pytest.mark.parametrize(
    ("text", "message", "other"),
    [
        ('print("Q shape:"', "why.line.none", "V = self.W_v(x)"),
        ("x = torch.randn", "why.line.other", "output = torch.matmul"),
    ],
)
def test_a_line_that_nothing_is_asked_about_names_the_nearest_that_are(text: str, message: str, other: str) -> None:
    (answer,) = called(asked, str(DEMO), [line(DEMO, text)])
    (block,) = answer.blocks
    assert isinstance(block, Text)
    assert [item.id for item in block.says] == [message]
    near = dict(block.says[0].params)["near"]
    assert f"{line(DEMO, other)} (" in near


@pytest.mark.parametrize(
    ("name", "topic"),
    [
        ("K.T", "transpose"),
        ("kᵀ", "transpose"),
        ("转置", "transpose"),
        ("为什么要转置 K？", "transpose"),
        ("sqrt", "scale"),
        ("√d_k", "scale"),
        ("缩放", "scale"),
        ("dim", "softmax"),
        ("dim = -1", "softmax"),
        ("qk", "scores"),
        ("QKᵀ", "scores"),
        ("分数", "scores"),
        ("输出", "output"),
        ("内存", "memory"),
        ("@", "matmul"),
        ("Q K V", "qkv"),
        ("SCALE", "scale"),
    ],
)
def test_a_topic_goes_by_other_names_too(name: str, topic: str) -> None:
    assert nearest(name) == topic


@pytest.mark.parametrize("name", TOPICS)
def test_a_topic_goes_by_its_name(name: str) -> None:
    assert nearest(name) == name


@pytest.mark.parametrize(
    ("name", "message", "near"), [("trnspose", "why.unknown.near", "transpose"), ("banana", "why.unknown.any", None)]
)
def test_an_unknown_topic_gets_the_list_and_the_nearest(name: str, message: str, near: str | None) -> None:
    with pytest.raises(NoAnswer) as caught:
        nearest(name)
    assert caught.value.id == message
    assert caught.value.params.get("near") == near
    assert caught.value.params["topics"] == ", ".join(TOPICS)
    assert name in Words("en").say(caught.value.id, **caught.value.params)


def test_what_has_no_attention_has_no_answer() -> None:
    file = str(CORPUS / "a_no_attention_mlp.py")
    assert called(asked, file, [("scale", 0)]) == [Unanswered("why.attention.none", {"topic": "scale"})]
    assert called(asked, str(DEMO), [("scale", 1)]) == [Unanswered("why.attention.index", {"index": 1, "last": 0})]


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("topic", TOPICS)
@STYLES
def test_every_answer_is_told_in_80_columns(file: Path, topic: str, language: str) -> None:
    told = lines(answers(file)[topic], Words(language), 80)
    assert max(map(cells, told)) <= 80
    assert len(told) > 5


# rewriting


def run_of(text: str) -> Run:
    return Run(Program("script", "a.py", ()), "", (), (), (), (), {"a.py": text}, None, 0, 0.0, ())


def span(text: str, part: str) -> Span:
    """Where a part stands that is found once."""
    before = text[: text.index(part)]
    after = before + part
    ends = [(item.count("\n") + 1, len(item) - item.rfind("\n") - 1) for item in (before, after)]
    return Span("a.py", *ends[0], *ends[1])


def test_what_is_put_around_an_expression_goes_with_rewriting_inside_of_it() -> None:
    text = "分数 = torch.matmul(Q, K.transpose(-2, -1))\n"
    inner = Rewrite(span(text, "K.transpose(-2, -1)"), "K")
    outer = wrapped(span(text, "torch.matmul(Q, K.transpose(-2, -1))"), "f(", ")")
    first = wrapped(span(text, "Q"), "g(", ")")
    assert rewritten(run_of(text), [inner, *outer, *first]) == {"a.py": "分数 = f(torch.matmul(g(Q), K))\n"}


def test_of_two_insertions_at_one_place_the_first_stands_first() -> None:
    text = "x = a @ b\n"
    around, left = span(text, "a @ b"), span(text, "a")
    edits = [*wrapped(around, "whole(", ")"), *wrapped(left, "part(", ")")]
    left_first = rewritten(run_of("x = a @ b\n"), edits)
    assert left_first == {"a.py": "x = whole(part(a) @ b)\n"}


def test_of_two_edits_of_one_place_the_first_counts() -> None:
    text = "y = f(3) / 4\n"
    constant = Constant("f[0]", 3, "argument", "a.py", 1, 6, 7)
    edits = [Rewrite(span(text, "f(3) / 4"), "f(3)"), SetConstant(constant, 5)]
    assert rewritten(run_of(text), edits) == {"a.py": "y = f(3)\n"}
    assert rewritten(run_of(text), edits[1:]) == {"a.py": "y = f(5) / 4\n"}


def test_an_expression_over_several_lines_is_found_by_its_ends() -> None:
    text = "z = (\n    词\n    .matmul(k)\n)\n"
    assert rewritten(run_of(text), [Rewrite(span(text, "词\n    .matmul(k)"), "q")]) == {"a.py": "z = (\n    q\n)\n"}
