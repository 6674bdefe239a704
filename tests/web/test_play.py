"""The playground's server, without a browser: what becomes of a program, whatever it does, and who is let in."""

from __future__ import annotations

import os
import re
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from web.play_fixtures import PATIENCE, Play, below, playing

from attnlab import cli
from attnlab.web.file import Elsewhere, File
from attnlab.web.jupyter import PROXIED, setup
from attnlab.web.sliders import sliders

GOOD = "import torch\nx = torch.ones(2, 3)\nprint('sum', x.sum().item())\n"


@pytest.fixture(scope="module")
def play() -> Iterator[Play]:
    with playing() as served:
        yield served


# What becomes of a program


def test_the_demo(play: Play) -> None:
    started = play.ask("/api/start", {}).json
    assert (started["name"], started["savable"]) == ("self_attention_demo.py", False)
    assert "# B: how many samples" in started["text"] or "[B, L, D]" in started["text"]
    found = play.look(started["text"])
    assert (found["ended"], found["says"]) == ("whole", None)
    assert found["printed"].startswith("Input X shape: torch.Size([2, 4, 8])\n")
    (told,) = found["scene"]["told"]
    assert told["layers"][0]["tensors"]["weights"]["shape"] == [2, 4, 4]
    assert [item["name"] for item in found["sliders"]] == ["batch_size", "seq_len", "d_model", "seed"]
    for item in found["sliders"]:
        assert started["text"][item["start"] : item["end"]] == str(item["value"])


def test_what_is_typed_is_what_is_run(play: Play) -> None:
    found = play.look(play.text.replace("seq_len = 4", "seq_len = 6"))
    assert found["scene"]["told"][0]["layers"][0]["tensors"]["weights"]["shape"] == [2, 6, 6]


def test_findings_come_when_they_are_asked_for(play: Play) -> None:
    text = play.text.replace("dim=-1)", "dim=-2)")
    assert play.look(text)["scene"]["findings"] == []
    found = play.look(text, thorough=True)["scene"]["findings"]
    assert found
    assert text.splitlines()[found[0]["line"] - 1].count("softmax") == 1


def test_an_error_is_told_with_what_did_not_fit(play: Play) -> None:
    found = play.look("import torch\nx = torch.ones(2, 3)\ny = x @ x\n")
    assert found["ended"] == "whole"
    assert found["scene"]["error"]["line"] == 3
    assert "x" in found["scene"]["error"]["diagnosis"]["en"]
    assert "Traceback" in found["printed"]


def test_half_a_program_is_an_error_and_no_more(play: Play) -> None:
    found = play.look("def f(:\n")
    assert found["scene"]["error"]["type"] == "SyntaxError"
    assert found["sliders"] == []


ENDS = [
    ("exit()", "whole", None),
    ("import torch\nexit(3)", "whole", "exit code 3"),
    ("import os\nos._exit(0)", "died", "exit code 0"),
    ("import os\nos._exit(5)", "died", "exit code 5"),
    ("import ctypes\nctypes.string_at(0)", "died", "SIGSEGV"),
    ("import os\nos.abort()", "died", "SIGABRT"),
    ("while True:\n    print('x' * 1000000)", "output", "8 MiB"),
    ("import sys\nwhile True:\n    sys.stderr.write('x' * 1000000)", "output", "8 MiB"),
    ("import torch\nx = torch.ones(1 << 33)", "memory", "2 GiB"),
    ("import os\nwhile True:\n    os.fork()", "effect", "os.fork"),
    ("open('left', 'w')", "effect", "open('left')"),
    ("import subprocess\nsubprocess.run(['true'])", "effect", "subprocess.Popen"),
    ("import os\nos.kill(os.getppid(), 9)", "effect", "os.kill"),
]


@pytest.mark.parametrize(("text", "ended", "says"), ENDS, ids=[text for text, _, _ in ENDS])
def test_however_a_program_ends_the_next_edit_works(play: Play, text: str, ended: str, says: str | None) -> None:
    found = play.look(text)
    assert found["ended"] == ended
    if says is None:
        assert found["says"] is None
    else:
        assert says in found["says"]["en"]
        assert says.rpartition("exit code ")[2] in found["says"]["zh"]
        assert found["says"]["en"] != found["says"]["zh"]
    assert play.look(GOOD)["printed"] == "sum 6.0\n"


