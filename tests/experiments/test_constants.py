"""Numbers in a source text: which there are, which one a name means, and the text with others in their place."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import dedent

import pytest

from attnlab.experiments import constants
from attnlab.experiments.changes import BadChange, Change, Constant, Replace, SetConstant


def found(text: str) -> list[Constant]:
    return list(constants.find({"a.py": dedent(text)}))


def set_to(text: str, name: str, value: str) -> str:
    """The text with the constant of that name set."""
    known = found(text)
    constant = constants.choose(known, name)
    change = SetConstant(constant, constants.value(constant, value))
    return constants.apply({"a.py": dedent(text)}, [change], "a.py")["a.py"]


# A number that is passed by place has the name of the parameter.
MODULE = "class M:\n    def __init__(self, d, h): pass"
DATA = "@dataclass\nclass C:\n    d: int\n    h: int"


def refused(text: str, name: str, value: str = "1") -> tuple[str, dict[str, object]]:
    with pytest.raises(BadChange) as caught:
        set_to(text, name, value)
    return caught.value.id, caught.value.params


@pytest.mark.parametrize(
    ("text", "name", "kind", "after"),
    [
        ("seq_len = 4", "seq_len", "name", "seq_len = 6"),
        ("seq_len: int = 4", "seq_len", "name", "seq_len: int = 6"),
        ("def f():\n    seq_len = 4", "seq_len", "name", "def f():\n    seq_len = 6"),
        ("B, L, D = 2, 4, 8", "L", "name", "B, L, D = 2, 6, 8"),
        ("(B, L), D = (2, 4), 8", "L", "name", "(B, L), D = (2, 6), 8"),
        ("a = b = 4", "a", "name", "a = b = 6"),
        ("a = b = 4", "b", "name", "a = b = 6"),
        ("f(n := 4)", "n", "name", "f(n := 6)"),
        ("self.h = 4", "h", "name", "self.h = 6"),
        ("self.h: int = 4", "h", "name", "self.h: int = 6"),
        ("config['h'] = 4", "h", "item", "config['h'] = 6"),
        ("class C:\n    h = 4", "h", "field", "class C:\n    h = 6"),
        ("@dataclass\nclass C:\n    h: int = 4", "h", "field", "@dataclass\nclass C:\n    h: int = 6"),
        ("class C:\n    h: int = field(default=4)", "h", "field", "class C:\n    h: int = field(default=6)"),
        ("def f(x, h=4): pass", "h", "default", "def f(x, h=6): pass"),
        ("def f(x, *, h: int = 4): pass", "h", "default", "def f(x, *, h: int = 6): pass"),
        ("async def f(h=4, /): pass", "h", "default", "async def f(h=6, /): pass"),
        ("g = lambda h=4: h", "h", "default", "g = lambda h=6: h"),
        ("add_argument('--seq-len', default=4)", "seq_len", "option", "add_argument('--seq-len', default=6)"),
        ("p.add_argument('-n', '--heads', default=4)", "heads", "option", "p.add_argument('-n', '--heads', default=6)"),
        ("c = {'heads': 4, 2: 3}", "heads", "item", "c = {'heads': 6, 2: 3}"),
        ("c = dict(heads=4)", "heads", "keyword", "c = dict(heads=6)"),
        ("m = MultiHead(8, n_heads=4)", "n_heads", "keyword", "m = MultiHead(8, n_heads=6)"),
        (f"{MODULE}\nM(8, 4)", "h", "keyword", f"{MODULE}\nM(8, 6)"),
        (f"{DATA}\nC(8, 4)", "h", "keyword", f"{DATA}\nC(8, 6)"),
        ("def f(h=1): pass\nf(4)", "h", "keyword", "def f(h=1): pass\nf(6)"),
        ("x = torch.randn(2, 4, 8)", "randn[1]", "argument", "x = torch.randn(2, 6, 8)"),
        ("x = a.transpose(-2, -4)", "transpose[1]", "argument", "x = a.transpose(-2, 6)"),
        ("批, 长 = 2, 4  # 样本, 词元", "长", "name", "批, 长 = 2, 6  # 样本, 词元"),
    ],
)  # fmt: skip
def test_every_kind_is_found_and_set(text: str, name: str, kind: str, after: str) -> None:
    assert constants.choose(found(text), name).kind == kind
    assert set_to(text, name, "6") == after


@pytest.mark.parametrize(
    ("text", "name", "value", "after"),
    [
        ("lr = 1e-3", "lr", "0.5", "lr = 0.5"),
        ("lr = 0.1", "lr", "1", "lr = 1.0"),
        ("dim = -1", "dim", "-2", "dim = -2"),
        ("dim = -1", "dim", "0", "dim = 0"),
        ("pad = 0", "pad", "-1", "pad = -1"),
        ("n = 1_000", "n", "1", "n = 1"),
        ("n = 4", "n", " 6 ", "n = 6"),
        ("n = 4; m = 5", "m", "123", "n = 4; m = 123"),
    ],
)
def test_numbers_of_every_sort(text: str, name: str, value: str, after: str) -> None:
    assert set_to(text, name, value) == after


@pytest.mark.parametrize(
    ("text", "value", "why"),
    [
        ("n = 4", "0", "change.whole"),
        ("n = 4", "-1", "change.whole"),
        ("n = 4", "1.5", "change.whole"),
        ("n = 4", "", "change.whole"),
        ("n = 4", "six", "change.whole"),
        ("n = 4", "9" * 5000, "change.whole"),
        ("n = 0.5", "half", "change.number"),
        ("n = 0.5", "nan", "change.number"),
        ("n = 0.5", "inf", "change.number"),
        ("n = 0.5", "1e999", "change.number"),
    ],
)
def test_what_cannot_take_its_place(text: str, value: str, why: str) -> None:
    assert refused(text, "n", value) == (why, {"name": "n", "asked": value})


def test_other_things_are_no_constants() -> None:
    assert found("flag = True\nname = 'x'\nn = m * 4\nx = y[4]\nz = [1, 2]\nif x == 4: pass") == []


def test_a_text_that_is_no_python_has_none() -> None:
    assert found("n = (4") == []


def test_a_warning_of_the_parser_is_not_shown(recwarn: pytest.WarningsRecorder) -> None:
    assert [constant.name for constant in found("p = '\\d'\nn = 4")] == ["n"]
    assert not recwarn.list


@pytest.mark.parametrize("mark", ["\x0c", "\x1c", "\u2028", "\x85"])
def test_lines_are_those_that_python_counts(mark: str) -> None:
    text = f"s = '''a{mark}b'''  # {mark}\nn = 4\n"
    assert [(c.name, c.line) for c in found(text)] == [("n", 2)]
    assert set_to(text, "n", "6") == text.replace("4", "6")


def test_a_place_that_python_tells_wrong_is_left_alone() -> None:
    text = 'a = f"""\n{f(4)} {g(n=4):>5}"""\n'
    for constant in found(text):
        change = SetConstant(constant, 6)
        assert constants.apply({"a.py": text}, [change], "a.py")["a.py"].count("6") == 1


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("def f(n=1): pass\nn = 2", 2),
        ("class C:\n    n = 1\nf(n=2)", 2),
        ("f(n=1)\np.add_argument('--n', default=2)", 2),
        ("def f(n=1): pass\nf(n=2)", 2),
    ],
)
def test_of_several_kinds_the_one_that_decides(text: str, line: int) -> None:
    assert constants.choose(found(text), "n").line == line


def test_of_several_alike_the_line_must_say() -> None:
    text = "f(n=1)\ng(n=2)\n"
    assert refused(text, "n", "6") == ("change.several", {"name": "n", "lines": "1, 2", "first": "n@1"})
    assert set_to(text, "n@2", "6") == "f(n=1)\ng(n=6)\n"
    assert refused(text, "n@3") == ("change.near", {"name": "n@3", "near": "n"})


def test_a_name_may_be_written_as_an_option() -> None:
    assert set_to("seq_len = 4", "seq-len", "6") == "seq_len = 6"


def test_an_unknown_name() -> None:
    text = "seq_len = 4\nbatch_size = 2\nx = f(9)"
    assert refused(text, "seqlen") == ("change.near", {"name": "seqlen", "near": "seq_len"})
    assert refused(text, "q") == ("change.unknown", {"name": "q", "names": "batch_size, seq_len"})
    assert refused("x = f(4)", "q") == ("change.unknown", {"name": "q", "names": "f[0]"})
    assert refused("x = y", "q") == ("change.unknown", {"name": "q", "names": "—"})


@dataclass(frozen=True)
class Replaced:
    text: str

    def by(self, old: str, new: str, line: int | None = None) -> str:
        return constants.apply({"a.py": self.text}, [Replace(old, new, line)], "a.py")["a.py"]

    def refused(self, old: str, new: str, line: int | None = None) -> tuple[str, dict[str, object]]:
        with pytest.raises(BadChange) as caught:
            self.by(old, new, line)
        return caught.value.id, caught.value.params


@pytest.mark.parametrize(
    ("text", "old", "new", "after"),
    [
        ("y = q @ k.transpose(-2, -1)", "-2, -1", "0, 1", "y = q @ k.transpose(0, 1)"),
        ("y = k.transpose(-2, -1)", ".transpose(-2, -1)", ".mT", "y = k.mT"),
        ("y = s / math.sqrt(d)", " / math.sqrt(d)", "", "y = s"),
        ("y = s / math.sqrt(d)", "/ math.sqrt(d)", "/ d", "y = s / d"),
        ("y = f(s, dim=-1)", ", dim=-1", "", "y = f(s)"),
        ("y = einsum('ij,jk->ik', a, b)", "'ij,jk->ik'", "'ij,kj->ik'", "y = einsum('ij,kj->ik', a, b)"),
        ("y = f(\n    q,\n    k)", "q,\n    k", "k, q", "y = f(\n    k, q)"),
        ("分数 = Q @ K", "Q @ K", "K @ Q", "分数 = K @ Q"),
        ("# Q @ K\n'Q @ K'\ny = Q @ K", "Q @ K", "K", "# Q @ K\n'Q @ K'\ny = K"),
        ('"""\nQ\n"""\ny = Q', "Q", "K", '"""\nQ\n"""\ny = K'),
        ("QQ = Q + Qs + x.Q1", "Q", "K", "QQ = K + Qs + x.Q1"),
    ],
)
def test_a_text_is_replaced(text: str, old: str, new: str, after: str) -> None:
    assert Replaced(text).by(old, new) == after


def test_of_several_places_the_line_must_say() -> None:
    text = Replaced("a = Q\nb = Q + Q\n")
    assert text.refused("Q", "K") == ("change.often", {"old": "Q", "lines": "1, 2"})
    assert text.by("Q", "K", 1) == "a = K\nb = Q + Q\n"
    assert text.refused("Q", "K", 2) == ("change.often", {"old": "Q", "lines": "2"})
    assert text.refused("Q", "K", 3) == ("change.absent", {"old": "Q", "where": "a.py:3"})


@pytest.mark.parametrize("old", ["P", "", "a=Q"])
def test_what_does_not_stand_there(old: str) -> None:
    assert Replaced("a = Q").refused(old, "K") == ("change.absent", {"old": old, "where": "a.py"})


@pytest.mark.parametrize("new", ["K(", "K)", "'", "return = 1", "return", "K\x00"])
def test_a_replacement_that_is_no_python(new: str) -> None:
    why, params = Replaced("a = Q\n").refused("a = Q", new)
    assert why == "change.python"
    assert params["new"] == new
    assert params["reason"]


def test_another_file_is_searched_after_the_main_one() -> None:
    sources = {"lib.py": "y = Q\n", "main.py": "y = Q\n"}
    assert constants.apply(sources, [Replace("Q", "K")], "main.py") == {"main.py": "y = K\n"}
    assert constants.apply({**sources, "main.py": ""}, [Replace("Q", "K")], "main.py") == {"lib.py": "y = K\n"}


def test_a_number_passed_by_place_has_the_name_of_another_files_parameter() -> None:
    sources = {"lib.py": "def f(n):\n    pass\n", "main.py": "f(4)\n"}
    assert [(c.name, c.file) for c in constants.find(sources)] == [("f[0]", "main.py"), ("n", "main.py")]


def test_changes_add_up() -> None:
    text = "n, m = 1, 2\nx = f(n)\n"
    n, m = (constants.choose(found(text), name) for name in "nm")
    changes: list[Change] = [SetConstant(n, 100), SetConstant(m, 200), Replace("f(n)", "f(m)")]
    assert constants.apply({"a.py": text}, changes, "a.py") == {"a.py": "n, m = 100, 200\nx = f(m)\n"}
    assert constants.apply({"a.py": text}, [], "a.py") == {}
