"""`attnlab lesson`: listed, shown, run and copied; and the page that each lesson has."""

import ast
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tokenize
import tomllib
from pathlib import Path

import pytest

from attnlab import bundled
from attnlab.lessons import lessons, number, source, translated
from attnlab.words import Words

ROOT = Path(__file__).parents[1]
LESSONS = lessons()
LANGUAGES = ["en", "zh"]
OUTPUTS = ROOT / "docs" / "lessons" / "output"
# What these print depends on nothing but the seed, and takes a moment.
QUICK = (0, 1, 2, 3, 4, 5, 6, 10)
IDEOGRAPH = re.compile(r"[\u4e00-\u9fff]")
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def attnlab(*arguments: str, cwd: Path, lang: str = "en") -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "PYTHONIOENCODING": "utf-8", "ATTNLAB_LANG": lang}
    command = [sys.executable, "-m", "attnlab", "lesson", *arguments]
    return subprocess.run(command, cwd=cwd, env=environ, capture_output=True, encoding="utf-8", check=False)


def code(text: str) -> list[tuple[int, str]]:
    """The tokens of a source without its comments."""
    skipped = (tokenize.COMMENT, tokenize.NL)
    return [
        (token.type, token.string)
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in skipped
    ]


@pytest.mark.parametrize("lang", LANGUAGES)
def test_they_are_listed(lang: str, tmp_path: Path) -> None:
    done = attnlab(cwd=tmp_path, lang=lang)
    assert (done.returncode, done.stderr) == (0, "")
    words = Words("zh" if lang == "zh" else "en")
    for item in LESSONS:
        assert words.say(f"lesson.title.{item:02}") in done.stdout
        assert words.say(f"lesson.question.{item:02}") in done.stdout


def test_there_are_thirteen() -> None:
    assert list(LESSONS) == list(range(13))


@pytest.mark.parametrize("asked", ["3", "03"])
def test_one_is_shown_as_it_is(asked: str, tmp_path: Path) -> None:
    done = attnlab(asked, cwd=tmp_path, lang="zh")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == LESSONS[3].read_text(encoding="utf-8")


def test_it_is_shown_in_english(tmp_path: Path) -> None:
    done = attnlab("3", "--lang", "en", cwd=tmp_path, lang="zh")
    assert done.returncode == 0
    assert done.stdout == source(LESSONS[3], "en")


@pytest.mark.parametrize("item", LESSONS)
def test_in_english_its_code_is_the_same(item: int) -> None:
    text, english = LESSONS[item].read_text(encoding="utf-8"), source(LESSONS[item], "en")
    assert len(text.splitlines()) == len(english.splitlines())
    if item != 0:  # the demo's docstring may be said in English, too
        assert code(english) == code(text)
    comments = [
        token.string
        for token in tokenize.generate_tokens(io.StringIO(english).readline)
        if token.type == tokenize.COMMENT and IDEOGRAPH.search(token.string)
    ]
    assert comments == []


def test_what_has_no_english_stays() -> None:
    text = 'x = "# 一"  # 一\ny = "二"  # 三\n'
    assert translated(text, {"# 一": "# one"}) == 'x = "# 一"  # one\ny = "二"  # 三\n'


def test_a_string_is_said_in_english_as_a_whole() -> None:
    assert translated('"""一"""\nx = "一"\n', {'"""一"""': '"""One"""'}) == '"""One"""\nx = "一"\n'


@pytest.mark.parametrize("asked", ["", "x", "-1", "1.0", "²", "99999"])
def test_what_is_no_number(asked: str) -> None:
    assert number(asked) is None


def test_it_runs(tmp_path: Path) -> None:
    done = attnlab("0", "--run", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Input X shape: torch.Size([2, 4, 8])")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("lang", LANGUAGES)
def test_it_is_copied_and_never_over_a_file(lang: str, tmp_path: Path) -> None:
    done = attnlab("3", "--copy", cwd=tmp_path, lang=lang)
    assert (done.returncode, done.stderr) == (0, "")
    copy = tmp_path / "03_positions.py"
    assert copy.name in done.stdout
    assert copy.read_text(encoding="utf-8") == source(LESSONS[3], lang)
    copy.write_text("mine", encoding="utf-8")
    done = attnlab("3", "--copy", cwd=tmp_path, lang=lang)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert copy.name in done.stderr
    assert copy.read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["99"], ["99", "0 ", "12 "]),
        (["x"], ["x", "0 ", "12 "]),
        (["3", "4"], ["attnlab lesson 3"]),
        (["--run"], ["--run"]),
        (["--copy"], ["--copy"]),
        (["3", "--run", "--copy"], ["--run", "--copy"]),
        (["--frobnicate"], ["--frobnicate"]),
        (["-m", "x"], ["-m"]),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("lang", LANGUAGES)
