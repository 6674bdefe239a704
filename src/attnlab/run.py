"""The record of one execution: frozen, plain data with a versioned JSON form.

Every view, rule and explanation reads a `Run` and nothing else, so a Run can be written to a
file on one machine and explained on another. This file imports the standard library only.

    Run ─┬─ steps    what was computed, in order: one `Step` for each tensor operation
         ├─ values   every tensor that a step read or made: one `Value` for each state of it
         ├─ sizes    where the program asked for a size (`x.shape`, `K.size(-1)`) and what it got
         ├─ sources  the text of the files that the steps point into
         └─ error    the exception that ended the program, if one did
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, cast

FORMAT = 1


class FormatError(ValueError):
    """The JSON is not a Run of a format that this version reads."""


@dataclass(frozen=True, slots=True)
class Ref:
    """An argument that is a tensor: the `id` of its `Value`."""

    id: int


@dataclass(frozen=True, slots=True)
class Slice:
    """An argument that is a slice, as in `x[:, 1:]`."""

    start: Arg
    stop: Arg
    step: Arg


@dataclass(frozen=True, slots=True)
class Opaque:
    """An argument of any other type, kept as text: `torch.float32`, `Ellipsis`, a device."""

    text: str


Arg: TypeAlias = "Ref | Slice | Opaque | tuple[Arg, ...] | int | float | bool | str | None"


@dataclass(frozen=True, slots=True)
class Span:
    """A place in a file. Lines count from 1, columns from 0, in characters; the end is past the last."""

    file: str
    line: int
    col: int
    end_line: int
    end_col: int


@dataclass(frozen=True, slots=True)
class Source:
    """The expression a person wrote: where it stands, its text, and the name that its result was given.

    `text` is empty where the source is not to be had. `targets` has one name for a plain
    assignment, several where a tuple was unpacked, none where the value was used in place.
    """

    span: Span
    text: str
    targets: tuple[str, ...]
    function: str


@dataclass(frozen=True, slots=True)
class Numbers:
    """What is kept of a tensor's values: a corner, and statistics over all of it.

    `corner` holds the last two axes at index 0 of every leading axis, at most `CORNER` each way
    (one row for a 1-d tensor, one cell for a 0-d one). The statistics are over the finite
    elements in float64; they are None for a tensor larger than `STATISTICS` elements or with no
    finite element.
    """

    corner: tuple[tuple[float, ...], ...]
    mean: float | None
    std: float | None
    min: float | None
    max: float | None
    nonfinite: int | None


CORNER = 16
STATISTICS = 1 << 22


@dataclass(frozen=True, slots=True)
class Value:
    """One tensor in one state. An in-place operation makes a new Value of the same tensor.

    `step` is the step that made it; None where it came from outside what was seen. `kind` is
    "result", "parameter", "buffer" or "input"; `name` is a parameter's or buffer's qualified name.
    `axes` has a name for each axis, None where it is not known, as it is while nobody has looked for names.
    """

    id: int
    shape: tuple[int, ...]
    axes: tuple[str | None, ...]
    dtype: str
    device: str
    step: int | None
    kind: str
    name: str
    numbers: Numbers | None


@dataclass(frozen=True, slots=True)
class Operand:
    """One argument of a step: keyword (or ""), the value passed, and its text in the user's source (or "")."""

    keyword: str
    arg: Arg
    text: str


@dataclass(frozen=True, slots=True)
class Step:
    """One tensor operation.

    `op`       canonical name: "matmul" for `@`, `torch.matmul` and `Tensor.matmul` alike
    `function` what was called, as PyTorch names it: "torch.Tensor.__rmatmul__"
    `source`   the user's expression; None where no frame of the user's was on the stack
    `via`      the library's own expression, where the call was made inside a library
    `operands` in the order in which they were passed; for a method, the tensor comes first
    `results`  ids of the values it made, those inside tuples, lists and dicts in order
    `inplace`  ids of the values it overwrote (their new states are among `results`)
    `module`   path of the innermost module, such as "encoder.layers.0.attn"; "" for the root;
               None outside any module. `module_type` is its class
    `call`     steps made by one evaluation of one of the user's expressions share this number
    `frame`    steps made by one activation of one of the user's functions share this number
    """

    index: int
    op: str
    function: str
    source: Source | None
    via: Source | None
    operands: tuple[Operand, ...]
    results: tuple[int, ...]
    inplace: tuple[int, ...]
    module: str | None
    module_type: str | None
    call: int
    frame: int
    grad: bool

    def arg(self, keyword: str, position: int | None = None, default: Arg = None) -> Arg:
        """The argument passed by `keyword`, or at `position` (the tensor of a method is 0)."""
        operand = self.operand(keyword, position)
        return default if operand is None else operand.arg

    def operand(self, keyword: str, position: int | None = None) -> Operand | None:
        """The operand passed by `keyword`, or at `position`; None where it was not passed."""
        for operand in self.operands:
            if operand.keyword == keyword:
                return operand
        if position is not None and position < len(self.operands) and not self.operands[position].keyword:
            return self.operands[position]
        return None

    @property
    def refs(self) -> tuple[int, ...]:
        """Ids of all values it read, those inside lists and indices too, in order."""
        found: list[int] = []
        for operand in self.operands:
            _collect(operand.arg, found)
        return tuple(found)


