"""Taking a command line apart: what is attnlab's, and what is the program's."""

import pytest

from attnlab.commandline import Command, Misused, parse


@pytest.mark.parametrize(
    ("line", "program", "argv", "options"),
    [
        ("explain a.py", "a.py", (), {}),
        ("explain a.py --lang zh", "a.py", (), {"lang": [("zh",)]}),
        ("explain --lang=zh a.py 5 --lr 0.1", "a.py", ("5", "--lr", "0.1"), {"lang": [("zh",)]}),
        ("explain a.py -- --lang xx --", "a.py", ("--lang", "xx", "--"), {}),
        ("explain -o out.txt a.py -v", "a.py", ("-v",), {"output": [("out.txt",)]}),
        ("whatif a.py --set a=1 --set b=2,3", "a.py", (), {"set": [("a=1",), ("b=2,3",)]}),
        ("whatif a.py --replace x y --line 3", "a.py", (), {"replace": [("x", "y")], "line": [("3",)]}),
        ("why a.py transpose", "a.py", ("transpose",), {}),
        ("explain -- a.py --all", "a.py", ("--all",), {}),
        ("check --select=A,B a.py --select C -- --fix", "a.py", ("--fix",), {"select": [("A,B",), ("C",)]}),
        ("check a.py 3 --fix --format json", "a.py", ("3",), {"fix": [()], "format": [("json",)]}),
        ("check --explain ATT001", "", (), {"explain": [("ATT001",)]}),
        ("explain a.py --select x --fix", "a.py", ("--select", "x", "--fix"), {}),
    ],
)
def test_options_are_attnlabs_and_the_rest_is_the_programs(
    line: str, program: str, argv: tuple[str, ...], options: dict[str, list[tuple[str, ...]]]
) -> None:
    command = parse(line.split())
    assert (command.kind, command.program, command.argv, command.options) == ("script", program, argv, options)


def test_a_module() -> None:
    command = parse(["explain", "--all", "-m", "package.module", "-m", "x", "--all=3"])
    assert command == Command("explain", {"all": [()]}, "module", "package.module", ("-m", "x", "--all=3"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("paint a.py", "command.verb"),
        ("explain", "command.program"),
        ("explain --lang", "command.value"),
        ("whatif a.py --replace x", "command.value"),
        ("explain --frobnicate a.py", "command.option"),
        ("explain -m", "command.value"),
        ("check --diff", "command.program"),
        ("check a.py --explain", "command.value"),
        ("explain --fix a.py", "command.option"),
    ],
)
def test_misuse_is_told_by_the_id_of_a_sentence(line: str, message: str) -> None:
    with pytest.raises(Misused) as caught:
        parse(line.split())
    assert caught.value.id == message


@pytest.mark.parametrize("line", ["", "--help", "-h", "help"])
def test_help(line: str) -> None:
    assert parse(line.split()).verb == "help"
