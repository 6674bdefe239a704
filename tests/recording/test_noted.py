"""What is noted of steps: it reads back as it was noted, and gives Python's collector of garbage nothing to look at."""

import gc
from typing import Any, cast

import torch

from attnlab.recording.mode import SITE_LIMIT, Recorder
from attnlab.recording.noted import Noted, Steps
from attnlab.recording.outside import Watching


def test_steps_read_back_as_they_were_noted() -> None:
    site = cast("Any", "a site")
    noted: list[Noted] = [
        (torch.add, (2j, 3), None, site, site, None, 1, 1, True),
        (torch.rand, (), {"size": (2, 5)}, site, None, None, 2, 1, False),
        (torch.cat, ((0j, 1j, 2j), -1, None), None, site, site, None, 3, 2, True),
    ]
    steps = Steps()
    for one in noted:
        steps.add(one)
    assert len(steps) == 3
    assert list(steps) == noted
    assert [steps[2], steps[0]] == [noted[2], noted[0]]
    steps.clear()
    assert list(steps) == []


def test_a_step_is_no_object_of_the_collectors() -> None:
    recorder = Recorder()
    x = torch.randn(2, 5, 12)
    counts: list[int] = []
    with Watching(recorder):
        for _ in range(SITE_LIMIT):
            torch.matmul(x, x.transpose(-2, -1)).softmax(-1)
            x.size(-1)
            gc.collect(0)
            counts.append(len(gc.get_objects()))
    recorder.frames.close()
    assert len(recorder.steps) == 3 * SITE_LIMIT
    assert counts[-1] - counts[3] < SITE_LIMIT, "not even one a round"
