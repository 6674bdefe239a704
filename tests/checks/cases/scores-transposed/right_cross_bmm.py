import torch
import torch.nn as nn


class CrossHead(nn.Module):
    def __init__(self, d, d_ctx, d_k):
        super().__init__()
        self.to_q = nn.Linear(d, d_k)
        self.to_kv = nn.Linear(d_ctx, 2 * d_k)
        self.scale = d_k ** -0.5

    def forward(self, x, context):
        q = self.to_q(x)
        k, v = self.to_kv(context).chunk(2, dim=-1)
        dots = torch.bmm(q, k.transpose(1, 2)) * self.scale
        attn = dots.softmax(dim=2)
        return torch.bmm(attn, v)


torch.manual_seed(212)
print("输出:", CrossHead(7, 9, 6)(torch.randn(2, 4, 7), torch.randn(2, 4, 9)).shape)
