import torch
from torch import nn


class BertAttention(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)

    def forward(self, x, attention_mask):
        b, n, d = x.shape
        q = self.query(x).view(b, n, self.heads, -1).permute(0, 2, 1, 3)
        k = self.key(x).view(b, n, self.heads, -1).permute(0, 2, 1, 3)
        v = self.value(x).view(b, n, self.heads, -1).permute(0, 2, 1, 3)
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k) / (d // self.heads) ** 0.5
        scores = scores + (1 - attention_mask[:, None, None, :]) * torch.finfo(scores.dtype).min
        return torch.einsum("bhqk,bhkd->bqhd", scores.softmax(-1), v).reshape(b, n, d)


torch.manual_seed(3)
attention_mask = torch.tensor([[1, 1, 1, 1, 0], [1, 1, 0, 0, 0]])
print(BertAttention(12, 3)(torch.randn(2, 5, 12), attention_mask)[0, 0])
