"""Pages that cannot lag: what the code has stands on them, in both languages."""

import dataclasses
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from attnlab import run
from attnlab.checks.codes import CODES
from attnlab.run import Run
from attnlab.words import Words

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
LANGUAGES = ["en", "zh"]
# Records with a section and a table of their fields; an argument's forms stand in one table together.
RECORDS = [
    name
    for name, record in vars(run).items()
    if isinstance(record, type) and dataclasses.is_dataclass(record) and name not in {"Ref", "Slice", "Opaque"}
]


def read(*parts: str) -> str:
    return ROOT.joinpath(*parts).read_text(encoding="utf-8")


def section(page: str, heading: str) -> str:
    found = re.search(rf"^## {heading}$(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    assert found, f"no section `## {heading}`"
    return found[1]


def rows(text: str) -> Iterator[list[str]]:
    """The cells of each row of the tables in a text, without their heads."""
    for line in text.splitlines():
        if line.startswith("| `"):
            yield [cell.strip() for cell in line.strip("|").split(" | ")]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("record", RECORDS)
def test_each_field_of_a_record_is_described(record: str, language: str) -> None:
    described = [cells[0].strip("`") for cells in rows(section(read("docs", language, "run.md"), record))]
    assert described == [field.name for field in dataclasses.fields(getattr(run, record))]


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_form_of_an_argument_is_described(language: str) -> None:
    named = {cells[1].strip("`") for cells in rows(section(read("docs", language, "run.md"), "Argument"))}
    assert named == {"Ref", "Slice", "Opaque", "float"}


@pytest.fixture(scope="module")
def examples() -> dict[str, Run]:
    """The Run that stands on the page, for each language."""
    found = {}
    for language in LANGUAGES:
        (text,) = re.findall(r"^```json\n(.*?)^```$", read("docs", language, "run.md"), re.MULTILINE | re.DOTALL)
        found[language] = Run.from_json(text)
        assert json.loads(found[language].to_json()) == json.loads(text)
    return found


def test_the_example_of_a_run_is_what_running_its_program_gives(examples: dict[str, Run], tmp_path: Path) -> None:
    told = examples["en"]
    ((file, text),) = told.sources.items()
    (tmp_path / told.program.name).write_text(text, encoding="utf-8")
    code = (
        "from attnlab.recording.program import Conditions, run_program; from attnlab.run import Program;"
        f"print(run_program(Program('script', {told.program.name!r}, ()), Conditions())[0].to_json())"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, encoding="utf-8", check=True)
    here = json.dumps(str(tmp_path / told.program.name))
    got = Run.from_json(done.stdout.replace(here, json.dumps(file)))
    assert dataclasses.replace(got, seconds=told.seconds, torch=told.torch) == told


def test_the_example_of_a_run_is_the_same_in_both_languages(examples: dict[str, Run]) -> None:
    assert examples["en"] == examples["zh"]


@pytest.mark.parametrize("number", [run.FORMAT, run.CORNER, run.STATISTICS])
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_numbers_of_the_format_are_told(number: int, language: str) -> None:
    assert re.search(rf"(?<![\d,]){number:,}(?![\d,])", read("docs", language, "run.md"))


@pytest.mark.parametrize("name", sorted({path.name for path in ROOT.glob("docs/*/*.md")}))
def test_a_page_has_the_same_sections_in_both_languages(name: str) -> None:
    levels = [re.findall(r"^(#+) ", read("docs", language, name), re.MULTILINE) for language in LANGUAGES]
    assert levels[0] == levels[1]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_its_links_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    headings = {heading.lower().replace(" ", "-") for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE)}
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, anchor = target.partition("#")
        if path.startswith("http"):
            continue
        assert (page.parent / path).exists(), f"{page.name} links to {target}, which is not there"
        if not path:
            assert anchor in headings, f"{page.name} links to its section {anchor}, which is not there"


@pytest.mark.parametrize("name", ["README.md", "README.zh.md"])
def test_a_readme_is_short(name: str) -> None:
    assert len(read(name).splitlines()) < 150


@pytest.mark.parametrize(("name", "lang"), [("README.md", "en"), ("README.zh.md", "zh")])
def test_the_readmes_example_is_what_the_command_says(name: str, lang: str) -> None:
    command = [sys.executable, "-m", "attnlab", "explain", "self_attention_demo.py", "--lang", lang]
    environ = {**os.environ, "COLUMNS": "80", "PYTHONIOENCODING": "utf-8"}
    said = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, encoding="utf-8", check=True).stdout
    lines = iter(said.splitlines())
    example = (
        (ROOT / name).read_text(encoding="utf-8").partition("<!-- example -->")[2].partition("<!-- /example -->")[0]
    )
    shown = [line for line in example.strip().splitlines()[2:-1] if line not in ("…", "")]
    assert len(shown) > 20
    for line in shown:
        assert line in lines, f"{name} shows a line that the command does not say there: {line}"


def marked(page: str, mark: str) -> str:
    return page.partition(f"<!-- {mark} -->")[2].partition(f"<!-- /{mark} -->")[0].strip()


@pytest.mark.parametrize(("lang", "readme"), [("en", "README.md"), ("zh", "README.zh.md")])
def test_the_example_of_check_is_what_the_command_says(lang: str, readme: str, tmp_path: Path) -> None:
    page = read("docs", lang, "check.md")
    (program,) = re.findall(r"^```python\n(import math.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (tmp_path / "my_attention.py").write_text(program, encoding="utf-8")
    command = [sys.executable, "-m", "attnlab", "check", "my_attention.py"]
    environ = {**os.environ, "COLUMNS": "80", "PYTHONIOENCODING": "utf-8", "ATTNLAB_LANG": lang}
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, encoding="utf-8", check=False)
    assert (done.returncode, done.stderr) == (1, "")
    shown = marked(page, "example").splitlines()[2:-1]
    assert shown == done.stdout.splitlines()
    begun = marked(read(readme), "check").splitlines()[1:-2]
    assert len(begun) > 3
    assert begun == shown[: len(begun)]


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_rule_has_a_page_of_its_name(code: str, language: str) -> None:
    assert read("docs", language, "rules", f"{code}.md").startswith(f"# {code} {CODES[code]}\n")


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_page_of_a_rule_is_without_one(language: str) -> None:
    assert {path.stem for path in ROOT.glob(f"docs/{language}/rules/*")} == set(CODES)


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_index_of_rules_is_whole(lang: str) -> None:
    words = Words("zh" if lang == "zh" else "en")
    rows = marked(read("docs", lang, "check.md"), "rules").splitlines()[2:]
    wanted = [f"| [{code} {slug}](rules/{code}.md) | {words.say(f'rule.{slug}')} |" for code, slug in CODES.items()]
    assert rows == wanted
