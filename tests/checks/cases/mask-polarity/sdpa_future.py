import torch
import torch.nn.functional as F

torch.manual_seed(4)
batch_size, heads, seq_len, head_dim = 2, 3, 5, 4
q = torch.randn(batch_size, heads, seq_len, head_dim)
k = torch.randn(batch_size, heads, seq_len, head_dim)
v = torch.randn(batch_size, heads, seq_len, head_dim)

future = torch.triu(torch.ones(seq_len, seq_len), diagonal=1).bool()
out = F.scaled_dot_product_attention(q, k, v, attn_mask=future)  # expect: ATT051
print(out.shape, out[0, 0])
