import torch
from torch import nn

torch.manual_seed(4)

attn = nn.MultiheadAttention(embed_dim=12, num_heads=3, batch_first=True)
norm = nn.LayerNorm(12)

x = torch.randn(2, 5, 12)
memory = torch.randn(2, 8, 12)

# self attention, the weights of each head
h = norm(x)
out, w = attn(h, h, h, average_attn_weights=False)
print(out.shape, w.shape)

# cross attention, no weights wanted
cross = nn.MultiheadAttention(12, 4, batch_first=True)
out2 = cross(out, memory, memory, need_weights=False)[0]
print(out2.shape, out2.sum().item())

# causal self attention
L = x.size(1)
causal = torch.triu(torch.ones(L, L, dtype=torch.bool), diagonal=1)
out3, w3 = attn(out2, out2, out2, attn_mask=causal)
print(w3[0])
