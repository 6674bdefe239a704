"""`attnlab map` as a person types it: the numbers, what is said first, what is written, and each misuse."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from tiny_models import CONTEXT, HEADS, LAYERS, bert, library, llama
from torch import Tensor

from attnlab import commandline
from attnlab.cli import main
from attnlab.commandline import parse
from attnlab.mapping.asking import asked
from attnlab.mapping.collecting import Collector
from attnlab.mapping.progress import Progress
from attnlab.maps.store import read, sources
from attnlab.maps.streaming import summarise
from attnlab.words import Words

TEXT = "注意 it.\nThe cat sat."
NEAR = 5


class Said(NamedTuple):
    code: int
    out: str
    err: str


Attnlab = Callable[..., Said]


@pytest.fixture
def attnlab(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Attnlab:
    """The command within this process, which spares loading the libraries for each test."""

    def run(*arguments: object, lang: str = "en") -> Said:
        monkeypatch.setattr(sys, "argv", ["attnlab", *map(str, arguments)])
        monkeypatch.setenv("ATTNLAB_LANG", lang)
        monkeypatch.setenv("COLUMNS", "80")
        capfd.readouterr()
        code = main()
        return Said(code, *capfd.readouterr())

    return run


@pytest.fixture
def decoder(tmp_path: Path) -> Path:
    return llama(tmp_path / "tiny")


def exact(folder: Path, text: str = TEXT) -> Tensor:
    """All weights of a model as [layers, H, L, L], in float64, as the library gives them where it computes by hand."""
    transformers = library()
    model = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager", dtype=torch.float64).eval()
    tokens = transformers.AutoTokenizer.from_pretrained(folder)(text, return_tensors="pt")
    with torch.inference_mode():
        return torch.cat(model(**tokens, output_attentions=True).attentions)


@pytest.mark.parametrize("make", [llama, bert])
def test_the_numbers_are_those_of_the_weights_that_the_model_has(
    make: Callable[[Path], Path], tmp_path: Path, attnlab: Attnlab
) -> None:
    folder = make(tmp_path / "tiny")
    weights = exact(folder)
    said = attnlab("map", folder, "--text", TEXT, "--json", "--near", NEAR, "--top", 3, "--head", "0-5")
    assert (said.code, said.err) == (0, "")
    found = json.loads(said.out)
    place = torch.arange(weights.shape[-1])
    recent = (weights * ((place <= place[:, None]) & (place > place[:, None] - NEAR))).sum(-1)
    entropy = -torch.xlogy(weights, weights).sum(-1)
    assert len(found["heads"]) == LAYERS * HEADS
    for head in found["heads"]:
        at = head["layer"], head["head"], slice(1, None)
        means = [float(exact[at].mean()) for exact in (entropy, weights[..., 0], recent)]
        assert [head[name] for name in ("entropy", "start", "recent")] == pytest.approx(means, rel=1e-4)
    assert len(found["queries"]) == LAYERS * HEADS
    for detail in found["queries"]:
        for top in detail["tops"]:
            row = weights[detail["layer"], detail["head"], top["query"]]
            largest = row[row > 0].topk(min(3, int((row > 0).sum()))).values
            assert [weight for _, weight in top["keys"]] == pytest.approx(largest.tolist(), rel=1e-4)
            assert [row[key].item() for key, _ in top["keys"]] == pytest.approx(largest.tolist(), rel=1e-4)


def test_a_window_has_the_exact_weights(decoder: Path, attnlab: Attnlab) -> None:
    weights = exact(decoder)
    asked = "--window", "1.4:3-6,2-11"
    found = json.loads(attnlab("map", decoder, "--text", TEXT, "--json", *asked).out)
    (window,) = found["windows"]
    assert (window["layer"], window["head"], window["rows"], window["keys"]) == (1, 4, [3, 4, 5, 6], [*range(2, 12)])
    torch.testing.assert_close(torch.tensor(window["weights"]).double(), weights[1, 4, 3:7, 2:12], rtol=1e-4, atol=1e-7)
    lines = attnlab("map", decoder, "--text", TEXT, *asked).out.partition("exact weights")[2].splitlines()
    row = next(line for line in lines if line.startswith("  4 "))
    numbers = [float(number) for number in row.split()[2:]]
    assert numbers == pytest.approx(weights[1, 4, 4, 2 : 2 + len(numbers)].tolist(), abs=1e-6)
    assert numbers[3:] == [0] * len(numbers[3:])  # what the mask hides


def test_the_sinks_stand_before_all_other_numbers(decoder: Path, attnlab: Attnlab) -> None:
    lines = attnlab("map", decoder, "--text", TEXT, "--layer", 1, "--head", "0,2").out.splitlines()
    pieces, spans = 23, 12
    assert lines[0] == f"tiny · {pieces} tokens, which read as {spans} · 1 × 2 heads = 2"
    assert "  0 注 [æ ³ ¨]   3 意 [æ Ħ ı]   6 ␣   7 it" in " ".join(lines[3:4])
    sinks = next(i for i, line in enumerate(lines) if "sink" in line)
    numbers = next(i for i, line in enumerate(lines) if line.startswith("layer"))
    assert sinks < numbers
    assert lines[numbers + 1].split()[:2] == ["1", "layers.1.self_attn"]
    assert lines.count("Layer 1, head 2: the largest weights of each query") == 1
    assert all(len(line) <= 80 for line in lines)


def test_it_speaks_chinese(decoder: Path, attnlab: Attnlab) -> None:
    said = attnlab("map", decoder, "--text", TEXT, lang="zh").out
    assert said.startswith("tiny · 23 个词元，读作 12 个字词 · 2 层 × 6 头 = 12 个头\n")
    assert "注意力汇聚点" in said


def test_a_text_comes_from_a_file(decoder: Path, tmp_path: Path, attnlab: Attnlab) -> None:
    (tmp_path / "text.txt").write_bytes(b"\xef\xbb\xbf" + TEXT.encode())
    said = attnlab("map", decoder, "--text-file", tmp_path / "text.txt")
    assert said.out.splitlines()[3] == attnlab("map", decoder, "--text", TEXT).out.splitlines()[3]


@pytest.mark.parametrize("name", ["map", "map.npz", "map.safetensors"])
def test_a_map_is_written(name: str, decoder: Path, tmp_path: Path, attnlab: Attnlab) -> None:
    said = attnlab("map", decoder, "--text", TEXT, "-o", tmp_path / name, "--cells", 16)
    assert (said.code, said.err) == (0, "")
    atlas = read(tmp_path / name)
    assert [layer.name for layer in atlas.layers] == ["layers.0.self_attn", "layers.1.self_attn"]
    assert atlas.text is not None
    assert len(atlas.text.pieces) == 23
    weights, summary = exact(decoder), atlas.layers[1].summary
    torch.testing.assert_close(summary.top_weights[0].double(), weights[1].topk(8).values, rtol=1e-4, atol=1e-7)
    cells = weights[1].unfold(-2, 2, 2).unfold(-2, 2, 2).mean((-2, -1))
    assert summary.side == 2
    torch.testing.assert_close(summary.mean[0, :, :11, :11].double(), cells, rtol=1e-4, atol=1e-7)


def counted(monkeypatch: pytest.MonkeyPatch, stop_at: int | None = None) -> list[float]:
    """The layers that are summarised from now on; an interrupt comes at the one with this number."""
    from attnlab.mapping import model

    done: list[float] = []
    real = model.shared

    def shared(source: Any, **options: Any) -> Any:
        if len(done) == stop_at:
            raise KeyboardInterrupt
        done.append(source.shape)
        return real(source, **options)

    monkeypatch.setattr(model, "shared", shared)
    return done


def test_an_interrupted_map_stays_readable_and_is_carried_on(
    decoder: Path, tmp_path: Path, attnlab: Attnlab, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "map"
    command = "map", decoder, "--text", TEXT, "-o", folder
    with monkeypatch.context() as patch:
        counted(patch, stop_at=1)
        said = attnlab(*command)
    assert (said.code, said.out) == (130, "")
    there = f"attnlab: stopped. What is in {folder} stays readable (layers: 1), and the same command carries on"
    assert said.err == f"{there} from there.\n"
    assert [layer.index for layer in read(folder).layers] == [0]
    done = counted(monkeypatch)
    assert attnlab(*command).code == 0
    assert len(done) == 1  # the other one is there
    assert [layer.index for layer in read(folder).layers] == [0, 1]
    window = "1.4:3-6,2-11"
    again = json.loads(attnlab(*command, "--window", window, "--json").out)
    assert len(done) == 1
    assert again["windows"] == json.loads(attnlab(*command[:-2], "--window", window, "--json").out)["windows"]


def test_an_interrupt_without_a_folder_says_so(
    decoder: Path, attnlab: Attnlab, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted(monkeypatch, stop_at=1)
    said = attnlab("map", decoder, "--text", TEXT, lang="zh")
    assert (said.code, said.out) == (130, "")
    assert said.err.startswith("attnlab：已停下，什么也没有写。")


def test_a_full_disk_leaves_what_was_written(
    decoder: Path, tmp_path: Path, attnlab: Attnlab, monkeypatch: pytest.MonkeyPatch
) -> None:
    from attnlab.maps import store

    real, written = store.save_file, list[object]()

    def full(*arguments: Any, **options: Any) -> None:
        written.append(arguments)
        if len(written) == 2:
            raise OSError(28, "No space left on device")
        real(*arguments, **options)

    monkeypatch.setattr(store, "save_file", full)
    said = attnlab("map", decoder, "--text", TEXT, "-o", tmp_path / "map")
    assert said.code == 2
    assert said.err.startswith(f"attnlab: cannot write '{tmp_path / 'map'}' (No space left on device).")
    assert [layer.index for layer in read(tmp_path / "map").layers] == [0]


@pytest.mark.parametrize(
    ("options", "en", "zh"),
    [
        ([], "a model needs a text", "模型需要一段文本"),
        (["--text", "a", "--text-file", "x"], "two ways to give the text", "请只用一个"),
        (["--text", ""], "the text holds no token", "文本里没有任何词元"),
        (["--text", "a" * (CONTEXT + 1)], "61 tokens, and tiny takes at most 60", "61 个词元，而 tiny 最多接受 60 个"),
        (["--text-file", "nothing.txt"], "cannot read the text file 'nothing.txt'", "读不了文本文件 'nothing.txt'"),
        (["--text-file", "latin.txt"], "not in UTF-8", "不是 UTF-8 编码"),
        (
            ["--text", "a", "--layer", "2"],
            "no layer 2: tiny has the layers 0 to 1",
            "没有第 2 层：tiny 的层编号是 0 到 1",
        ),
        (["--text", "a", "--layer", "x"], "--layer takes numbers counted from 0", "--layer 后面写从 0 数起的编号"),
        (["--text", "a", "--head", "3-1"], "not '3-1'", "而不是 '3-1'"),
        (["--text", "a", "--head", "1,6"], "no head 6 in layer 0: it has the heads 0 to 5", "第 0 层没有第 6 头"),
        (["--text", "a", "--top", "0"], "--top takes a whole number from 1 on", "--top 后面写一个不小于 1 的整数"),
        (["--text", "a", "--window", "1:2"], "--window takes LAYER.HEAD:QUERIES,KEYS", "--window 要写成"),
        (["--text", "a", "--window", "0.0:5-4,1"], "not '0.0:5-4,1'", "而不是 '0.0:5-4,1'"),
        (["--text", "a", "--window", "0.0:0-200,0-200"], "has 40401 weights", "有 40401 个权重"),
        (["--text", "abc", "--window", "0.0:1,3"], "its queries are 0 to 2, its keys 0 to 2", "查询是 0 到 2"),
        (["--text", "a", "--window", "7.0:0,0"], "no layer 7", "没有第 7 层"),
        (["--text", "a", "--window", "0.9:0,0"], "no head 9", "没有第 9 头"),
        (["--text", "a", "--layer", "1", "--window", "0.0:0,0"], "which --layer leaves out", "--layer 没有选这一层"),
        (["--text", "a", "-o", "mine"], "mine is there and holds no map of attnlab's", "不是 attnlab 的注意力图"),
        (["--text", "a", "-o", "mine.npz"], "mine.npz is there and holds no map", "不是 attnlab 的注意力图"),
        (["--text", "a", "-o", "no/map.npz"], "cannot write the file 'no/map.npz'", "写不了文件 'no/map.npz'"),
    ],
)
def test_each_misuse_is_one_sentence(
    options: list[str],
    en: str,
    zh: str,
    decoder: Path,
    tmp_path: Path,
    attnlab: Attnlab,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9")
    (tmp_path / "mine").mkdir()
    for mine in (tmp_path / "mine" / "notes", tmp_path / "mine.npz"):
        mine.write_text("mine")
    for lang, sentence in (("en", en), ("zh", zh)):
        said = attnlab("map", decoder, *options, lang=lang)
        assert (said.code, said.out) == (2, "")
        assert sentence in said.err
        assert said.err.count("\n") == 1
    assert (tmp_path / "mine.npz").read_text() == "mine"


def test_a_model_without_attention_is_told(tmp_path: Path, attnlab: Attnlab) -> None:
    transformers = library()
    folder = bert(tmp_path / "tiny")
    (folder / "model.safetensors").unlink()
    config = transformers.MambaConfig(vocab_size=11, hidden_size=6, num_hidden_layers=1, state_size=3)
    transformers.MambaModel(config).save_pretrained(folder)
    for lang, sentence in (("en", "no attention was seen in it"), ("zh", "没有看到注意力")):
        said = attnlab("map", folder, "--text", TEXT, lang=lang)
        assert (said.code, said.out, said.err.count("\n")) == (2, "", 1)
        assert sentence in said.err


def test_another_map_is_left_as_it_is(decoder: Path, tmp_path: Path, attnlab: Attnlab) -> None:
    command = "map", decoder, "-o", tmp_path / "map", "--text"
    assert attnlab(*command, TEXT).code == 0
    said = attnlab(*command, "another text")
    assert (said.code, said.out) == (2, "")
    assert "holds the map of another text, model or choice" in said.err
    assert len(read(tmp_path / "map").layers) == LAYERS


@pytest.mark.parametrize(
    ("path", "files", "en"),
    [
        ("nothing", [], "there is no model's folder and no program at nothing"),
        ("folder", [], "folder holds no model"),
        ("folder", ["config.json"], "but no weights"),
        ("folder", ["config.json", "pytorch_model.bin"], "a pickle (pytorch_model.bin)"),
        ("folder/model.safetensors", ["model.safetensors"], "is one file of a model; name its folder"),
    ],
)
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_what_is_no_model_is_told(
    path: str, files: list[str], en: str, lang: str, tmp_path: Path, attnlab: Attnlab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    for file in files:
        (tmp_path / "folder" / file).write_text("")
    for options in (["--text", "a"], []):
        said = attnlab("map", path, *options, lang=lang)
        assert (said.code, said.out, said.err.count("\n")) == (2, "", 1)
        assert lang == "zh" or (en if options or path == "nothing" else "a model needs a text") in said.err


def test_the_page_is_written_into_the_folder_and_alone(decoder: Path, tmp_path: Path, attnlab: Attnlab) -> None:
    for name in ("map", "alone.html"):
        assert attnlab("map", decoder, "--text", TEXT, "-o", tmp_path / name).code == 0
    page = (tmp_path / "alone.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert '"layers.1.self_attn"' in page
    assert (tmp_path / "map" / "map.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert attnlab("map", decoder, "--text", TEXT, "-o", tmp_path / "alone.html").code == 0  # over one of ours


def test_a_map_that_is_there_is_told_again(decoder: Path, tmp_path: Path, attnlab: Attnlab) -> None:
    command = "map", decoder, "--text", TEXT, "-o"
    first = attnlab(*command, tmp_path / "map", "--json")
    assert first.out == attnlab("map", tmp_path / "map", "--json").out
    part = json.loads(attnlab("map", tmp_path / "map", "--layer", 1, "--head", 4, "--json").out)
    assert [(detail["layer"], detail["head"]) for detail in part["queries"]] == [(1, 4)]
    for name in ("map.npz", "map.safetensors", "page.html"):
        assert attnlab("map", tmp_path / "map", "-o", tmp_path / name).code == 0
    for name in ("map.npz", "map.safetensors"):
        assert attnlab("map", tmp_path / name, "--json").out == first.out


@pytest.mark.parametrize(
    ("options", "en", "zh"),
    [
        (["--layer", "7"], "no layer 7", "没有第 7 层"),
        (["--head", "9"], "no head 9 in layer 0", "第 0 层没有第 9 头"),
        (["--window", "0.0:1,1"], "holds no q and k", "没有留下 q 和 k"),
        (["--live"], "holds no q and k", "没有留下 q 和 k"),
        (["--text", "a"], "--text is for the folder of a model", "--text 是给模型文件夹用的"),
        (["-o", "folder"], "as one file alone", "只能另存为一个文件"),
    ],
)
def test_each_misuse_of_a_map_is_one_sentence(
    options: list[str], en: str, zh: str, decoder: Path, tmp_path: Path, attnlab: Attnlab
) -> None:
    attnlab("map", decoder, "--text", TEXT, "-o", tmp_path / "map")
    for lang, sentence in (("en", en), ("zh", zh)):
        said = attnlab("map", tmp_path / "map", *options, lang=lang)
        assert said.code == 2
        assert sentence in said.err
        assert said.err.count("\n") == 1


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What was served, in the place of serving it: the scene, and windows of it."""
    from attnlab.web import live

    found: list[Any] = []

    def serve(scene: str, window: Callable[..., Tensor], *_: object) -> int:
        found.append((json.loads(scene), window(1, 4, slice(3, 7), slice(2, 12)).clone()))
        return 0

    monkeypatch.setattr(live, "live", serve)
    return found


