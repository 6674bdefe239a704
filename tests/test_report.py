"""`attnlab report`: one file that needs nothing else, whatever the program is like."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from attnlab.commandline import _OPTIONS as OPTIONS
from attnlab.commandline import _VERBS as VERBS
from attnlab.views import page as view
from attnlab.views.page_words import page_words
from attnlab.words import Language, catalog

DEMO = Path(__file__).parents[1] / "self_attention_demo.py"
PROGRAM = """
import sys
import torch
torch.manual_seed(0)
q, k, v = (torch.randn(2, 5, 12) for _ in range(3))
out = torch.softmax(q @ k.transpose(1, 2) / 12**0.5, -1) @ v
print("out", tuple(out.shape), sys.argv[1:])
sys.exit(3)
"""
# Without torch there is nothing to run again, and nothing to wait for.
PLAIN = """
import sys
print("out", sys.argv[1:])
sys.exit(3)
"""
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)><!--\u2028\u2029&amp;"


def attnlab(*arguments: str, cwd: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG", "ATTNLAB"))}
    return subprocess.run(
        [sys.executable, "-m", "attnlab", *arguments],
        cwd=cwd, env={**clean, "PYTHONIOENCODING": "utf-8", **environ},
        capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip


def data(page: str, name: str) -> Any:
    (text,) = re.findall(rf'<script type="application/json" id="{name}">(.*?)</script>', page, re.DOTALL)
    return json.loads(text)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "program.py").write_text(PLAIN, encoding="utf-8")
    return tmp_path


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("demo")
    done = attnlab("report", str(DEMO), cwd=folder, ATTNLAB_LANG="zh")
    assert done.returncode == 0
    return (folder / "self_attention_demo.html").read_text(encoding="utf-8")


def test_a_page_beside_a_program_that_runs_as_it_always_does(folder: Path) -> None:
    done = attnlab("report", "program.py", "a", "--lang", "en", "--b", cwd=folder)
    assert (done.stdout, done.returncode) == ("out ['a', '--b']\n", 3)
    assert re.fullmatch(r"attnlab: the report is in program\.html \(\d+ KB\)\. .*\n", done.stderr)
    scene = data((folder / "program.html").read_text(encoding="utf-8"), "attnlab-scene")
    assert scene["lang"] == "en"
    assert scene["files"][0]["text"] == PLAIN
    assert [path.name for path in sorted(folder.iterdir())] == ["program.html", "program.py"]


def test_the_demo_is_small_and_tells_why(demo: str) -> None:
    assert len(demo.encode()) <= 400_000
    scene = data(demo, "attnlab-scene")
    topics = {item["topic"]: item for item in scene["why"]}
    assert {"qkv", "transpose", "scores", "scale", "softmax", "output", "matmul"} <= topics.keys()
    assert "transpose(0, 1)" in topics["transpose"]["text"]["en"]
    assert topics["scale"]["title"] == {"zh": "为什么要除以 √d_k？", "en": "Why divide by √d_k?"}
    assert scene["findings"] == []
    assert scene["error"] is None
    assert scene["notes"] == []


def test_the_page_holds_all_that_it_needs_and_may_do_nothing_else(demo: str) -> None:
    assert not re.search(r"""(src|href|action|data)\s*=\s*["']?(https?:|//|file:)""", demo)
    (policy,) = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', demo)
    (style,) = re.findall(r"<style>(.*?)</style>", demo, re.DOTALL)
    (script,) = re.findall(r"<script>(.*?)</script>", demo, re.DOTALL)

    def allowed(text: str) -> str:
        return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

    assert policy.split("; ") == [
        "default-src 'none'",
        f"script-src '{allowed(script)}'",
        f"style-src '{allowed(style)}'",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    assert data(demo, "attnlab-words") == page_words()


def test_every_picture_has_its_element(demo: str) -> None:
    named = re.findall(r'"element":"([^"]+)"', demo)
    held = re.findall(r'<script type="application/octet-stream" id="([^"]+)">[A-Za-z0-9+/=]+</script>', demo)
    assert named
    assert sorted(named) == sorted(held)
    assert '"base64"' not in data_text(demo)


def data_text(page: str) -> str:
    return json.dumps(data(page, "attnlab-scene"))


def test_nothing_that_a_program_holds_ends_the_element_it_stands_in() -> None:
    page = view.page(json.dumps({"text": HOSTILE}, ensure_ascii=False), {}, f"{HOSTILE}/{HOSTILE}.py", "en")
    assert data(page, "attnlab-scene") == {"text": HOSTILE}
    assert "alert(1)</script>" not in page
    assert "<img" not in page
    (held,) = re.findall(r'id="attnlab-scene">(.*?)</script>', page, re.DOTALL)
    assert not set("<>&\u2028\u2029") & set(held)


def test_a_report_is_written_again_and_another_file_never(folder: Path) -> None:
    for _ in range(2):
        assert attnlab("report", "program.py", "-o", "page.html", "--lang", "en", cwd=folder).returncode == 3
    (folder / "program.html").write_text("mine", encoding="utf-8")
    done = attnlab("report", "program.py", "--lang", "en", cwd=folder)
    assert (done.stdout, done.returncode) == ("", 2)
    assert "'program.html' is there already and is no report" in done.stderr
    assert (folder / "program.html").read_text(encoding="utf-8") == "mine"


def test_a_file_that_the_program_writes_itself_is_left_alone(folder: Path) -> None:
    (folder / "program.py").write_text('open("program.html", "w").write("mine")\n', encoding="utf-8")
    done = attnlab("report", "program.py", "--lang", "en", cwd=folder)
    assert "has come to be while the program ran" in done.stderr
    assert (folder / "program.html").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("report",), "needs a Python file"),
        (("report", "missing.py"), "cannot open the file 'missing.py'"),
        (("report", "program.py", "-o", "no/page.html"), "cannot write the file 'no/page.html'"),
        (("report", "program.py", "-o", "."), "cannot write the file '.'"),
        (("report", "--layer", "1", "program.py"), "report has no option --layer"),
        (("report", "program.py", "--lang", "xx"), "xx"),
    ],
)
def test_a_misuse_is_one_sentence(arguments: tuple[str, ...], said: str, folder: Path) -> None:
    done = attnlab(*arguments, cwd=folder, ATTNLAB_LANG="en")
    assert (done.stdout, done.returncode, done.stderr.count("\n")) == ("", 2, 1)
    assert said in done.stderr
    assert [path.name for path in folder.iterdir()] == ["program.py"]


