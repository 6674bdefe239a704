"""Which tensor is this? Every tensor gets a number for each state it is in, and is not kept alive."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any, TypeAlias

import torch
from torch import Tensor
from torch.nn import Parameter

from attnlab.recording.frames import Module
from attnlab.recording.numbers import RawNumbers, take

# Types whose values are noted as they are.
PLAIN = frozenset({int, float, bool, str, type(None)})


# Shape, dtype and device of a value.
Form: TypeAlias = "tuple[tuple[int, ...], torch.dtype, torch.device]"


# A tensor among the arguments is noted as its number times 1j. No argument is noted as a complex number
# otherwise, and Python's collector of garbage passes it over, as it does no object of a class written in Python.
Mark: TypeAlias = complex
Ids: TypeAlias = "tuple[int, ...]"


def number_of(mark: Mark) -> int:
    """The number of the value that a mark stands for."""
    return int(mark.imag)


class Text(str):
    """The text of an argument of another type; an object's own repr may be long, slow or unstable."""

    __slots__ = ()


class _Known(weakref.ref[Tensor]):
    """A tensor that was seen, the count of writes to its memory then, and its number."""

    __slots__ = ("mark", "version")
    mark: Mark
    version: int


class Tensors:
    """The tensors of one recording. `numbers`: whether to note statistics and a corner of each.

    Of the value `i` are kept its form `forms[i]`, and the step that made it, `makers[i]`; and `origins`,
    `numbers` where there is something to say.
    """

    def __init__(self, numbers: bool) -> None:
        self.forms: list[Form] = []
        self.makers: list[int | None] = []
        self.origins: dict[int, tuple[str, str]] = {}
        self.numbers: dict[int, RawNumbers | None] = {}
        self._met: dict[Form, Form] = {}
        self._known: dict[int, _Known] = {}
        self._writes: dict[int, int | None] = {}
        self._take = numbers

    def read(self, args: Iterable[Any], module: Module | None) -> list[Any]:
        """Arguments as they are noted: tensors as `Mark`, plain values as they are, the rest by kind."""
        get = self._known.get
        found: list[Any] = []
        for arg in args:
            kind: Any = type(arg)
            if kind is Tensor or kind is Parameter:
                known = get(id(arg))
                try:
                    version = arg._version
                except RuntimeError:  # see `_version`, which would cost a call here
                    version = 0
                if known is not None and known.version == version and known() is arg:
                    found.append(known.mark)
                else:
                    found.append(self._arrive(arg, module))
            elif kind in PLAIN:
                found.append(arg)
            elif kind is tuple or kind is list:
                found.append(tuple(self.read(arg, module)))
            else:
                found.append(self._read_other(arg, module))
        return found

    def read_unseen(self, args: Iterable[Any], module: Module | None) -> list[Any]:
        """The same, without a tensor subclass or a mode of the program's being asked."""
        with torch._C.DisableTorchFunction():
            return self.read(args, module)

    def _read_other(self, arg: Any, module: Module | None) -> Any:
        if isinstance(arg, Tensor):
            with torch._C.DisableTorchFunction():
                known = self._known.get(id(arg))
                if known is not None and known() is arg and known.version == _version(arg):
                    return known.mark
                return self._arrive(arg, module)
        if isinstance(arg, (tuple, list)):  # torch.Size, named tuples
            return tuple(self.read(arg, module))
        if isinstance(arg, slice):
            return slice(*self.read((arg.start, arg.stop, arg.step), module))
        if isinstance(arg, dict):
            return tuple(self.read(arg.values(), module))
        kind: Any = arg.__class__
        return Text(str(arg) if arg is Ellipsis or kind.__module__ == "torch" else kind.__name__)

    def _arrive(self, tensor: Tensor, module: Module | None) -> Mark:
        """The mark of a tensor that comes from elsewhere, or has changed since it was last seen."""
        version = _version(tensor)
        known = self._known.get(id(tensor))
        if known is None or known() is not tensor:
            number = self.made(tensor, None)
            self.origins[number] = _origin(tensor, module)
            return number * 1j
        if known.version == version:  # an inference tensor, whose version has to be asked with care
            return known.mark
        # Changed through another tensor on the same memory: the last write there made this state.
        return self._change(tensor, known, self._writes.get(_storage(tensor))) * 1j

    def name(self, root: torch.nn.Module) -> None:
        """Name the parameters and buffers of a module that were seen before it ran."""
        for names, kind in ((root.named_parameters(), "parameter"), (root.named_buffers(), "buffer")):
            for name, held in names:
                known = self._known.get(id(held))
                if known is not None and known() is held and not self.origins.get(number_of(known.mark), ("", ""))[1]:
                    self.origins[number_of(known.mark)] = (kind, name)

    def write(self, result: Any, step: int) -> Ids:
        """Note every tensor in a result as made by `step`; their numbers, in order."""
        kind = result.__class__
        if kind is Tensor or kind is Parameter:
            return (self.made(result, step),)
        if kind in PLAIN:
            return ()
        if isinstance(result, Tensor):
            with torch._C.DisableTorchFunction():
                return (self.made(result, step),)
        if isinstance(result, dict):
            result = tuple(result.values())
        if isinstance(result, (tuple, list)):
            return tuple([number for item in result for number in self.write(item, step)])
        return ()

    def made(self, tensor: Tensor, step: int | None) -> int:
        """The number of a tensor that `step` made; a new one unless the tensor is in a state that was seen before."""
        key = id(tensor)
        known = self._known.get(key)
        try:
            version = tensor._version
        except RuntimeError:  # see `_version`, which would cost a call here
            version = 0
        if known is not None and known() is tensor and known.version == version:
            return number_of(known.mark)  # handed back as it is: `x.contiguous()`, or noted as overwritten
        makers = self.makers
        number = len(makers)
        self._known[key] = known = _Known(tensor)
        known.mark = number * 1j
        known.version = version
        # Each form is kept once, however many values have it: to write memory costs more than to look.
        try:
            form = (tensor.shape, tensor.dtype, tensor.device)
            form = self._met.setdefault(form, form)
        except (RuntimeError, TypeError):  # a nested tensor has no sizes; a size that is symbolic has no hash
            form = (_shape(tensor), tensor.dtype, tensor.device)
        self.forms.append(form)
        makers.append(step)
        if self._take:
            self.numbers[number] = take(tensor)
        return number

    def unseen(self, args: Any) -> None:
        """Note that the memory of tensors among the arguments was written to by a step that is not in the record."""
        for arg in args:
            if isinstance(arg, Tensor):
                self._writes[_storage(arg)] = None
            elif isinstance(arg, (list, tuple)):
                self.unseen(arg)

    def overwrite(self, args: Any, step: int) -> tuple[Ids, Ids]:
        """The tensors among the arguments that `step` has written into: their numbers before and after."""
        before: Ids = ()
        after: Ids = ()
        for arg in args:
            if isinstance(arg, Tensor):
                known = self._known.get(id(arg))
                if known is not None and known() is arg and known.version != _version(arg):
                    self._writes[_storage(arg)] = step
                    before += (number_of(known.mark),)
                    after += (self._change(arg, known, step),)
            elif isinstance(arg, (list, tuple)):
                nested = self.overwrite(arg, step)
                before += nested[0]
                after += nested[1]
        return before, after

    def _change(self, tensor: Tensor, known: _Known, step: int | None) -> int:
        """The number of the new state of a tensor that was seen in another."""
        number = self.made(tensor, step)
        origin = self.origins.get(number_of(known.mark))
        if origin is not None:
            self.origins[number] = origin
        return number


