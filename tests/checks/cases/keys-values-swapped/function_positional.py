import math
import torch
import torch.nn as nn
import torch.nn.functional as F


def scaled_dot_product(q, k, v, mask=None):
    scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = F.softmax(scores, dim=-1)
    return torch.matmul(weights, v), weights


class MultiHead(nn.Module):
    def __init__(self, d_model, heads):
        super().__init__()
        self.heads = heads
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, d_model)
        self.w_v = nn.Linear(d_model, d_model)
        self.w_o = nn.Linear(d_model, d_model)

    def forward(self, x):
        b, n, d = x.shape
        q = self.w_q(x).view(b, n, self.heads, -1).transpose(1, 2)
        k = self.w_k(x).view(b, n, self.heads, -1).transpose(1, 2)
        v = self.w_v(x).view(b, n, self.heads, -1).transpose(1, 2)
        out, _ = scaled_dot_product(q, v, k)  # expect: ATT033
        return self.w_o(out.transpose(1, 2).reshape(b, n, d))


torch.manual_seed(0)
print(MultiHead(12, 3)(torch.randn(2, 5, 12)).mean())
