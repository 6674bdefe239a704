"""Whose frame is this? The user's, a library's, or ours; and which module is running in it.

Walking the stack for every operation would cost more than the operation. So each frame is looked at
once and tagged: a frame has one free slot, `f_trace`, which Python itself uses only while a debugger
runs. A tag also tells two evaluations of one expression apart, which an address cannot.
"""

from __future__ import annotations

import site
import sys
import sysconfig
import weakref
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import torch

TRAMPOLINE = "<attnlab>"

_OURS = str(Path(__file__).parents[1]) + "/"
# Of ours, what stands between the user and an operation where one recording is inside another.
_BETWEEN = ("/recording/mode.py", "/recording/outside.py")
_WRAPPED_CALL = torch.nn.Module._wrapped_call_impl.__code__
_CALL_IMPL = torch.nn.Module._call_impl.__code__
_GENERATOR = 0x20 | 0x80 | 0x200  # CO_GENERATOR, CO_COROUTINE, CO_ASYNC_GENERATOR


@cache
def _library_roots() -> tuple[str, ...]:
    paths = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    paths.update(site.getsitepackages())
    paths.add(site.getusersitepackages())
    paths.update(
        str(Path(file).parent) for file in (torch.__file__, __file__.removesuffix("/recording/frames.py") + "/x")
    )
    roots = {path.rstrip("/") + "/" for path in paths if path}
    return tuple(roots | {str(Path(root).resolve()) + "/" for root in roots})


class Site:
    """One expression: a code object and an instruction in it.

    `call(func, args, kwargs)` calls `func` from a frame that carries the file, line and globals of the
    expression, so that a warning which PyTorch pins on its caller names the user's line and not ours.
    """

    __slots__ = ("call", "code", "counts", "lasti")

    def __init__(self, frame: FrameType) -> None:
        self.code = frame.f_code
        self.lasti = frame.f_lasti
        self.counts: dict[int, int] = {}
        code = _TEMPLATE.replace(
            co_filename=self.code.co_filename,
            co_firstlineno=frame.f_lineno or self.code.co_firstlineno,
            co_name=TRAMPOLINE,
            co_qualname=TRAMPOLINE,
        )
        self.call = FunctionType(code, frame.f_globals)


def _template(func: Any, args: Any, kw: Any) -> Any: return func(*args, **kw) if kw else func(*args)  # fmt: skip


_TEMPLATE: CodeType = _template.__code__


class Module:
    """A module that ran: its path from the outermost one, and its class. Holds neither alive."""

    __slots__ = ("key", "path", "ref", "root", "type")

    def __init__(self, module: torch.nn.Module, root: torch.nn.Module, path: str | None) -> None:
        self.key = id(module)
        self.ref = weakref.ref(module)
        self.root = weakref.ref(root)
        self.path = path
        self.type = type(module).__name__


# The sites of a frame that is not the user's: it keeps none, since it stands for the frames that it calls, too.
_NONE: dict[int, Site] = {}


class Tag:
    """What is known of one frame.

    `own`     the frame is the user's; else `user` is the site of the user's that led into the library
    `module`  the innermost module that was running when the frame began; `key` is its identity
    `call`    number of the evaluation of the user's expression that led into the library
    `frame`   number of this activation of the user's function, or of the one that led here
    """

    __slots__ = ("call", "frame", "key", "module", "own", "owner", "sites", "user")

    def __init__(
        self,
        owner: Frames,
        sites: dict[int, Site],
        user: Site | None,
        module: Module | None,
        call: int,
        frame: int,
    ) -> None:
        self.owner = owner
        self.own = sites is not _NONE
        self.sites = sites
        self.user = user
        self.module = module
        self.key = 0 if module is None else module.key
        self.call = call
        self.frame = frame

    def __call__(self, frame: FrameType, event: str, arg: Any) -> None:
        """Python calls this where the program turns tracing on while a tagged frame is running: no effect."""


def _nobody(root: torch.nn.Module) -> None:
    """Told of a module where nobody listens any more."""
    del root


