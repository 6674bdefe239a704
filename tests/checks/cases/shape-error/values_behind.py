import torch

torch.manual_seed(0)
q, k, v = torch.randn(2, 5, 12), torch.randn(2, 7, 12), torch.randn(2, 7, 10)
weights = torch.softmax(q @ k.transpose(1, 2) / 12**0.5, dim=-1)
out = v @ weights  # expect: ATT121
print(out.shape)
