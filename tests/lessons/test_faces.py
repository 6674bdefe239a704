"""`explain`, `whatif`, `why` and `check` on every lesson; check finds nothing. The long ones are made shorter here."""

import io
import re
from contextlib import redirect_stdout
from pathlib import Path

import pytest
import runs
from check_cases import differences
from laboratory import answered, called
from lesson_files import FILES
from why_asked import asked

from attnlab.answers.data import Answer

# What makes a lesson long, and how it is shortened: the same lines run, for fewer steps or on less.
SHORTER = {
    "05": [("depth = 24", "depth = 3")],
    "07": [(r"steps = \d+", "steps = 12")],
    "08": [(r"steps = \d+", "steps = 12"), (r"generate\(start, 23,", "generate(start, 5,")],
    "09": [(r"\(128, 256, 512\)", "(4, 8)"), ("d_model = 256", "d_model = 32"), (r"\(1, 32\)", "(1, 4)")],
    "10": [(r"\(6, 3, 2, 1\)", "(3,)")],
    "11": [(r"\(1024, 4096, 16384\)", "(128, 256)"), ("1, 1000, d_k", "1, 600, d_k")],
    "12": [("8, 32, 6, 60, 16", "8, 32, 6, 6, 16")],
}
CHANGED = {"00": "seq_len", "01": "seq_len", "02": "seq_len", "03": "seq_len", "04": "memory_len", "05": "seq_len"}


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("lessons")
    made = {}
    for file in FILES:
        number = file.name[:2] if file.name[0].isdigit() else "00"
        text = file.read_text(encoding="utf-8")
        for old, new in SHORTER.get(number, []):
            text, count = re.subn(old, new, text)
            assert count, f"{old} is not in {file.name}"
        made[number] = folder / file.name
        made[number].write_text(text, encoding="utf-8")
    return made


NUMBERS = [f"{number:02}" for number in range(13)]


@pytest.mark.parametrize("number", NUMBERS)
def test_explain_finds_its_attention(short: dict[str, Path], number: str) -> None:
    with redirect_stdout(io.StringIO()):
        explanation = runs.explanation_of(short[number])
    assert explanation is not None
    assert runs.attentions_of(short[number])


@pytest.mark.parametrize("number", NUMBERS)
def test_check_finds_nothing(short: dict[str, Path], number: str) -> None:
    assert called(differences, short[number]) == []


@pytest.mark.parametrize("number", NUMBERS)
def test_why_answers(short: dict[str, Path], number: str) -> None:
    (answer,) = called(asked, str(short[number]), [("softmax", 0)])
    assert isinstance(answer, Answer), answer


@pytest.mark.parametrize("number", NUMBERS)
def test_whatif_answers(short: dict[str, Path], number: str) -> None:
    name = CHANGED.get(number, "d_model" if number != "11" else "d_k")
    (answer,) = answered(short[number], {"sets": [f"{name}={24 if name.startswith('d_') else 3}"]})
    assert isinstance(answer, Answer), answer
