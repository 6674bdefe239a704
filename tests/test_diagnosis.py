"""Shape errors: which axes do not fit, and what would. Every suggestion is applied to the source, which is run again.

In each program the line that fails is marked with `# here`. `meet` holds the operands as they are
called, each with the axes that do not fit; `mend` is the first suggestion.
"""

from __future__ import annotations

import ast
import contextlib
import string
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from textwrap import dedent

import pytest
import torch

import attnlab
from attnlab.diagnosis import Attempt, Diagnosis, Suggestion, diagnose
from attnlab.recording.trial import Trials
from attnlab.run import Error, Operand, Program, Ref, Run, Step
from attnlab.views.diagnosis import lines
from attnlab.views.text import cells
from attnlab.words import LANGUAGES, Language, Words, catalog

HEAD = "import math\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn\n"


@dataclass(frozen=True)
class Broken:
    """A program that fails on shapes: its source, the operands with the axes that do not fit, the mend."""

    source: str
    meet: Sequence[tuple[str, tuple[int, ...]]]
    mend: str

    @property
    def text(self) -> str:
        return HEAD + dedent(self.source)


CASES = {
    # --- products
    "matmul": Broken(
        """
        Q, K = torch.randn(2, 4, 8), torch.randn(2, 4, 8)
        scores = torch.matmul(Q, K)  # here
        """,
        [("Q", (2,)), ("K", (1,))],
        "torch.matmul(Q, K.transpose(-2, -1))",
    ),
    "operator in a helper function": Broken(
        """
        def attention(q, k, v):
            weights = torch.softmax(q @ k / math.sqrt(q.size(-1)), dim=-1)  # here
            return weights @ v

        x = torch.randn(3, 5, 6)
        print(attention(x, x, x).shape)
        """,
        [("q", (2,)), ("k", (1,))],
        "q @ k.transpose(-2, -1)",
    ),
    "square tokens and features": Broken(  # B == L: an exchange of the first two axes has the same shape
        """
        class Attention(nn.Module):
            def __init__(self, d):
                super().__init__()
                self.W_q, self.W_k, self.W_v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)

            def forward(self, x):
                Q, K, V = self.W_q(x), self.W_k(x), self.W_v(x)
                return torch.softmax(Q @ K.transpose(0, 1), dim=-1) @ V  # here

        Attention(8)(torch.randn(4, 4, 8))
        """,
        [("Q", (2,)), ("K.transpose(0, 1)", (1,))],
        "Q @ K.transpose(-2, -1)",
    ),
    "transposed on the line before": Broken(
        """
        Q, K = torch.randn(2, 4, 8), torch.randn(2, 4, 8)
        Kt = K.transpose(0, 1)
        scores = Q @ Kt  # here
        """,
        [("Q", (2,)), ("Kt", (1,))],
        "K.transpose(-2, -1)",
    ),
    "several lines and a comment": Broken(
        """
        queries, keys = torch.randn(2, 4, 8), torch.randn(2, 6, 8)
        scores = torch.matmul(  # here
            queries,  # (B, L, D)
            keys.T,
        )
        """,
        [("queries", (2,)), ("keys.T", (1,))],
        "torch.matmul(queries, keys.transpose(-2, -1))",
    ),
    "heads": Broken(
        """
        B, L, h, d = 2, 5, 3, 4
        x = torch.randn(B, L, h * d)
        w_q, w_k = nn.Linear(12, 12), nn.Linear(12, 12)
        q = w_q(x).view(B, L, h, d).transpose(1, 2)
        k = w_k(x).view(B, L, h, d).transpose(1, 2)
        scores = q @ k / math.sqrt(d)  # here
        """,
        [("q", (3,)), ("k", (2,))],
        "q @ k.transpose(-2, -1)",
    ),
    "heads of one operand left behind, h == L": Broken(
        """
        B, L, h, d = 2, 4, 4, 8
        x = torch.randn(B, L, h * d)
        w_q, w_k = nn.Linear(32, 32), nn.Linear(32, 32)
        q = w_q(x).view(B, L, h, d).transpose(1, 2)
        k = w_k(x).view(B, L, h, d)
        scores = torch.matmul(q, k.transpose(1, 2))  # here
        """,
        [("q", (3,)), ("k.transpose(1, 2)", (2,))],
        "torch.matmul(q, k.transpose(1, 2).transpose(-2, -1))",
    ),
    "heads of the keys left behind": Broken(
        """
        B, L, h, d = 2, 5, 4, 8
        x = torch.randn(B, L, h * d)
        w_q, w_k = nn.Linear(32, 32), nn.Linear(32, 32)
        q = w_q(x).view(B, L, h, d).transpose(1, 2)
        k = w_k(x).view(B, L, h, d)
        scores = q @ k.transpose(-2, -1)  # here
        """,
        [("q", (1,)), ("k.transpose(-2, -1)", (1,))],
        "w_k(x).view(B, L, h, d).transpose(1, 2)",
    ),
    "values without heads": Broken(
        """
        B, L, h, d = 2, 5, 4, 8
        x = torch.randn(B, L, h * d)
        w = nn.Linear(32, 96)
        q, k, v = w(x).chunk(3, dim=-1)
        q, k = [t.view(B, L, h, d).transpose(1, 2) for t in (q, k)]
        weights = torch.softmax(q @ k.transpose(-2, -1), dim=-1)
        out = weights @ v  # here
        """,
        [("weights", (1,)), ("v", (0,))],
        "weights @ v.unflatten(-1, (4, 8)).transpose(1, 2)",
    ),
    "weights behind the values": Broken(
        """
        x = torch.randn(2, 4, 8)
        V = nn.Linear(8, 8)(x)
        weights = F.softmax(x @ x.transpose(-2, -1), dim=-1)
        out = V @ weights  # here
        """,
        [("V", (2,)), ("weights", (1,))],
        "weights @ V",
    ),
    "fewer heads of keys than of queries": Broken(
        """
        q, k = torch.randn(2, 8, 5, 4), torch.randn(2, 2, 5, 4)
        scores = q @ k.transpose(-2, -1)  # here
        """,
        [("q", (1,)), ("k.transpose(-2, -1)", (1,))],
        "q @ k.transpose(-2, -1).repeat_interleave(4, dim=1)",
    ),
    "bmm": Broken(
        """
        q, k = torch.randn(2, 5, 4), torch.randn(2, 6, 4)
        scores = torch.bmm(q, k)  # here
        """,
        [("q", (2,)), ("k", (1,))],
        "torch.bmm(q, k.transpose(-2, -1))",
    ),
    "bmm with heads": Broken(
        """
        q, k = torch.randn(2, 3, 5, 4), torch.randn(2, 3, 6, 4)
        scores = torch.bmm(q, k.transpose(-2, -1))  # here
        """,
        [("q", ()), ("k.transpose(-2, -1)", ())],
        "torch.matmul(q, k.transpose(-2, -1))",
    ),
    "bmm with one query": Broken(
        """
        state, memory = torch.randn(2, 8), torch.randn(2, 5, 8)
        scores = torch.bmm(state, memory.transpose(1, 2))  # here
        """,
        [("state", ()), ("memory.transpose(1, 2)", ())],
        "torch.bmm(state.unsqueeze(1), memory.transpose(1, 2))",
    ),
    "baddbmm": Broken(
        """
        q, k, bias = torch.randn(2, 5, 4), torch.randn(2, 5, 4), torch.zeros(5, 5)
        scores = torch.baddbmm(bias, q, k)  # here
        """,
        [("q", (2,)), ("k", (1,))],
        "torch.baddbmm(bias, q, k.transpose(-2, -1))",
    ),
    "weight as it is stored": Broken(
        """
        x, W = torch.randn(2, 4, 8), nn.Parameter(torch.randn(6, 8))
        y = x @ W  # here
        """,
        [("x", (2,)), ("W", (0,))],
        "x @ W.T",
    ),
    "matrix and vector": Broken(
        """
        A, v = torch.randn(4, 3), torch.randn(4)
        y = torch.mv(A, v)  # here
        """,
        [("A", (1,)), ("v", (0,))],
        "torch.mv(A.T, v)",
    ),
    "t() of a batch": Broken(
        """
        x = torch.randn(2, 8, 3)
        y = x @ x.t()  # here
        """,
        [("x", ())],
        "x.transpose(-2, -1)",
    ),
    # --- einsum
    "einsum letters": Broken(
        """
        Q, K = torch.randn(2, 4, 8), torch.randn(2, 8, 6)
        scores = torch.einsum("bqd,bkd->bqk", Q, K)  # here
        """,
        [("Q", (2,)), ("K", (2,))],
        'torch.einsum("bqd,bdk->bqk", Q, K)',
    ),
    "einsum with heads, h == L": Broken(
        """
        B, L, h, d = 2, 4, 4, 8
        x = torch.randn(B, L, h * d)
        q = nn.Linear(32, 32)(x).view(B, L, h, d)
        k = nn.Linear(32, 32)(x).view(B, L, h, d)
        scores = torch.einsum("bqhd, bhdk -> bhqk", q, k)  # here
        """,
        [("q", (3,)), ("k", (2,))],
        'torch.einsum("bqhd, bkhd -> bhqk", q, k)',
    ),
    "einsum without a letter for the heads": Broken(
        """
        q, k = torch.randn(2, 3, 4, 8), torch.randn(2, 3, 6, 8)
        scores = torch.einsum('bqd,bkd->bqk', q, k)  # here
        """,
        [("q", ()), ("k", ())],
        "torch.einsum('...qd,...kd->...qk', q, k)",
    ),
    # --- layers
    "Linear in a Sequential": Broken(
        """
        net = nn.Sequential(
            nn.Linear(8, 16),
            nn.ReLU(),
            nn.Linear(8, 4),
        )
        y = net(torch.randn(2, 8))  # here
        """,
        [("(1): ReLU", (1,)), ("2.weight", (1,))],
        "nn.Linear(16, 4)",
    ),
    "Linear, the width by its name": Broken(
        """
        class FeedForward(nn.Module):
            def __init__(self, d_model, d_ff):
                super().__init__()
                self.up = nn.Linear(d_model, d_ff)
                self.down = nn.Linear(d_model, d_model)

            def forward(self, x):
                hidden = F.gelu(self.up(x))
                return self.down(hidden)  # here

        FeedForward(8, 32)(torch.randn(2, 4, 8))
        """,
        [("hidden", (2,)), ("down.weight", (1,))],
        "nn.Linear(d_ff, d_model)",
    ),
    "heads not merged, h == L": Broken(
        """
        B, L, h, d = 2, 4, 4, 8
        x = torch.randn(B, L, h * d)
        qkv, proj = nn.Linear(32, 96), nn.Linear(32, 32)
        q, k, v = [t.view(B, L, h, d).transpose(1, 2) for t in qkv(x).chunk(3, dim=-1)]
        out = F.softmax(q @ k.transpose(-2, -1), dim=-1) @ v
        y = proj(out)  # here
        """,
        [("out", (3,)), ("weight", (1,))],
        "proj(out.transpose(1, 2).flatten(2))",
    ),
    "heads merged before they were moved back": Broken(
        """
        B, L, h, d = 2, 5, 4, 8
        proj = nn.Linear(h * d, h * d)
        out = torch.randn(B, h, L, d)
        merged = out.flatten(2)
        y = proj(merged)  # here
        """,
        [("merged", (2,)), ("weight", (1,))],
        "out.transpose(1, 2).flatten(2)",
    ),
    "heads joined along the batch": Broken(
        """
        heads, proj = [nn.Linear(12, 4) for _ in range(3)], nn.Linear(12, 12)
        x = torch.randn(2, 5, 12)
        out = torch.cat([head(x) for head in heads], dim=0)
        y = proj(out)  # here
        """,
        [("out", (2,)), ("weight", (1,))],
        "torch.cat([head(x) for head in heads], dim=-1)",
    ),
    "LayerNorm": Broken(
        """
        norm = nn.LayerNorm(16)
        y = norm(torch.randn(2, 4, 8))  # here
        """,
        [("torch.randn(2, 4, 8)", (2,)), ("normalized_shape", (0,))],
        "nn.LayerNorm(8)",
    ),
    "Embedding one row short": Broken(
        """
        vocab = 10
        table = nn.Embedding(vocab, 4)
        ids = torch.tensor([[1, 10]])
        x = table(ids)  # here
        """,
        [("ids", ()), ("weight", (0,))],
        "nn.Embedding(vocab + 1, 4)",
    ),
    # --- views
    "view with one size too few": Broken(
        """
        x = torch.randn(2, 4, 8)
        b, l, d = x.shape
        q = x.view(b, l, 2).transpose(1, 2)  # here
        """,
        [("x", ()), ("view", ())],
        "x.view(b, l, 2, -1)",
    ),
    "view that does not add up": Broken(
        """
        x = torch.randn(2, 4, 8)
        b, l, d = x.shape
        q = x.view(b, l, 2, d)  # here
        """,
        [("x", ()), ("view", (3,))],
        "x.view(b, l, 2, -1)",
    ),
    "heads that do not divide": Broken(
        """
        x = torch.randn(2, 4, 8)
        q = x.reshape(2, 4, 3, -1)  # here
        """,
        [("x", ()), ("reshape", (2,))],
        "x.reshape(2, 4, 2, -1)",
    ),
    "view after a transpose": Broken(
        """
        B, L, h, d = 2, 5, 4, 8
        out = torch.randn(B, h, L, d).transpose(1, 2)
        y = out.view(B, L, h * d)  # here
        """,
        [("out", ()), ("view", ())],
        "out.reshape(B, L, h * d)",
    ),
    "view that would mix heads and tokens": Broken(
        """
        B, L, h, d = 2, 5, 4, 8
        x = torch.randn(B, L, h * d)
        q = x.view(B, L, h, d).transpose(1, 2)
        y = q.view(B, L, h * d)  # here
        """,
        [("q", ()), ("view", ())],
        "q.transpose(1, 2).reshape(B, L, h * d)",
    ),
    "view that would mix heads and tokens, h == L": Broken(
        """
        B, L, h, d = 2, 4, 4, 8
        x = torch.randn(B, L, h * d)
        q = nn.Linear(32, 32)(x).view(B, L, h, d).transpose(1, 2)
        y = q.view(B, L, h * d)  # here
        """,
        [("q", ()), ("view", ())],
        "q.transpose(1, 2).reshape(B, L, h * d)",
    ),
    "heads cut by a view alone": Broken(
        """
        B, L, h, d = 2, 6, 3, 5
        q, k = nn.Linear(15, 30)(torch.randn(B, L, 15)).chunk(2, dim=-1)
        q = q.view(B, h, L, d)  # here
        """,
        [("q", ()), ("view", ())],
        "q.view(B, L, h, d).transpose(1, 2)",
    ),
    "expand a padding mask": Broken(
        """
        keep = torch.ones(2, 5)
        keep = keep.expand(2, 3, 5, 5)  # here
        """,
        [("keep", (0,)), ("expand", (2,))],
        "keep[:, None, None, :].expand(2, 3, 5, 5)",
    ),
    "unflatten": Broken(
        """
        x = torch.randn(2, 5, 12)
        q = x.unflatten(-1, (3, 5))  # here
        """,
        [("x", (2,)), ("unflatten", (1,))],
        "x.unflatten(-1, (3, -1))",
    ),
    # --- axes that are not there
    "softmax over a fourth axis": Broken(
        """
        scores = torch.randn(2, 4, 4)
        weights = F.softmax(scores, dim=3)  # here
        """,
        [("scores", ())],
        "F.softmax(scores, dim=-1)",
    ),
    "transpose of heads that are not there": Broken(
        """
        k = torch.randn(2, 4, 8)
        kt = k.transpose(2, 3)  # here
        """,
        [("k", ())],
        "k.transpose(-2, -1)",
    ),
    "sum over a third axis": Broken(
        """
        x = torch.randn(2, 4)
        s = x.sum(dim=2)  # here
        """,
        [("x", ())],
        "x.sum(dim=-1)",
    ),
    "split with sizes": Broken(
        """
        qkv = torch.randn(2, 5, 9)
        q, k, v = qkv.split([3, 3, 2], dim=-1)  # here
        """,
        [("qkv", (2,)), ("split", ())],
        "qkv.split([3, 3, 3], dim=-1)",
    ),
    "split along the wrong axis": Broken(
        """
        qkv = torch.randn(2, 5, 9)
        q, kv = torch.split(qkv, [3, 6])  # here
        """,
        [("qkv", (0,)), ("split", ())],
        "torch.split(qkv, [3, 6], dim=-1)",
    ),
    # --- broadcasting
    "padding mask": Broken(
        """
        scores, mask = torch.randn(2, 3, 5, 5), torch.ones(2, 5)
        scores = scores.masked_fill(mask == 0, float("-inf"))  # here
        """,
        [("scores", (2,)), ("mask == 0", (0,))],
        'scores.masked_fill(mask[:, None, None, :] == 0, float("-inf"))',
    ),
    "mask of pairs": Broken(
        """
        scores, mask = torch.randn(2, 3, 5, 5), torch.ones(2, 5, 5, dtype=torch.bool)
        scores = torch.where(mask, scores, -1e9)  # here
        """,
        [("mask", (0,)), ("scores", (1,))],
        "torch.where(mask[:, None], scores, -1e9)",
    ),
    "additive mask": Broken(
        """
        scores, mask = torch.randn(2, 3, 5, 5), torch.zeros(2, 5, 5)
        scores += mask  # here
        """,
        [("scores", (1,)), ("mask", (0,))],
        "scores += mask[:, None]",
    ),
    "mask over the words, L == d": Broken(  # [B, L] lies as well over [B, ·, d]
        """
        ids = torch.tensor([[1, 2, 3, 0], [4, 5, 0, 0]])
        x = nn.Embedding(6, 4)(ids)
        x = x * (ids != 0)  # here
        """,
        [("x", (1,)), ("ids != 0", (0,))],
        "x * (ids != 0)[:, :, None]",
    ),
    "causal mask longer than the input": Broken(
        """
        class Attention(nn.Module):
            def __init__(self, longest):
                super().__init__()
                self.register_buffer("causal", torch.tril(torch.ones(longest, longest)).view(1, 1, longest, longest))

            def forward(self, scores):
                return scores.masked_fill(self.causal == 0, float("-inf"))  # here

        Attention(16)(torch.randn(2, 3, 5, 5))
        """,
        [("scores", (2, 3)), ("self.causal == 0", (2, 3))],
        'scores.masked_fill(self.causal[:, :, :scores.size(-2), :scores.size(-1)] == 0, float("-inf"))',
    ),
    "positions longer than the input": Broken(
        """
        class Positions(nn.Module):
            def __init__(self):
                super().__init__()
                self.table = nn.Parameter(torch.zeros(1, 50, 8))

            def forward(self, x):
                return x + self.table  # here

        Positions()(torch.randn(2, 4, 8))
        """,
        [("x", (1,)), ("self.table", (1,))],
        "x + self.table[:, :x.size(1)]",
    ),
    "row sums without their axis": Broken(
        """
        e = torch.randn(2, 4, 5).exp()
        weights = e / e.sum(dim=-1)  # here
        """,
        [("e", (1, 2)), ("e.sum(dim=-1)", (0, 1))],
        "e / e.sum(dim=-1, keepdim=True)",
    ),
    "row sums on a line of their own": Broken(
        """
        e = torch.randn(2, 4, 5).exp()
        total = e.sum(-1)
        weights = e / total  # here
        """,
        [("e", (1, 2)), ("total", (0, 1))],
        "e.sum(-1, keepdim=True)",
    ),
    "residual of another layout": Broken(
        """
        x = torch.randn(2, 5, 8)
        attention = nn.MultiheadAttention(8, 2)
        y, _ = attention(x.transpose(0, 1), x.transpose(0, 1), x.transpose(0, 1))
        z = x + y  # here
        """,
        [("x", (0, 1)), ("y", (0, 1))],
        "x + y.transpose(0, 1)",
    ),
    "in place, and too small": Broken(
        """
        bias = torch.zeros(5)
        bias += torch.ones(2, 5)  # here
        """,
        [("bias", ()), ("torch.ones(2, 5)", ())],
        "bias = bias + torch.ones(2, 5)",
    ),
    # --- joining
    "class token": Broken(
        """
        token, x = nn.Parameter(torch.zeros(1, 1, 8)), torch.randn(2, 4, 8)
        x = torch.cat([token, x], dim=1)  # here
        """,
        [("token", (0,)), ("x", (0,))],
        "torch.cat([token.expand(x.size(0), -1, -1), x], dim=1)",
    ),
    "cat along the wrong axis": Broken(
        """
        a, b = torch.randn(2, 4, 8), torch.randn(2, 4, 6)
        c = torch.cat((a, b), dim=1)  # here
        """,
        [("a", (2,)), ("b", (2,))],
        "torch.cat((a, b), dim=-1)",
    ),
    "cat with an axis missing": Broken(
        """
        x, state = torch.randn(2, 4, 8), torch.randn(2, 8)
        y = torch.cat((x, state), dim=1)  # here
        """,
        [("x", ()), ("state", ())],
        "torch.cat((x, state.unsqueeze(1)), dim=1)",
    ),
    "stack of different lengths": Broken(
        """
        parts = [torch.randn(2, 4), torch.randn(3, 4)]
        y = torch.stack(parts)  # here
        """,
        [("parts[0]", (0,)), ("parts[1]", (0,))],
        "torch.cat(parts, dim=0)",
    ),
    # --- attention in one call
    "sdpa with a padding mask": Broken(
        """
        q, pad = torch.randn(2, 3, 4, 16), torch.ones(2, 4, dtype=torch.bool)
        y = F.scaled_dot_product_attention(q, q, q, attn_mask=pad)  # here
        """,
        [("q", ()), ("pad", (0,))],
        "F.scaled_dot_product_attention(q, q, q, attn_mask=pad[:, None, None, :])",
    ),
    "sdpa with the keys transposed": Broken(
        """
        q, k, v = torch.randn(2, 3, 4, 16), torch.randn(2, 3, 6, 16), torch.randn(2, 3, 6, 16)
        y = F.scaled_dot_product_attention(q, k.transpose(-2, -1), v)  # here
        """,
        [("q", (3,)), ("k.transpose(-2, -1)", (3,)), ("v", ())],
        "F.scaled_dot_product_attention(q, k, v)",
    ),
    "sdpa with grouped heads": Broken(
        """
        q, k, v = torch.randn(2, 8, 4, 16), torch.randn(2, 2, 4, 16), torch.randn(2, 2, 4, 16)
        y = F.scaled_dot_product_attention(q, k, v)  # here
        """,
        [("q", (1,)), ("k", (1,)), ("v", ())],
        "F.scaled_dot_product_attention(q, k, v, enable_gqa=True)",
    ),
    "batch_first forgotten": Broken(
        """
        x, pad = torch.randn(2, 5, 8), torch.zeros(2, 5, dtype=torch.bool)
        attention = nn.MultiheadAttention(8, 2)
        y, _ = attention(x, x, x, key_padding_mask=pad)  # here
        """,
        [("x", ()), ("pad", (0, 1))],
        "nn.MultiheadAttention(8, 2, batch_first=True)",
    ),
    "a mask for each sample, not for each head": Broken(
        """
        x, mask = torch.randn(2, 5, 8), torch.zeros(2, 5, 5, dtype=torch.bool)
        attention = nn.MultiheadAttention(8, 2, batch_first=True)
        y, _ = attention(x, x, x, attn_mask=mask)  # here
        """,
        [("x", ()), ("mask", (0, 1, 2))],
        "attention(x, x, x, attn_mask=mask.repeat_interleave(2, dim=0))",
    ),
    "embed_dim": Broken(
        """
        attention = nn.MultiheadAttention(8, 2, batch_first=True)
        x = torch.randn(2, 5, 16)
        y, _ = attention(x, x, x)  # here
        """,
        [("x", (2,))],
        "nn.MultiheadAttention(16, 2, batch_first=True)",
    ),
    # --- dtypes
    "double into a layer": Broken(
        """
        x = torch.randn(2, 5, 8).double()
        y = nn.Linear(8, 4)(x)  # here
        """,
        [("x", ()), ("weight", ()), ("bias", ())],
        "nn.Linear(8, 4)(x.float())",
    ),
    "double in a product": Broken(
        """
        weights, V = torch.rand(2, 5, 5), torch.randn(2, 5, 8, dtype=torch.float64)
        y = weights @ V  # here
        """,
        [("weights", ()), ("V", ())],
        "weights @ V.float()",
    ),
    "a fill that half cannot hold": Broken(
        """
        scores = torch.randn(2, 5, 5).half()
        scores = scores.masked_fill(scores > 0, -1e9)  # here
        """,
        [("scores", ())],
        "scores.masked_fill(scores > 0, torch.finfo(scores.dtype).min)",
    ),
    "ids that are floats": Broken(
        """
        ids = torch.zeros(2, 3)
        x = nn.Embedding(4, 2)(ids)  # here
        """,
        [("ids", ())],
        "nn.Embedding(4, 2)(ids.long())",
    ),
    "a mask that is no mask": Broken(
        """
        scores, mask = torch.randn(2, 5, 5), torch.ones(5, 5).long()
        scores = scores.masked_fill(mask, 0.0)  # here
        """,
        [("mask", ())],
        "scores.masked_fill(mask.bool(), 0.0)",
    ),
    # --- unpacking, which Python itself refuses
    "a fused projection not cut": Broken(
        """
        q, k, v = nn.Linear(8, 24)(torch.randn(2, 5, 8))  # here
        """,
        [("nn.Linear(8, 24)(torch.randn(2, 5, 8))", (0,))],
        "nn.Linear(8, 24)(torch.randn(2, 5, 8)).chunk(3, dim=-1)",
    ),
    "a fused projection cut into wrong parts": Broken(
        """
        qkv = torch.randn(2, 5, 9)
        q, k, v = qkv.split(2, dim=-1)  # here
        """,
        [("qkv", ())],
        "qkv.split(3, dim=-1)",
    ),
    "classes on the last axis": Broken(
        """
        logits, target = torch.randn(2, 5, 11), torch.zeros(2, 5, dtype=torch.long)
        loss = F.cross_entropy(logits, target)  # here
        """,
        [("logits", ()), ("target", ())],
        "F.cross_entropy(logits.flatten(0, 1), target.flatten())",
    ),
}


