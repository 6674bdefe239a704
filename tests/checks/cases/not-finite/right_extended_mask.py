import torch
from torch import nn


class BertSelfAttention(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.heads, self.size = heads, hidden // heads
        self.query = nn.Linear(hidden, hidden)
        self.key = nn.Linear(hidden, hidden)
        self.value = nn.Linear(hidden, hidden)

    def split(self, t):
        return t.view(*t.shape[:2], self.heads, self.size).permute(0, 2, 1, 3)

    def forward(self, hidden, attention_mask):
        q, k, v = self.split(self.query(hidden)), self.split(self.key(hidden)), self.split(self.value(hidden))
        scores = torch.matmul(q, k.transpose(-1, -2)) / self.size**0.5
        extended = attention_mask[:, None, None, :].to(scores.dtype)
        extended = (1.0 - extended) * torch.finfo(scores.dtype).min
        probs = nn.functional.softmax(scores + extended, dim=-1)
        out = torch.matmul(probs, v).permute(0, 2, 1, 3)
        return out.reshape(hidden.shape)


torch.manual_seed(0)
attn = BertSelfAttention(12, 3).eval()
mask = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 1, 0]])
print(attn(torch.randn(2, 5, 12), mask).mean())
