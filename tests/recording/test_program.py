"""Running a script or a module as Python does. What a program can notice is tested in test_watch.py."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

DRIVER = """
import json, sys
from attnlab.recording.program import Conditions, NoProgram, run_program
from attnlab.run import Program
kind, name, texts, *argv = json.loads(sys.argv[1])
try:
    run, outcome = run_program(Program(kind, name, tuple(argv)), Conditions(texts=texts))
except NoProgram as error:
    print("no program", error.reason, error.name)
    sys.exit()
print("\\n" + run.to_json())
print(outcome.code)
"""


def run(folder: Path, kind: str, name: str, *argv: str, texts: dict[str, str] | None = None) -> tuple[str, Any, int]:
    """What the program printed, its Run as JSON, and its exit code."""
    done = subprocess.run(
        [sys.executable, "-X", "utf8", "-c", DRIVER, json.dumps([kind, name, texts or {}, *argv])],
        cwd=folder, capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    *printed, text, code = done.stdout.splitlines()
    return "\n".join(printed).rstrip(), json.loads(text), int(code)


def test_a_script_has_its_arguments_and_is_main(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(
        "import sys, torch\nx = torch.ones(2, 5)\n"
        "print(__name__, sys.argv, sys.path[0] == sys.argv[1], (x * 2).sum())\n"
    )
    said, recorded, code = run(tmp_path, "script", "script.py", str(tmp_path), "--flag")
    assert said == f"__main__ ['script.py', '{tmp_path}', '--flag'] True tensor(20.)"
    assert recorded["program"] == {"kind": "script", "name": "script.py", "argv": [str(tmp_path), "--flag"]}
    assert [step["op"] for step in recorded["steps"]] == ["ones", "mul", "sum"]
    assert recorded["steps"][0]["source"]["span"]["file"] == str(tmp_path / "script.py")
    assert (recorded["exit_code"], code, recorded["lost"]) == (0, 0, [])


def test_a_module_and_the_package_around_it_are_the_users_own(tmp_path: Path) -> None:
    package = tmp_path / "own_package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "parts.py").write_text("def half(x):\n    return x / 2\n")
    (package / "__main__.py").write_text("import torch\nfrom own_package.parts import half\nhalf(torch.ones(3))\n")
    _, recorded, _ = run(tmp_path, "module", "own_package")
    functions = [(step["op"], step["source"]["function"]) for step in recorded["steps"]]
    assert functions == [("ones", "<module>"), ("div", "half")]


def test_a_program_that_never_imports_torch_has_an_empty_run(tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text("import sys\nsys.exit(3)\n")
    _, recorded, code = run(tmp_path, "script", "plain.py")
    assert (recorded["torch"], recorded["steps"], recorded["exit_code"], code) == ("", [], 3, 3)


def test_a_program_that_fails_has_its_error(tmp_path: Path) -> None:
    (tmp_path / "fails.py").write_text("import torch\nx = torch.ones(2, 5)\n\nx @ x\n")
    _, recorded, code = run(tmp_path, "script", "fails.py")
    error = recorded["error"]
    assert (error["type"], error["line"], error["file"]) == ("RuntimeError", 4, str(tmp_path / "fails.py"))
    assert (error["failed"]["op"], error["failed"]["source"]["text"]) == ("matmul", "x @ x")
    assert code == 1


def test_a_text_can_stand_in_the_place_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "script.py"
    file.write_text("import torch\nx = torch.ones(2)\n")
    _, recorded, _ = run(tmp_path, "script", "script.py", texts={str(file): "import torch\nx = torch.zeros(7)\n"})
    assert [(step["op"], step["operands"][0]["arg"]) for step in recorded["steps"]] == [("zeros", 7)]


@pytest.mark.parametrize(
    ("kind", "name", "reason"),
    [("script", "absent.py", "bad.file"), ("script", ".", "bad.folder"), ("module", ".relative", "bad.module")],
)
def test_what_is_not_there_is_no_program(tmp_path: Path, kind: str, name: str, reason: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, json.dumps([kind, name, {}])],
        cwd=tmp_path, capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == (f"no program {reason} {name}\n", "")