def execute(path: Path, source: str) -> BaseException | None:
    """Run a program; what it raised."""
    path.write_text(source, encoding="utf-8")
    torch.manual_seed(0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(source, str(path), "exec"), {"__name__": "__main__"})
    except Exception as error:  # noqa: BLE001 - whatever the program raises
        return error
    return None


def run(path: Path, source: str) -> Run:
    """The Run of a program that fails."""
    with contextlib.suppress(Exception), attnlab.record() as recorded:
        error = execute(path, source)
        if error is not None:
            raise error
    return recorded


def diagnosed(path: Path, source: str) -> Diagnosis:
    recorded = run(path, source)
    found = diagnose(recorded, Trials(recorded))
    assert found is not None, recorded.error
    return found


def applied(source: str, suggestion: Suggestion) -> str:
    """The source with a suggestion put in the place that it names."""
    span = suggestion.source.span
    rows = source.split("\n")
    before = "\n".join([*rows[: span.line - 1], rows[span.line - 1][: span.col]])
    after = "\n".join([rows[span.end_line - 1][span.end_col :], *rows[span.end_line :]])
    return before + suggestion.text + after


def marked(source: str) -> int:
    return next(i for i, row in enumerate(source.split("\n"), 1) if "# here" in row)


@pytest.fixture(params=CASES.values(), ids=CASES.keys())
def broken(request: pytest.FixtureRequest) -> Broken:
    return request.param


