"""Vision transformers of timm."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import torch

from foreign.case import Call, Case, call

SMALL = {"img_size": 12, "patch_size": 4, "embed_dim": 24, "depth": 2, "num_heads": 3, "num_classes": 5}
WINDOWS = {
    "img_size": 16,
    "patch_size": 2,
    "embed_dim": 12,
    "depths": (2, 2),
    "num_heads": (2, 3),
    "window_size": 2,
    "num_classes": 5,
}

# A name that timm knows, and what it is made with.
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "vit": ("vit_tiny_patch16_224", SMALL),
    "vit, average": ("vit_tiny_patch16_224", {**SMALL, "global_pool": "avg", "class_token": False}),
    "vit, attention pool": ("vit_tiny_patch16_224", {**SMALL, "global_pool": "map"}),
    "vit, qk norm": ("vit_tiny_patch16_224", {**SMALL, "qk_norm": True, "init_values": 1e-4}),
    "vit, registers": ("vit_tiny_patch16_224", {**SMALL, "reg_tokens": 2, "no_embed_class": True}),
    "vit, dropout": ("vit_tiny_patch16_224", {**SMALL, "drop_rate": 0.1, "attn_drop_rate": 0.1, "drop_path_rate": 0.1}),
    "deit": ("deit_tiny_distilled_patch16_224", SMALL),
    "beit": ("beit_base_patch16_224", SMALL),
    "eva": ("eva02_tiny_patch14_224", SMALL),
    "cait": ("cait_xxs24_224", SMALL),
    "xcit": ("xcit_nano_12_p16_224", {**SMALL, "patch_size": 8, "img_size": 24}),
    "swin": ("swin_tiny_patch4_window7_224", WINDOWS),
    "swin v2": ("swinv2_tiny_window8_256", WINDOWS),
    "tnt": (
        "tnt_s_legacy_patch16_224",
        {
            "img_size": 16,
            "patch_size": 8,
            "embed_dim": 24,
            "inner_dim": 12,
            "depth": 2,
            "num_heads_inner": 2,
            "num_heads_outer": 3,
            "num_classes": 5,
        },
    ),
    "vit relative": ("vit_relpos_small_patch16_224", SMALL),
}


def cases() -> Iterator[Case]:
    for name, (known, options) in MODELS.items():
        for fused in (True, False):
            yield Case(f"{name}, {'sdpa' if fused else 'eager'}", partial(plain, known, options, fused))
    for name in ("vit", "vit, dropout", "swin"):
        yield Case(f"{name}, train", partial(plain, *MODELS[name], False, True))


def plain(known: str, options: dict[str, Any], fused: bool, train: bool = False) -> Call:
    with without_torchvision():
        import timm
        from timm.layers import set_fused_attn

    set_fused_attn(fused)
    model = timm.create_model(known, pretrained=False, **options).train(train)
    return call(model, torch.randn(2, 3, options["img_size"], options["img_size"]))


@contextmanager
def without_torchvision() -> Iterator[None]:
    """Let timm be imported where there is no torchvision: its models use nothing of it but names.

    The torchvision of PyPI does not run beside a PyTorch built for the CPU alone.
    """
    if find_spec("torchvision") is not None:
        yield
        return
    finder = Missing()
    sys.meta_path.append(finder)
    yield
    sys.meta_path.remove(finder)
    forget()


def forget() -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
        del sys.modules[name]


class Missing:
    """Finds torchvision and whatever lies in it: modules in which every name stands for an empty class."""

    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> ModuleSpec | None:
        return ModuleSpec(name, self, is_package=True) if name.partition(".")[0] == "torchvision" else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return Empty(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """There is nothing to run."""


class Empty(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing(name, (torch.nn.Module,), {})


class Nothing(type):
    """A class of which every attribute is its own name."""

    def __getattr__(cls, name: str) -> str:
        if name.startswith("__"):
            raise AttributeError(name)
        return name
