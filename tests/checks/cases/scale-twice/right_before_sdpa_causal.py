import math
import torch
import torch.nn.functional as F

torch.manual_seed(162)
batch_size, seq_len, d_model = 2, 4, 8
x = torch.randn(batch_size, seq_len, d_model)
W = torch.nn.ModuleDict({n: torch.nn.Linear(d_model, d_model) for n in "qkv"})
q, k, v = W["q"](x), W["k"](x), W["v"](x)
out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
print(out)
