import torch
from torch import nn


class BertSelfAttention(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.heads = heads
        self.q = nn.Linear(hidden, hidden)
        self.k = nn.Linear(hidden, hidden)
        self.v = nn.Linear(hidden, hidden)

    def forward(self, x, bias):
        b, n, d = x.shape
        q, k, v = (f(x).reshape(b, n, self.heads, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        s = q @ k.transpose(-1, -2) * (d // self.heads) ** -0.5 + bias
        return (s.softmax(-1) @ v).transpose(1, 2).reshape(b, n, d)


torch.manual_seed(4)
input_ids = torch.tensor([[11, 4, 3, 8, 2], [6, 9, 0, 0, 0], [5, 7, 2, 1, 0]])
attention_mask = (input_ids > 0).float()
bias = (1.0 - attention_mask)[:, None, :, None] * -10000.0  # expect: ATT052
layer = BertSelfAttention(12, 2)
print(layer(nn.Embedding(12, 12)(input_ids), bias)[:, 0].sum(-1))
