# 第 9 课：生成时的 K、V 缓存。
#
# 逐字生成时，每写一个字都把整篇重算一遍，太浪费：因果掩码下，前面的词元看不见新词元，
# 它们的 K、V 与上一步一模一样。所以把 K、V 存起来，每步只算新词元的 q、k、v：
#
#     第 t 步     q_t · [k_0 … k_t]     一行分数，而不是 t×t 的一张表
#
# 每一步的代价从 O(t²) 降到 O(t)；要付的是内存：每层存 2·B·H·t·d_k 个数。

import math

import torch
import torch.nn as nn
from torch.utils.benchmark import timer


class Attention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError(f"d_model = {d_model} cannot be split over n_heads = {n_heads}: choose a divisor")
        self.n_heads = n_heads
        self.W_qkv = nn.Linear(d_model, 3 * d_model)
        self.W_o = nn.Linear(d_model, d_model)

    def split(self, x):
        return x.view(*x.shape[:2], self.n_heads, -1).transpose(1, 2)  # [B, L, D] → [B, H, L, d_k]

    def forward(self, x, cache=None):  # x: [B, L_q, D]
        # 只有新词元的 Q、K、V。
        Q, K, V = map(self.split, self.W_qkv(x).chunk(3, dim=-1))  # [B, L_q, 3D] → 三个 [B, H, L_q, d_k]
        if cache is not None:
            # 新的接在旧的后面，沿词元的轴（倒数第二维）。
            if cache:
                K = torch.cat((cache["K"], K), dim=-2)  # [B, H, L_k, d_k]，L_k = 旧的 + 新的
                V = torch.cat((cache["V"], V), dim=-2)  # [B, H, L_k, d_k]
            cache["K"], cache["V"] = K, V
        L_q, L_k = Q.size(-2), K.size(-2)
        scores = torch.matmul(Q, K.transpose(-2, -1)) / math.sqrt(Q.size(-1))  # [B, H, L_q, L_k]
        # 新词元是最后的 L_q 个：每个都能看缓存里的全部，再加上新词元里自己和自己之前的。
        # 所以三角形要对齐右下角，对角线往右移 L_k - L_q。
        keep = torch.ones(L_q, L_k, dtype=torch.bool).tril(diagonal=L_k - L_q)  # [L_q, L_k]，True 表示可以看
        scores = scores.masked_fill(~keep, float("-inf"))  # [B, H, L_q, L_k]
        heads = torch.matmul(torch.softmax(scores, dim=-1), V)  # [B, H, L_q, d_k]
        return self.W_o(heads.transpose(1, 2).reshape(x.shape))  # [B, H, L_q, d_k] → [B, L_q, D]


class Block(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.attention = Attention(d_model, n_heads)
        self.up, self.down = nn.Linear(d_model, 4 * d_model), nn.Linear(4 * d_model, d_model)

    def forward(self, x, cache=None):
        x = x + self.attention(self.norm1(x), cache)  # [B, L_q, D]
        hidden = nn.functional.gelu(self.up(self.norm2(x)), approximate="tanh")  # [B, L_q, 4D]
        return x + self.down(hidden)  # [B, L_q, D]


class GPT(nn.Module):
    def __init__(self, vocabulary, context, d_model, n_heads, n_layers):
        super().__init__()
        self.context = context
        self.token = nn.Embedding(vocabulary, d_model)
        self.position = nn.Embedding(context, d_model)
        self.blocks = nn.ModuleList(Block(d_model, n_heads) for _ in range(n_layers))
        self.norm = nn.LayerNorm(d_model)

    def forward(self, ids, caches=None):  # ids: [B, L_q]
        # 位置要接着数：缓存里已有 past 个词元，新词元是第 past、past+1 … 个，不是从 0 开始。
        past = caches[0]["K"].size(-2) if caches and caches[0] else 0
        if past + ids.size(1) > self.context:
            raise ValueError(f"{past + ids.size(1)} tokens do not fit into a context of {self.context}")
        x = self.token(ids) + self.position(torch.arange(past, past + ids.size(1)))  # [B, L_q, D]
        for layer, block in enumerate(self.blocks):
            x = block(x, None if caches is None else caches[layer])  # [B, L_q, D]
        return self.norm(x) @ self.token.weight.T  # [B, L_q, D] · [D, V] → [B, L_q, V]

    @torch.no_grad()
    def generate(self, ids, count, use_cache=True):
        caches = [{} for _ in self.blocks] if use_cache else None
        fresh = ids
        for _ in range(count):
            # 第一步把开头全送进去，以后每步只送一个字。
            logits = self(fresh if use_cache else ids, caches)[:, -1]  # [B, V]
            fresh = logits.argmax(dim=-1, keepdim=True)  # [B, 1]
            ids = torch.cat((ids, fresh), dim=1)  # [B, L + 1]
        return ids


def seconds(work, *inputs):
    start = timer()
    work(*inputs)
    return timer() - start


if __name__ == "__main__":
    vocabulary = 100
    context = 520
    d_model = 256
    n_heads = 4
    n_layers = 2

    torch.manual_seed(42)
    model = GPT(vocabulary, context, d_model, n_heads, n_layers).eval()
    start = torch.randint(vocabulary, (1, 8))

    # 没有训练过的模型总爱重复同一个字，字相同不算数：任取一串字，逐个送进去，
    # 比每一步的 logits。
    ids = torch.randint(vocabulary, (1, 32))
    caches = [{} for _ in model.blocks]
    with torch.no_grad():
        one_by_one = torch.cat([model(token, caches) for token in ids.split(1, dim=1)], dim=1)  # [B, L, V]
        difference = (one_by_one - model(ids)).abs().max().item()
    print(f"logits of 32 tokens, one by one with the cache against all at once: largest difference {difference:.1e}")

    print(" tokens   with cache   without   ms a token")
    for count in (128, 256, 512):
        fast = seconds(model.generate, start, count, True) / count
        slow = seconds(model.generate, start, count, False) / count
        print(f"{count:7}   {1000 * fast:10.2f}   {1000 * slow:7.2f}   {slow / fast:4.1f} × faster")

    numbers = 2 * n_layers * d_model * context
    print(f"the cache of {context} tokens holds {numbers} numbers, {4 * numbers / 2**20:.1f} MiB in float32")