def _collect(arg: Arg, found: list[int]) -> None:
    if isinstance(arg, Ref):
        found.append(arg.id)
    elif isinstance(arg, tuple):
        for item in arg:
            _collect(item, found)
    elif isinstance(arg, Slice):
        for item in (arg.start, arg.stop, arg.step):
            _collect(item, found)


@dataclass(frozen=True, slots=True)
class Size:
    """The program asked for sizes of a value: all of them (`axis` None) or one.

    `source.targets` holds the names that the answer was given: `B, L, D = x.shape`.
    """

    value: int
    axis: int | None
    answer: tuple[int, ...]
    source: Source


@dataclass(frozen=True, slots=True)
class Error:
    """The exception that ended the program. `failed` is the operation that raised it, where one did.

    `failed` is a Step without results: its operands are what was passed.
    """

    type: str
    message: str
    failed: Step | None
    line: int | None
    file: str | None


@dataclass(frozen=True, slots=True)
class Count:
    """How often an operation ran past the bound up to which each is recorded in full."""

    op: str
    source: Source | None
    times: int


@dataclass(frozen=True, slots=True)
class Program:
    """What was run: kind "script", "module" (`-m`), "block" (a `with`) or "call"; its name; its arguments."""

    kind: Literal["script", "module", "block", "call"]
    name: str
    argv: tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """The frozen record of one execution. See the module's docstring for its parts.

    `seconds` is the wall time of the program itself, from when it had imported torch; `exit_code` what it
    exited with (None where that is not known, and for a block or a call); `lost` what attnlab failed to
    note, a fault of its own. Made by `attnlab.record` and `Run.from_json`.
    """

    program: Program
    torch: str
    steps: tuple[Step, ...]
    values: tuple[Value, ...]
    sizes: tuple[Size, ...]
    counted: tuple[Count, ...]
    sources: dict[str, str]
    error: Error | None
    exit_code: int | None
    seconds: float
    lost: tuple[str, ...]

    @staticmethod
    def unfinished() -> Run:
        """A Run without fields yet: what a `with` block holds until it ends."""
        return object.__new__(Run)

    @staticmethod
    def empty(program: Program, error: tuple[str, str] | None, exit_code: int | None, seconds: float) -> Run:
        """The Run of a program that never imported torch. `error`: type and message."""
        ended = None if error is None else Error(*error, failed=None, line=None, file=None)
        return Run(program, "", (), (), (), (), {}, ended, exit_code, seconds, ())

    def __getattr__(self, name: str) -> Any:
        # Only reached while a `with attnlab.record() as run` block is still open: no field is set yet.
        if name.startswith("__") or "program" in self.__dict__:
            raise AttributeError(f"a Run has no field {name!r}")
        raise AttributeError(f"the recording is not finished: read run.{name} after the `with` block has ended")

    def __eq__(self, other: object) -> bool:
        # By their JSON form: there is no number that is not equal to itself.
        return isinstance(other, Run) and _fields(self) == _fields(other)

    __hash__ = None  # pyright: ignore[reportAssignmentType] - it holds a dict

    def __repr__(self) -> str:
        if "program" not in self.__dict__:
            return "Run(not finished)"
        counts = {"steps": len(self.steps), "values": len(self.values)}
        shown = {"program": self.program.name, **counts, "error": self.error}
        return "Run(" + ", ".join(f"{name}={value!r}" for name, value in shown.items()) + ")"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """What a notebook shows of it; asked for by notebooks alone, and all that it needs is loaded then."""
        del include, exclude
        from attnlab.notebook import mimebundle

        return mimebundle(self)

    def named(self, names: Callable[[int], tuple[str | None, ...]]) -> Run:
        """The same Run with names for axes: `names` gives those of the value with an id."""
        return replace(self, values=tuple(replace(value, axes=names(value.id)) for value in self.values))

    def to_json(self) -> str:
        """The Run as JSON text, format `FORMAT`; see docs/en/run.md for its layout."""
        return json.dumps({"attnlab_run": FORMAT, **_fields(self)}, ensure_ascii=False, allow_nan=False)

    @staticmethod
    def from_json(text: str) -> Run:
        """The Run that `to_json` wrote; equal to the one it was called on.

        Raises `FormatError` where the text is not JSON, not a Run, or of another format.
        """
        try:
            data = json.loads(text)
        except ValueError as error:
            raise FormatError(f"expected the JSON of a Run, got text that is not JSON: {error}") from None
        if not isinstance(data, dict) or "attnlab_run" not in data:
            raise FormatError('expected the JSON of a Run, with the key "attnlab_run" at the top; it has none')
        data = cast("dict[str, Any]", data)
        if data.pop("attnlab_run") != FORMAT:
            raise FormatError(f"expected a Run of format {FORMAT}; write it again with this version of attnlab")
        try:
            return _run(data)
        except (KeyError, TypeError, ValueError) as error:
            raise FormatError(f"expected a whole Run; a part is missing or of a wrong type: {error!r}") from None


