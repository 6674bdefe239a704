# 第 5 课：一个完整的块。
#
# 注意力只负责词元之间的交流。一个块还有三样东西：
#     前馈网络   交流之后，每个词元自己想一想：D → 4D → D，各个词元用同一套权重
#     残差       x + f(x)：每层只改一点，原来的信息和梯度都有一条直路
#     层归一化   把每个词元的 D 个数拉回均值 0、方差 1，层数多了也不会越来越大
#
# 归一化放在哪里有两种：
#     post-norm（原论文）   x = LN(x + f(x))
#     pre-norm（现在多用）  x = x + f(LN(x))        直路上没有归一化，深的网络更好训练
#
# 论文在每个 f(x) 之后还有 dropout，训练时随机丢掉一些数，防止死记硬背；这里为了简短，省去了。

import math

import torch
import torch.nn as nn


class Attention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError(f"d_model = {d_model} cannot be split over n_heads = {n_heads}: choose a divisor")
        self.n_heads = n_heads
        # 论文的公式里没有偏置，常见的实现都有；从这一课起也带上。
        self.W_q = nn.Linear(d_model, d_model)
        self.W_k = nn.Linear(d_model, d_model)
        self.W_v = nn.Linear(d_model, d_model)
        self.W_o = nn.Linear(d_model, d_model)

    def split(self, x):
        return x.view(*x.shape[:2], self.n_heads, -1).transpose(1, 2)  # [B, L, D] → [B, H, L, d_k]

    def forward(self, x, keep=None):  # x: [B, L, D]
        Q, K, V = self.split(self.W_q(x)), self.split(self.W_k(x)), self.split(self.W_v(x))  # [B, H, L, d_k]
        scores = torch.matmul(Q, K.transpose(-2, -1)) / math.sqrt(Q.size(-1))  # [B, H, L, L]
        if keep is not None:
            scores = scores.masked_fill(~keep, float("-inf"))  # [B, H, L, L]
        heads = torch.matmul(torch.softmax(scores, dim=-1), V)  # [B, H, L, d_k]
        return self.W_o(heads.transpose(1, 2).reshape(x.shape))  # [B, H, L, d_k] → [B, L, D]


class LayerNorm(nn.Module):
    # 只在最后一维上归一化：一个词元只跟自己比，不跟别的词元、别的样本比。
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(d_model))
        self.shift = nn.Parameter(torch.zeros(d_model))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(dim=-1, keepdim=True)  # [B, L, 1]
        variance = x.var(dim=-1, keepdim=True, unbiased=False)  # [B, L, 1]
        return (x - mean) / torch.sqrt(variance + self.eps) * self.gain + self.shift  # [B, L, D]


class Block(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, pre_norm=True, norm=True):
        super().__init__()
        self.attention = Attention(d_model, n_heads)
        self.feed_forward = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.norm1 = LayerNorm(d_model) if norm else nn.Identity()
        self.norm2 = LayerNorm(d_model) if norm else nn.Identity()
        self.pre_norm = pre_norm

    def forward(self, x, keep=None):
        if self.pre_norm:
            # 残差加的是没有归一化的 x：要是加 LN(x)，直路就断了。
            x = x + self.attention(self.norm1(x), keep)  # [B, L, D]
            return x + self.feed_forward(self.norm2(x))  # [B, L, D]
        x = self.norm1(x + self.attention(x, keep))  # [B, L, D]
        return self.norm2(x + self.feed_forward(x))  # [B, L, D]


def without_residual(block, x):
    # 对照：同一个块，只是拆掉了残差。
    x = block.attention(block.norm1(x))  # [B, L, D]
    return block.feed_forward(block.norm2(x))  # [B, L, D]


if __name__ == "__main__":
    batch_size = 2
    seq_len = 5
    d_model = 12
    n_heads = 3
    depth = 24

    torch.manual_seed(42)
    x = torch.randn(batch_size, seq_len, d_model)  # [B, L, D]
    print("block:", tuple(x.shape), "→", tuple(Block(d_model, n_heads, 4 * d_model)(x).shape))

    # 同样 24 层，看每个词元的数值有多散，以及梯度还剩多少传到了输入。
    kinds = (
        ("pre-norm and residual", Block.forward, {}),
        ("post-norm and residual", Block.forward, {"pre_norm": False}),
        ("residual, no norm", Block.forward, {"norm": False}),
        ("norm, no residual", without_residual, {}),
        ("neither", without_residual, {"norm": False}),
    )
    print(f"variance of x after {depth} blocks, and size of the gradient at the input")
    for name, forward, options in kinds:
        torch.manual_seed(0)
        blocks = nn.ModuleList(Block(d_model, n_heads, 4 * d_model, **options) for _ in range(depth))
        start = x.clone().requires_grad_()
        h = start
        for block in blocks:
            h = forward(block, h)  # [B, L, D]
        (h * torch.randn_like(h)).sum().backward()
        print(f"    {name:22}  variance {h.var().item():10.2e}   gradient {start.grad.norm().item():10.2e}")
