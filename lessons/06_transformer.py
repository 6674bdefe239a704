# 第 6 课：论文里那个完整的 Transformer（编码器加解码器）。
#
# 前面各课的零件都在这里了，只剩下怎么接：
#     编码器的一层   自注意力 → 前馈                          读懂原文
#     解码器的一层   因果自注意力 → 交叉注意力 → 前馈          看着原文和已写的译文，写下一个词
# 每一步外面都是 LayerNorm(x + f(x))。词元先查表变成向量，乘 √D，再加上位置。
# 原文的长度叫 S，译文的长度叫 T，词表的大小叫 V。

import math

import torch
import torch.nn as nn


class Attention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError(f"d_model = {d_model} cannot be split over n_heads = {n_heads}: choose a divisor")
        self.n_heads = n_heads
        self.W_q = nn.Linear(d_model, d_model)
        self.W_k = nn.Linear(d_model, d_model)
        self.W_v = nn.Linear(d_model, d_model)
        self.W_o = nn.Linear(d_model, d_model)

    def split(self, x):
        return x.view(*x.shape[:2], self.n_heads, -1).transpose(1, 2)  # [B, L, D] → [B, H, L, d_k]

    def forward(self, x, memory, keep=None):  # x: [B, L_q, D], memory: [B, L_k, D]
        # 自注意力与交叉注意力是同一个公式：memory 就是 x 时，是自注意力。
        Q = self.split(self.W_q(x))  # [B, L_q, D] → [B, H, L_q, d_k]
        K = self.split(self.W_k(memory))  # [B, L_k, D] → [B, H, L_k, d_k]
        V = self.split(self.W_v(memory))  # [B, L_k, D] → [B, H, L_k, d_k]
        scores = torch.matmul(Q, K.transpose(-2, -1)) / math.sqrt(Q.size(-1))  # [B, H, L_q, L_k]
        if keep is not None:  # keep：True 表示可以看
            scores = scores.masked_fill(~keep, float("-inf"))  # [B, H, L_q, L_k]
        heads = torch.matmul(torch.softmax(scores, dim=-1), V)  # [B, H, L_q, d_k]
        return self.W_o(heads.transpose(1, 2).reshape(x.shape))  # [B, H, L_q, d_k] → [B, L_q, D]


def feed_forward(d_model, d_ff):
    return nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))


class EncoderLayer(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.attention = Attention(d_model, n_heads)
        self.feed_forward = feed_forward(d_model, d_ff)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def forward(self, x, keep=None):
        x = self.norm1(x + self.attention(x, x, keep))  # [B, S, D]
        return self.norm2(x + self.feed_forward(x))  # [B, S, D]


class DecoderLayer(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.attention = Attention(d_model, n_heads)
        self.cross = Attention(d_model, n_heads)
        self.feed_forward = feed_forward(d_model, d_ff)
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(d_model) for _ in range(3))

    def forward(self, y, memory, keep=None, memory_keep=None):
        # 先看自己写过的（因果），再带着问题去看原文。
        y = self.norm1(y + self.attention(y, y, keep))  # [B, T, D]
        y = self.norm2(y + self.cross(y, memory, memory_keep))  # [B, T, D]
        return self.norm3(y + self.feed_forward(y))  # [B, T, D]


class Core(nn.Module):
    # 两摞层，不管词表：向量进，向量出。
    def __init__(self, d_model, n_heads, n_layers, d_ff):
        super().__init__()
        self.encoder = nn.ModuleList(EncoderLayer(d_model, n_heads, d_ff) for _ in range(n_layers))
        self.decoder = nn.ModuleList(DecoderLayer(d_model, n_heads, d_ff) for _ in range(n_layers))
        # 论文里没有这两个归一化，nn.Transformer 在每摞的最后加了一个，这里与它一致。
        self.norm_encoder, self.norm_decoder = nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def encode(self, x, keep=None):
        for layer in self.encoder:
            x = layer(x, keep)  # [B, S, D]
        return self.norm_encoder(x)

    def decode(self, y, memory, keep=None, memory_keep=None):
        for layer in self.decoder:
            y = layer(y, memory, keep, memory_keep)  # [B, T, D]
        return self.norm_decoder(y)


def sinusoid(seq_len, d_model):
    if d_model % 2 != 0:
        raise ValueError(f"d_model = {d_model} is odd: sines and cosines come in pairs, so choose an even width")
    frequency = 10000.0 ** (-torch.arange(0, d_model, 2) / d_model)  # [D/2]
    angle = torch.arange(seq_len)[:, None] * frequency  # [L, D/2]
    # 正弦和余弦交错排开。
    return torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(-2)  # [L, D/2, 2] → [L, D]


class Transformer(nn.Module):
    def __init__(self, vocabulary, d_model, n_heads, n_layers, d_ff, pad=0):
        super().__init__()
        self.pad = pad
        self.d_model = d_model
        # 原文、译文和最后的输出共用一张词表：同一个词，查进去和认出来是同一个向量。
        self.embedding = nn.Embedding(vocabulary, d_model)
        nn.init.normal_(self.embedding.weight, std=d_model**-0.5)
        self.core = Core(d_model, n_heads, n_layers, d_ff)

    def embed(self, ids):
        # 词向量的大小约为 1/√D，乘 √D 才与位置编码差不多大，不会被它盖住。
        x = self.embedding(ids) * math.sqrt(self.d_model)  # [B, L] → [B, L, D]
        return x + sinusoid(ids.size(1), self.d_model)  # [B, L, D] + [L, D]

    def forward(self, source, target):  # source: [B, S], target: [B, T]
        # 填充的键谁都不看；译文还不许看后面。
        source_keep = (source != self.pad)[:, None, None, :]  # [B, 1, 1, S]
        causal = torch.ones(target.size(1), target.size(1), dtype=torch.bool).tril()  # [T, T]
        target_keep = (target != self.pad)[:, None, None, :] & causal  # [B, 1, T, T]
        memory = self.core.encode(self.embed(source), source_keep)  # [B, S, D]
        y = self.core.decode(self.embed(target), memory, target_keep, source_keep)  # [B, T, D]
        return y @ self.embedding.weight.T  # [B, T, D] · [D, V] → [B, T, V]


if __name__ == "__main__":
    vocabulary, d_model, n_heads, n_layers, d_ff = 20, 12, 3, 2, 48

    torch.manual_seed(42)
    model = Transformer(vocabulary, d_model, n_heads, n_layers, d_ff)
    source = torch.tensor([[5, 9, 3, 7, 2], [8, 4, 6, 0, 0]])  # [B, S]，0 是填充
    target = torch.tensor([[1, 11, 12, 13, 14, 15, 16], [1, 17, 18, 19, 0, 0, 0]])  # [B, T]

    # 一步训练：输入是前 T-1 个词，要它说出的是后 T-1 个词，即每个位置的下一个。
    given, wanted = target[:, :-1], target[:, 1:]  # [B, T-1], [B, T-1]
    logits = model(source, given)  # [B, T-1, V]
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), wanted.flatten(), ignore_index=0)
    loss.backward()
    print("source [B, S]:      ", tuple(source.shape))
    print("given  [B, T-1]:    ", tuple(given.shape))
    print("memory [B, S, D]:   ", tuple(model.core.encode(model.embed(source)).shape))
    print("logits [B, T-1, V]: ", tuple(logits.shape))
    print(f"loss: {loss.item():.4f}   guessing evenly would give ln V = {math.log(vocabulary):.4f}")
    print("parameters:", sum(p.numel() for p in model.parameters()))
