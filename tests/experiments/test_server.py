"""What a rerun does, and above all what it does not: reruns happen in a process of their own, within bounds."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from laboratory import Refused, Tried, called, own_children, processes, program, tried, unharmed

from attnlab.experiments.changes import Mode, Nudge, Seed
from attnlab.experiments.lab import Trial

# The first run of each program is a good one; what goes wrong goes wrong in the rerun with n = 2.
START = "import torch\nn = 1\nx = torch.ones(n)\n"
N2 = [("set", "n", "2")]


def rerun(folder: Path, text: str, seconds: float | None = None) -> Trial:
    """The rerun with n = 2 of a program that goes on with this text."""
    found = tried(program(folder, START + text), N2, seconds=seconds)
    assert isinstance(found, Tried)
    assert found.run.error is None
    return found.trials[0]


def shapes(trial: Trial) -> list[tuple[int, ...]]:
    assert trial.run is not None
    return [trial.run.values[value].shape for step in trial.run.steps for value in step.results]


def test_a_rerun_that_goes_well(tmp_path: Path) -> None:
    trial = rerun(tmp_path, "y = x + 1\nprint('sum', y.sum().item())\n")
    assert trial.ended == "whole"
    assert shapes(trial) == [(2,), (2,), ()]
    assert trial.reply.printed == "sum 4.0\n"
    assert trial.comparison is not None
    assert trial.comparison.printed == (("sum 2.0", "sum 4.0"),)


def test_an_endless_loop_is_stopped_at_its_bound(tmp_path: Path) -> None:
    began = time.monotonic()
    trial = rerun(tmp_path, "print('begins')\nwhile n > 1:\n    pass\n", seconds=1.0)
    assert (trial.ended, trial.run, trial.comparison) == ("time", None, None)
    assert trial.reply.printed == "begins\n"
    assert time.monotonic() - began < 60


def test_so_is_one_that_holds_on_to_every_exception(tmp_path: Path) -> None:
    text = """
while n > 1:
    try:
        while True:
            pass
    except BaseException:
        pass
