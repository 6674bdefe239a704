"""Being told of an import, without importing first, and without leaving a trace."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from attnlab.recording.imports import when_imported


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of a module that nobody has imported."""
    name = "attnlab_test_awaited"
    (tmp_path / f"{name}.py").write_text("VALUE = 3\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield name
    sys.modules.pop(name, None)


def test_it_is_told_at_once_of_a_module_that_is_there() -> None:
    told: list[str] = []
    undo = when_imported("json", lambda: told.append("json"))
    assert told == ["json"]
    undo()


def test_it_is_told_when_the_program_imports(module: str) -> None:
    finders = list(sys.meta_path)
    told: list[int] = []
    when_imported(module, lambda: told.append(sys.modules[module].VALUE))
    importlib.import_module("json")
    assert told == []
    imported = importlib.import_module(module)
    assert told == [3], "the module is whole by then"
    assert sys.meta_path == finders
    assert imported.__spec__ is not None
    assert type(imported.__loader__).__name__ == type(imported.__spec__.loader).__name__ == "SourceFileLoader"


def test_undone_it_is_not_told(module: str) -> None:
    finders = list(sys.meta_path)
    told: list[int] = []
    undo = when_imported(module, lambda: told.append(1))
    undo()
    undo()
    importlib.import_module(module)
    assert (told, sys.meta_path) == ([], finders)


def test_a_module_that_is_not_there_is_still_not_there() -> None:
    finders = list(sys.meta_path)
    undo = when_imported("attnlab_test_no_such_module", lambda: None)
    with pytest.raises(ModuleNotFoundError, match="No module named 'attnlab_test_no_such_module'"):
        importlib.import_module("attnlab_test_no_such_module")
    undo()
    assert sys.meta_path == finders
