"""Who may import whom. Data flows one way, from what was recorded to what is said of it.

A room is a file or a folder directly under src/attnlab. A new one fails here until `ROOMS` says
what it may import.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "attnlab"

# room: the rooms that it may import
ROOMS: dict[str, set[str]] = {
    # what happened
    "run": {"notebook"},  # where a notebook asks a Run to show itself
    "recording": {"run"},
    "maps": set(),
    # what it was
    "attention": {"run"},
    "experiments": {"run", "recording", "attention", "descriptors"},
    "axes": {"run", "attention", "experiments"},
    "diagnosis": {"run"},
    "capturing": {"run", "recording", "attention", "maps"},
    "models": {"maps"},
    "checks": {"run", "recording", "attention", "experiments", "axes", "diagnosis"},
    # what there is to say
    "explanation": {"run", "attention", "axes"},
    "answers": {"run", "recording", "attention", "experiments", "axes", "diagnosis", "explanation", "words"},
    "words": set(),
    "views": {"run", "checks", "diagnosis", "explanation", "answers", "maps", "words"},
    "scene": {
        "run",
        "recording",
        "attention",
        "axes",
        "checks",
        "experiments",
        "explanation",
        "maps",
        "views",
        "words",
    },
    "drawing": {"scene", "views", "words"},
    # the faces, which only put the rooms together
    "commandline": set(),
    "descriptors": set(),
    "output": {"descriptors"},
    "telling": {"run", "recording", "attention", "experiments", "axes", "diagnosis", "explanation", "views", "words"},
    "settings": {"checks", "commandline"},
    "bundled": set(),
    "pages": {"bundled"},
    "lessons": {"bundled"},
    "replacing": set(),
    "mends": {"checks", "replacing"},
    "reporting": {"__init__", "run", "checks", "mends", "pages", "views", "words"},
    "checking": {"run", "recording", "checks", "settings", "views", "words"},
    "testing": {"checking", "checks", "experiments", "output", "reporting", "views", "words"},
    "pytest_plugin": {"testing"},
    "looking": {"run", "recording", "axes", "checks", "experiments", "diagnosis", "answers", "scene", "views", "words"}
    | {"checking", "settings", "telling"},
    "mapping": {
        "__init__",
        "capturing",
        "commandline",
        "maps",
        "models",
        "output",
        "replacing",
        "scene",
        "views",
        "web",
        "words",
    },
    "launch": {"__init__", "run"},
    "drawn": {"axes", "checks", "commandline", "drawing", "explanation", "looking", "scene", "words"},
    "notebook": {"__init__", "axes", "checks", "drawing", "looking", "recording", "run", "scene", "telling", "views"}
    | {"words"},
    "watch": {
        "__init__",
        "checking",
        "checks",
        "run",
        "recording",
        "experiments",
        "commandline",
        "drawing",
        "drawn",
        "explanation",
        "looking",
        "mapping",
        "output",
        "reporting",
        "scene",
        "settings",
        "telling",
        "views",
        "words",
    },
    "hook": {"watch"},
    "web": {
        "answers",
        "commandline",
        "descriptors",
        "experiments",
        "lessons",
        "looking",
        "output",
        "recording",
        "replacing",
        "run",
        "views",
        "words",
    },
    "cli": {"__init__", "run", "recording", "attention", "experiments", "explanation", "answers", "views", "words"}
    | {"commandline", "lessons", "output", "pages", "reporting", "settings", "launch", "web", "drawn", "mapping"},
    "__init__": {"run", "recording", "capturing", "telling", "checks", "checking", "notebook"},
    "__main__": {"cli"},
}
# room: what it may import that is neither attnlab's nor Python's
OUTSIDE: dict[str, set[str]] = {
    "recording": {"torch"},
    "maps": {"torch", "numpy", "safetensors"},
    "capturing": {"torch"},
    "models": {"torch", "transformers"},
    "mapping": {"torch"},
    "experiments": {"torch"},
    "checks": {"torch"},
    "scene": {"torch"},
    "testing": {"torch", "hypothesis"},
    "pytest_plugin": {"pytest"},
    "drawing": {"resvg_py"},
    "notebook": {"torch", "IPython"},
    "web": {"starlette", "torch", "uvicorn"},
}
# of these only classes may be taken: the data, and none of the work
DATA_ONLY = {
    ("views", "maps"),
    ("views", "answers"),
    ("views", "explanation"),
    ("axes", "experiments"),
    ("drawing", "scene"),
}


def room_of(file: Path) -> str:
    return file.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports_of(file: Path) -> Iterator[tuple[str, str | None]]:
    """Each import in the file, inside functions too: the module's full name, and what is taken from it."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, None
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file.name}:{node.lineno}: name the package in full, as in `from attnlab.run …`"
            for alias in node.names:
                yield node.module or "", alias.name


def rooms_imported(file: Path) -> Iterator[tuple[str, str | None]]:
    """Each import of a room of ours: the room, and what is taken from it (None: the room itself)."""
    for module, name in imports_of(file):
        top, _, rest = module.partition(".")
        if top != "attnlab":
            continue
        if rest:
            yield rest.partition(".")[0], name
        elif name in ROOMS:
            yield name, None
        else:
            yield "__init__", name


FILES = sorted(PACKAGE.rglob("*.py"))


@pytest.fixture(params=FILES, ids=[file.relative_to(PACKAGE).as_posix() for file in FILES])
def file(request: pytest.FixtureRequest) -> Path:
    return request.param


def test_stands_in_a_room(file: Path) -> None:
    assert room_of(file) in ROOMS, f"{file.name} is in no room: add its room, and what it may import, to ROOMS"


def test_imports_only_the_rooms_that_it_may(file: Path) -> None:
    room = room_of(file)
    forbidden = {other for other, _ in rooms_imported(file)} - ROOMS[room] - {room}
    assert not forbidden, f"{room} may not import {sorted(forbidden)}"


def test_takes_only_data_from_where_only_data_may_be_taken(file: Path) -> None:
    for other, name in rooms_imported(file):
        if (room_of(file), other) in DATA_ONLY:
            assert name is not None, f"take the classes that are needed from {other}, not the room itself"
            assert name[0].isupper(), f"{other}.{name} is not data"


def test_imports_nothing_else_but_python(file: Path) -> None:
    tops = {module.partition(".")[0] for module, _ in imports_of(file)}
    outside = tops - set(sys.stdlib_module_names) - {"attnlab"}
    assert outside <= OUTSIDE.get(room_of(file), set())


def test_no_room_of_the_table_is_gone() -> None:
    assert set(ROOMS) == {room_of(file) for file in FILES}


def test_the_demo_imports_torch_and_math_alone() -> None:
    modules = {module.partition(".")[0] for module, _ in imports_of(ROOT / "self_attention_demo.py")}
    assert modules == {"torch", "math"}


@pytest.mark.parametrize(
    "arguments", [["-c", "import attnlab"], ["-m", "attnlab", "--help"], ["-m", "attnlab", "--version"]]
)
def test_starts_without_torch(arguments: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *arguments], capture_output=True, encoding="utf-8", check=False
    )
    lines = done.stderr.splitlines()
    loaded = {line.rpartition("|")[2].strip() for line in lines if line.startswith("import time:")}
    assert done.returncode == 0, "\n".join(line for line in lines if not line.startswith("import time:"))
    assert "attnlab" in loaded
    assert "torch" not in loaded
