"""Models of Hugging Face from a local folder: only formats that cannot run code, and never over the network."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import inspect
import io
import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from attnlab.maps.data import Text
from attnlab.models.reading import bare, read

# Weights in files that Python can be made to run code by.
_PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")
# What tokenizers name as their limit where they have none is larger.
_NO_LIMIT = 10**9


class LoadError(Exception):
    """No model was had: the id of the sentence that says why, and its parameters."""

    def __init__(self, message: str, **params: object) -> None:
        super().__init__(message, params)
        self.id = message
        self.params = params


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """A model that was loaded, without what only its training or its logits need.

    `name`     of the folder, or of the GGUF file
    `module`   in evaluation mode; of an encoder with a decoder the encoder alone
    `context`  the most tokens that it takes; None where its folder does not say
    `weights`  the files of the weights, with their sizes in bytes
    """

    name: str
    module: nn.Module
    tokenizer: Any
    context: int | None
    weights: tuple[tuple[str, int], ...]

    def text(self, text: str) -> Text:
        """The text in the tokenizer's pieces, and as a person reads them."""
        tokenizer = self.tokenizer
        found = tokenizer(
            text, return_special_tokens_mask=True, return_offsets_mapping=bool(tokenizer.is_fast), verbose=False
        )
        ids: list[int] = found["input_ids"]
        pieces: list[str] = tokenizer.convert_ids_to_tokens(ids)
        if not tokenizer.is_fast:  # it does not say where its pieces stand
            shown = [_decoded(tokenizer, piece) for piece in pieces]
            places, text = _one_after_another(shown)
        else:
            places = [(start, stop) for start, stop in found["offset_mapping"]]
        own = set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
        special = [bool(mask) or number in own for mask, number in zip(found["special_tokens_mask"], ids, strict=True)]
        return read(text, pieces, places, special)

    def inputs(self, text: str) -> dict[str, Tensor]:
        """What the module is called with for this text: tensors of one sample."""
        found = self.tokenizer(text, return_tensors="pt", verbose=False)
        taken = inspect.signature(self.module.forward).parameters
        return {name: value for name, value in found.items() if name in taken}

    def run(self, inputs: dict[str, Tensor]) -> None:
        """Call the module. What it returns is dropped: what it attends to is seen while it runs."""
        with _quiet(), torch.inference_mode():
            self.module(**inputs)


def load(path: str) -> Model:
    """The model in a folder (`config.json` and safetensors, or a GGUF file), or of a GGUF file. Raises `LoadError`."""
    folder, gguf = _found(Path(path))
    for name in ("transformers", *(["gguf"] if gguf else [])):
        if importlib.util.find_spec(name) is None:
            raise LoadError("model.library", name=name)
    os.environ["HF_HUB_OFFLINE"] = "1"  # it is read when the library is imported
    name = Path(gguf).stem if gguf else folder.resolve().name
    try:
        # What takes weights out of a GGUF file has a progress bar of its own.
        with _quiet(), contextlib.redirect_stderr(io.StringIO()):
            tokenizer, module = _loaded(folder, gguf)
    except LoadError:
        raise
    except Exception as error:
        raise LoadError("model.broken", path=path, reason=_reason(error)) from error
    files = [folder / gguf] if gguf else sorted(folder.glob("*.safetensors"))
    weights = tuple((file.name, file.stat().st_size) for file in files)
    return Model(name, module, tokenizer, _context(module, tokenizer), weights)


def _found(path: Path) -> tuple[Path, str | None]:
    """The folder of the model, and the name of the GGUF file in it where its weights are in one."""
    if path.is_file():
        if path.suffix.lower() != ".gguf":
            raise LoadError("model.file", path=path)
        return path.parent, path.name
    if not path.is_dir():
        raise LoadError("model.missing", path=path)
    names = sorted(file.name for file in path.iterdir() if file.is_file())
    if "config.json" in names and any(name.endswith(".safetensors") for name in names):
        return path, None
    ggufs = [name for name in names if name.lower().endswith(".gguf")]
    if len(ggufs) == 1:
        return path, ggufs[0]
    if ggufs:
        raise LoadError("model.which", path=path, files=", ".join(ggufs))
    pickles = [name for name in names if name.lower().endswith(_PICKLES)]
    if pickles:
        raise LoadError("model.pickle", path=path, file=pickles[0])
    raise LoadError("model.weights" if "config.json" in names else "model.folder", path=path)


def _loaded(folder: Path, gguf: str | None) -> tuple[Any, nn.Module]:
    # Not by name: a checker of types would need the library, and most who work on attnlab do without.
    transformers: Any = importlib.import_module("transformers")
    options: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    if gguf:
        options["gguf_file"] = gguf
    config = transformers.AutoConfig.from_pretrained(folder, **options)
    config.use_cache = False  # one pass needs none, and it would double the keys
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **options)
    except Exception as error:
        raise LoadError("model.tokenizer", path=folder, reason=_reason(error)) from error
    options.update(config=config, use_safetensors=True, output_loading_info=True)
    try:
        module, told = transformers.AutoModel.from_pretrained(folder, attn_implementation="sdpa", **options)
    except ValueError:  # there are models without it; what else may be wrong is said the second time
        module, told = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager", **options)
    # What stands behind the last layer attends to nothing.
    missing = sorted(name for name in told["missing_keys"] if "pooler" not in name)
    if missing:
        raise LoadError("model.incomplete", path=folder, count=len(missing), name=missing[0])
    if config.is_encoder_decoder:
        module = module.get_encoder()
    return tokenizer, module.eval()


@contextmanager
def _quiet() -> Generator[None]:
    """The library tells of its progress on stderr, of weights that are not used, of what would make it faster."""
    logging: Any = importlib.import_module("transformers").logging
    before, bar = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(before)
        if bar:
            logging.enable_progress_bar()


def _context(module: nn.Module, tokenizer: Any) -> int | None:
    config: Any = module.config
    limits = [getattr(config.get_text_config(), "max_position_embeddings", None), tokenizer.model_max_length]
    return min((limit for limit in limits if isinstance(limit, int) and 0 < limit < _NO_LIMIT), default=None)


def _decoded(tokenizer: Any, piece: str) -> str:
    """What a piece stands for by itself; its name where it is no whole character."""
    text = tokenizer.convert_tokens_to_string([piece])
    return bare(piece) if not text or "\ufffd" in text else text


def _one_after_another(shown: list[str]) -> tuple[list[tuple[int, int]], str]:
    """Texts in a row, with a sign between them so that none goes on with another; where each stands, and the whole."""
    places: list[tuple[int, int]] = []
    at = 0
    for text in shown:
        places.append((at, at + len(text)))
        at += len(text) + 1
    return places, "\0".join(shown)


def _reason(error: Exception) -> str:
    """The first line of what is said of an error."""
    return next(iter(str(error).strip().splitlines()), "") or type(error).__name__
