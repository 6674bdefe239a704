import torch
from torch import nn


class CosineAttention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(d, d, bias=False) for _ in range(3))
        self.tau = nn.Parameter(torch.tensor(10.0))

    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        q = q / q.norm(dim=-1, keepdim=True)  # expect: ATT104
        k = k / (k.norm(dim=-1, keepdim=True) + 1e-6)
        return torch.softmax(self.tau * q @ k.transpose(1, 2), dim=-1) @ v


torch.manual_seed(0)
emb = nn.Embedding(20, 12, padding_idx=0)
ids = torch.tensor([[4, 8, 15, 16, 9], [3, 7, 0, 0, 0]])
print(CosineAttention(12)(emb(ids))[1])
