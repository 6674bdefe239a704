"""Models of Hugging Face: the weights are those that their own `output_attentions` gives, where that works."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch

from attnlab import capture

transformers: Any = pytest.importorskip("transformers")
pytestmark = pytest.mark.filterwarnings("ignore")  # theirs

IDS = torch.randint(5, 90, (2, 7), generator=torch.Generator().manual_seed(0))
LEFT = torch.tensor([[1] * 7, [0] * 3 + [1] * 4])


def model(name: str, implementation: str) -> Any:
    sizes: dict[str, Any] = {"vocab_size": 100}
    if name == "gpt2":
        own = {"n_layer": 2, "n_head": 4, "n_embd": 24, "n_positions": 64, "bos_token_id": 1, "eos_token_id": 2}
        kind, config = transformers.GPT2LMHeadModel, transformers.GPT2Config(**own, **sizes)
    else:
        sizes |= {"hidden_size": 24, "intermediate_size": 32, "num_hidden_layers": 2, "max_position_embeddings": 64}
        if name == "llama":
            own = {"num_attention_heads": 6, "num_key_value_heads": 2, "bos_token_id": 1, "eos_token_id": 2}
            kind, config = transformers.LlamaForCausalLM, transformers.LlamaConfig(**own, **sizes)
        else:
            kind, config = transformers.BertModel, transformers.BertConfig(num_attention_heads=4, **sizes)
    torch.manual_seed(1)
    return kind._from_config(copy.deepcopy(config), attn_implementation=implementation).eval()


def eager(name: str, ids: torch.Tensor, mask: torch.Tensor) -> Any:
    more = {} if name == "bert" else {"position_ids": (mask.cumsum(-1) - 1).clamp(min=0)}
    return model(name, "eager")(ids, attention_mask=mask, output_attentions=True, **more).attentions


@pytest.mark.parametrize("padded", [False, True], ids=["", "padded"])
@pytest.mark.parametrize("implementation", ["eager", "sdpa"])
@pytest.mark.parametrize("name", ["gpt2", "llama", "bert"])
@torch.no_grad()
def test_a_pass(name: str, implementation: str, padded: bool) -> None:
    mask = LEFT if padded else torch.ones_like(LEFT)
    made = model(name, implementation)
    more = {} if name == "bert" else {"position_ids": (mask.cumsum(-1) - 1).clamp(min=0)}
    plain = made(IDS, attention_mask=mask, **more)[0]
    found = capture(made, IDS, attention_mask=mask, **more)
    assert torch.equal(found.output[0], plain)
    real = mask.bool() if name != "bert" else torch.ones_like(mask).bool()  # rows of padding see nothing, or all alike
    for one, wanted in zip(found, eager(name, IDS, mask), strict=True):
        assert ((one.weights - wanted).abs() * real[:, None, :, None]).max() < 1e-6


@pytest.mark.parametrize("padded", [False, True], ids=["", "padded"])
@pytest.mark.parametrize("implementation", ["eager", "sdpa"])
@pytest.mark.parametrize("name", ["gpt2", "llama"])
@torch.no_grad()
def test_a_generation(name: str, implementation: str, padded: bool) -> None:
    mask, made = LEFT if padded else torch.ones_like(LEFT), model(name, implementation)
    with capture() as found:
        ids = made.generate(
            IDS, attention_mask=mask, max_new_tokens=5, min_new_tokens=5, do_sample=False, pad_token_id=0
        )
    assert [one.calls for one in found] == [5, 5]
    mask = torch.cat([mask, torch.ones(2, 4, dtype=torch.long)], 1)
    for one, wanted in zip(found, eager(name, ids[:, :-1], mask), strict=True):
        assert ((one.weights - wanted).abs() * mask[:, None, :, None]).max() < 1e-6