def _version(tensor: Tensor) -> int:
    try:
        return tensor._version
    except RuntimeError:  # inference tensors count no versions
        return 0


def _shape(tensor: Tensor) -> tuple[int, ...]:
    """A shape that has sizes that are no numbers, or not the same for all items of a nested tensor: these as -1."""
    sizes: list[int] = []
    for axis in range(tensor.dim()):
        try:
            size = tensor.size(axis)
        except RuntimeError:
            size = -1
        sizes.append(size if type(size) is int else -1)
    return tuple(sizes)


def _storage(tensor: Tensor) -> int:
    try:
        return tensor.untyped_storage()._cdata
    except (RuntimeError, NotImplementedError):  # sparse and functional tensors have none
        return 0


def _origin(tensor: Tensor, module: Module | None) -> tuple[str, str]:
    """Kind and qualified name of a tensor that no step made."""
    kind = "parameter" if isinstance(tensor, Parameter) else "input"
    owner = None if module is None else module.ref()
    root = None if module is None else module.root()
    if module is None or owner is None or root is None:
        return kind, ""
    prefix = f"{module.path}." if module.path else ""
    for names, found in ((owner._parameters, "parameter"), (owner._buffers, "buffer")):
        for name, held in names.items():
            if held is tensor:
                return found, prefix + name
    for names, found in ((root.named_parameters(), "parameter"), (root.named_buffers(), "buffer")):
        for name, held in names:
            if held is tensor:
                return found, name
    return kind, ""
