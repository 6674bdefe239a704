import torch
import torch.nn.functional as F
from torch import nn


class CosineAttention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(d, d) for _ in range(3))
        self.tau = nn.Parameter(torch.tensor(5.0))

    def forward(self, x):
        q = F.normalize(self.q(x), dim=-1)
        k = F.normalize(self.k(x), dim=-1)
        w = torch.softmax(self.tau * torch.bmm(q, k.transpose(1, 2)), dim=-1)
        return torch.bmm(w, self.v(x))


torch.manual_seed(0)
print(CosineAttention(12)(torch.randn(2, 5, 12)).shape)
