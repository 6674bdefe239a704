# 第 4 课：交叉注意力。
#
# 自注意力里，Q、K、V 都来自同一个序列。翻译时，正在写的译文要去看原文：
# 问题（Q）来自译文，答案（K、V）来自原文（叫 memory）。两边长短可以不同。
#
#     Attention(X W_Q, M W_K, M W_V)        X: [B, L_q, D]    M: [B, L_k, D]

import math

import torch
import torch.nn as nn


class CrossAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError(f"d_model = {d_model} cannot be split over n_heads = {n_heads}: choose a divisor")
        self.n_heads = n_heads
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.W_o = nn.Linear(d_model, d_model, bias=False)

    def split(self, x):
        return x.view(*x.shape[:2], self.n_heads, -1).transpose(1, 2)  # [B, L, D] → [B, H, L, d_k]

    def forward(self, x, memory, keep=None):  # x: [B, L_q, D], memory: [B, L_k, D]
        Q = self.split(self.W_q(x))  # [B, L_q, D] → [B, H, L_q, d_k]
        # K 和 V 必须来自同一个序列：第 j 个键的权重，乘的是第 j 个值。
        K = self.split(self.W_k(memory))  # [B, L_k, D] → [B, H, L_k, d_k]
        V = self.split(self.W_v(memory))  # [B, L_k, D] → [B, H, L_k, d_k]
        # 表不再是方的：每个查询一行（L_q），每个键一列（L_k）。
        scores = torch.matmul(Q, K.transpose(-2, -1)) / math.sqrt(Q.size(-1))  # [B, H, L_q, L_k]
        if keep is not None:
            scores = scores.masked_fill(~keep, float("-inf"))  # [B, H, L_q, L_k]
        weights = torch.softmax(scores, dim=-1)  # [B, H, L_q, L_k]
        # 对键求和以后，L_k 这一维就没有了，留下的是 L_q：输出与 x 一样长，与 memory 多长无关。
        output = torch.matmul(weights, V)  # [B, H, L_q, L_k] · [B, H, L_k, d_k] → [B, H, L_q, d_k]
        output = output.transpose(1, 2).reshape(x.shape)  # [B, H, L_q, d_k] → [B, L_q, D]
        return self.W_o(output), weights


if __name__ == "__main__":
    batch_size = 2
    query_len = 4
    memory_len = 7
    d_model = 12
    n_heads = 3

    torch.manual_seed(42)
    x = torch.randn(batch_size, query_len, d_model)  # [B, L_q, D]
    memory = torch.randn(batch_size, memory_len, d_model)  # [B, L_k, D]
    attention = CrossAttention(d_model, n_heads)

    with torch.no_grad():
        output, weights = attention(x, memory)
        print("x:      ", tuple(x.shape))
        print("memory: ", tuple(memory.shape))
        print("weights:", tuple(weights.shape), "  L_q rows, L_k columns")
        print("output: ", tuple(output.shape))
        # memory 打乱次序，输出不变：它被当作一个集合来看。
        shuffled, _ = attention(x, memory[:, torch.randperm(memory_len)])
        print(f"memory shuffled, the output moves by {(shuffled - output).abs().max().item():.1e}")
        # 给 memory 的一个词元加上点东西，每个查询的输出都会动。
        memory[0, 3] += 1.0
        moved, _ = attention(x, memory)
        change = (moved - output)[0].abs().amax(dim=-1)  # [L_q, D] → [L_q]
        print("memory token 3 nudged, output rows move by", "  ".join(f"{c:.3f}" for c in change.tolist()))
