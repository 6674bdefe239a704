import torch
import torch.nn.functional as F
from torch import nn


def precompute(dim, end):
    freqs = 1.0 / (10000.0 ** (torch.arange(0, dim, 2).float() / dim))
    return torch.polar(torch.ones(end, dim // 2), torch.outer(torch.arange(end).float(), freqs))


def apply_rotary_emb(xq, xk, freqs_cis):
    xq_ = torch.view_as_complex(xq.float().reshape(*xq.shape[:-1], -1, 2))
    xk_ = torch.view_as_complex(xk.float().reshape(*xk.shape[:-1], -1, 2))
    freqs_cis = freqs_cis[None, :, None, :]
    xq_out = torch.view_as_real(xq_ * freqs_cis).flatten(3)
    xk_out = torch.view_as_real(xk_ * freqs_cis).flatten(3)
    return xq_out.type_as(xq), xk_out.type_as(xk)


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.wqkv, self.wo = nn.Linear(dim, 3 * dim, bias=False), nn.Linear(dim, dim, bias=False)
        self.register_buffer("freqs_cis", precompute(dim // heads, 32))

    def forward(self, x):
        b, n, d = x.shape
        xq, xk, xv = self.wqkv(x).view(b, n, 3, self.heads, d // self.heads).unbind(2)
        xq, xk = apply_rotary_emb(xq, xk, self.freqs_cis[:n])
        y = F.scaled_dot_product_attention(xq.transpose(1, 2), xk.transpose(1, 2), xv.transpose(1, 2), is_causal=True)
        return self.wo(y.transpose(1, 2).reshape(b, n, d))


torch.manual_seed(1)
print(Attention(24, 3)(torch.randn(2, 5, 24)).norm())
