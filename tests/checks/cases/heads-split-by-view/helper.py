# 多头注意力：用一个函数把最后一维拆成多个头
import torch
import torch.nn as nn


def split_heads(t, num_heads):
    batch_size, seq_len, d_model = t.size()
    return t.reshape(batch_size, num_heads, seq_len, d_model // num_heads)  # expect: ATT041


def merge_heads(t):
    return t.permute(0, 2, 1, 3).flatten(2)


torch.manual_seed(0)
batch_size, seq_len, d_model, num_heads = 2, 4, 8, 2
x = torch.randn(batch_size, seq_len, d_model)
W_q, W_k, W_v = (nn.Linear(d_model, d_model) for _ in range(3))

q, k, v = (split_heads(W(x), num_heads) for W in (W_q, W_k, W_v))
scores = q @ k.transpose(-1, -2) / (d_model // num_heads) ** 0.5
out = merge_heads(torch.softmax(scores, -1) @ v)
print("输出:", out.shape)
