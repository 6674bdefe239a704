import torch
import torch.nn as nn


class CrossAttention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.to_q, self.to_k, self.to_v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)
        self.d = d

    def forward(self, x, context):
        q = self.to_q(x)
        k = self.to_k(context)
        v = self.to_v(context)
        att = torch.einsum("bid,bjd->bij", q, k) * self.d ** -0.5
        return x + torch.einsum("bij,bjd->bid", att.softmax(dim=-1), v)


torch.manual_seed(0)
print(CrossAttention(8)(torch.randn(2, 4, 8), torch.randn(2, 4, 8)).shape)
