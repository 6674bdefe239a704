"""Masks are held as they are: one of them may serve every layer. A copy is made when the program writes into one."""

from __future__ import annotations

from torch import Tensor

from attnlab.recording.tap import memory_of


class Held:
    """A tensor of the program's that keeps its numbers."""

    __slots__ = ("memory", "tensor")

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor.detach()
        self.memory = memory_of(tensor)

    def writing(self, memory: int) -> None:
        """Told that the program is about to write into some memory."""
        if self.memory == memory:
            self.tensor = self.tensor.clone()
            self.memory = 0


class Holder:
    """Masks that are held while a program runs; those of one memory and form are one."""

    def __init__(self) -> None:
        self._held: dict[tuple[object, ...], Held] = {}

    def hold(self, tensor: Tensor) -> Held:
        """Hold a mask."""
        form = (memory_of(tensor), tensor.shape, tensor.stride(), tensor.storage_offset(), tensor.dtype)
        if form not in self._held:
            self._held[form] = Held(tensor)
        return self._held[form]

    def writing(self, memory: int) -> None:
        """Told that the program is about to write into some memory."""
        for form, held in list(self._held.items()):
            held.writing(memory)
            if not held.memory:
                del self._held[form]

    def close(self) -> None:
        """Copy all of it: from now on nobody tells of writing."""
        for held in self._held.values():
            held.writing(held.memory)
        self._held.clear()
