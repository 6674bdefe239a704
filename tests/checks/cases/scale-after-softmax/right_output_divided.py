import torch


def attend(q, k, v):
    # q, k, v: [B, H, L, d]
    d = q.shape[-1]
    scores = q @ k.transpose(-1, -2)
    p = torch.softmax(scores / d ** 0.5, dim=-1)
    return p @ v


torch.manual_seed(172)
B, L, H, d = 2, 5, 3, 4
x = torch.randn(B, L, H * d)
weights = [torch.randn(H * d, H * d) * 0.3 for _ in range(3)]
q, k, v = ((x @ w).view(B, L, H, d).transpose(1, 2) for w in weights)
print(attend(q, k, v).shape)
