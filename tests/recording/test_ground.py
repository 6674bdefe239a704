"""What attnlab computes itself does not depend on what a program has set; and what it keeps, nobody is told of."""

from collections import Counter
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from attnlab.recording.api import taped
from attnlab.recording.ground import ground


def test_what_the_program_set_does_not_hold_here_and_does_again_after() -> None:
    torch.set_default_dtype(torch.float64)
    torch.set_default_device("meta")
    try:
        with ground():
            made = torch.ones(2)
        after = torch.ones(2)
    finally:
        torch.set_default_dtype(torch.float32)
        torch.set_default_device(None)
    assert (made.dtype, made.device.type) == (torch.float32, "cpu")
    assert (after.dtype, after.device.type) == (torch.float64, "meta")


class Counted(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.seen: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen[str(func)] += 1
        return func(*args, **(kwargs or {}))


def test_a_dispatch_mode_is_not_told_of_what_the_tape_keeps() -> None:
    def program(x: torch.Tensor, mode: Counted) -> None:
        with mode:
            y = x * 2
            y += 1  # what it was before is copied

    plain, watched = Counted(), Counted()
    program(torch.ones(3), plain)
    _, tape, error = taped(program, torch.ones(3), watched)
    assert error is None
    assert watched.seen == plain.seen
    assert [value.tolist() for value in tape.values.values()] == [[1.0] * 3, [2.0] * 3, [3.0] * 3]


def test_tensors_without_numbers_are_not_kept() -> None:
    _, tape, _ = taped(lambda x: (x + 1, torch.ones(2) + 1), torch.ones(2, device="meta"))
    assert tape.values
    assert not any(value.is_meta for value in tape.values.values())