def test_misuse_is_one_sentence(arguments: list[str], parts: list[str], lang: str, tmp_path: Path) -> None:
    done = attnlab(*arguments, cwd=tmp_path, lang=lang)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert all(part in done.stderr for part in parts)


@pytest.mark.parametrize("arguments", [[], ["3"], ["3", "--copy"]], ids=["list", "show", "copy"])
def test_no_torch_is_needed(arguments: list[str], tmp_path: Path) -> None:
    command = [sys.executable, "-X", "importtime", "-m", "attnlab", "lesson", *arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0
    assert not re.search(r"\| +torch$", done.stderr, re.MULTILINE)


def test_a_wheel_holds_them_where_they_are_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    included = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    package = tmp_path / "attnlab"
    for origin, place in included.items():
        if (ROOT / origin).is_dir():
            shutil.copytree(ROOT / origin, tmp_path / place)
        else:
            shutil.copy(ROOT / origin, tmp_path / place)
    monkeypatch.setattr(bundled, "_HERE", package)
    assert {file.parent for file in lessons().values()} == {package / "lesson_files"}
    assert list(lessons()) == list(LESSONS)
    assert source(lessons()[3], "en") == source(LESSONS[3], "en")


# The pages


def page(item: int, language: str) -> str:
    return (ROOT / "docs" / language / "lessons" / f"{item:02}.md").read_text(encoding="utf-8")


def asked(text: str) -> list[list[str]]:
    """The `whatif` commands of a page, without their first two words."""
    lines = [line for line in text.splitlines() if line.strip().startswith("attnlab whatif ")]
    return [[word for word in shlex.split(line)[2:] if word != "--rerun"] for line in lines]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("item", LESSONS)
def test_its_page_has_its_title_and_its_question(item: int, language: str) -> None:
    text, words = page(item, language), Words("zh" if language == "zh" else "en")
    first = text.splitlines()[0]
    assert first.startswith("# ")
    assert first.endswith(words.say(f"lesson.title.{item:02}"))
    assert str(item) in first
    assert words.say(f"lesson.question.{item:02}").casefold() in text.casefold()


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("item", LESSONS)
def test_its_page_includes_the_file_and_what_it_prints(item: int, language: str) -> None:
    name = LESSONS[item].name
    written = name if item == 0 else f"lessons/{name}"
    included = re.findall(r'^--8<-- "(.*)"$', page(item, language), re.MULTILINE)
    told = f"build/lessons_en/{name}" if language == "en" else written
    assert included == [told, f"docs/lessons/output/{item:02}.txt"]
    assert (ROOT / included[1]).stat().st_size


@pytest.mark.parametrize("item", LESSONS)
def test_its_page_is_the_same_in_both_languages(item: int) -> None:
    pages = [page(item, language) for language in LANGUAGES]
    levels, commands = ([f(text) for text in pages] for f in (lambda t: re.findall(r"^#+ ", t, re.MULTILINE), asked))
    assert levels[0] == levels[1]
    assert commands[0] == commands[1]


@pytest.mark.parametrize("item", LESSONS)
def test_what_its_page_changes_is_there_to_be_changed(item: int) -> None:
    commands = asked(page(item, "en"))
    assert len(commands) == 3
    text = LESSONS[item].read_text(encoding="utf-8")
    bare = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    names = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    names |= {node.arg for node in ast.walk(ast.parse(text)) if isinstance(node, ast.arg)}
    for name, option, change, *rest in commands:
        assert name == LESSONS[item].name
        if option == "--set":
            assert change.partition("=")[0] in names
        else:
            assert option == "--replace"
            assert rest
            assert bare.count(change) == 1, f"{change!r} stands {bare.count(change)} times in {name}"


@pytest.mark.parametrize("item", QUICK)
def test_what_its_page_shows_is_what_it_prints(item: int, tmp_path: Path) -> None:
    shown = (OUTPUTS / f"{item:02}.txt").read_text(encoding="utf-8")
    done = attnlab(str(item), "--run", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert NUMBER.sub("#", done.stdout).split() == NUMBER.sub("#", shown).split()
    pairs = zip(NUMBER.findall(done.stdout), NUMBER.findall(shown), strict=True)
    for got, expected in pairs:
        # Differences that are rounding alone are others on another machine.
        assert float(got) == pytest.approx(float(expected), rel=1e-2, abs=1e-5), (got, expected)
