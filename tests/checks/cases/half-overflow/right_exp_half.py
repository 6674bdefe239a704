import torch


def softmax(x):
    e = torch.exp(x - x.max(-1, keepdim=True).values)
    return e / e.sum(-1, keepdim=True)


def attention(q, k, v):
    s = torch.einsum("bhqd,bhkd->bhqk", q, k) * q.shape[-1] ** -0.5
    return torch.einsum("bhqk,bhkd->bhqd", softmax(s), v)


torch.manual_seed(2)
q = torch.randn(2, 3, 5, 16, dtype=torch.float16) * 6
k = torch.randn(2, 3, 5, 16, dtype=torch.float16) * 6
v = torch.randn(2, 3, 5, 16, dtype=torch.float16)
print(attention(q, k, v)[0, 0])