def test_a_folder_that_the_program_leaves_is_where_its_page_belongs(folder: Path) -> None:
    (folder / "program.py").write_text('import os, torch\nos.chdir("/")\nx = torch.ones(2)\n', encoding="utf-8")
    assert attnlab("report", "program.py", cwd=folder).returncode == 0
    assert (folder / "program.html").exists()


@pytest.mark.parametrize(
    ("text", "error", "code"),
    [
        ("import torch\ndef f(:\n", "SyntaxError", 1),
        ("print('no torch here')\n", None, 0),
        ("import torch\nx = torch.ones(2, 3) @ torch.ones(2, 3)\n", "RuntimeError", 1),
        ("import torch\nx = torch.ones(2, 3).T\n", None, 0),
    ],
    ids=["syntax", "no torch", "shapes", "no attention"],
)
def test_a_program_without_attention_has_a_page_too(text: str, error: str | None, code: int, folder: Path) -> None:
    (folder / "program.py").write_text(text, encoding="utf-8")
    done = attnlab("report", "program.py", "--lang", "en", cwd=folder)
    assert done.returncode == code
    scene = data((folder / "program.html").read_text(encoding="utf-8"), "attnlab-scene")
    assert (scene["error"] or {}).get("type") == error
    assert scene["files"][0]["text"] == text
    assert scene["told"] == scene["why"] == []
    if error == "RuntimeError":
        assert "torch.ones(2, 3).T" in scene["error"]["diagnosis"]["en"]


def test_a_module_gives_its_name_to_the_page(folder: Path) -> None:
    package = folder / "heads"
    package.mkdir()
    (package / "small.py").write_text(PROGRAM, encoding="utf-8")
    done = attnlab("report", "-m", "heads.small", "--lang", "en", cwd=folder)
    assert done.returncode == 3
    scene = data((folder / "small.html").read_text(encoding="utf-8"), "attnlab-scene")
    assert scene["files"][0]["text"] == PROGRAM
    assert scene["program"] == "heads.small"
    assert len(scene["told"]) == 1


def test_findings_follow_comments_and_stand_at_their_lines(folder: Path) -> None:
    line = "out = torch.softmax(q @ k.transpose(1, 2), 1) @ v"
    text = "import torch\nq, k, v = (torch.randn(2, 5, 12) for _ in range(3))\n"
    text += f"{line}\n{line}  # attnlab: ignore[ATT011]\n"
    (folder / "program.py").write_text(text, encoding="utf-8")
    attnlab("report", "program.py", cwd=folder)
    scene = data((folder / "program.html").read_text(encoding="utf-8"), "attnlab-scene")
    found = {(item["code"], item["line"]) for item in scene["findings"]}
    assert found == {("ATT001", 3), ("ATT011", 3), ("ATT001", 4)}


def test_a_slow_program_is_not_run_again_unasked(folder: Path) -> None:
    (folder / "program.py").write_text(PROGRAM.replace("sys.exit(3)", "import time; time.sleep(2.1)"), "utf-8")
    attnlab("report", "program.py", cwd=folder)
    scene = data((folder / "program.html").read_text(encoding="utf-8"), "attnlab-scene")
    assert scene["why"] == []
    assert "--rerun" in scene["notes"][-1]["en"]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_option_is_named_in_help_and_docs(language: Language) -> None:
    docs = Path(__file__).parents[1] / "docs" / language / "report.md"
    texts = (docs.read_text(encoding="utf-8"), catalog(language)["command.help.report"])
    for text in texts:
        for name in (name for name, (option, _) in OPTIONS.items() if option in VERBS["report"]):
            assert re.search(rf"(?<![-\w]){name}\b", text), name
