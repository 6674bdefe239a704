import torch
import torch.nn.functional as F
from torch import nn


class CosineAttention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(d, d, bias=False) for _ in range(3))
        self.tau = nn.Parameter(torch.tensor(10.0))

    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
        return torch.softmax(self.tau * q @ k.transpose(1, 2), dim=-1) @ v


torch.manual_seed(0)
emb = nn.Embedding(20, 12, padding_idx=0)
ids = torch.tensor([[4, 8, 15, 16, 9], [3, 7, 0, 0, 0]])
print(CosineAttention(12)(emb(ids))[1])
