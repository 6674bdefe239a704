"""The function mode that sees every tensor operation, and writes down as little as it can while it runs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeAlias

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode, handle_torch_function

from attnlab.recording.frames import TRAMPOLINE, Frames, Module, Site, Tag
from attnlab.recording.noted import Noted, Steps
from attnlab.recording.tape import Tape
from attnlab.recording.tensors import PLAIN, Ids, Mark, Tensors
from attnlab.recording.tracebacks import arrive_clean

# The bounds of a record. A loop's first rounds are recorded in full and the rest is counted: an
# operation at one place in one module is noted SITE_LIMIT times; a run has at most STEP_LIMIT steps.
SITE_LIMIT = 64
STEP_LIMIT = 10_000
LOST_LIMIT = 100

# A function of PyTorch that warns on behalf of a caller further up than its own counts four frames more
# under a mode: itself twice, the two that lead here, and ours, less the one that stands for its caller.
_NEAREST = 3
_ADDED = 4

_HANDLE = handle_torch_function.__code__
_getframe = sys._getframe
_gettrace = sys.gettrace
_getprofile = sys.getprofile
_len_modes = torch._C._len_torch_function_stack
_grad = torch._C.is_grad_enabled


def _getters(*names: str) -> list[Any]:
    return [getattr(Tensor, name).__get__ for name in names]


# Questions about a tensor, which make none and change none.
_QUIETLY = frozenset(
    [
        *_getters("dtype", "device", "requires_grad", "grad_fn", "is_leaf", "ndim", "layout", "is_cuda", "is_cpu"),
        *_getters("is_sparse", "is_quantized", "is_meta", "is_mps", "is_nested", "is_xpu", "itemsize", "nbytes"),
        *_getters("_version", "_base", "output_nr"),
        *[getattr(Tensor, name) for name in ("dim", "numel", "nelement", "ndimension", "stride", "storage_offset")],
        *[getattr(Tensor, name) for name in ("data_ptr", "untyped_storage", "is_contiguous", "element_size")],
        *[getattr(Tensor, name) for name in ("is_floating_point", "is_complex", "is_signed", "get_device")],
        *[getattr(Tensor, name) for name in ("__hash__", "__dir__", "is_same_size")],
        *[torch.is_tensor, torch.is_floating_point, torch.is_complex, torch.numel, torch.get_device],
        *[torch.is_grad_enabled, torch.is_inference_mode_enabled],
    ]
)
# These lead out of the world of tensors: no step either, but they may warn or fail.
_LEAVING = frozenset(
    [
        *[getattr(Tensor, name) for name in ("__repr__", "__format__", "item", "tolist", "__bool__", "__float__")],
        *[getattr(Tensor, name) for name in ("__int__", "__index__", "__complex__", "numpy", "__array__")],
    ]
)
_SHAPE: Any = _getters("shape")[0]
_SIZES = frozenset([_SHAPE, Tensor.size, Tensor.__len__])

# What to note of a call of each function that was met: nothing, and nothing even of where it stands;
# nothing; a question for sizes; a step; a step that may write into its arguments.
_QUIET, _NOTHING, _SIZE, _STEP, _WRITES = range(5)
_KINDS: dict[Any, int] = {
    **dict.fromkeys(_QUIETLY, _QUIET),
    **dict.fromkeys(_LEAVING, _NOTHING),
    **dict.fromkeys(_SIZES, _SIZE),
}


_Read: TypeAlias = "Callable[[Any, Module | None], list[Any]]"


class Recorder(TorchFunctionMode):
    """Records the tensor operations of this thread between `__enter__` and `__exit__`.

    `numbers`: note statistics and a corner of every value. `own`: library folders that count as the
    user's code. The record holds no tensor: see `finish.py` for how it becomes a Run.

    Of the step `i` are kept what was noted of it, `steps[i]`; the number of the value that it made, or the
    numbers, `results[i]`; and, where there are any, of those that it overwrote, `overwritten[i]`. Of each
    question for sizes stand three in `sizes`: the mark of which value, which axis (None: all), the site.
    """

    def __init__(self, numbers: bool = False, own: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.tensors = Tensors(numbers)
        self.frames = Frames(own, self._met)
        self.steps = Steps()
        self.results: list[int | Ids] = []
        self.overwritten: dict[int, Ids] = {}
        self.sizes: list[Any] = []
        self.counted: dict[tuple[int, Any], tuple[Any, Site | None, int]] = {}
        self.failure: tuple[tuple[int, type, str], Noted] | None = None
        self.lost: list[str] = []
        # For an experiment: (index of the step, what was noted, its result) -> the result that the program gets.
        self.nudge: Callable[[int, Noted, Any], Any] | None = None
        self.tape: Tape | None = None  # for `check`: keeps what the steps were given

    def __torch_function__(  # noqa: C901 - whatever is moved out of here is paid for at every call
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if kwargs is None:
            kwargs = {}
        frame: Any = _getframe(1)
        if frame.f_code is _HANDLE:  # a function of PyTorch written in Python: it called here through two frames
            frame = frame.f_back.f_back
            if kwargs.get("_stacklevel", 0) > _NEAREST:
                kwargs["_stacklevel"] += _ADDED
        noted: Noted | None = None
        call: Any = _plain
        closely = False
        kind = _KINDS.get(func)
        if kind != _QUIET:
            try:
                tag: Any = frame.f_trace
                if type(tag) is not Tag or tag.owner is not self.frames:
                    tag = self.frames.tag(frame)
                site = tag.sites.get(frame.f_lasti) or self.frames.site(frame)
                if _gettrace() is None and _getprofile() is None:  # the program would be told of the frame
                    call = site.call
                if kind is None:
                    kind = _KINDS[func] = _WRITES if _may_write(func) else _STEP
                # A mode of the program's own, beneath this one, must not be asked when ours looks at tensors.
                beneath = _len_modes()
                read = self.tensors.read_unseen if beneath else self.tensors.read
                if kind >= _STEP:
                    noted = self._before(func, args, kwargs, site, tag, read)
                    if kind == _WRITES or "out" in kwargs:
                        closely = True
                        if self.tape is not None:
                            self.tape.before_writing(args, kwargs, noted)
                    elif beneath:
                        closely = True
                elif kind == _SIZE and tag.own and len(self.sizes) < 3 * STEP_LIMIT:
                    self._ask(func, args, kwargs, site, tag, read)
            except Exception as error:  # a fault of ours must never become the program's
                self._lose(error)
        try:
            result = call(func, args, kwargs)
        except BaseException as error:
            if kind == _SIZE:
                noted = self.begin(func, args, kwargs, frame)
            if noted is not None:
                self.failure = (identity(error), noted)
            hide(error, frame)
            raise
        if noted is not None:
            if self.nudge is not None:
                result = self.nudge(len(self.results), noted, result)
            try:
                if closely or type(result) is not Tensor or self.tape is not None:
                    self._after(noted, result, args, kwargs, closely)
                else:  # as nearly always: all that `_after` would do, without a call
                    made = self.tensors.made(result, len(self.results))
                    self.steps.add(noted)
                    self.results.append(made)
            except Exception as error:
                self._lose(error)
        return result

    def _met(self, root: torch.nn.Module) -> None:
        self.tensors.name(root)
        if self.tape is not None:
            self.tape.met(root)

    def begin(self, func: Any, args: Any, kwargs: Any, frame: FrameType) -> Noted | None:
        """Note a call that the mode is not told of, made by `frame`."""
        try:
            read = self.tensors.read_unseen
            return self._before(func, args, kwargs, self.frames.site(frame), self.frames.tag(frame), read)
        except Exception as error:
            self._lose(error)
            return None

    def end(self, noted: Noted, result: Any, args: Any, kwargs: Any) -> None:
        """Note what came out of a call that was noted."""
        try:
            self._after(noted, result, args, kwargs, _len_modes() > 0)
        except Exception as error:
            self._lose(error)

    def _before(self, func: Any, args: Any, kwargs: Any, site: Site, tag: Tag, read: _Read) -> Noted | None:
        """Note what is passed; None where this call is past the bounds and only counted."""
        key = tag.key
        counts = site.counts
        counts[key] = count = counts.get(key, 0) + 1
        if count > SITE_LIMIT or len(self.results) >= STEP_LIMIT:
            self._count(func, args, kwargs, site if tag.own else tag.user)
            return None
        if tag.own:
            frames = self.frames
            frames.calls = call = frames.calls + 1
            user: Site | None = site
        else:
            call = tag.call
            user = tag.user
        module = tag.module
        passed = read(args, module)
        named: dict[str, Any] | None = None
        if kwargs:
            plain = PLAIN.issuperset(map(type, kwargs.values()))
            named = kwargs.copy() if plain else dict(zip(kwargs, read(kwargs.values(), module), strict=True))
        return (func, passed, named, site, user, module, call, tag.frame, _grad())

    def _count(self, func: Any, args: Any, kwargs: Any, user: Site | None) -> None:
        """Count a call that is past the bounds."""
        place = (id(user), func)
        self.counted[place] = (func, user, self.counted.get(place, (None, None, 0))[2] + 1)
        if _KINDS.get(func) == _WRITES or "out" in kwargs:
            self.tensors.unseen((*args, *kwargs.values()))

    def _ask(self, func: Any, args: Any, kwargs: Any, site: Site, tag: Tag, read: _Read) -> None:
        axis = 0 if func is Tensor.__len__ else args[1] if len(args) > 1 else kwargs.get("dim")
        if axis is None or isinstance(axis, int):
            self.sizes.extend((read(args[:1], tag.module)[0], axis, site))

    def _after(self, noted: Noted, result: Any, args: Any, kwargs: Any, closely: bool) -> None:
        """Note what came out, and give the step its place in the record.

        `closely`: it may have written into its arguments, or a mode of the program's must not be asked.
        """
        step = len(self.results)
        before: Ids = ()
        made: int | Ids
        if closely:
            with torch._C.DisableTorchFunction():
                before, made = self.tensors.overwrite((*args, *kwargs.values()), step)
                made += tuple([number for number in self.tensors.write(result, step) if number not in made])
        elif type(result) is Tensor:
            made = self.tensors.made(result, step)
        else:
            made = self.tensors.write(result, step)
        if made != () or before or _reads(noted):
            self.steps.add(noted)
            self.results.append(made)
            if before:
                self.overwritten[step] = before
            if self.tape is not None:
                with torch._C.DisableTorchFunction():
                    self.tape.keep(step, args, kwargs, noted, result, before, ids(made))

    def _lose(self, error: Exception) -> None:
        if len(self.lost) < LOST_LIMIT:
            self.lost.append(f"{type(error).__name__}: {error}")


def ids(made: int | Ids) -> Ids:
    """The numbers of what a step made; most make one value, and its number stands by itself."""
    return (made,) if isinstance(made, int) else made


def identity(error: BaseException) -> tuple[int, type, str]:
    """What tells an exception from others, without holding it: addresses are used again."""
    try:
        return id(error), type(error), str(error)
    except Exception:
        return id(error), type(error), ""


def _reads(noted: Noted) -> bool:
    """Whether a call that made no tensor is a step all the same, as `backward` is: no question, and it read one."""
    func, passed, named, *_ = noted
    if getattr(func, "__name__", "") == "__get__":
        return False
    return any(_is_tensor(item) for item in (*passed, *(named or {}).values()))


def _is_tensor(item: Any) -> bool:
    return isinstance(item, Mark) or (isinstance(item, tuple) and any(map(_is_tensor, item)))


def _may_write(func: Any) -> bool:
    name: str = getattr(func, "__name__", "")
    if name == "__set__" or name.startswith(("_foreach", "_fused", "__i", "__set")):
        return True
    return name.endswith("_") and not name.endswith("__")


def _plain(func: Any, args: Any, kwargs: Any) -> Any:
    return func(*args, **kwargs)


_HERE = __file__.removesuffix("mode.py")


def hide(error: BaseException, frame: FrameType) -> None:
    """Keep the frames that watching adds out of the traceback of `error`, on its way to `frame`."""
    real = error.__traceback__
    while real is not None:
        code = real.tb_frame.f_code
        if code.co_name != TRAMPOLINE and not code.co_filename.startswith(_HERE):
            break
        real = real.tb_next
    arrive_clean(frame, real)
