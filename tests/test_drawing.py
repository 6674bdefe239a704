"""Pictures: what they show is what was computed, whatever was written in the program."""

import base64
import struct
import subprocess
import sys
import zlib
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

import pytest
import resvg_py
import torch
from torch import Tensor, nn

from attnlab.checks.whole import Whole
from attnlab.commandline import Misused, parse
from attnlab.drawing.colour import scale
from attnlab.drawing.raster import SCALE, missing, png
from attnlab.drawn import Asked, asked, drawing
from attnlab.explanation.overview import NoLayer
from attnlab.recording.api import taped
from attnlab.words import LANGUAGES, Words

DEMO = str(Path(__file__).parents[1] / "self_attention_demo.py")
SVG = "{http://www.w3.org/2000/svg}"
FLOW, WEIGHTS = Asked(False, None, 0, None), Asked(True, None, 0, None)
B, L, D, H = 2, 5, 12, 3


class Heads(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(D, 3 * D), nn.Linear(D, D)
        self.kept = torch.empty(0)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (part.view(*x.shape[:2], H, -1).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        scores = q @ k.transpose(-2, -1) / (D // H) ** 0.5
        hidden = torch.ones(x.size(1), x.size(1)).triu(1).bool()
        self.kept = scores.masked_fill(hidden, float("-inf")).softmax(-1)
        return self.out((self.kept @ v).transpose(1, 2).reshape(x.shape))


def whole(program: object, *inputs: Tensor) -> Whole:
    run, tape, error = taped(program, *inputs)
    assert error is None
    return Whole(run, tape)


@pytest.fixture(scope="module")
def heads() -> tuple[Heads, Whole]:
    torch.manual_seed(0)
    module = Heads()
    return module, whole(module, torch.randn(B, L, D))


def texts(picture: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(picture).iter(f"{SVG}text")]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_flow_has_every_tensor_with_its_axes(heads: tuple[Heads, Whole], language: str) -> None:
    said = texts(drawing(heads[1], FLOW, Words(language)))
    assert any(text.startswith(f"[{B}, {H}, {L}, {L}]") for text in said)
    assert said.count("[B, H, L, L]") == 4  # scores, scaled, masked, weights
    assert {"scores", "softmax", "W_O"} <= set(said)
    assert any("Heads.forward" in text for text in said)


def test_colours_are_the_numbers_of_the_head_that_was_asked_for(heads: tuple[Heads, Whole]) -> None:
    module, run = heads
    for sample, head in ((0, 0), (1, 2)):
        picture = drawing(run, Asked(True, None, sample, head), Words("en"))
        shades = scale(True, 0.0, float(module.kept.detach().max()))
        cells = [shades.colour(value) for value in module.kept[sample, head].flatten().tolist()]
        group = next(ElementTree.fromstring(picture).iter(f"{SVG}g"))
        assert [cell.get("fill") for cell in group] == cells
        numbers = [text for text in texts(picture) if len(text) == 4 and text[1] == "."]
        assert numbers[: L * L] == [f"{value:.2f}" for value in module.kept[sample, head].flatten().tolist()]


def test_every_head_where_none_is_chosen(heads: tuple[Heads, Whole]) -> None:
    said = texts(drawing(heads[1], WEIGHTS, Words("zh")))
    assert [f"头 {head}" for head in range(H)] == [text for text in said if text.startswith("头")]
    assert said.count("查询 4") == H


def test_a_large_matrix_is_an_image() -> None:
    torch.manual_seed(0)

    def plain(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return (q @ k.transpose(-2, -1) / 8**0.5).softmax(-1) @ v

    q, k, v = torch.randn(3, 1, 70, 8)
    picture = drawing(whole(plain, q, k, v), WEIGHTS, Words("en"))
    image = next(ElementTree.fromstring(picture).iter(f"{SVG}image"))
    data = base64.b64decode((image.get("href") or "").partition(",")[2])
    assert struct.unpack(">II", data[16:24]) == (70, 70)
    at = data.index(b"IDAT")
    (length,) = struct.unpack(">I", data[at - 4 : at])
    pixels = zlib.decompress(data[at + 4 : at + 4 + length])
    weights = (q @ k.transpose(-2, -1) / 8**0.5).softmax(-1)[0]
    shades = scale(True, 0.0, float(weights.max()))
    row = [shades.colour(value) for value in weights[69].tolist()]
    line = pixels[69 * 211 + 1 : 70 * 211]
    assert ["#" + line[3 * at : 3 * at + 3].hex() for at in range(70)] == row


def test_what_a_program_holds_stays_text() -> None:
    def hostile(x: Tensor) -> Tensor:
        scores = x @ x.transpose(-2, -1)
        return scores.softmax(-1) @ x

    hostile.__qualname__ = "<script>&\u202e\x1b"
    hostile.__code__ = hostile.__code__.replace(co_qualname="<img onerror=x>&\u202e\x1b")
    for ask in (FLOW, WEIGHTS):
        picture = drawing(whole(hostile, torch.randn(1, 4, 8)), ask, Words("en"))
        assert {element.tag.removeprefix(SVG) for element in ElementTree.fromstring(picture).iter()} <= {
            *("svg", "title", "rect", "defs", "marker", "path", "text", "g"),
        }
        assert "\x1b" not in picture
        assert "\u202e" not in picture


def test_as_png(heads: tuple[Heads, Whole]) -> None:
    picture = drawing(heads[1], WEIGHTS, Words("zh"))
    root = ElementTree.fromstring(picture)
    data = png(picture)
    assert data.startswith(b"\x89PNG")
    assert struct.unpack(">II", data[16:24]) == tuple(SCALE * int(root.get(side) or 0) for side in ("width", "height"))


def test_characters_that_no_font_has_are_known(heads: tuple[Heads, Whole], monkeypatch: pytest.MonkeyPatch) -> None:
    picture = drawing(heads[1], WEIGHTS, Words("en"))
    assert missing(picture) == ""
    assert missing(picture.replace("query 0", "\u3000\u200b\u0301")) == "", "what is rightly not seen"
    monkeypatch.setattr(resvg_py, "svg_to_bytes", partial(resvg_py.svg_to_bytes, skip_system_fonts=True))
    assert set("查询键注意力权重") <= set(missing(drawing(heads[1], WEIGHTS, Words("zh"))))


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (Asked(True, None, 2, None), "draw.sample_over"),
        (Asked(True, None, 0, 3), "draw.head_over"),
        (Asked(False, None, 0, 3), "draw.head_over"),
    ],
)
def test_what_is_not_there_is_told(heads: tuple[Heads, Whole], ask: Asked, sentence: str) -> None:
    with pytest.raises(Misused) as told:
        drawing(heads[1], ask, Words("en"))
    assert told.value.id == sentence
    with pytest.raises(NoLayer):
        drawing(heads[1], Asked(False, "7", 0, None), Words("en"))
    with pytest.raises(Misused) as told:
        drawing(whole(lambda x: x + 1, torch.ones(2)), FLOW, Words("en"))
    assert told.value.id == "draw.none"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ([], "draw.output"),
        (["-o", "flow.jpg"], "draw.output"),
        (["-o", "flow.svg", "--head", "-1"], "draw.number"),
        (["-o", "flow.svg", "--sample", "1.5"], "draw.number"),
    ],
)
def test_what_was_asked_for_wrongly_is_told(options: list[str], sentence: str) -> None:
    with pytest.raises(Misused) as told:
        asked(parse(["draw", "file.py", *options]))
    assert told.value.id == sentence


