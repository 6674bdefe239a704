"""One source for every sentence: both catalogs are whole, all of it is used, and no sentence stands anywhere else."""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Iterator
from pathlib import Path

import pytest

from attnlab.words import LANGUAGES, UnknownLanguage, Words, catalog, language

PACKAGE = Path(__file__).parents[1] / "src" / "attnlab"
FILES = sorted(PACKAGE.rglob("*.py"))
IDEOGRAPH = re.compile(r"[\u4e00-\u9fff]")
# Three words in a row are taken for a sentence.
SENTENCE = re.compile(r"\b[A-Za-z]{2,}(?:,? [a-z]{2,}){2,}")


def fields(text: str) -> set[tuple[str, str, str | None]]:
    """The placeholders of a text, with how each is formatted."""
    return {
        (name, spec or "", conversion)
        for _, name, spec, conversion in string.Formatter().parse(text)
        if name is not None
    }


def test_both_languages_have_the_same_ids() -> None:
    zh, en = set(catalog("zh")), set(catalog("en"))
    assert not zh ^ en, f"only in zh: {sorted(zh - en)}; only in en: {sorted(en - zh)}"


@pytest.mark.parametrize("name", sorted(set(catalog("zh")) & set(catalog("en"))))
def test_both_languages_have_the_same_placeholders(name: str) -> None:
    assert fields(catalog("zh")[name]) == fields(catalog("en")[name])


@pytest.mark.parametrize("lang", LANGUAGES)
def test_no_text_is_empty(lang: str) -> None:
    assert [name for name, text in catalog(lang).items() if not text.strip()] == []


def test_english_is_english() -> None:
    assert [name for name, text in catalog("en").items() if IDEOGRAPH.search(text)] == []


def test_chinese_is_chinese() -> None:
    letters = re.compile(r"[\u3000-\u9fff\uff00-\uffef]")
    odd = [n for n, text in catalog("zh").items() if not letters.search(text) and text != catalog("en").get(n)]
    assert odd == []  # what is the same in both languages is a formula


# What Python and PyTorch say, and the tool looks for; and what `patch` looks for.
QUOTED = {
    "Traceback (most recent call last):",
    "out of range",
    "tuple index out of range",
    "\\ No newline at end of file",
}
PATTERN = re.compile(r"\\[dw(\[]|\(\?|\w\|\w")


