import torch
import torch.nn as nn


class CrossAttention(nn.Module):
    """x looks at a context of another length and another width"""

    def __init__(self, x_dim, ctx_dim, inner):
        super().__init__()
        self.to_q = nn.Linear(x_dim, inner, bias=False)
        self.to_kv = nn.Linear(ctx_dim, inner * 2, bias=False)
        self.to_out = nn.Linear(inner, x_dim)

    def forward(self, x, context):
        q = self.to_q(x)
        k, v = self.to_kv(context).chunk(2, dim=-1)
        attn = (
            q
            .matmul(k.transpose(-1, -2))
            .mul(q.shape[-1] ** -0.5)
            .softmax(dim=-1)
        )
        return self.to_out(attn.matmul(v))


torch.manual_seed(22)
x = torch.randn(2, 5, 10)
context = torch.randn(2, 8, 14)
ca = CrossAttention(10, 14, 6)
out = x + ca(x, context)
print(out.size(), float(out.sum()))
