"""The lessons: where they are, their modules, their Chinese comments, and those in English."""

from __future__ import annotations

import importlib.util
import re
import tokenize
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType

import torch
from hypothesis import settings
from hypothesis import strategies as st
from torch import nn

ROOT = Path(__file__).parents[1]
DEMO = ROOT / "self_attention_demo.py"
LESSONS = sorted((ROOT / "lessons").glob("[0-9][0-9]_*.py"))
FILES = [DEMO, *LESSONS]
CHINESE = re.compile(r"[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]")


def file_of(number: int) -> Path:
    """The file of a lesson; the demo is lesson 0."""
    return FILES[number]


@cache
def lesson(number: int) -> ModuleType:
    """The module of a lesson, loaded by its path."""
    file = file_of(number)
    spec = importlib.util.spec_from_file_location(f"lesson_{number:02}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextmanager
def double() -> Iterator[None]:
    """Make float64 what tensors are made of, where nothing else is said."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def chinese(file: Path) -> list[tokenize.TokenInfo]:
    """The comments of a file that have Chinese in them."""
    with file.open("rb") as stream:
        tokens = list(tokenize.tokenize(stream.readline))
    return [token for token in tokens if token.type == tokenize.COMMENT and CHINESE.search(token.string)]


@cache
def english() -> dict[str, dict[str, str]]:
    """The English of each Chinese comment, file by file."""
    return tomllib.loads((ROOT / "lessons" / "en.toml").read_text(encoding="utf-8"))


# What float64 may lose over a few layers.
CLOSE = {"rtol": 1e-10, "atol": 1e-10}
FEW = settings(max_examples=6, deadline=None)


def different(*ranges: tuple[int, int]) -> st.SearchStrategy[tuple[int, ...]]:
    """Sizes from these ranges (both ends may come up), no two the same."""
    return st.tuples(*(st.integers(*each) for each in ranges)).filter(lambda sizes: len(set(sizes)) == len(sizes))


def numbers(*shape: int) -> torch.Tensor:
    """Random float64 numbers."""
    return torch.randn(*shape, dtype=torch.float64)


def carry(attention: nn.Module, theirs: nn.MultiheadAttention) -> None:
    """Give PyTorch's layer the weights of a lesson's."""
    with torch.no_grad():
        parts = [attention.W_q, attention.W_k, attention.W_v]
        theirs.in_proj_weight.copy_(torch.cat([part.weight for part in parts]))
        theirs.out_proj.weight.copy_(attention.W_o.weight)
        if theirs.in_proj_bias is not None:
            theirs.in_proj_bias.copy_(torch.cat([part.bias for part in parts]))
            theirs.out_proj.bias.copy_(attention.W_o.bias)


def scattered(model: nn.Module) -> nn.Module:
    """A model in float64 whose every parameter is random: a norm's ones and zeros would hide that one was forgotten."""
    with torch.no_grad():
        for parameter in model.double().parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.3)
    return model
