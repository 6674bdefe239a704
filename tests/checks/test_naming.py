"""What names of variables and of sizes are taken to say."""

from __future__ import annotations

import pytest

from attnlab.checks.naming import role, size_kind, words_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("self.W_q(x)", {"self", "w", "q", "x"}),
        ("queryProj", {"query", "proj"}),
        ("K.transpose(-2, -1)", {"k", "transpose"}),
        ("batch_size", {"batch", "size"}),
        ("BERTKey", {"bert", "key"}),
    ],
)
def test_the_words_of_a_text(text: str, words: set[str]) -> None:
    assert words_of(text) == words


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("self.to_q(x)", "q"),
        ("Wk.weight", "k"),
        ("keys", "k"),
        ("qkv", None),
        ("self.kv(memory)", None),
        ("q @ k.T", None),
        ("attention", None),
    ],
)
def test_a_name_of_queries_or_keys(text: str, told: str | None) -> None:
    assert role(text) == told


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        (["batch_size"], "batch"),
        (["B"], "batch"),
        (["seq_len", "L"], "tokens"),
        (["N"], None),
        (["B", "T"], None),
        ([], None),
    ],
)
def test_a_name_of_a_size(texts: list[str], told: str | None) -> None:
    assert size_kind(texts) == told