class Frames:
    """The tags of one recording."""

    def __init__(self, own: tuple[str, ...], met: Callable[[torch.nn.Module], None]) -> None:
        """`own`: folders that are the user's though they lie among the libraries (`-m package`).

        `met` is told of each outermost module when it first runs.
        """
        self._own = own
        self._met = met
        self._libraries = _library_roots()
        self._codes: dict[int, tuple[CodeType, bool | None, dict[int, Site]]] = {}
        self._modules: dict[int, Module] = {}
        self._paths: dict[int, tuple[weakref.ref[torch.nn.Module], dict[int, tuple[Any, str]]]] = {}
        self._outside = Tag(self, _NONE, None, None, 0, 0)
        self.calls = 0
        self._frames = 0

    def close(self) -> None:
        """Let go of the program: a frame that lives on, of a generator, still has its tag, and the tag us."""
        frame: FrameType | None = sys._getframe()
        while frame is not None:
            tag: Any = frame.f_trace
            if tag.__class__ is Tag and tag.owner is self:
                frame.f_trace = None
            frame = frame.f_back
        for _, _, sites in self._codes.values():
            sites.clear()
        for held in (self._codes, self._modules, self._paths):
            held.clear()
        self._met = _nobody  # the one that was given holds the record, and that the program's globals

    def code(self, code: CodeType) -> tuple[CodeType, bool | None, dict[int, Site]]:
        """A code object, whether it is the user's (None: it is ours; False: a library's or Python's), and its sites."""
        known = self._codes.get(id(code))
        if known is None:  # held, so that its address stays its own
            name = code.co_filename
            library = name.startswith(self._libraries) or name.startswith(("<frozen ", "<eval_with_key>", "<__array"))
            user = (not library or name.startswith(self._own)) and code.co_name != TRAMPOLINE
            if name.startswith(_OURS) and not name.endswith(_BETWEEN):
                user = None
            known = self._codes[id(code)] = (code, user, {})
        return known

    def tag(self, frame: FrameType) -> Tag:
        """The tag that holds for a frame: its own, or that of the nearest caller that has one.

        The frames that begin something get one on the way: a function of the user's, the library call
        that the user made, the call of a module.
        """
        new: list[FrameType] = []
        walk: FrameType | None = frame
        tag: Any = self._outside
        while walk is not None:
            known: Any = walk.f_trace
            if known is not None and type(known) is Tag and known.owner is self:
                tag = known
                break
            new.append(walk)
            walk = walk.f_back
        codes = self._codes
        for child in reversed(new):
            code = child.f_code
            if code is _WRAPPED_CALL:
                tag = self._enter(child, tag, self._module(child.f_locals["self"], tag.module))
            elif code is _CALL_IMPL and not tag.own:
                continue
            else:
                _, user, sites = codes.get(id(code)) or self.code(code)
                if user is None:  # what attnlab was called with is not what led to an operation
                    tag = self._outside
                    continue
                if user:
                    self._frames += 1
                    tag = Tag(self, sites, None, tag.module, 0, self._frames)
                elif not tag.own:
                    continue
                else:
                    tag = self._enter(child, tag, tag.module)
                    if code.co_flags & _GENERATOR:  # a library's generator changes callers
                        continue
            if child.f_trace is None:  # a debugger keeps its own function in the slot
                child.f_trace = tag
        return tag

    def _enter(self, frame: FrameType, caller: Tag, module: Module | None) -> Tag:
        """A tag for a library's frame."""
        if not caller.own:
            return Tag(self, _NONE, caller.user, module, caller.call, caller.frame)
        self.calls += 1
        back: Any = frame.f_back
        user = caller.sites.get(back.f_lasti) or self.site(back)
        return Tag(self, _NONE, user, module, self.calls, caller.frame)

    def site(self, frame: FrameType) -> Site:
        """The site at which the frame stands now, made where it is new."""
        code = frame.f_code
        sites = (self._codes.get(id(code)) or self.code(code))[2]
        found = sites.get(frame.f_lasti)
        if found is None:
            found = sites[frame.f_lasti] = Site(frame)
        return found

    def _module(self, module: torch.nn.Module, outer: Module | None) -> Module:
        known = self._modules.get(id(module))
        # (An object has one weak reference: where that is the same, so is the object.)
        if known is not None and known.ref() is module and (outer is None or known.root is outer.root):
            return known
        root = module if outer is None else outer.root() or module
        paths = self._paths.get(id(root))
        if paths is None or paths[0]() is not root:
            names = {id(child): (weakref.ref(child), path) for path, child in root.named_modules()}
            paths = self._paths[id(root)] = (weakref.ref(root), names)
            self._met(root)
        ref, path = paths[1].get(id(module), (None, None))
        made = Module(module, root, path if ref is not None and ref() is module else None)
        self._modules[id(module)] = made
        return made
