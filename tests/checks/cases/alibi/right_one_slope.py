import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(4)
batch_size, seq_len, d_model, n_heads = 2, 4, 8, 2
d_k = d_model // n_heads
x = torch.randn(batch_size, seq_len, d_model)
to_qkv = nn.Linear(d_model, 3 * d_model, bias=False)
q, k, v = (t.view(batch_size, seq_len, n_heads, d_k).transpose(1, 2) for t in to_qkv(x).chunk(3, dim=-1))
slopes = torch.tensor([2 ** (-8 * i / n_heads) for i in range(1, n_heads + 1)])
pos = torch.arange(seq_len)
scores = q @ k.transpose(-2, -1) / d_k**0.5
scores = scores + slopes[:, None, None] * (pos[None, :] - pos[:, None])
scores = scores + torch.full((seq_len, seq_len), float("-inf")).triu(1)
print((F.softmax(scores, dim=-1) @ v).shape)
