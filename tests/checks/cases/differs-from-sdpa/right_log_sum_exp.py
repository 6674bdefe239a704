import torch

torch.manual_seed(0)
x = torch.randn(2, 5, 12)
q, k, v = (x @ torch.randn(12, 12) / 12**0.5 for _ in range(3))
s = q @ k.transpose(-2, -1) / 12**0.5
w = torch.exp(s - torch.logsumexp(s, dim=-1, keepdim=True))
print((w @ v).shape, w.sum(-1))
