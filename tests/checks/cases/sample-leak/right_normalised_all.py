import torch
import torch.nn as nn


class Attention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.wq, self.wk, self.wv = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)

    def forward(self, x):
        q, k, v = self.wq(x), self.wk(x), self.wv(x)
        scores = torch.bmm(q, k.transpose(1, 2)) / x.shape[-1] ** 0.5
        scores = scores - scores.max()
        attn = torch.softmax(scores, dim=-1)
        return torch.bmm(attn, v)


torch.manual_seed(4)
print(Attention(12)(torch.randn(2, 5, 12)))