@pytest.mark.parametrize("kept", [True, False])
def test_a_page_is_served_with_exact_weights(
    kept: bool, decoder: Path, tmp_path: Path, attnlab: Attnlab, served: list[Any]
) -> None:
    output = ["-o", tmp_path / "map"] if kept else []
    assert attnlab("map", decoder, "--text", TEXT, "--live", "--head", "2,4", *output).code == 0
    if kept:
        assert attnlab("map", tmp_path / "map", "--live").code == 0
        window = json.loads(attnlab("map", tmp_path / "map", "--window", "1.4:3-6,2-11", "--json").out)["windows"][0]
        assert torch.tensor(window["weights"]).equal(served[0][1][0, 0])
    weights = exact(decoder)
    for scene, found in served:
        assert [layer["heads"] for layer in scene["layers"]] == [[2, 4], [2, 4]]
        torch.testing.assert_close(found[0, 0].double(), weights[1, 4, 3:7, 2:12], rtol=1e-4, atol=1e-7)
    assert len(served) == 1 + kept


PROGRAM = """
import os, sys
import torch
import torch.nn.functional as F
from torch import nn

class Block(nn.Module):
    def forward(self, q, k):
        return F.scaled_dot_product_attention(q, k, k, is_causal=True)

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Block(), Block()
    def forward(self, q, k):
        return self.second(self.first(q, k), k)

torch.manual_seed(0)
q, k = torch.randn(2, 3, 7, 5), torch.randn(2, 3, 7, 5)
model = Model()
for _ in range(int(sys.argv[1])):
    out = model(q, k)
torch.save([q, k, out], "tensors.pt")
os.chdir("/")
print("out", tuple(out.shape))
sys.exit(3)
"""