def attnlab(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "attnlab", "draw", *arguments, "--lang", "en"]
    return subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", check=False)


def test_the_command_draws_and_leaves_the_program_its_stdout(tmp_path: Path) -> None:
    plain = subprocess.run([sys.executable, DEMO], capture_output=True, encoding="utf-8", check=True)
    done = attnlab(DEMO, "-o", "flow.svg", folder=tmp_path)
    assert done.stdout == plain.stdout
    assert done.stderr.startswith("attnlab: drawn in flow.svg (")
    assert {"Q", "attention_weights", "[2, 4, 8] · line 42"} <= set(texts((tmp_path / "flow.svg").read_text("utf-8")))
    attnlab(DEMO, "--weights", "-o", "weights.PNG", folder=tmp_path)
    assert (tmp_path / "weights.PNG").read_bytes().startswith(b"\x89PNG")


def test_a_picture_without_its_characters_is_told(tmp_path: Path) -> None:
    without_fonts = "\nimport functools, resvg_py\nrender = resvg_py.svg_to_bytes\n"
    without_fonts += "resvg_py.svg_to_bytes = functools.partial(render, skip_system_fonts=True)\n"
    (tmp_path / "demo.py").write_text(Path(DEMO).read_text("utf-8") + without_fonts, "utf-8")
    done = attnlab("demo.py", "-o", "flow.png", folder=tmp_path)
    written, boxes = done.stderr.splitlines()
    assert written.startswith("attnlab: drawn in flow.png (")
    assert "in no font of this machine" in boxes
    assert (tmp_path / "flow.png").exists()


@pytest.mark.parametrize(
    ("program", "options", "code", "sentence"),
    [
        (DEMO, ["-o", "none/flow.svg"], 2, "cannot write the file 'none/flow.svg'"),
        (DEMO, [], 2, "say with -o which file to draw"),
        ("none.py", ["-o", "flow.svg"], 2, "cannot open the file 'none.py'"),
        (DEMO, ["-o", "flow.svg", "--layer", "2"], 0, "--layer 2 is none of the attentions"),
        (DEMO, ["-o", "flow.svg", "--sample", "2"], 0, "there is no sample 2: they are counted from 0 to 1"),
        ("plain.py", ["-o", "flow.svg"], 0, "no attention was found, so there is nothing to draw"),
    ],
    ids=["folder", "output", "program", "layer", "sample", "without torch"],
)
def test_the_command_used_wrongly(tmp_path: Path, program: str, options: list[str], code: int, sentence: str) -> None:
    (tmp_path / "plain.py").write_text("print('plain')\n")
    done = attnlab(program, *options, folder=tmp_path)
    assert done.returncode == code
    (line,) = done.stderr.splitlines()
    assert line.startswith("attnlab: ")
    assert sentence in line
    assert not (tmp_path / "flow.svg").exists()
