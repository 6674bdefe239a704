# 第 10 课：今天的块（Llama 一类的模型）。
#
# 骨架没有变，换了四个零件：
#     RMSNorm    只除以均方根，不减均值，也没有平移：算得少，效果不差
#     旋转位置   不改输入，在每层的 q、k 上转角度（第 3 课）
#     SwiGLU     前馈网络多一道门：silu(x W_gate) ⊙ (x W_up)，再 W_down
#     分组查询   H 个查询头共用 G 个键值头，缓存缩到 G/H

import math

import torch
import torch.nn as nn


class RMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(d_model))
        self.eps = eps

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + self.eps) * self.gain  # [B, L, D]


def angles(past, seq_len, d_k, base=10000.0):
    if d_k % 2 != 0:
        raise ValueError(f"d_k = {d_k} is odd: a rotation takes two features at a time, so choose an even width")
    frequency = base ** (-torch.arange(0, d_k, 2) / d_k)  # [d_k/2]
    angle = torch.arange(past, past + seq_len)[:, None] * frequency  # [L, d_k/2]
    return angle.cos(), angle.sin()  # [L, d_k/2], [L, d_k/2]


def rotate(x, cos, sin):
    # 这里一对是第 i 维和第 i + d_k/2 维（Llama 的排法）；第 3 课是相邻两维。
    # 两种都对，只是 q 和 k 必须用同一种，权重也要配套。
    a, b = x.chunk(2, dim=-1)  # 两个 [B, H, L, d_k/2]
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)  # [B, H, L, d_k]


class Attention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads):
        super().__init__()
        if d_model % n_heads != 0 or n_heads % n_kv_heads != 0:
            raise ValueError(
                f"d_model = {d_model}, n_heads = {n_heads}, n_kv_heads = {n_kv_heads}: each must divide the one before"
            )
        self.n_heads, self.n_kv_heads, self.d_k = n_heads, n_kv_heads, d_model // n_heads
        self.W_q = nn.Linear(d_model, n_heads * self.d_k, bias=False)
        # K、V 只有 G 个头，矩阵也小了。
        self.W_k = nn.Linear(d_model, n_kv_heads * self.d_k, bias=False)
        self.W_v = nn.Linear(d_model, n_kv_heads * self.d_k, bias=False)
        self.W_o = nn.Linear(n_heads * self.d_k, d_model, bias=False)

    def split(self, x, heads):
        return x.view(*x.shape[:2], heads, self.d_k).transpose(1, 2)  # [B, L, ·] → [B, heads, L, d_k]

    def forward(self, x, cache=None):  # x: [B, L, D]
        L = x.size(1)
        past = cache["K"].size(-2) if cache else 0
        Q = self.split(self.W_q(x), self.n_heads)  # [B, H, L, d_k]
        K = self.split(self.W_k(x), self.n_kv_heads)  # [B, G, L, d_k]
        V = self.split(self.W_v(x), self.n_kv_heads)  # [B, G, L, d_k]
        cos, sin = angles(past, L, self.d_k)  # [L, d_k/2], [L, d_k/2]
        Q, K = rotate(Q, cos, sin), rotate(K, cos, sin)  # [B, H, L, d_k], [B, G, L, d_k]
        if cache is not None:
            # 存的是转过的 K，而且只有 G 个头。
            if cache:
                K, V = torch.cat((cache["K"], K), dim=-2), torch.cat((cache["V"], V), dim=-2)  # [B, G, L_k, d_k]
            cache["K"], cache["V"] = K, V
        # 第 h 个查询头用第 h // (H/G) 个键值头：相邻的 H/G 个头一组，所以是 repeat_interleave，不是 repeat。
        group = self.n_heads // self.n_kv_heads
        K = K.repeat_interleave(group, dim=1)  # [B, G, L_k, d_k] → [B, H, L_k, d_k]
        V = V.repeat_interleave(group, dim=1)  # [B, G, L_k, d_k] → [B, H, L_k, d_k]
        scores = torch.matmul(Q, K.transpose(-2, -1)) / math.sqrt(self.d_k)  # [B, H, L, L_k]
        keep = torch.ones(L, past + L, dtype=torch.bool).tril(diagonal=past)  # [L, L_k]，True 表示可以看
        weights = torch.softmax(scores.masked_fill(~keep, float("-inf")), dim=-1)  # [B, H, L, L_k]
        heads = torch.matmul(weights, V)  # [B, H, L, d_k]
        return self.W_o(heads.transpose(1, 2).reshape(x.shape))  # [B, H, L, d_k] → [B, L, D]


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.W_gate = nn.Linear(d_model, d_ff, bias=False)
        self.W_up = nn.Linear(d_model, d_ff, bias=False)
        self.W_down = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x):
        # 门决定每个中间特征放行多少；silu(x) = x·sigmoid(x)。
        return self.W_down(nn.functional.silu(self.W_gate(x)) * self.W_up(x))  # [B, L, D] → [B, L, d_ff] → [B, L, D]


class Block(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads, d_ff):
        super().__init__()
        self.norm1, self.norm2 = RMSNorm(d_model), RMSNorm(d_model)
        self.attention = Attention(d_model, n_heads, n_kv_heads)
        self.feed_forward = FeedForward(d_model, d_ff)

    def forward(self, x, cache=None):
        x = x + self.attention(self.norm1(x), cache)  # [B, L, D]
        return x + self.feed_forward(self.norm2(x))  # [B, L, D]


class Llama(nn.Module):
    def __init__(self, vocabulary, d_model, n_heads, n_kv_heads, d_ff, n_layers):
        super().__init__()
        self.token = nn.Embedding(vocabulary, d_model)
        self.blocks = nn.ModuleList(Block(d_model, n_heads, n_kv_heads, d_ff) for _ in range(n_layers))
        self.norm = RMSNorm(d_model)
        self.head = nn.Linear(d_model, vocabulary, bias=False)

    def forward(self, ids, caches=None):
        x = self.token(ids)  # [B, L] → [B, L, D]，位置在每层的旋转里
        for layer, block in enumerate(self.blocks):
            x = block(x, None if caches is None else caches[layer])  # [B, L, D]
        return self.head(self.norm(x))  # [B, L, D] → [B, L, V]


if __name__ == "__main__":
    vocabulary, d_model, n_heads, d_ff, n_layers = 50, 48, 6, 128, 2
    ids = torch.arange(14).view(2, 7)  # [B, L]

    print("kv heads   parameters   cache of 7 tokens (numbers)   one token at a time, largest difference")
    for n_kv_heads in (6, 3, 2, 1):
        torch.manual_seed(42)
        model = Llama(vocabulary, d_model, n_heads, n_kv_heads, d_ff, n_layers)
        with torch.no_grad():
            whole = model(ids)  # [B, L, V]
            caches = [{} for _ in range(n_layers)]
            steps = [model(ids[:, i : i + 1], caches) for i in range(ids.size(1))]  # L 个 [B, 1, V]
            difference = (torch.cat(steps, dim=1) - whole).abs().max().item()
        size = sum(tensor.numel() for cache in caches for tensor in cache.values())
        parameters = sum(p.numel() for p in model.parameters())
        print(f"{n_kv_heads:8}   {parameters:10}   {size:27}   {difference:.1e}")
