# 第 2 课：掩码。
#
# 有些键是不该看的：句子长短不一，短的后面补了没有意义的词元（填充）；
# 逐词生成时，后面的词元还不存在（因果）。
# 办法：softmax 之前，把这些格子的分数换成 -∞，e^(-∞) = 0，权重就正好是 0，
# 剩下的权重仍然加起来等于 1。
#
#     softmax( Q Kᵀ / √d_k + M ) V        M 在能看的地方是 0，在不能看的地方是 -∞
#
# 所有课都用同一个约定：keep 是布尔张量，True 表示“可以看”。
# F.scaled_dot_product_attention 也是这样；nn.MultiheadAttention 正好相反，True 表示“不许看”。

import math

import torch


def attention(Q, K, V, keep=None):  # Q, K, V: [B, H, L, d_k]
    scores = torch.matmul(Q, K.transpose(-2, -1)) / math.sqrt(K.size(-1))  # [B, H, L, L]
    if keep is not None:
        # 掩码要在 softmax 之前：之后再清零，剩下的权重加起来就不到 1 了。
        scores = scores.masked_fill(~keep, float("-inf"))  # [B, H, L, L]
    weights = torch.softmax(scores, dim=-1)  # [B, H, L, L]
    if keep is not None:
        # 一整行都不许看时，softmax 算的是 0/0，得到 NaN；约定它什么也不看，权重全是 0。
        weights = weights.masked_fill(~keep.any(dim=-1, keepdim=True), 0.0)  # [B, H, L, L]
    return torch.matmul(weights, V), weights  # [B, H, L, d_k], [B, H, L, L]


def padding_mask(lengths, seq_len):
    # 第 b 个样本只有前 lengths[b] 个词元是真的。
    real = torch.arange(seq_len) < lengths[:, None]  # [B, L]
    # 被挡住的是键，不是查询，所以 L 放在最后一维；对每个头、每个查询都一样，所以中间两维是 1。
    return real[:, None, None, :]  # [B, L] → [B, 1, 1, L]


def causal_mask(seq_len):
    # 第 i 个查询只看第 0 … i 个键：下三角，连对角线（自己）在内。
    return torch.ones(seq_len, seq_len, dtype=torch.bool).tril()  # [L, L]


if __name__ == "__main__":
    batch_size = 2
    n_heads = 3
    seq_len = 5
    d_k = 4

    torch.manual_seed(42)
    Q = torch.randn(batch_size, n_heads, seq_len, d_k)  # [B, H, L, d_k]
    K = torch.randn(batch_size, n_heads, seq_len, d_k)  # [B, H, L, d_k]
    V = torch.randn(batch_size, n_heads, seq_len, d_k)  # [B, H, L, d_k]
    lengths = torch.tensor([5, 3])  # [B]

    padding = padding_mask(lengths, seq_len)  # [B, 1, 1, L]
    causal = causal_mask(seq_len)  # [L, L]
    # 两个条件都要满足，所以用“与”；形状靠广播对上。
    both = padding & causal  # [B, 1, L, L]

    for name, keep in (("no mask", None), ("padding", padding), ("causal", causal), ("both", both)):
        output, weights = attention(Q, K, V, keep)
        print(f"{name}: sample 1, head 0, rows are queries, columns are keys")
        for row in weights[1, 0].tolist():
            print("   ", "  ".join("  .   " if weight == 0 else f"{weight:.4f}" for weight in row))

    # 没有一个键可看的查询：长度为 0 的样本。
    nothing = padding_mask(torch.tensor([5, 0]), seq_len)
    output, weights = attention(Q, K, V, nothing)
    print("a row with no key left: weights", weights[1, 0, 0].tolist(), "output", output[1, 0, 0].tolist())
