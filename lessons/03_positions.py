# 第 3 课：位置。
#
# 注意力只看内容，不看次序：把词元打乱，每个词元的结果跟着换位置，数值一点不变。
# 可是“狗咬人”和“人咬狗”不是一回事。所以要把位置告诉它，常见的有四种办法：
#
#     正弦     X + PE        PE[pos, 2i] = sin(pos·θ_i)    PE[pos, 2i+1] = cos(pos·θ_i)    θ_i = 10000^(-2i/D)
#     可学习   X + P[pos]    每个位置一个向量，训练出来
#     旋转     q、k 的每两维按位置转一个角度，点积里只剩下两个位置之差
#     ALiBi    分数减去 m·|i - j|：越远越不看，每个头的 m 不同

import math

import torch
import torch.nn as nn


def sinusoid(seq_len, d_model):
    # 一对 sin、cos 合用一个频率，所以 D 要是偶数。
    if d_model % 2 != 0:
        raise ValueError(f"d_model = {d_model} is odd: sines and cosines come in pairs, so choose an even width")
    # 频率从 1 一直降到约 1/10000：有的维变得快，分得清相邻；有的维变得慢，分得清远近。
    theta = 10000.0 ** (-torch.arange(0, d_model, 2) / d_model)  # [D/2]
    angle = torch.arange(seq_len)[:, None] * theta  # [L, 1] · [D/2] → [L, D/2]
    table = torch.zeros(seq_len, d_model)  # [L, D]
    table[:, 0::2] = torch.sin(angle)
    table[:, 1::2] = torch.cos(angle)
    return table


def rotate(x):  # x: [..., L, d_k]
    # 每相邻的两维是平面上的一个点，第 pos 个词元把它转 pos·θ 角。
    # q 转 i·θ，k 转 j·θ，二者的点积只与 (i - j)·θ 有关：绝对位置进去，相对位置出来。
    *_, seq_len, d_k = x.shape
    if d_k % 2 != 0:
        raise ValueError(f"d_k = {d_k} is odd: a rotation takes two features at a time, so choose an even width")
    theta = 10000.0 ** (-torch.arange(0, d_k, 2) / d_k)  # [d_k/2]
    angle = torch.arange(seq_len)[:, None] * theta  # [L, 1] · [d_k/2] → [L, d_k/2]
    cos, sin = angle.cos(), angle.sin()
    a, b = x[..., 0::2], x[..., 1::2]  # [..., L, d_k] → 两个 [..., L, d_k/2]
    turned = torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1)  # [..., L, d_k/2, 2]
    return turned.flatten(-2)  # [..., L, d_k/2, 2] → [..., L, d_k]


def alibi(n_heads, seq_len):
    # 每个头一个斜率，按等比数列递减：有的头只看近处，有的头看得远。
    slope = 2.0 ** (-8.0 * torch.arange(1, n_heads + 1) / n_heads)  # [H]
    position = torch.arange(seq_len)  # [L]
    distance = (position[:, None] - position[None, :]).abs()  # [L, L]
    return -slope[:, None, None] * distance  # [H, 1, 1] · [L, L] → [H, L, L]


class Attention(nn.Module):
    def __init__(self, d_model, n_heads, kind="none", max_len=64):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError(f"d_model = {d_model} cannot be split over n_heads = {n_heads}: choose a divisor")
        self.n_heads = n_heads
        self.kind = kind
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.W_o = nn.Linear(d_model, d_model, bias=False)
        if kind == "learned":
            self.table = nn.Embedding(max_len, d_model)

    def split(self, x):
        return x.view(*x.shape[:2], self.n_heads, -1).transpose(1, 2)  # [B, L, D] → [B, H, L, d_k]

    def forward(self, x):  # x: [B, L, D]
        B, L, D = x.shape
        # 前两种办法改的是输入：同一个词元放在不同位置，就是不同的向量。
        if self.kind == "sine":
            x = x + sinusoid(L, D)  # [B, L, D] + [L, D]
        if self.kind == "learned":
            if x.size(1) > self.table.num_embeddings:
                raise ValueError(f"{L} tokens, but only {self.table.num_embeddings} positions were learned")
            x = x + self.table(torch.arange(L))  # [B, L, D] + [L, D]
        Q, K, V = self.split(self.W_q(x)), self.split(self.W_k(x)), self.split(self.W_v(x))  # [B, H, L, d_k]
        # 旋转只动 q 和 k：位置该影响“看谁”，不该改变被看到的内容 V。
        if self.kind == "rotary":
            Q, K = rotate(Q), rotate(K)  # [B, H, L, d_k]
        scores = torch.matmul(Q, K.transpose(-2, -1)) / math.sqrt(Q.size(-1))  # [B, H, L, L]
        # ALiBi 改的是分数：离得越远，扣得越多。
        if self.kind == "alibi":
            scores = scores + alibi(self.n_heads, L)  # [B, H, L, L] + [H, L, L]
        heads = torch.matmul(torch.softmax(scores, dim=-1), V)  # [B, H, L, d_k]
        return self.W_o(heads.transpose(1, 2).reshape(B, L, D))  # [B, H, L, d_k] → [B, L, D]


if __name__ == "__main__":
    batch_size = 2
    seq_len = 5
    d_model = 12
    n_heads = 3

    torch.manual_seed(42)
    x = torch.randn(batch_size, seq_len, d_model)  # [B, L, D]
    order = torch.randperm(seq_len)  # [L]
    print("new order of the tokens:", order.tolist())
    for kind in ("none", "sine", "learned", "rotary", "alibi"):
        layer = Attention(d_model, n_heads, kind)
        with torch.no_grad():
            # 先打乱再算，与先算再打乱：没有位置信息时，二者相同。
            difference = (layer(x[:, order]) - layer(x)[:, order]).abs().max().item()
        print(f"{kind:8} shuffled in, shuffled out, the largest difference: {difference:.6f}")

    # 旋转只认距离：同一对 q、k，相距都是 2，不管从第几个位置开始，点积都一样。
    q = rotate(torch.randn(1, d_model).expand(seq_len, d_model))  # [L, D]
    k = rotate(torch.randn(1, d_model).expand(seq_len, d_model))  # [L, D]
    print("rotary, q · k two apart:", "  ".join(f"{(q[i + 2] @ k[i]).item():.4f}" for i in range(seq_len - 2)))
