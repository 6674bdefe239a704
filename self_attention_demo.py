"""最小的自注意力：Attention(Q, K, V) = softmax(Q Kᵀ / √d_k) V"""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class SelfAttention(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        # 为什么要 Q、K、V 三份？同一个词元要扮演三个角色：
        #   Q（Query）是它在找什么，K（Key）是它凭什么被找到，V（Value）是它被找到后交出什么。
        # 三个角色各用一个矩阵，“找”与“被找”才可以不同：词元 1 看重词元 2，词元 2 不必看重词元 1。
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x):                                      # x: [B, L, D]
        Q = self.W_q(x)                                        # [B, L, D]
        K = self.W_k(x)                                        # [B, L, D]
        V = self.W_v(x)                                        # [B, L, D]
        print("Q shape:", Q.shape)
        print("K shape:", K.shape)
        print("V shape:", V.shape)

        # 为什么转置 K？每个查询要和每个键做点积：把 K 的最后两维对调，
        # 两个 D 才碰在一起相消，剩下 L×L：第 i 行第 j 列是词元 i 对词元 j 的分数。
        scores = torch.matmul(Q, K.transpose(-2, -1))          # [B, L, D] · [B, D, L] → [B, L, L]
        print("Attention Scores shape:", scores.shape)

        # 为什么除以 √d_k？点积是 d_k 项之和，d_k 越大它的起伏越大（标准差约为 √d_k 倍），
        # softmax 就会几乎只选一个词元，梯度接近 0。除以 √d_k，起伏便与 d_k 无关。
        scores = scores / math.sqrt(K.size(-1))                # [B, L, L]

        # 为什么是 dim=-1？最后一维是“键”：每个查询分给各个键的权重，和为 1。
        attention_weights = F.softmax(scores, dim=-1)          # [B, L, L]
        print("Attention Weights shape:", attention_weights.shape)

        # 每个词元的输出，是所有词元的 V 按权重的加权和。
        output = torch.matmul(attention_weights, V)            # [B, L, L] · [B, L, D] → [B, L, D]
        print("Output shape:", output.shape)
        return output, attention_weights


if __name__ == "__main__":
    batch_size = 2                                             # B：几个样本
    seq_len = 4                                                # L：每个样本几个词元
    d_model = 8                                                # D：每个词元用几个数表示
    torch.manual_seed(42)                                      # 每次运行得到同样的随机数

    x = torch.randn(batch_size, seq_len, d_model)              # [B, L, D]
    print("Input X shape:", x.shape)

    model = SelfAttention(d_model)
    output, attention_weights = model(x)

    print("第一个样本的注意力权重（行是查询，列是键，每行的和为 1）：")
    print(attention_weights[0].detach())
