"""The user's own names for sizes, where the program itself ties one to an axis.

Three places do: a size that was asked for (`B, L, D = x.shape`), a tensor that was created
(`torch.randn(batch_size, seq_len, d_model)`, `nn.Linear(d_model, d_model)`), and a view that
spells its sizes out (`.view(B, L, self.h, self.d_k)`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from attnlab.axes.flow import Axis
from attnlab.run import Operand, Run, Source, Step


@dataclass(frozen=True, slots=True)
class Called:
    """The user's name for the size of an axis: its text, where it stands, and in which activation of a function."""

    text: str
    source: Source
    frame: int | None

    @property
    def simple(self) -> bool:
        """Whether it is a name (`seq_len`, `self.d_k`) and no expression (`C // n_head`)."""
        return all(part.isidentifier() for part in self.text.split("."))


def called(run: Run) -> Iterator[tuple[Axis, Called]]:
    """Each axis that the user gave a name to, with the name, in the order of the program."""
    for step in run.steps:
        if step.source is not None and step.results:
            for axis, text in _in_step(run, step):
                yield axis, Called(text, step.source, step.frame)
    for size in run.sizes:
        targets, rank = size.source.targets, len(run.values[size.value].shape)
        if size.axis is not None:
            for text in targets if len(targets) == 1 else (size.source.text,):
                yield Axis(size.value, size.axis), Called(text, size.source, None)
        elif len(targets) == rank:
            for axis, text in enumerate(targets):
                if text != "_":
                    yield Axis(size.value, axis), Called(text, size.source, None)


def _in_step(run: Run, step: Step) -> Iterator[tuple[Axis, str]]:
    out = step.results[0]
    value = run.values[out]
    texts: Sequence[str | None] = ()
    if step.via is None and step.op in _CREATED:
        texts = _texts(step.operands[_CREATED[step.op] :], "size")
    elif step.via is None and step.op in ("view", "reshape", "expand"):
        texts = _texts(step.operands[1:], "shape")
    elif value.kind == "parameter" and step.module is None and step.source is not None:
        texts = _parameter(step.source.text, len(value.shape))
    if len(texts) == len(value.shape):
        for axis, text in enumerate(texts):
            if text is not None:
                yield Axis(out, axis), text


# where the sizes begin among the operands
_CREATED = {"randn": 0, "rand": 0, "zeros": 0, "ones": 0, "empty": 0, "full": 0, "randint": 1, "normal": 2}


def _texts(operands: Sequence[Operand], keyword: str) -> list[str | None]:
    """The texts of sizes that were passed one by one or as one tuple; None for a number written out."""
    sizes = [operand for operand in operands if not operand.keyword or operand.keyword in (keyword, "high", "low")]
    for operand in sizes:
        if isinstance(operand.arg, tuple):
            parsed = _parse(operand.text)
            return [_name(item) for item in parsed.elts] if isinstance(parsed, (ast.Tuple, ast.List)) else []
    plain = [operand for operand in sizes if isinstance(operand.arg, int) and not operand.keyword]
    return [_name(_parse(operand.text)) for operand in plain]


def _parameter(text: str, rank: int) -> list[str | None]:
    """The texts behind the axes of the weight that a module of PyTorch creates for itself."""
    call = _parse(text)
    if not isinstance(call, ast.Call):
        return []
    name = ast.unparse(call.func).rpartition(".")[2]
    names = _MODULES.get((name, rank), ())
    given: dict[str, ast.expr] = dict(zip(_SIGNATURES.get(name, ()), call.args, strict=False))
    given.update({item.arg: item.value for item in call.keywords if item.arg})
    return [_name(given.get(name)) for name in names]


# (class, rank of the weight): the argument behind each of its axes
_MODULES = {
    ("Linear", 2): ("out_features", "in_features"),
    ("Embedding", 2): ("num_embeddings", "embedding_dim"),
    ("LayerNorm", 1): ("normalized_shape",),
    ("Conv2d", 4): ("out_channels", "in_channels", "", ""),
}
_SIGNATURES = {
    "Linear": ("in_features", "out_features"),
    "Embedding": ("num_embeddings", "embedding_dim"),
    "LayerNorm": ("normalized_shape",),
    "Conv2d": ("in_channels", "out_channels"),
}


def _parse(text: str) -> ast.expr | None:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        return None


def _name(node: ast.expr | None) -> str | None:
    """The text of a size, unless it is a plain number."""
    if node is None or not any(isinstance(part, (ast.Name, ast.Attribute)) for part in ast.walk(node)):
        return None
    return ast.unparse(node)
