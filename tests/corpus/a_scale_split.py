import torch
import torch.nn as nn


class QKVAttention(nn.Module):
    """More stable in half precision: the fourth root of the size on q and on k"""

    def __init__(self, n_heads):
        super().__init__()
        self.n_heads = n_heads

    def forward(self, qkv):
        bs, length, width = qkv.shape
        attn_ch = width // self.n_heads // 3
        scale = attn_ch ** -0.25
        qkv = qkv.view(bs, length, self.n_heads, -1)
        q, k, v = torch.split(qkv, attn_ch, dim=-1)
        weight = torch.einsum(
            "bthc,bshc->bhts", q * scale, k * scale
        )
        weight = torch.softmax(weight.float(), dim=-1).type(weight.dtype)
        return torch.einsum("bhts,bshc->bthc", weight, v).reshape(bs, length, -1)


torch.manual_seed(27)
lin = nn.Linear(14, 3 * 30)
att = QKVAttention(n_heads=5)
points = torch.randn(2, 8, 14)
res = att(lin(points))
print(res.shape, res.sum())