def literals(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Each string of a file with its line, but for docstrings and what is raised or asserted; f-strings whole."""
    skipped: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                skipped |= set(map(id, ast.walk(first)))
        elif isinstance(node, (ast.Raise, ast.Assert)) or is_alias(node):
            skipped |= set(map(id, ast.walk(node)))
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.JoinedStr):
            skipped |= {id(part) for part in node.values}
            parts = (part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
            yield node.lineno, "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def is_alias(node: ast.AST) -> bool:
    """Whether a statement names a type, written as text."""
    annotation = node.annotation if isinstance(node, ast.AnnAssign) else None
    return isinstance(annotation, ast.Name) and annotation.id == "TypeAlias"


def sentences(source: str) -> list[tuple[int, str]]:
    """The strings of a source that are sentences, or hold Chinese."""
    return [
        (line, text)
        for line, text in literals(ast.parse(source))
        if text not in QUOTED and not PATTERN.search(text)
        if IDEOGRAPH.search(text) or SENTENCE.search(text.replace("{}", "it"))
    ]


@pytest.mark.parametrize(
    "source",
    [
        'print("the shape does not fit")',
        'say(f"line {n} does not fit")',
        'x = {"a": "没有找到"}',
        'def f():\n    x = 1\n    "not the docstring of it"',
    ],
)
def test_a_sentence_would_be_seen(source: str) -> None:
    assert sentences(source)


@pytest.mark.parametrize(
    "source",
    [
        '"""A docstring of some words."""',
        'raise ValueError(f"expected a name, got {x}")',
        'say("step.matmul", inner="D=8")',
        'x = "softmax(QKᵀ/√d_k)V"',
        'X: TypeAlias = "tuple[int, str, bool, float]"',
        'x = re.compile(r"must match the size of tensor a \\((\\d+)\\)")',
    ],
)
def test_what_is_no_sentence_is_let_pass(source: str) -> None:
    assert not sentences(source)


# What people type, which the tool never says: the names of topics, taken in either language.
ASKED = PACKAGE / "answers" / "why" / "asking.py"
SAYING = [file for file in FILES if file != ASKED]


@pytest.mark.parametrize("file", SAYING, ids=[file.relative_to(PACKAGE).as_posix() for file in SAYING])
def test_no_sentence_stands_in_code(file: Path) -> None:
    assert sentences(file.read_text(encoding="utf-8")) == []


def used() -> tuple[set[str], list[re.Pattern[str]]]:
    """The strings of the package, and a pattern for each f-string of it."""
    plain: set[str] = set()
    patterns: list[re.Pattern[str]] = []
    for file in FILES:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                plain.add(node.value)
            elif isinstance(node, ast.JoinedStr):
                parts = [str(part.value) if isinstance(part, ast.Constant) else "" for part in node.values]
                if re.fullmatch(r"[\w.-]{5,}", "".join(parts)):
                    patterns.append(re.compile("".join(re.escape(part) or r"[\w.-]+" for part in parts)))
    return plain, patterns


def test_every_text_is_used() -> None:
    plain, patterns = used()
    unused = [name for name in catalog("en") if name not in plain and not any(p.fullmatch(name) for p in patterns)]
    assert unused == []


def test_every_id_that_is_said_has_words() -> None:
    missing: list[str] = []
    for file in FILES:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not node.args or not isinstance(node.args[0], ast.Constant):
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in ("say", "Message") and node.args[0].value not in catalog("en"):
                missing.append(f"{file.name}:{node.lineno}: {node.args[0].value}")
    assert missing == []


def test_says_a_text_with_its_parameters() -> None:
    assert Words("en").say("title.place", function="f", line=3) == "f (line 3)"
    assert Words("zh").say("title.place", function="f", line=3) == "f（第 3 行）"


def test_text_of_the_user_is_never_taken_for_a_placeholder() -> None:
    assert Words("en").say("title.place", function="{line}", line=3) == "{line} (line 3)"


@pytest.mark.parametrize(
    ("name", "params"),
    [("no.such.id", {}), ("title.place", {"function": "f"}), ("title.place", {"function": "f", "line": 3, "more": 1})],
    ids=["unknown id", "a parameter missing", "a parameter too many"],
)
def test_what_has_no_words_is_an_error(name: str, params: dict[str, object]) -> None:
    with pytest.raises(LookupError, match=re.escape(name)):
        Words("en").say(name, **params)


@pytest.mark.parametrize(
    ("option", "environ", "expected"),
    [
        (None, {}, "en"),
        (None, {"LANG": "zh_CN.UTF-8"}, "zh"),
        (None, {"LANG": "fr_FR.UTF-8"}, "en"),
        (None, {"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, "en"),
        (None, {"LANG": "en_US.UTF-8", "LC_MESSAGES": "zh_TW.UTF-8"}, "zh"),
        (None, {"LANG": "zh_CN.UTF-8", "LC_ALL": ""}, "zh"),
        (None, {"LANG": "zh_CN.UTF-8", "ATTNLAB_LANG": "en"}, "en"),
        (None, {"LANG": "zh_CN.UTF-8", "ATTNLAB_LANG": ""}, "zh"),
        ("zh", {"ATTNLAB_LANG": "en", "LC_ALL": "en_US.UTF-8"}, "zh"),
        ("zh-CN", {}, "zh"),
        ("EN", {"LANG": "zh_CN.UTF-8"}, "en"),
    ],
)
def test_the_language(option: str | None, environ: dict[str, str], expected: str) -> None:
    assert language(option, environ) == expected


@pytest.mark.parametrize(
    ("option", "environ", "sentence"),
    [
        ("fr", {}, "--lang names the language 'fr'; attnlab speaks zh, en."),
        ("", {}, "--lang names the language ''; attnlab speaks zh, en."),
        (None, {"ATTNLAB_LANG": "de", "LANG": "zh_CN"}, "ATTNLAB_LANG 要的语言是 'de'；attnlab 会说的只有 zh, en。"),
    ],
)
def test_an_unknown_language_is_told_in_one_that_is_known(
    option: str | None, environ: dict[str, str], sentence: str
) -> None:
    with pytest.raises(UnknownLanguage) as caught:
        language(option, environ)
    assert str(caught.value) == sentence
