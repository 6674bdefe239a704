"""What a name is a hint of."""

import pytest

from attnlab.checks.text import is_memory, is_target, names_several, role_of


@pytest.mark.parametrize(
    ("name", "role"),
    [
        *(("q", "q"), ("W_q", "q"), ("self.w_qs", "q"), ("Wq", "q"), ("queries", "q"), ("query_proj.weight", "q")),
        *(("k_proj.weight", "k"), ("toK", "k"), ("self.keys", "k"), ("layers.0.attn.w_k", "k"), ("键", "k")),
        *(("V", "v"), ("value", "v"), ("to_v", "v"), ("值", "v")),
        *(("x", None), ("memory", None), ("kv", None), ("qkv", None), ("key_value", None), ("linears[1]", None)),
    ],
)
def test_role_of(name: str, role: str | None) -> None:
    assert role_of(name) == role


@pytest.mark.parametrize("name", ["to_qk.weight", "kv", "to_kv", "shared", "tied_proj", "W_qk"])
def test_names_of_several_roles(name: str) -> None:
    assert names_several(name)


@pytest.mark.parametrize("name", ["W_q", "key", "value_proj", "sequence", "liquid"])
def test_names_of_one_role(name: str) -> None:
    assert not names_several(name)


@pytest.mark.parametrize("name", ["memory", "enc_out", "encoder_hidden_states", "context", "src", "encOut"])
def test_names_of_a_memory(name: str) -> None:
    assert is_memory(name)
    assert not is_target(name)


@pytest.mark.parametrize("name", ["x", "tgt", "decoder_hidden", "positions", "attn_mask", "query"])
def test_names_of_no_memory(name: str) -> None:
    assert not is_memory(name)