@pytest.fixture
def program(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    def run(*arguments: str, source: str = PROGRAM, lang: str = "en") -> subprocess.CompletedProcess[str]:
        (tmp_path / "program.py").write_text(source, encoding="utf-8")
        environ = {**os.environ, "PYTHONIOENCODING": "utf-8", "ATTNLAB_LANG": lang, "COLUMNS": "80"}
        command = [sys.executable, "-m", "attnlab", "map", *arguments]
        return subprocess.run(
            command, cwd=tmp_path, env=environ, capture_output=True, encoding="utf-8", check=False, timeout=120
        )

    return run


def test_a_program_runs_as_it_does_and_its_attention_is_told_after_it(
    program: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    done = program("program.py", "1", "--json", "--window", "0.2:4-6,1-3", "-o", "map.npz")
    assert (done.returncode, done.stderr) == (3, "")
    printed, _, told = done.stdout.partition("\n")
    assert printed == "out (2, 3, 7, 5)"
    found = json.loads(told)
    assert [layer["name"] for layer in found["layers"]] == ["first", "second"]
    q, k, _ = torch.load(tmp_path / "tensors.pt")
    hidden = torch.ones(7, 7).triu(1).bool()
    weights = (q.double() @ k.double().mT / 5**0.5).masked_fill(hidden, float("-inf")).softmax(-1)
    torch.testing.assert_close(
        torch.tensor(found["windows"][0]["weights"]).double(), weights[0, 2, 4:7, 1:4], rtol=1e-5, atol=1e-7
    )
    starts = [head["start"] for head in found["heads"] if head["layer"] == 0]
    assert starts == pytest.approx(weights[:, :, 1:, 0].mean((0, 2)).tolist(), rel=1e-5)
    assert read(tmp_path / "map.npz").layers[1].name == "second"  # where the command stood, wherever the program went


def test_of_passes_that_repeat_the_first_is_told_and_the_others_are_counted(
    program: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    done = program("program.py", "4", "--layer", "1")
    assert done.returncode == 3
    assert "program.py · 7 queries, 7 keys · 1 × 3 heads = 3" in done.stdout
    assert "Calls of the same attentions that came later: 3." in done.stdout
    assert "Of 2 samples, what is shown query by query is of the first." in done.stdout


def test_a_program_is_served_from_what_it_left(
    program: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    source = PROGRAM.replace("sys.exit(3)", "")
    done = program("program.py", "1", "--live", source=source)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--live of a program needs -o FOLDER" in done.stderr
    # A port that is none ends it where it would serve.
    done = program("program.py", "1", "--live", "--port", "x", "-o", "map", source=source)
    assert done.returncode == 2
    assert done.stdout.startswith("out (2, 3, 7, 5)\n")
    q, k, _ = torch.load(tmp_path / "tensors.pt")
    hidden = torch.ones(7, 7).triu(1).bool()
    weights = (q.double() @ k.double().mT / 5**0.5).masked_fill(hidden, float("-inf")).softmax(-1)
    torch.testing.assert_close(sources(tmp_path / "map")[0].weights().double(), weights, rtol=1e-5, atol=1e-7)


CACHE = """
import torch
import torch.nn.functional as F
from torch import nn

class Cached(nn.Module):
    def __init__(self):
        super().__init__()
        self.qk = nn.Linear(12, 24)
        self.k = None
    def forward(self, x):
        q, k = (part.unflatten(-1, (3, 4)).transpose(1, 2) for part in self.qk(x).chunk(2, -1))
        self.k = k if self.k is None else torch.cat([self.k, k], 2)
        many = q.shape[2] > 1
        return F.scaled_dot_product_attention(q, self.k, self.k, is_causal=many).transpose(1, 2).flatten(2)

torch.manual_seed(0)
model, x = Cached(), torch.randn(1, 11, 12)
with torch.no_grad():
    model(x[:, :4])
    for i in range(4, 11):
        model(x[:, i : i + 1])
    q, k = (part.unflatten(-1, (3, 4)).transpose(1, 2) for part in model.qk(x).chunk(2, -1))
torch.save([q, k], "tensors.pt")
"""


def test_the_steps_of_a_generation_are_one_attention(
    program: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    done = program("program.py", "--json", "--head", "1", "--window", "0.1:2-8,0-10", source=CACHE)
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    q, k = torch.load(tmp_path / "tensors.pt")
    hidden = torch.ones(11, 11).triu(1).bool()
    weights = (q.double() @ k.double().mT / 2).masked_fill(hidden, float("-inf")).softmax(-1)[0, 1]
    (layer,) = found["layers"]
    assert layer["start"] == pytest.approx(float(weights[1:, 0].mean()), rel=1e-5)
    torch.testing.assert_close(
        torch.tensor(found["windows"][0]["weights"]).double(), weights[2:9], rtol=1e-4, atol=1e-7
    )
    assert [top["query"] for top in found["queries"][0]["tops"]] == list(range(11))


@pytest.mark.parametrize(
    ("options", "source", "en", "zh"),
    [
        (["--text", "a"], PROGRAM, "--text is for the folder of a model", "--text 是给模型文件夹用的"),
        (["--layer", "2"], PROGRAM, "no layer 2: program.py has the layers 0 to 1", "没有第 2 层"),
        (["--head", "3"], PROGRAM, "no head 3 in layer 0: it has the heads 0 to 2", "第 0 层没有第 3 头"),
        (["--window", "1.0:6-7,0"], PROGRAM, "its queries are 0 to 6", "查询是 0 到 6"),
        ([], "import torch", "no attention was seen", "没有看到注意力"),
        ([], "print(1)", "no attention was seen", "没有看到注意力"),
    ],
)
def test_each_misuse_of_a_program_is_one_sentence(
    options: list[str],
    source: str,
    en: str,
    zh: str,
    program: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    source = source.replace("sys.exit(3)", "")
    for lang, sentence in (("en", en), ("zh", zh)):
        done = program("program.py", "1", *options, source=source, lang=lang)
        assert done.returncode == (2 if options else 0)
        assert sentence in done.stderr
        assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_each_option_is_in_the_docs(lang: str) -> None:
    page = (Path(__file__).parents[1] / "docs" / lang / "map.md").read_text(encoding="utf-8")
    for option in commandline._VERBS["map"] - {"help", "output"}:
        assert f"`--{option}" in page


def test_an_attention_is_the_same_in_every_pass_whatever_part_of_the_model_runs() -> None:
    """In the order of `choose`: a pass of three, of which `b` computes two; then `b` alone; then `a` alone."""
    collector = Collector(asked(parse(["map", "program.py"])), summarise, Progress(Words("en"), quiet=True))
    for name, index in (("a", 0), ("b", 1), ("b", 2), ("b", 0), ("b:2", 1), ("a", 0)):
        assert collector.wants(name, index)
    assert collector.seen == 3