def _number(value: float) -> Any:
    # JSON has no NaN and no infinity.
    return value if math.isfinite(value) else {"float": repr(value)}


def _fields(record: Any) -> dict[str, Any]:
    return {field.name: _encode(getattr(record, field.name)) for field in dataclasses.fields(record)}


def _encode(value: Any) -> Any:
    match value:
        case Ref():
            return {"ref": value.id}
        case Slice():
            return {"slice": [_encode(value.start), _encode(value.stop), _encode(value.step)]}
        case Opaque():
            return {"opaque": value.text}
        case float():
            return _number(value)
        case tuple():
            return [_encode(item) for item in cast("tuple[Any, ...]", value)]
        case dict():
            return cast("dict[str, Any]", value)
        case _ if dataclasses.is_dataclass(value):
            return _fields(value)
        case _:
            return value


def _arg(data: Any) -> Arg:
    if isinstance(data, list):
        return tuple(_arg(item) for item in cast("list[Any]", data))
    if isinstance(data, dict):
        ((kind, body),) = cast("dict[str, Any]", data).items()
        if kind == "ref":
            return Ref(body)
        if kind == "slice":
            return Slice(*(_arg(item) for item in body))
        if kind == "float":
            return float(body)
        if kind == "opaque":
            return Opaque(body)
        raise ValueError(f"an argument of unknown kind {kind!r}")
    return data


def _source(data: Any) -> Source | None:
    if data is None:
        return None
    return Source(Span(**data["span"]), data["text"], tuple(data["targets"]), data["function"])


def _numbers(data: Any) -> Numbers | None:
    if data is None:
        return None
    corner = tuple(tuple(_arg(cell) for cell in row) for row in data["corner"])
    fields: dict[str, Any] = {**{name: _arg(item) for name, item in data.items()}, "corner": corner}
    return Numbers(**fields)


def _step(data: Any) -> Step:
    fields: dict[str, Any] = {
        **data,
        "source": _source(data["source"]),
        "via": _source(data["via"]),
        "operands": tuple(Operand(o["keyword"], _arg(o["arg"]), o["text"]) for o in data["operands"]),
        "results": tuple(data["results"]),
        "inplace": tuple(data["inplace"]),
    }
    return Step(**fields)


def _value(data: Any) -> Value:
    named = {"shape": tuple(data["shape"]), "axes": tuple(data["axes"]), "numbers": _numbers(data["numbers"])}
    fields: dict[str, Any] = {**data, **named}
    return Value(**fields)


def _size(data: Any) -> Size:
    return Size(data["value"], data["axis"], tuple(data["answer"]), cast("Source", _source(data["source"])))


def _error(data: Any) -> Error | None:
    if data is None:
        return None
    fields: dict[str, Any] = {**data, "failed": None if data["failed"] is None else _step(data["failed"])}
    return Error(**fields)


def _run(data: dict[str, Any]) -> Run:
    program = data["program"]
    fields: dict[str, Any] = {
        **data,
        "program": Program(program["kind"], program["name"], tuple(program["argv"])),
        "steps": tuple(map(_step, data["steps"])),
        "values": tuple(map(_value, data["values"])),
        "sizes": tuple(map(_size, data["sizes"])),
        "counted": tuple(Count(item["op"], _source(item["source"]), item["times"]) for item in data["counted"]),
        "error": _error(data["error"]),
        "lost": tuple(data["lost"]),
    }
    return Run(**fields)
