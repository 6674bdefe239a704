import torch

torch.manual_seed(58)


def softmax_one(s):
    """exp(s) / (1 + sum exp(s)): a row may give nothing."""
    m = s.amax(dim=-1, keepdim=True).clamp(min=0)
    e = torch.exp(s - m)
    return e / (torch.exp(-m) + e.sum(dim=-1, keepdim=True))


x = torch.randn(2, 5, 6)
q, k, v = torch.nn.Linear(6, 18)(x).chunk(3, dim=-1)
w = softmax_one(q @ k.transpose(1, 2) / 6 ** 0.5)
print(w @ v)
