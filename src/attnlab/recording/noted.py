"""What is noted of each step while it runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from attnlab.recording.frames import Module, Site

# One operation as it is noted, plain tuples to be quick: the function, what was passed by place and by
# name, the site of the call and the user's, the module, the call's and the frame's number, grad mode.
Noted: TypeAlias = (
    "tuple[Any, list[Any] | tuple[Any, ...], dict[str, Any] | None, Site, Site | None, Module | None, int, int, bool]"
)
_WIDTH = 9
_PASSED = 1  # place of what was passed
_LAST = _PASSED - _WIDTH  # and in the last step of a list


class Steps:
    """What was noted of the steps of a recording, by their index.

    Kept one behind the other in two lists: an object for each step would be one more that Python's collector of
    garbage looks at, again and again and in the program's time, for as long as the record grows.
    """

    def __init__(self) -> None:
        self._fields: list[Any] = []  # a `Noted` each, but in the place of what was passed, where it begins in:
        self._passed: list[Any] = []

    def add(self, noted: Noted) -> None:
        """Note one more."""
        fields, passed = self._fields, self._passed
        fields.extend(noted)
        fields[_LAST] = len(passed)
        passed.extend(noted[_PASSED])

    def clear(self) -> None:
        """Begin anew."""
        self._fields.clear()
        self._passed.clear()

    def __len__(self) -> int:
        return len(self._fields) // _WIDTH

    def __getitem__(self, index: int) -> Noted:
        func, begin, *rest = self._fields[index * _WIDTH : (index + 1) * _WIDTH]
        follows = (index + 1) * _WIDTH + _PASSED
        end = self._fields[follows] if follows < len(self._fields) else len(self._passed)
        return (func, tuple(self._passed[begin:end]), *rest)

    def __iter__(self) -> Iterator[Noted]:
        return map(self.__getitem__, range(len(self)))
