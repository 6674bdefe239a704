# 第 1 课：多头注意力。
#
# 演示里的自注意力给每个词元一张“该看谁”的表。可是一句话里的关系不止一种：
# 有的词要看它的主语，有的要看它修饰的词。一张表只能取折中。
# 多头的办法：把 D 个特征分成 H 组，每组（一个“头”）各算各的一张表，最后再合起来。
#
#     head_i = Attention(X W_Qi, X W_Ki, X W_Vi)        MultiHead(X) = Concat(head_1, …, head_H) W_O

import math

import torch
import torch.nn as nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        # 每个头要分到一样多的特征，所以 D 必须能被 H 整除。
        if d_model % n_heads != 0:
            raise ValueError(f"d_model = {d_model} cannot be split over n_heads = {n_heads}: choose a divisor")
        self.n_heads = n_heads
        self.d_k = d_model // n_heads
        # H 个 [D, d_k] 的小矩阵并排放着，就是一个 [D, D] 的大矩阵：乘一次，再切开，结果一样。
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        # 各头的结果并排放着，还没有互相交流；W_O 把它们混合起来。
        self.W_o = nn.Linear(d_model, d_model, bias=False)

    def split(self, x):
        B, L, _ = x.shape
        # 一个头的特征在每个词元里是相邻的一段，所以先把最后一维拆成 (H, d_k)。
        x = x.view(B, L, self.n_heads, self.d_k)  # [B, L, D] → [B, L, H, d_k]
        # 再把头换到前面：每个头要的是自己的 [L, d_k]。
        # 不能直接 view(B, H, L, d_k)：那样会把一个词元的特征切开，分到别的词元名下。
        return x.transpose(1, 2)  # [B, L, H, d_k] → [B, H, L, d_k]

    def merge(self, x):
        B, _, L, _ = x.shape
        # 与拆分相反：先把头换回词元里面，再把 (H, d_k) 并成 D。
        return x.transpose(1, 2).reshape(B, L, self.n_heads * self.d_k)  # [B, H, L, d_k] → [B, L, D]

    def forward(self, x):  # x: [B, L, D]
        Q = self.split(self.W_q(x))  # [B, L, D] → [B, H, L, d_k]
        K = self.split(self.W_k(x))  # [B, L, D] → [B, H, L, d_k]
        V = self.split(self.W_v(x))  # [B, L, D] → [B, H, L, d_k]
        # 与演示里的公式一样，只是前面多了一个头的轴：B×H 张表同时算。
        # 除以 √d_k，而不是 √D：点积现在只有 d_k 项相加。
        scores = torch.matmul(Q, K.transpose(-2, -1)) / math.sqrt(self.d_k)  # [B, H, L, L]
        weights = torch.softmax(scores, dim=-1)  # [B, H, L, L]
        heads = torch.matmul(weights, V)  # [B, H, L, L] · [B, H, L, d_k] → [B, H, L, d_k]
        output = self.W_o(self.merge(heads))  # [B, H, L, d_k] → [B, L, D]
        return output, weights


if __name__ == "__main__":
    batch_size = 2
    seq_len = 5
    d_model = 12
    n_heads = 3

    torch.manual_seed(42)
    x = torch.randn(batch_size, seq_len, d_model)  # [B, L, D]
    attention = MultiHeadAttention(d_model, n_heads)

    with torch.no_grad():
        output, weights = attention(x)
        print("X:                 ", tuple(x.shape))
        print("Q before the split:", tuple(attention.W_q(x).shape))
        print("Q after the split: ", tuple(attention.split(attention.W_q(x)).shape))
        print("weights:           ", tuple(weights.shape))
        print("output:            ", tuple(output.shape))

    # 同一个词元，三个头看的地方不一样。
    for head in range(n_heads):
        row = "  ".join(f"{weight:.4f}" for weight in weights[0, head, 0].tolist())
        print(f"head {head}, token 0 looks at:  {row}")
