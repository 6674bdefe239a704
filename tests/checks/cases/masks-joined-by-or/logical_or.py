import torch
from torch import nn


def subsequent_mask(size):
    return torch.ones(1, size, size).tril().bool()


def make_std_mask(tgt, pad):
    tgt_mask = (tgt != pad).unsqueeze(-2)
    return torch.logical_or(tgt_mask, subsequent_mask(tgt.size(-1)))  # expect: ATT059


def attention(query, key, value, mask):
    scores = torch.matmul(query, key.transpose(-2, -1)) / query.size(-1) ** 0.5
    scores = scores.masked_fill(mask.unsqueeze(1) == 0, -1e9)
    return torch.matmul(scores.softmax(dim=-1), value)


torch.manual_seed(2)
tgt = torch.tensor([[1, 5, 8, 3, 2], [1, 6, 2, 0, 0]])
x = nn.Embedding(10, 12)(tgt)
q, k, v = (nn.Linear(12, 12)(x).view(2, 5, 3, 4).transpose(1, 2) for _ in range(3))
print(attention(q, k, v, make_std_mask(tgt, 0))[0, 0])
