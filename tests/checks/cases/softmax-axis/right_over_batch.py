import torch
import torch.nn.functional as F


def attention(query, key, value):
    # query, key, value: (batch, seq, dim)
    dim = query.size(-1)
    energy = torch.bmm(query, key.permute(0, 2, 1)) / dim ** 0.5
    weight = F.softmax(energy, dim=2)
    return torch.bmm(weight, value), weight


torch.manual_seed(6)
proj = torch.nn.Linear(9, 18)
q_in = torch.randn(3, 4, 9)
memory = torch.randn(3, 6, 9)
k, v = proj(memory).chunk(2, dim=-1)
q = torch.nn.Linear(9, 9)(q_in)
out, w = attention(q, k, v)
print(out.shape, w.shape)
