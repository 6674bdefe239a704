import math

import torch


def attention(query, key, value, mask):
    scores = torch.bmm(query, key.transpose(1, 2)) / math.sqrt(query.size(-1))
    scores = scores.masked_fill(mask == 0, float("-inf"))
    p_attn = scores.softmax(dim=-1)
    return torch.bmm(p_attn, value), p_attn


torch.manual_seed(8)
seq_len = 4
query, key, value = torch.randn(2, seq_len, 8), torch.randn(2, seq_len, 8), torch.randn(2, seq_len, 8)
mask = torch.tril(torch.ones(seq_len, seq_len))
out, p = attention(query, key, value, mask)
print(p[0])
