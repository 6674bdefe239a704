"""Writes down the state in which a Python process ended, without touching its program.

Python imports a module of this name at its start. Where ATTNLAB_TEST_STATES names a folder, the
process writes PID.json into it, after every other exit handler: the random states, the globals of
`__main__`, and a digest of every tensor that can be reached from them. A process that dies without
its handlers (os._exit, a signal) writes nothing.
"""

import atexit
import hashlib
import json
import os
import random
import secrets
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

# Random generators start from the system's entropy: here from constants, so that a number drawn from
# one that the program never seeded shows too.
random.seed(0)
secrets.randbits = lambda k: 0  # where NumPy's first seed comes from
unseeded = {"torch"}


def seed_torch(event: str, args: object) -> None:
    """Seeds PyTorch's generator while it is being imported: an audit hook, as no finder or loader takes part."""
    if unseeded and event == "import" and "default_generator" in (names := vars(sys.modules.get("torch", sys))):
        unseeded.clear()
        names["default_generator"].manual_seed(0)


sys.addaudithook(seed_torch)


def write_state(folder: Path) -> None:
    (folder / f"{os.getpid()}.json").write_text(json.dumps(state()), encoding="utf-8")


def state() -> dict[str, Any]:
    """The end state of this process. What belongs to a library that was not imported is left out."""
    torch, numpy_random = sys.modules.get("torch"), sys.modules.get("numpy.random")
    names = vars(sys.modules["__main__"])
    found: dict[str, Any] = {
        "argv": sys.argv,
        "path": sys.path,
        "folder": os.getcwd(),
        # Dynamo puts the functions that it compiled there, under random names.
        "globals": {k: text(v) for k, v in sorted(names.items()) if not k.startswith("__compiled_fn_")},
        "random": digest(random.getstate()),
    }
    if numpy_random is not None:
        _, key, *rest = numpy_random.get_state()
        found["numpy random"] = digest([key.tolist(), rest])
    if torch is not None:
        # Neither a mode nor a subclass of the program's takes part in what follows.
        with torch._C.DisableTorchFunction():
            found["torch random"] = digest(torch.get_rng_state().tolist())
            found["torch default dtype"] = str(torch.get_default_dtype())
            found["torch grad mode"] = torch.is_grad_enabled()
            found["tensors"] = {path: describe(torch, tensor) for path, tensor in tensors(torch, names)}
    return found


def digest(value: object) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()[:16]


def text(value: object) -> str:
    """Plain values in full, of all others the type: their text may hold an address."""
    return repr(value) if isinstance(value, (int, float, complex, str, bytes, type(None))) else type(value).__name__


def tensors(torch: Any, names: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Every tensor that containers, objects and modules lead to, each once, with the way to it."""
    todo: list[tuple[str, Any]] = [("", names)]
    seen: set[int] = set()
    while todo:
        path, value = todo.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if issubclass(type(value), torch.Tensor):
            yield path, value
            children = [("grad", value.grad)] if value.is_leaf else []
        else:
            children = inside(value)
        todo += [(f"{path}.{name}", child) for name, child in children]


def inside(value: Any) -> list[tuple[object, Any]]:
    kind: type = type(value)
    if issubclass(kind, dict):
        # Keys such as an optimizer's parameters have no stable text; their order is stable.
        return [(key if isinstance(key, str) else index, child) for index, (key, child) in enumerate(value.items())]
    if issubclass(kind, (list, tuple)):
        return list(enumerate(value))
    if issubclass(kind, (type, ModuleType, FunctionType)) or not hasattr(value, "__dict__"):
        return []
    return list(vars(value).items())


def describe(torch: Any, tensor: Any) -> str:
    parts = dense(torch, tensor.detach())
    values = digest([part.tolist() for part in parts])
    return f"{type(tensor).__name__} {tensor.dtype} {[[*p.shape] for p in parts]} grad={tensor.requires_grad} {values}"


def dense(torch: Any, tensor: Any) -> list[Any]:
    """The plain tensors that hold the values of a tensor of any layout; none for one without values."""
    if tensor.is_meta:
        return []
    if tensor.is_nested:
        return list(tensor.unbind())
    if tensor.is_quantized:
        return [tensor.int_repr()]
    return [tensor] if tensor.layout == torch.strided else [tensor.to_dense()]


if "ATTNLAB_TEST_STATES" in os.environ:
    atexit.register(write_state, Path(os.environ["ATTNLAB_TEST_STATES"]))
