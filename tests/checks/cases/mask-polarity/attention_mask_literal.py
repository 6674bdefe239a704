import torch
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.heads, self.size = heads, hidden // heads
        self.query = nn.Linear(hidden, hidden)
        self.key = nn.Linear(hidden, hidden)
        self.value = nn.Linear(hidden, hidden)

    def split(self, t):
        return t.view(*t.shape[:-1], self.heads, self.size).permute(0, 2, 1, 3)

    def forward(self, hidden_states, attention_mask):
        q, k, v = (self.split(f(hidden_states)) for f in (self.query, self.key, self.value))
        scores = q @ k.transpose(-1, -2) / self.size**0.5
        extended = attention_mask[:, None, None, :] * -10000.0
        scores = scores + extended  # expect: ATT051
        return (scores.softmax(-1) @ v).permute(0, 2, 1, 3).flatten(2)


torch.manual_seed(9)
attention_mask = torch.tensor([[1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 0.0, 0.0]])
print(SelfAttention(12, 3)(torch.randn(2, 5, 12), attention_mask).shape)
