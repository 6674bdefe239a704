import torch
from torch import nn

torch.manual_seed(1)
batch_size, seq_len, d_model, num_heads = 2, 5, 12, 3
tokens = torch.tensor([[5, 2, 9, 4, 7], [8, 3, 1, 0, 0]])
x = nn.Embedding(10, d_model)(tokens)
mha = nn.MultiheadAttention(d_model, num_heads, batch_first=True)
blocked = torch.triu(torch.ones(seq_len, seq_len), diagonal=1).bool() | (tokens == 0)[:, None, :]
attn_mask = blocked.repeat_interleave(num_heads, dim=0)
out, weights = mha(x, x, x, attn_mask=attn_mask)
print(out.shape, weights[1, -1])