def test_names_the_line_and_the_axes_that_do_not_fit(broken: Broken, tmp_path: Path) -> None:
    found = diagnosed(tmp_path / "program.py", broken.text)
    assert found.source.span.line == marked(broken.text)
    assert [(row.text, row.marks) for row in found.rows] == list(broken.meet)


def test_the_first_suggestion_mends_the_program(broken: Broken, tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    first = diagnosed(path, broken.text).suggestions[0]
    assert (first.text, first.verdict) == (broken.mend, "fits")
    assert execute(path, applied(broken.text, first)) is None


def test_what_is_offered_runs_and_what_is_refused_does_not(broken: Broken, tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    found = diagnosed(path, broken.text)
    assert 1 <= sum(item.verdict == "fits" for item in found.suggestions) <= 3
    for item in found.suggestions:
        ast.parse(item.text)
        error = execute(path, applied(broken.text, item))
        assert (error is None) == (item.verdict != "fails"), item.text


def test_states_the_shape_that_comes_out(broken: Broken, tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    found = diagnosed(path, broken.text)
    first = found.suggestions[0]
    if first.source != found.source:
        return  # the expression that failed stands elsewhere
    with contextlib.suppress(Exception), attnlab.record() as mended:
        assert execute(path, applied(broken.text, first)) is None
    here = [step for step in mended.steps if step.source and step.source.span.line == found.source.span.line]
    assert first.results[0] in [mended.values[made].shape for step in here for made in step.results]


def test_is_told_in_both_languages(broken: Broken, tmp_path: Path) -> None:
    recorded = run(tmp_path / "program.py", broken.text)
    found = diagnose(recorded, Trials(recorded))
    assert found is not None
    code = [item.text for item in found.suggestions]
    for language, width in product(LANGUAGES, (80, 120)):
        told = lines(found, recorded, Words(language).say, width)
        assert all(text in "\n".join(told) for text in code)
        assert all(cells(line) <= width or any(text in line for text in code) for line in told)
        assert not any(line != line.rstrip() for line in told)


def test_says_the_same_in_both_languages() -> None:
    texts = [
        {key: text for key, text in catalog(language).items() if key.startswith("diagnosis.")} for language in LANGUAGES
    ]
    fields = [
        {key: {part[1] for part in string.Formatter().parse(text) if part[1]} for key, text in some.items()}
        for some in texts
    ]
    assert fields[0] == fields[1]


def test_every_message_is_used() -> None:
    package = Path(attnlab.__file__).parent
    files = [*package.glob("diagnosis/*.py"), package / "views" / "diagnosis.py"]
    code = "\n".join(file.read_text(encoding="utf-8") for file in files)
    put_together = ("verdict.", "matmul.", "linear.", "join.", "mha.", "from.")
    for key in catalog("en"):
        if key.startswith("diagnosis.") and not key.removeprefix("diagnosis.").startswith(put_together):
            assert f'"{key.removesuffix("_file")}"' in code


# --- what is said


def test_speaks_of_the_sizes_that_the_user_wrote(tmp_path: Path) -> None:
    found = diagnosed(tmp_path / "program.py", CASES["heads"].text)
    assert found.reason.id == "diagnosis.matmul.meet"
    assert found.reason.params == {"left": "q", "left_size": "4", "right": "k", "right_size": "5"}
    assert [row.shape for row in found.rows] == [(2, 3, 5, 4), (2, 3, 5, 4)]


def test_names_the_letter_of_the_users_equation(tmp_path: Path) -> None:
    found = diagnosed(tmp_path / "program.py", CASES["einsum letters"].text)
    assert found.reason.params["letter"] == "d"
    assert [row.axes for row in found.rows] == [("b", "q", "d"), ("b", "k", "d")]


def test_tells_where_each_operand_came_from(tmp_path: Path) -> None:
    rows = diagnosed(tmp_path / "program.py", CASES["heads"].text).rows
    assert [row.made for row in rows] == [
        "q = w_q(x).view(B, L, h, d).transpose(1, 2)",
        "k = w_k(x).view(B, L, h, d).transpose(1, 2)",
    ]
    assert [row.origin and row.origin.span.line for row in rows] == [9, 10]


def test_shows_the_tempting_exchange_that_does_not_fit(tmp_path: Path) -> None:
    found = diagnosed(tmp_path / "program.py", CASES["matmul"].text)
    fails = [item for item in found.suggestions if item.verdict == "fails"]
    assert [(item.text, item.shapes) for item in fails] == [
        ("torch.matmul(Q, K.transpose(0, 1))", ((2, 4, 8), (4, 2, 8)))
    ]


@pytest.mark.parametrize(
    "name", ["view that would mix heads and tokens", "view that would mix heads and tokens, h == L"]
)
def test_warns_of_a_reshape_that_mixes(tmp_path: Path, name: str) -> None:
    found = diagnosed(tmp_path / "program.py", CASES[name].text)
    assert [item.text for item in found.suggestions if item.verdict == "mixes"] == ["q.reshape(B, L, h * d)"]


def test_does_not_warn_of_a_reshape_that_keeps_rows_whole(tmp_path: Path) -> None:
    source = """
    attn = torch.randn(6, 5, 7)  # two samples with three heads each
    out = attn.transpose(0, 1).view(5, 2, 21)
    """
    found = diagnosed(tmp_path / "program.py", HEAD + dedent(source))
    assert [(item.text, item.verdict) for item in found.suggestions] == [
        ("attn.transpose(0, 1).reshape(5, 2, 21)", "fits"),
        ("attn.transpose(0, 1).contiguous().view(5, 2, 21)", "fits"),
    ]


def test_names_the_step_that_changed_the_width(tmp_path: Path) -> None:
    source = """
    up, down = nn.Linear(8, 32), nn.Linear(8, 8)
    def block(x):
        hidden = up(x)
        hidden = F.relu(hidden)
        hidden = hidden * 2
        return down(hidden)
    block(torch.randn(2, 8))
    """
    (note,) = diagnosed(tmp_path / "program.py", HEAD + dedent(source)).notes
    assert (note.id, note.params["line"], note.params["text"]) == ("diagnosis.note.width", 8, "hidden = up(x)")


def test_tells_of_a_view_that_dealt_the_numbers_anew(tmp_path: Path) -> None:
    source = """
    B, L, h, d = 2, 5, 3, 4
    x = torch.randn(B, L, h * d)
    q = x.view(B, L, h, d).transpose(1, 2)
    k = x.view(B, h, L, d).transpose(1, 2)
    scores = q @ k.transpose(-2, -1)
    """
    (note,) = diagnosed(tmp_path / "program.py", HEAD + dedent(source)).notes
    assert (note.id, note.params["line"]) == ("diagnosis.note.dealt", 9)


def test_says_when_nothing_fits(tmp_path: Path) -> None:
    source = "scores = torch.randn(2, 4, 8) @ torch.randn(2, 5, 7)\n"
    path = tmp_path / "program.py"
    recorded = run(path, HEAD + source)
    found = diagnose(recorded, Trials(recorded))
    assert found is not None
    assert found.tried
    assert not found.suggestions
    assert "No change that attnlab knows of makes it fit." in "\n".join(lines(found, recorded, Words("en").say, 80))


def test_tells_how_many_axes_a_shape_has(tmp_path: Path) -> None:
    found = diagnosed(tmp_path / "program.py", HEAD + "x = torch.randn(2, 5, 8, 1)\nb, l, d = x.shape\n")
    assert found.reason.id == "diagnosis.unpack.shape"
    assert found.reason.params == {"input": "x", "rank": 4, "names": 3, "shape": "[2, 5, 8, 1]"}
    assert not found.tried


def test_tells_which_axes_a_shape_has(tmp_path: Path) -> None:
    found = diagnosed(tmp_path / "program.py", HEAD + "x = torch.randn(2, 5)\nd = x.shape[2]\n")
    assert found.text == "x.shape[2]"
    assert found.reason.params == {"input": "x", "rank": 2, "low": -2, "high": 1, "got": 2}


def test_tells_of_an_index_beyond_an_axis(tmp_path: Path) -> None:
    found = diagnosed(tmp_path / "program.py", HEAD + "x = torch.randn(2, 8, 3)\nx[:, 9]\n")
    assert found.rows[0].marks == (1,)
    assert found.reason.params["last"] == 7


def test_tells_of_the_largest_id(tmp_path: Path) -> None:
    found = diagnosed(tmp_path / "program.py", CASES["Embedding one row short"].text)
    assert found.reason.params == {"ids": "ids", "rows": 10, "largest": 10, "last": 9}


def test_uses_the_names_of_axes_where_they_are_known(tmp_path: Path) -> None:
    recorded = run(tmp_path / "program.py", CASES["matmul"].text)
    names = {0: ("B", "L", "D"), 1: ("B", None, None)}
    named = replace(recorded, values=tuple(replace(value, axes=names[value.id]) for value in recorded.values))
    found = diagnose(named, Trials(named))
    assert found is not None
    assert [row.axes for row in found.rows] == [("B", "L", "D"), ("B", "4", "8")]
    assert found.reason.params["left_size"] == "D = 8"
    assert found.reason.params["right_size"] == "4"


def test_tells_of_operands_on_two_devices(tmp_path: Path) -> None:
    source = "a = torch.randn(2, 5)\nb = torch.randn(5, device='meta')\nc = a + b\n"
    found = diagnosed(tmp_path / "program.py", HEAD + source)
    assert found.reason.id == "diagnosis.device"
    assert [(row.text, row.detail) for row in found.rows] == [("a", "cpu"), ("b", "meta")]
    assert found.suggestions[0].text == "a.to(b.device) + b"


def test_an_operation_that_is_not_known_gets_no_suggestion(tmp_path: Path) -> None:
    found = diagnosed(tmp_path / "program.py", HEAD + "x = torch.randn(2, 8)\ny = torch.linalg.inv(x)\n")
    assert (found.text, found.reason.id) == ("torch.linalg.inv(x)", "diagnosis.unknown")
    assert [(row.text, row.shape, row.made) for row in found.rows] == [("x", (2, 8), "x = torch.randn(2, 8)")]
    assert not found.tried


@pytest.mark.parametrize(
    "source",
    [
        "raise ValueError('the sizes of the shapes do not match')",
        "{}['dim']",
        "assert torch.zeros(2).size(0) == 3, 'size'",
        "torch.zeros(2).backward()",
        "a, b = (1, 2, 3)",
        "[][1]",
        "x = torch.randn(2, 3); y = x @ x.T",
    ],
)
def test_says_nothing_of_other_errors(tmp_path: Path, source: str) -> None:
    recorded = run(tmp_path / "program.py", HEAD + source + "\n")
    assert diagnose(recorded, Trials(recorded)) is None


def test_says_nothing_of_an_error_that_was_turned_into_another(tmp_path: Path) -> None:
    source = """
    x = torch.randn(2, 3)
    try:
        x @ x
    except RuntimeError as error:
        raise ValueError("mine, about shapes") from error
    """
    recorded = run(tmp_path / "program.py", HEAD + dedent(source))
    assert diagnose(recorded, Trials(recorded)) is None


def test_a_failing_question_for_a_size(tmp_path: Path) -> None:
    recorded = run(tmp_path / "program.py", HEAD + "x = torch.randn(2, 4)\nx.sum(dim=2)\n")
    assert recorded.error is not None
    assert recorded.error.failed is not None
    failed = replace(recorded.error.failed, op="size", function="torch.Tensor.size")
    asked = replace(recorded, error=replace(recorded.error, failed=failed))
    found = diagnose(asked, Trials(asked))
    assert found is not None
    assert found.reason.params["got"] == 2


def test_offers_nothing_where_the_failure_cannot_be_repeated(tmp_path: Path) -> None:
    recorded = run(tmp_path / "program.py", CASES["matmul"].text)

    def passes(steps: Sequence[Step]) -> tuple[tuple[tuple[tuple[int, ...], ...], ...], str]:
        return tuple(((1,),) for _ in steps), ""

    attempt: Attempt = passes
    found = diagnose(recorded, attempt)
    assert found is not None
    assert not found.suggestions


# --- how it looks


def told(tmp_path: Path, source: str, language: Language = "en", width: int = 100) -> list[str]:
    path = tmp_path / "program.py"
    recorded = run(path, source)
    script = replace(recorded, program=Program("script", str(path), ()))
    found = diagnose(script, Trials(script))
    assert found is not None
    return lines(found, script, Words(language).say, width)


def test_looks(tmp_path: Path) -> None:
    source = """
    Q = torch.randn(2, 4, 8)
    K = torch.randn(2, 4, 8)
    scores = torch.matmul(Q, K)
    """
    assert told(tmp_path, HEAD + dedent(source)) == [
        "attnlab: line 8, `torch.matmul(Q, K)` does not fit.",
        "    Q  [2, 4, 8]  from line 6  Q = torch.randn(2, 4, 8)",
        "              ↑",
        "    K  [2, 4, 8]  from line 7  K = torch.randn(2, 4, 8)",
        "           ↑",
        "    The last axis of Q (8) must equal the last axis but one of K (4).",
        "    tried, fits:         torch.matmul(Q, K.transpose(-2, -1))   → [2, 4, 4]",
        "    tried, does not fit: torch.matmul(Q, K.transpose(0, 1))   [2, 4, 8] · [4, 2, 8]",
    ]


def test_stands_shapes_that_broadcast_one_under_the_other(tmp_path: Path) -> None:
    source = """
    注意力分数 = torch.randn(2, 12, 5, 5)
    掩码 = torch.ones(2, 5, dtype=torch.bool)
    注意力分数 = 注意力分数.masked_fill(掩码, -1e9)
    """
    assert told(tmp_path, HEAD + dedent(source), "zh") == [
        "attnlab：第 8 行，`注意力分数.masked_fill(掩码, -1e9)` 对不上。",
        "    注意力分数  [2, 12, 5, 5]  来自第 6 行  注意力分数 = torch.randn(2, 12, 5, 5)",
        "    掩码               [2, 5]  来自第 7 行  掩码 = torch.ones(2, 5, dtype=torch.bool)",
        "                        ↑",
        "    从右边对齐，注意力分数 的 5 对着 掩码 的 2。对着的两个数必须相等，或者其中一个是 1。",
        "    试过，可行：   注意力分数.masked_fill(掩码[:, None, None, :], -1e9)   → [2, 12, 5, 5]",
        "    试过，仍不行： 注意力分数.masked_fill(掩码.unsqueeze(1), -1e9)   [2, 12, 5, 5] · [2, 1, 5]",
    ]


def test_shows_a_mend_on_another_line_with_its_name(tmp_path: Path) -> None:
    assert told(tmp_path, CASES["Linear, the width by its name"].text)[-1] == (
        "    tried, fits: line 10:  self.down = nn.Linear(d_ff, d_model)   → [2, 4, 8]"
    )


def test_names_the_file_where_it_is_not_the_program(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    recorded = run(path, CASES["matmul"].text)
    found = diagnose(recorded, Trials(recorded))
    assert found is not None
    assert lines(found, recorded, Words("en").say, 80)[0].startswith("attnlab: program.py, line ")


def test_nothing_that_a_terminal_would_obey_is_printed(tmp_path: Path) -> None:
    source = 'x = {"\\x1b[31m": torch.randn(2, 3)}\ny = x["\x1b[31m"] @ x["\x1b[31m"]\n'
    assert "\x1b" not in "".join(told(tmp_path, HEAD + source))


# --- trials


def test_a_trial_changes_nothing(tmp_path: Path) -> None:
    recorded = run(tmp_path / "program.py", CASES["matmul"].text)
    assert recorded.error is not None
    assert recorded.error.failed is not None
    before, grad = torch.random.get_rng_state(), torch.is_grad_enabled()
    dropout = replace(
        recorded.error.failed,
        op="dropout",
        function="torch.nn.functional.dropout",
        operands=(Operand("", Ref(0), ""), Operand("p", 0.5, "")),
        results=(99,),
    )
    assert Trials(recorded)((dropout,)) == ((((2, 4, 8),),), "")
    assert torch.equal(torch.random.get_rng_state(), before)
    assert torch.is_grad_enabled() == grad


def test_a_large_trial_holds_no_memory(tmp_path: Path) -> None:
    source = "a, b = torch.empty(1 << 15, 1), torch.empty(3, 1 << 15)\nc = a @ b\n"
    recorded = run(tmp_path / "program.py", HEAD + source)
    failed = recorded.error and recorded.error.failed
    assert failed is not None
    outer = replace(
        failed,
        op="mul",
        function="torch.mul",
        operands=(Operand("", Ref(0), ""), Operand("", Ref(2), "")),
        results=(3,),
    )
    row = replace(
        failed,
        op="getitem",
        function="torch.Tensor.__getitem__",
        operands=(Operand("", Ref(1), ""), Operand("", 0, "")),
        results=(2,),
    )
    shapes, error = Trials(recorded)((row, outer))
    assert (shapes[-1], error) == (((1 << 15, 1 << 15),), "")


def test_a_trial_runs_operations_on_tensors_and_nothing_else(tmp_path: Path) -> None:
    recorded = run(tmp_path / "program.py", CASES["matmul"].text)
    failed = recorded.error and recorded.error.failed
    assert failed is not None
    loading = replace(failed, function="torch.load", operands=(Operand("", str(tmp_path / "any"), ""),))
    assert Trials(recorded)((loading,)) == ((), "torch.load is not an operation on tensors")


def test_a_trial_gives_what_pytorch_says(tmp_path: Path) -> None:
    recorded = run(tmp_path / "program.py", CASES["softmax over a fourth axis"].text)
    assert isinstance(recorded.error, Error)
    assert recorded.error.failed is not None
    shapes, error = Trials(recorded)((recorded.error.failed,))
    assert (shapes, error) == ((), recorded.error.message)
