import torch
import torch.nn.functional as F


def rms_norm(x, weight, eps=1e-6):
    return x / torch.sqrt(x.pow(2).mean(-2, keepdim=True) + eps) * weight  # expect: ATT112


torch.manual_seed(0)
B, T, C, H = 2, 6, 12, 3
x, g = torch.randn(B, T, C), torch.ones(C)
w = torch.randn(C, 3 * C) / C**0.5
h = rms_norm(x, g)
q, k, v = (t.view(B, T, H, C // H).transpose(1, 2) for t in (h @ w).split(C, dim=-1))
y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
print(x + y.transpose(1, 2).reshape(B, T, C))