def test_an_endless_loop_is_stopped(play: Play) -> None:
    began = time.monotonic()
    found = play.look("print('begins')\nwhile True:\n    pass")
    assert 4 < time.monotonic() - began < PATIENCE / 2
    assert (found["ended"], found["printed"], found["scene"]) == ("time", "begins\n", None)
    assert "5 seconds" in found["says"]["en"]
    assert play.look(GOOD)["printed"] == "sum 6.0\n"


def test_so_is_one_that_holds_on_to_every_exception(play: Play) -> None:
    text = "import signal\nfor number in (2, 15, 24):\n    signal.signal(number, signal.SIG_IGN)\nwhile True:\n    pass"
    assert play.look(text)["ended"] == "time"
    assert play.look(GOOD)["printed"] == "sum 6.0\n"


def test_a_program_that_brings_the_worker_down(play: Play) -> None:
    (worker,) = [process for process in below(play.process.pid) if "web.process" in _command(process)][:1]
    found = play.look("import ctypes, os\nctypes.CDLL(None).kill(os.getppid(), 9)\nwhile True:\n    pass")
    assert "started anew" in found["says"]["en"]
    assert play.look(GOOD)["printed"] == "sum 6.0\n"
    assert worker not in below(play.process.pid)


def _command(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


def test_what_a_program_leaves_running_is_ended(play: Play) -> None:
    text = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.closerange(0, 1000)
        time.sleep(1000)
    os._exit(0)
os.wait()
print(os.getpid())
"""
    play.look(GOOD)
    play.look(text)
    play.look(GOOD)
    time.sleep(0.5)
    assert len(below(play.process.pid)) == 2  # the worker, and the child that waits for the next edit


def test_stdin_is_empty(play: Play) -> None:
    found = play.look("import sys\nprint(repr(sys.stdin.read()))\ninput()\n")
    assert found["printed"].startswith("''\n")
    assert found["scene"]["error"]["type"] == "EOFError"


def test_a_program_does_not_see_the_token(play: Play) -> None:
    found = play.look("import os, sys\nprint(dict(os.environ), sys.argv)")
    assert play.token not in found["printed"]


def test_why(play: Play) -> None:
    text = play.text.replace("d_model = 8", "d_model = 16")
    body = {"tab": "why", "edit": 1, "text": text, "topic": "scale"}
    found = play.ask("/api/why", body).json
    assert found["ended"] == "whole"
    assert "d_k = 16" in found["text"]["en"]  # of the text in the editor, not of the file
    assert "d_k" in found["text"]["zh"]
    assert found["text"]["en"] != found["text"]["zh"]


@pytest.mark.parametrize(
    ("text", "topic", "says"),
    [(GOOD, "scale", "attention"), (GOOD, "nonsense", "nonsense"), ("import os\nos._exit(5)", "scale", "exit code 5")],
)
def test_why_there_is_no_answer(play: Play, text: str, topic: str, says: str) -> None:
    found = play.ask("/api/why", {"tab": "why-not", "edit": 1, "text": text, "topic": topic}).json
    assert says in (found.get("text") or found["says"])["en"]


# Newer and older, one tab and another


def _aside(play: Play, text: str, tab: str, edit: int, found: list[Any]) -> threading.Thread:
    thread = threading.Thread(target=lambda: found.append(play.look(text, tab, edit)))
    thread.start()
    time.sleep(0.5)
    return thread


def test_the_newer_text_takes_the_place_of_the_older(play: Play) -> None:
    play.look(GOOD)
    found: list[Any] = []
    began = time.monotonic()
    thread = _aside(play, "while True:\n    pass", "newer", 1, found)
    assert play.look(GOOD, "newer", 2)["printed"] == "sum 6.0\n"
    thread.join()
    assert found[0]["ended"] == "dropped"
    assert time.monotonic() - began < 5
    assert play.look(GOOD, "newer", 1)["ended"] == "dropped"  # it came late


def test_two_tabs_do_not_disturb_each_other(play: Play) -> None:
    found: list[Any] = []
    thread = _aside(play, "print('mine')\nwhile True:\n    pass", "left", 1, found)
    for edit in range(3):
        assert play.look(GOOD, "right", edit)["printed"] == "sum 6.0\n"
    assert not found
    thread.join()
    assert (found[0]["ended"], found[0]["printed"]) == ("time", "mine\n")


def test_many_edits_while_pytorch_is_being_loaded() -> None:
    found: list[Any] = []
    with playing() as play:
        texts = [f"print({edit})\n" + "#" * 20000 for edit in range(80)]
        threads = [
            threading.Thread(target=lambda edit=edit, text=text: found.append((edit, play.look(text, "early", edit))))
            for edit, text in enumerate(texts)
        ]
        for thread in threads:
            thread.start()
            time.sleep(0.01)
        assert play.ask("/").status == 200  # the server answers meanwhile
        for thread in threads:
            thread.join(PATIENCE)
        assert len(found) == len(texts)
        assert dict(found)[79]["printed"] == "79\n"


# Who is let in


def test_the_page_itself_holds_nobodys_text(play: Play) -> None:
    page = play.ask("/")
    assert page.status == 200
    assert "SelfAttention" not in page.text
    assert play.token not in page.text
    policy = page.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert page.headers["X-Content-Type-Options"] == "nosniff"
    assert page.headers["X-Frame-Options"] == "DENY"
    assert re.findall(r"(?:src|href)=\"([^\"]*)\"", page.text) == [
        "data:,", "assets/page.css", "assets/play.css", "assets/page.js", "assets/play.js",
    ]  # fmt: skip


@pytest.mark.parametrize("path", ["/api/start", "/api/look", "/api/why", "/api/save"])
@pytest.mark.parametrize(
    "headers",
    [
        {"X-Attnlab-Token": "wrong"},
        {"X-Attnlab-Token": ""},
        {"X-Attnlab-Token": None},
        {"X-Attnlab-Token": "é".encode().decode("latin-1")},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": None},
        {"Origin": "http://127.0.0.1"},
        {"Host": "evil.example"},
        {"Host": "evil.example:8642", "Origin": "http://evil.example:8642"},
        {"Host": "127.0.0.1.evil.example", "Origin": "http://127.0.0.1.evil.example"},
        {"Host": "[::", "Origin": "http://[::"},
        {"Host": "10.0.0.1", "Origin": "http://10.0.0.1"},
    ],
)
def test_refused(play: Play, path: str, headers: dict[str, str | None]) -> None:
    answer = play.ask(path, {"tab": "x", "edit": 0, "text": "print('in')", "mark": "", "topic": "scale"}, headers)
    assert answer.status == 403
    assert answer.headers["Content-Type"].startswith("text/plain")
    assert answer.text.count("attnlab") == 2


def test_a_foreign_host_does_not_even_get_the_page(play: Play) -> None:
    assert play.ask("/", headers={"Host": "evil.example"}).status == 403
    assert play.ask("/assets/play.js", headers={"Host": "evil.example"}).status == 403


def test_through_a_tunnel_the_port_is_another(play: Play) -> None:
    headers = {"Host": "localhost:9000", "Origin": "http://localhost:9000"}
    assert play.ask("/api/start", {}, headers).status == 200


@pytest.mark.parametrize("path", ["/api/look", "/assets/../server.py", "/assets/%2e%2e/server.py", "/nothing"])
def test_nothing_else_is_to_be_had(play: Play, path: str) -> None:
    assert play.ask(path).status in (404, 405)


@pytest.mark.parametrize(
    "body",
    [
        [],
        {"tab": 1},
        {"tab": "x", "edit": -1, "text": ""},
        {"tab": "x", "edit": 0, "text": None},
        {"tab": "x", "edit": 0, "text": "\ud800"},
        "x",
    ],
)
def test_what_is_no_question(play: Play, body: object) -> None:
    assert play.ask("/api/look", body).status == 400


def test_a_text_that_is_too_long(play: Play) -> None:
    assert play.ask("/api/look", {"tab": "x", "edit": 0, "text": "#" * (1 << 20) + "#"}).status == 413


def test_told_to_listen_to_everybody(tmp_path: Path) -> None:
    with playing("--host", "0.0.0.0") as play:
        port = play.base.rpartition(":")[2]
        play.base = f"http://127.0.0.1:{port}"
        for host, status in (("127.0.0.1", 200), ("10.1.2.3", 200), ("evil.example", 403)):
            headers = {"Host": f"{host}:{port}", "Origin": f"http://{host}:{port}"}
            assert play.ask("/api/start", {}, headers).status == status


# Behind Jupyter


def test_behind_jupyter() -> None:
    server = setup()
    token = server["environment"][PROXIED]
    assert server["request_headers_override"] == {"X-Attnlab-Token": token}
    assert server["command"][0] == sys.executable
    assert setup()["environment"][PROXIED] != token
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    arguments = [item.format(port=port) for item in server["command"][1:]]
    assert arguments == ["-m", "attnlab", "play", "--port", port, "--no-browser"]


def test_only_the_proxy_is_let_in() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    with _proxied(port) as play:
        through = {"Host": "hub.example", "X-Attnlab-Token": "secret"}
        page = play.ask("/", headers=through)
        assert page.status == 200
        assert "frame-ancestors 'self'" in page.headers["Content-Security-Policy"]
        assert page.headers["X-Frame-Options"] is None
        assert play.ask("/", headers={"Host": "hub.example"}).status == 403  # somebody else on the machine
        assert play.ask("/api/start", {}, {**through, "Origin": "https://hub.example"}).status == 200
        assert play.ask("/api/start", {}, {**through, "Origin": "https://evil.example"}).status == 403
        assert play.ask("/api/start", {}, {**through, "Origin": None}).status == 403


class _proxied:
    """A server that is started as Jupyter's proxy starts it: it prints nothing, and is ready when it answers."""

    def __init__(self, port: str) -> None:
        self._port = port

    def __enter__(self) -> Play:
        import subprocess

        self._process = subprocess.Popen(
            [sys.executable, "-m", "attnlab", "play", "--port", self._port, "--no-browser"],
            env={**os.environ, PROXIED: "secret"},
            text=True,
        )
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", int(self._port)), 1).close()
                break
            except OSError:
                time.sleep(0.1)
        return Play(self._process, f"http://127.0.0.1:{self._port}/#token=secret")

    def __exit__(self, *exc: object) -> None:
        self._process.terminate()
        self._process.wait(PATIENCE)


# The file


def test_saved_when_that_is_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "注意力.py"
    file.write_bytes("# 一\r\nimport torch\r\n".encode())
    file.chmod(0o640)
    with playing(str(file)) as play:
        started = play.ask("/api/start", {}).json
        assert (started["name"], started["text"], started["savable"]) == (file.name, "# 一\nimport torch\n", True)
        play.look("print('another')\n")
        assert file.read_bytes() == "# 一\r\nimport torch\r\n".encode()
        saved = play.ask("/api/save", {"text": "# 二\nx = 1\n", "mark": started["mark"]})
        assert saved.status == 200
        assert file.read_bytes() == "# 二\r\nx = 1\r\n".encode()
        assert file.stat().st_mode & 0o777 == 0o640
        file.write_text("x = 2\n")
        refused = play.ask("/api/save", {"text": "x = 3\n", "mark": saved.json["mark"]})
        assert refused.status == 409
        assert file.name in refused.json["says"]["en"]
        assert file.read_text() == "x = 2\n"
        assert play.ask("/api/save", {"text": "x = 3\n", "mark": refused.json["mark"]}).status == 200
        assert file.read_text() == "x = 3\n"
        assert [item.name for item in tmp_path.iterdir()] == [file.name]


def test_the_demo_is_nobodys_to_write(play: Play) -> None:
    assert play.ask("/api/save", {"text": "", "mark": ""}).status == 409


def test_a_file_that_imports_its_neighbour(tmp_path: Path) -> None:
    (tmp_path / "near.py").write_text("value = 7\n")
    (tmp_path / "torch.py").write_text("raise SystemExit('not PyTorch')\n")
    file = tmp_path / "main.py"
    file.write_text("import near\nprint(near.value)\n")
    with playing("main.py", folder=tmp_path) as play:
        assert play.look(file.read_text())["printed"] == "7\n"


def test_a_file_keeps_its_encoding(tmp_path: Path) -> None:
    path = tmp_path / "latin.py"
    path.write_bytes("# coding: latin-1\n# é\n".encode("latin-1"))
    file = File(str(path))
    mark = file.read().mark
    with pytest.raises(ValueError, match="latin-1"):
        file.save("# coding: latin-1\n# 一\n", mark)
    mark = file.save("# coding: latin-1\n# ü\n", mark)
    assert path.read_bytes() == "# coding: latin-1\n# ü\n".encode("latin-1")
    mark = file.save("# 一\n", mark)
    assert path.read_text(encoding="utf-8") == "# 一\n"
    with pytest.raises(Elsewhere):
        file.save("", "another")


def test_a_link_is_written_through(tmp_path: Path) -> None:
    path, link = tmp_path / "a.py", tmp_path / "b.py"
    path.write_text("x = 1\n")
    link.symlink_to(path)
    file = File(str(link))
    file.save("x = 2\n", file.read().mark)
    assert link.is_symlink()
    assert path.read_text() == "x = 2\n"


# The command


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nowhere.py"], "cannot open the file 'nowhere.py'"),
        (["."], "not '.'"),
        (["-m", "this"], "no option -m"),
        (["a.py", "b.py"], "one file"),
        (["--port", "70000"], "not '70000'"),
        (["--port", "x"], "not 'x'"),
        (["--host", "192.0.2.1"], "192.0.2.1"),
        (["--json"], "--json"),
    ],
)
def test_used_wrongly(
    arguments: list[str], says: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["attnlab", "play", "--no-browser", "--lang", "en", *arguments])
    assert cli.main() == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.startswith("attnlab: ")
    assert error.count("\n") == 1


