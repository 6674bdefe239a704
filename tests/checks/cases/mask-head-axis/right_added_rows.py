import torch
from torch import nn


def attention(q, k, v, bias):
    return ((q @ k.transpose(-1, -2)) / q.size(-1) ** 0.5 + bias).softmax(-1) @ v


torch.manual_seed(3)
n_batch, n_head, n_seq, n_dim = 2, 2, 6, 8
lengths = torch.tensor([6, 4])
x = torch.randn(n_batch, n_seq, n_dim)
w = nn.Linear(n_dim, 3 * n_dim)
q, k, v = (t.reshape(n_batch, n_seq, n_head, -1).transpose(1, 2) for t in w(x).chunk(3, -1))
valid = (torch.arange(n_seq)[None] < lengths[:, None]).float()
bias = (1 - valid)[:, None, :] * -1e9
print(attention(q, k, v, bias[:, None]).shape)