"""
    assert rerun(tmp_path, text, seconds=1.0).ended == "time"


def test_so_is_one_that_closes_all_files(tmp_path: Path) -> None:
    text = "import os\nif n > 1:\n    os.closerange(3, 1000)\n    while True:\n        pass\n"
    assert rerun(tmp_path, text, seconds=1.0).ended == "time"


@pytest.mark.parametrize(
    "text",
    [
        "kept = []\nwhile n > 1:\n    kept.append(bytearray(1 << 26))\n",
        "if n > 1:\n    torch.ones(1 << 40)\n",
        "if n > 1:\n    kept = [torch.ones(1 << 24) for _ in range(1 << 10)]\n",
    ],
)
def test_a_memory_hog_is_stopped_at_its_bound(tmp_path: Path, text: str) -> None:
    trial = rerun(tmp_path, text, seconds=60.0)  # 4 GiB take a busy machine a while to fill
    assert trial.ended == "memory"
    assert trial.run is not None
    assert trial.run.error is not None
    assert shapes(trial)[0] == (2,)


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ("import os\nif n > 1:\n    os._exit(3)\n", "3"),
        ("import os\nif n > 1:\n    os._exit(0)\n", "0"),
        ("import ctypes\nif n > 1:\n    ctypes.string_at(0)\n", "SIGSEGV"),
        ("import os\nif n > 1:\n    os.abort()\n", "SIGABRT"),
    ],
)
def test_a_process_that_dies_is_said_to_have_died(tmp_path: Path, text: str, detail: str) -> None:
    trial = rerun(tmp_path, f"print('begins')\n{text}")
    assert (trial.ended, trial.reply.detail, trial.run) == ("died", detail, None)
    assert trial.reply.printed == "begins\n"


def test_a_program_that_dies_at_first_is_not_run_again(tmp_path: Path) -> None:
    found = tried(program(tmp_path, "import os\nos._exit(3)\n"), N2)
    assert isinstance(found, Refused)
    assert (found.id, found.params["detail"]) == ("again.died", "3")


def test_a_program_that_needs_too_much_memory_is_not_run_again(tmp_path: Path) -> None:
    found = tried(program(tmp_path, "import torch\nx = torch.ones(1 << 40)\n"), N2)
    assert isinstance(found, Refused)
    assert found.id == "again.memory"


def test_of_much_output_the_beginning_is_kept(tmp_path: Path) -> None:
    text = "for i in range(100 if n > 1 else 1):\n    print(str(i) * 10, 'x' * 1000000)\ny = x + 1\n"
    trial = rerun(tmp_path, text)
    assert trial.ended == "whole"
    assert trial.run is not None
    assert trial.run.error is None
    assert trial.reply.printed.startswith("0000000000 xxx")
    assert 1000000 <= len(trial.reply.printed) <= 1 << 20
    assert shapes(trial) == [(2,), (2,)]


def test_output_that_is_no_text(tmp_path: Path) -> None:
    trial = rerun(tmp_path, "import os, sys\nsys.stdout.flush()\nos.write(1, b'\\xff\\n')\nprint('后')\n")
    assert trial.reply.printed == "\ufffd\n后\n"


@pytest.mark.parametrize(
    "text",
    [
        "open(FILE, 'w').write('1')",
        "open(FILE, 'a').close()",
        "open(FILE, 'xb').close()",
        "import os; os.open(FILE, os.O_CREAT | os.O_WRONLY)",
        "import pathlib; pathlib.Path(FILE).write_text('1')",
        "import pathlib; pathlib.Path(FILE).mkdir()",
        "import os; os.makedirs(FILE)",
        "torch.save(x, FILE)",
        "torch.save({'x': x}, FILE, _use_new_zipfile_serialization=False)",
        "import numpy; numpy.save(FILE, x.numpy())",
        "import json; json.dump([1], open(FILE, 'w'))",
        "torch.jit.trace(torch.nn.Linear(1, 1), torch.ones(1)).save(FILE)",
        "import os; os.system(f'touch {FILE}')",
        "import subprocess; subprocess.run(['touch', FILE])",
        "import subprocess; subprocess.Popen(f'touch {FILE}', shell=True)",
        "import os; os.posix_spawn('/usr/bin/touch', ['touch', FILE], {})",
        "import os; os.symlink('.', FILE)",
    ],
)
def test_what_would_last_is_not_done(tmp_path: Path, text: str) -> None:
    file = tmp_path / "left"
    trial = rerun(tmp_path, f"FILE = {str(file)!r}\nif n > 1:\n    {text}\nprint('went on')\ny = x + 1\n")
    assert trial.ended == "effect"
    assert trial.reply.detail
    assert not os.path.lexists(file)
    assert trial.reply.printed == ""
    assert trial.run is not None
    assert trial.run.error is None
    assert shapes(trial)[0] == (2,)


@pytest.mark.parametrize(
    "text",
    [
        "os.remove(FILE)",
        "os.rename(FILE, FILE + '2')",
        "os.truncate(FILE, 0)",
        "os.chmod(FILE, 0)",
        "import shutil; shutil.rmtree(os.path.dirname(FILE))",
        "import shutil; shutil.move(FILE, FILE + '2')",
        "open(FILE, 'r+').write('other')",
    ],
)
def test_what_is_there_stays_as_it_is(tmp_path: Path, text: str) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    file = folder / "there"
    file.write_text("as it was", encoding="utf-8")
    before = file.stat()
    trial = rerun(tmp_path, f"import os\nFILE = {str(file)!r}\nif n > 1:\n    {text}\n")
    assert trial.ended == "effect"
    assert file.read_text(encoding="utf-8") == "as it was"
    assert (file.stat().st_mode, file.stat().st_mtime_ns) == (before.st_mode, before.st_mtime_ns)


@pytest.mark.parametrize(
    "text",
    [
        "print(open(__file__).readline().strip())",
        "open('/dev/null', 'w').write('1'); print('import torch')",
        "import io; torch.save(x, io.BytesIO()); print('import torch')",
        "import tempfile\nwith tempfile.TemporaryFile() as f:\n    f.write(b'1')\nprint('import torch')",
        "import tempfile\nwith tempfile.TemporaryDirectory() as d:\n    open(f'{d}/a', 'w')\nprint('import torch')",
    ],
)
def test_what_does_not_last_is_done(tmp_path: Path, text: str) -> None:
    trial = rerun(tmp_path, text)
    assert (trial.ended, trial.reply.detail) == ("whole", "")
    assert trial.reply.printed == "import torch\n"


def test_an_optimizer_is_no_effect(tmp_path: Path) -> None:
    text = """
w = torch.nn.Parameter(torch.ones(n))
step = torch.optim.SGD([w], lr=0.5)
w.sum().backward()
step.step()
print(w.tolist())
"""
    trial = rerun(tmp_path, text, seconds=120.0)
    assert (trial.ended, trial.reply.detail, trial.reply.printed) == ("whole", "", "[0.5, 0.5]\n")


def test_reading_from_the_keyboard_ends_at_once(tmp_path: Path) -> None:
    trial = rerun(tmp_path, "if n > 1:\n    print(input())\n")
    assert trial.ended == "whole"
    assert trial.run is not None
    assert trial.run.error is not None
    assert trial.run.error.type == "EOFError"


def test_a_sibling_module_with_a_number_set(tmp_path: Path) -> None:
    file = program(tmp_path, "import torch\nfrom sizes import n\nimport layer\nprint(layer.ones().shape)\n")
    program(tmp_path, "n = 4\n", "sizes.py")
    program(
        tmp_path, "import torch, sizes\nwidth = 3\ndef ones():\n    return torch.ones(sizes.n, width)\n", "layer.py"
    )
    found = tried(file, [("set", "width", "5")], [("set", "n", "6")], [("replace", "sizes.n", "7")], [])
    assert isinstance(found, Tried)
    assert [trial.reply.printed.strip() for trial in found.trials] == [
        f"torch.Size([{sizes}])" for sizes in ("4, 5", "6, 3", "7, 3", "4, 3")
    ]
    assert {path.name for path in tmp_path.iterdir() if path.is_file()} == {"program.py", "sizes.py", "layer.py"}
    assert not (tmp_path / "__pycache__").exists()


def test_compiled_modules_are_not_written(tmp_path: Path) -> None:
    """As where a person runs it: nothing tells Python to write none."""
    file = program(tmp_path, "import torch, layer\nprint(layer.n)\n")
    program(tmp_path, "n = 4\n", "layer.py")
    code = f"""
