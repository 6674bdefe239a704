"""What recording costs in time and memory, beside the same work unrecorded and other tools in the same run."""

from __future__ import annotations

import importlib.metadata
import io
import statistics
import subprocess
import sys
import time
import types
import warnings
from collections.abc import Mapping
from pathlib import Path

import torch
from measure import Work, ratios, table
from models import stack, tiny
from torch import nn
from torch.overrides import BaseTorchFunctionMode

from attnlab.recording import mode
from attnlab.recording.outside import Watching


def ways(model: nn.Module, x: torch.Tensor, times: int) -> dict[str, Work]:
    """Each way of running the model `times` times, the plain one first."""

    def passes() -> None:
        for _ in range(times):
            model(x)

    def recorded(numbers: bool, bounded: bool) -> None:
        mode.SITE_LIMIT, mode.STEP_LIMIT = BOUNDS if bounded else (1 << 60, 1 << 60)
        recorder = mode.Recorder(numbers)
        with Watching(recorder):
            passes()
        recorder.frames.close()
        assert recorder.steps, "nothing was recorded"
        assert not recorder.lost, recorder.lost

    def bare() -> None:
        with BaseTorchFunctionMode():
            passes()

    def torchsnooper() -> None:
        # It imports pkg_resources, which setuptools has given up, for nothing but its own version.
        named = {"get_distribution": importlib.metadata.distribution, "DistributionNotFound": LookupError}
        sys.modules.setdefault("pkg_resources", types.SimpleNamespace(**named))  # type: ignore[arg-type]
        import torchsnooper

        forward = torchsnooper.snoop(output=io.StringIO())(model.forward)
        for _ in range(times):
            forward(x)

    def torchlens() -> None:
        import torchlens

        for _ in range(times):
            torchlens.trace(model, x)

    return {
        "plain": passes,
        "attnlab, each operation noted": lambda: recorded(False, False),
        "attnlab, within its bounds": lambda: recorded(False, True),
        "attnlab, and with numbers": lambda: recorded(True, True),
        "a function mode that does nothing": bare,
        "torchsnooper": torchsnooper,
        "torchlens": torchlens,
    }


BOUNDS = (mode.SITE_LIMIT, mode.STEP_LIMIT)
WORK = {"tiny": (tiny, 2.5, 7), "stack": (stack, 1.05, 5)}  # the bar, and how many turns


def told(found: Mapping[str, float | str], bar: float) -> list[tuple[str, str, str]]:
    """Rows of a table. A peer that does not run with this PyTorch has its error for a remark."""
    rows: list[tuple[str, str, str]] = []
    for name, ratio in found.items():
        if isinstance(ratio, str):
            rows.append((name, "", f"does not run here: {ratio}"))
        else:
            rows.append((name, f"{ratio:.2f} x", f"bar: {bar}" if "each operation" in name else ""))
    return rows


def times(size: str) -> dict[str, float | str]:
    """How many times as long as plain each way takes, or why it does not run."""
    make, _, rounds = WORK[size]
    model, x, count = make()
    quick, slow = ways(model, x, count), ways(model, x, 1)
    found: dict[str, float | str] = {}
    for name in list(quick)[1:]:
        works = slow if name.startswith("torch") else quick
        try:
            found.update(ratios(works["plain"], {name: works[name]}, rounds, time.process_time))
        except Exception as error:  # noqa: BLE001 - a peer that breaks is told, not raised
            found[name] = f"{type(error).__name__}: {error}"
    return found


def peak(size: str, way: str) -> float | str:
    """MiB that a process takes at most while it does the work in one way, beyond what it had; of three, the median."""
    grew: list[float] = []
    for _ in range(3):
        done = subprocess.run([sys.executable, __file__, size, way], capture_output=True, text=True, check=False)
        if done.returncode:
            return done.stderr.splitlines()[-1]
        grew.append(float(done.stdout))
    return statistics.median(grew)


def grown(size: str, way: str) -> float:
    """What `peak` asks of this process. Linux keeps the peak, and forgets it when it is told to."""
    model, x, _ = WORK[size][0]()
    work = ways(model, x, 1)[way]
    Path("/proc/self/clear_refs").write_text("5")
    before = resident()
    work()
    return resident() - before


def resident() -> float:
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024


def main() -> None:
    print(f"Python {sys.version.split()[0]}, PyTorch {torch.__version__}")
    for size, (_, bar, _) in WORK.items():
        table(f"{size}: CPU time, times plain", told(times(size), bar))
    peaks = {way: peak("stack", way) for way in ways(*stack())}
    plain = peaks["plain"]
    assert isinstance(plain, float), plain
    shares = {way: each / plain if isinstance(each, float) else each for way, each in peaks.items()}
    table(f"stack: most memory in one pass, times plain ({plain:.0f} MiB)", told(shares, 1.05))


if __name__ == "__main__":
    torch.manual_seed(0)
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    if len(sys.argv) == 3:
        print(grown(sys.argv[1], sys.argv[2]))
    else:
        main()
