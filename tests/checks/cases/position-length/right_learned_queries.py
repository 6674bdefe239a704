import torch
from torch import nn

# six learned queries read a sequence (perceiver, q-former): the table is the input itself
torch.manual_seed(1)
latents = nn.Parameter(torch.randn(6, 12) * 0.02)
memory = torch.randn(2, 5, 12)
query = torch.zeros(1, 1, 12) + latents
to_q, to_k, to_v = nn.Linear(12, 12), nn.Linear(12, 12), nn.Linear(12, 12)
q, k, v = to_q(query).expand(2, -1, -1), to_k(memory), to_v(memory)
w = torch.softmax(q @ k.transpose(1, 2) / 12**0.5, dim=-1)
print((w @ v).shape)