def test_a_port_that_is_in_use(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        monkeypatch.setattr(sys, "argv", ["attnlab", "play", "--no-browser", "--lang", "zh", "--port", port])
        assert cli.main() == 2
    error = capsys.readouterr().err
    assert port in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("name", ["starlette", "uvicorn"])
def test_without_what_serves_it(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for module in [module for module in sys.modules if module.startswith(("attnlab.web", name))]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr(sys, "argv", ["attnlab", "play", "--lang", "en"])
    assert cli.main() == 2
    assert capsys.readouterr().err.endswith(f"needs {name}, which is not installed: pip install 'attnlab[play]'\n")


@pytest.mark.parametrize("busy", [False, True])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_ended_it_leaves_no_process_behind(number: signal.Signals, busy: bool) -> None:
    with playing() as play:
        play.look(GOOD)
        thread = threading.Thread(target=_ignoring, args=(play,))
        if busy:
            thread.start()
            time.sleep(0.5)
        else:
            time.sleep(0.5)
        started = below(play.process.pid)
        assert len(started) >= 2  # the worker, and the child that waits for the next edit
        os.killpg(play.process.pid, number)
        code = play.process.wait(PATIENCE)
        assert code == {signal.SIGINT: 0, signal.SIGTERM: code, signal.SIGKILL: -signal.SIGKILL}[number]
        deadline = time.monotonic() + PATIENCE
        while (left := {item for item in started if _command(item)}) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not left
        if busy:
            thread.join()


def _ignoring(play: Play) -> None:
    try:
        play.look("while True:\n    pass")
    except (OSError, AssertionError, ValueError):
        pass


def test_the_browser_is_not_called_with_the_token(tmp_path: Path) -> None:
    browser, seen = tmp_path / "browser", tmp_path / "seen"
    browser.write_text(f'#!/bin/sh\necho "$@" >{seen}.part && mv {seen}.part {seen}\n')
    browser.chmod(0o700)
    with playing(browser=browser) as play:
        deadline = time.monotonic() + PATIENCE
        while not seen.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        called = seen.read_text().strip()
        assert play.token not in called
        page = Path(called.removeprefix("file://"))
        assert play.address in page.read_text()
        assert page.parent.stat().st_mode & 0o777 == 0o700
    assert not page.parent.exists()


# The sliders


def test_where_sliders_stand() -> None:
    text = (
        "x = '𝒳'; heads = 2  # 二\nlayer(𝒳=1, d_model=8, dim=1, axis=2)\nm.manual_seed(0)\nd = -1\nr = 0.5\nb = True\n"
    )
    units = text.encode("utf-16-le")
    found = sliders(text)
    assert [item["name"] for item in found] == ["heads", "X", "d_model", "seed"]
    for item in found:
        assert units[2 * item["start"] : 2 * item["end"]].decode("utf-16-le") == str(item["value"])


def test_of_two_numbers_of_a_name_the_one_that_decides() -> None:
    text = "def f(n=4):\n    pass\nf(n=5)\nn = 6\n"
    (found,) = sliders(text)
    assert (found["name"], found["value"]) == ("n", 6)


@pytest.mark.parametrize("text", ["", "def f(:", "n = 1.5", "\0"])
def test_no_sliders(text: str) -> None:
    assert sliders(text) == []
