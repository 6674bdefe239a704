import torch

torch.manual_seed(1)
batch, seq_len, dim, window = 2, 9, 8, 4
x = torch.randn(batch, seq_len, dim)
q, k, v = torch.nn.Linear(dim, 3 * dim)(x).chunk(3, dim=-1)
scores = q @ k.transpose(1, 2) / dim**0.5
causal = torch.ones(seq_len, seq_len).tril()
local = torch.triu(causal, diagonal=-window)  # expect: ATT076
weights = scores.masked_fill(local == 0, float("-inf")).softmax(-1)
print(weights[0])
print((weights @ v).shape)