from attnlab.experiments.lab import opened
from attnlab.run import Program
with opened(Program("script", {str(file)!r}, ())) as lab:
    print(lab.again().ended)
"""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, encoding="utf-8", check=False
    )
    assert (done.stdout, done.stderr) == ("whole\n", "")
    assert not (tmp_path / "__pycache__").exists()


def test_arguments_reach_the_program(tmp_path: Path) -> None:
    text = """
import argparse, torch
p = argparse.ArgumentParser()
p.add_argument("--heads", type=int, default=2)
p.add_argument("--width", type=int, default=4)
a = p.parse_args()
print(a.heads, a.width)
"""
    found = tried(program(tmp_path, text), [("set", "width", "8")], argv=("--heads", "3"))
    assert isinstance(found, Tried)
    assert found.trials[0].reply.printed == "3 8\n"


def test_changes_that_are_made_while_it_runs(tmp_path: Path) -> None:
    text = """
import torch
torch.manual_seed(0)
x = torch.randn(2, 3)
y = torch.nn.Dropout(1.0)(x + 1)
z = x * 1
print(x.tolist(), y.tolist(), z.tolist())
"""
    file = program(tmp_path, text)
    found = tried(file, [Seed(1)], [Mode("eval")], [Nudge(0, (1, None), to=0.0)], [Nudge(0, (None, 2), by=1.0)], [])
    assert isinstance(found, Tried)
    x, y, z = zip(*(eval(f"[{t.reply.printed.replace('] [', '], [')}]") for t in found.trials), strict=True)
    assert x[0] != x[4]
    assert x[1] == x[4]
    assert y[0] == y[4] == [[0.0] * 3] * 2
    assert y[1] == [[pytest.approx(cell + 1) for cell in row] for row in x[4]]
    assert x[2] == z[2] == [x[4][0], [0.0, 0.0, 0.0]]
    assert x[3] == [[*row[:2], pytest.approx(row[2] + 1)] for row in x[4]]


def test_several_reruns_come_back_in_order(tmp_path: Path) -> None:
    file = program(tmp_path, "import time, torch\nn = 1\ntime.sleep(0.2 / n)\nprint(n)\n")
    found = tried(file, *([("set", "n", str(n))] for n in range(1, 8)))
    assert isinstance(found, Tried)
    assert [trial.reply.printed for trial in found.trials] == [f"{n}\n" for n in range(1, 8)]


@pytest.mark.parametrize("ending", ["os._exit(0)", "pass"])
def test_what_a_program_starts_ends_with_it(tmp_path: Path, ending: str) -> None:
    text = f"""
import os, time
child = os.fork()
if child == 0:
    time.sleep(60)
    os._exit(0)
print(child, flush=True)
{ending}
"""
    found = tried(program(tmp_path, f"import torch\n{text}"), [])
    if isinstance(found, Refused):
        assert (ending, found.id) == ("os._exit(0)", "again.died")
        return
    child = int(found.trials[0].reply.printed)
    assert found.trials[0].ended == "whole"
    assert _ended([child])


def _ended(found: list[int]) -> bool:
    """Whether the processes have ended; a killed one takes a moment."""
    until = time.monotonic() + 10
    while any(map(_alive, found)) and time.monotonic() < until:
        time.sleep(0.05)
    return not any(map(_alive, found))


def _alive(process: int) -> bool:
    try:
        with open(f"/proc/{process}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_the_process_that_asks_stays_as_it_is(tmp_path: Path) -> None:
    text = """
import os, random, sys
import torch
random.seed(1); torch.manual_seed(1); torch.rand(3)
os.chdir("/"); os.environ["NEW"] = "1"; sys.path.append("new"); sys.argv.append("new")
torch.set_num_threads(3); torch.set_default_dtype(torch.float64)
print("changed")
"""
    assert called(unharmed, str(program(tmp_path, text))) == []


def test_the_programs_own_wait_finds_its_own_child(tmp_path: Path) -> None:
    child, found = called(own_children, str(program(tmp_path, "import torch\n")))
    assert found == child


def test_no_process_is_left(tmp_path: Path) -> None:
    found = called(processes, str(program(tmp_path, "import os, torch\nprint(os.getpid(), os.getppid())\n")))
    assert _ended(found)
