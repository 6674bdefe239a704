import torch
from torch import nn


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=False)
        self.W_key = nn.Linear(d_in, d_out, bias=False)
        self.W_value = nn.Linear(d_in, d_out, bias=False)
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length)))

    def forward(self, x):
        n = x.shape[1]
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = queries @ keys.transpose(1, 2)
        weights = torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1)
        weights = weights * self.mask[:n, :n]
        weights = weights / weights.sum(dim=-1, keepdim=True)
        return weights @ values


torch.manual_seed(1)
print(CausalAttention(8, 8, 6)(torch.randn(2, 4, 8))[0])
