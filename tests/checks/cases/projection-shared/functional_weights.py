import torch
import torch.nn.functional as F


def attention(x, params, n_heads):
    B, T, C = x.shape
    q = F.linear(x, params["wq"]).view(B, T, n_heads, C // n_heads).transpose(1, 2)
    k = F.linear(x, params["wk"]).view(B, T, n_heads, C // n_heads).transpose(1, 2)
    v = F.linear(x, params["wk"]).view(B, T, n_heads, C // n_heads).transpose(1, 2)  # expect: ATT031
    att = (q @ k.mT) / (C // n_heads) ** 0.5
    y = att.softmax(-1) @ v
    return F.linear(y.transpose(1, 2).reshape(B, T, C), params["wo"])


torch.manual_seed(42)
params = {name: torch.randn(16, 16) * 0.1 for name in ("wq", "wk", "wv", "wo")}
x = torch.randn(2, 7, 16)
print(attention(x, params, 4).abs().mean())
