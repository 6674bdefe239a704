import torch
import torch.nn.functional as F

torch.manual_seed(2)
B, L, D = 2, 4, 8  # 批大小, 序列长度, 模型维度


def rope(x):
    theta = 10000 ** (-torch.arange(0, D, 2) / D)
    a = torch.arange(x.shape[1])[:, None] * theta
    even, odd = x[..., 0::2], x[..., 1::2]
    out = torch.empty_like(x)
    out[..., 0::2] = even * torch.cos(a) - odd * torch.sin(a)  # expect: ATT096
    out[..., 1::2] = even * torch.sin(a) + odd * torch.cos(a)
    return out


x = torch.randn(B, L, D)
Wq, Wk, Wv = torch.randn(D, D) / D**0.5, torch.randn(D, D) / D**0.5, torch.randn(D, D) / D**0.5
Q, K, V = x @ Wq, x @ Wk, x @ Wv
scores = Q @ rope(K).transpose(-2, -1) / D**0.5
A = F.softmax(scores, dim=-1)
print("输出", (A @ V).shape)
